/* SPDX-License-Identifier: MIT
 *
 * MiniCPM3 (model card openbmb/MiniCPM3-4B): latent attention with the scales of MiniCPM
 * (arXiv 2404.06395).  PLM (arXiv 2503.12167): latent attention with a single matrix for q, and
 * squared ReLU without a gate. */
#include <math.h>

#include "arch/common/attn_mla.h"
#include "arch/mla/mla.h"

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	float a = d->hp.residual_scale != 0.0f ? d->hp.residual_scale : 1.0f;

	(void)pass;
	io.a = a;
	s->x = arch_mla(e, &io, d->hp.arch_data, LMD_NONE);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	io.a = a;
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static const struct lmd_tensor_set minicpm_sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_MLA,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FACTORS,
};

/* The scales are constants of the architecture; the file does not have them. */
static void minicpm_adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->arch_data = arch_mla_read(hp, k, true);
	hp->embd_scale = 12.0f;
	hp->residual_scale = 1.4f / sqrtf((float)hp->n_layer);
	hp->logit_scale = 256.0f / (float)hp->n_embd;
}

static const struct arch_decoder_traits minicpm = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = minicpm_adjust,
	.layer = layer,
};

static const struct lmd_tensor_set plm_sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_MLA, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static void plm_adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->arch_data = arch_mla_read(hp, k, false);
}

static const struct arch_decoder_traits plm = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
	.adjust = plm_adjust,
	.layer = layer,
};

ARCH_MLA_ARCH(minicpm3, minicpm, minicpm_sets)
ARCH_MLA_ARCH(plm, plm, plm_sets)
