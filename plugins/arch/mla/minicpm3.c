/* SPDX-License-Identifier: MIT
 *
 * MiniCPM3 (model card openbmb/MiniCPM3-4B): latent attention with the scales of MiniCPM
 * (arXiv 2404.06395).  PLM (arXiv 2503.12167): latent attention with a single matrix for q, and
 * squared ReLU without a gate. */
#include <math.h>

#include "arch/common/attn_mla.h"
#include "arch/mla/mla.h"

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	float a = d->hp.residual_scale != 0.0f ? d->hp.residual_scale : 1.0f;

	(void)pass;
	io.a = a;
	s->x = lmi_mla(e, &io, d->hp.own_data, LMD_NONE);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	io.a = a;
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static const struct lmd_tensor_set minicpm_sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_MLA, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_SET_ROPE_FACTORS,
};

/* The scales are constants of the architecture; the file does not have them. */
static void minicpm_adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->own_data = lmi_mla_read(hp, k, true);
	hp->embd_scale = 12.0f;
	hp->residual_scale = 1.4f / sqrtf((float)hp->n_layer);
	hp->logit_scale = 256.0f / (float)hp->n_embd;
}

static const struct lmi_decoder_traits minicpm = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = minicpm_adjust,
	.layer = layer,
};

static const struct lmd_tensor_set plm_sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_MLA, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
};

static void plm_adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->own_data = lmi_mla_read(hp, k, false);
}

static const struct lmi_decoder_traits plm = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_RELU2,
	.ffn_plain = true,
	.adjust = plm_adjust,
	.layer = layer,
};

LMI_MLA_ARCH(minicpm3, minicpm, minicpm_sets)
LMI_MLA_ARCH(plm, plm, plm_sets)
