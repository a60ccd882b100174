/* SPDX-License-Identifier: MIT
 *
 * DeepSeek-V2 (arXiv 2405.04434) and V3 (arXiv 2412.19437), Kimi-K2, GLM-4.7-Flash, Mistral 4:
 * latent attention, leading dense layers, then shared and routed experts.
 *
 * YaRN scales all of q k^T by (a (1 + 0.1 m ln factor))^2, where m is the log multiplier (files
 * store a tenth of it) and a the additional magnitude of the rotated columns.  Draft layers are not
 * run. */
#include <math.h>

#include "arch/common/attn_mla.h"
#include "arch/mla/mla.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_MLA,   LMI_SET_FFN_NORM,
	LMI_SET_FFN,    LMI_SET_MOE,       LMI_SET_SHEXP, LMI_SET_ROPE_FREQS,
};

/* Is this the small model, which has a single matrix for q?  No key says so. */
static bool is_lite(const struct lmi_hparams *hp)
{
	return hp->n_layer == 26 || hp->n_layer == 27;
}

static double magnitude(double factor, double m)
{
	return factor <= 1.0 ? 1.0 : 1.0 + 0.1 * m * log(factor);
}

void lmi_deepseek_yarn(struct lmi_hparams *hp, struct lmi_keys *k, struct lmi_mla *m,
		       enum lmi_yarn_log log_mode)
{
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_FULL];
	double f = 1.0 / r->freq_scale, inner = 1.0 + 0.1 * log(f), mul = 0.0, s;

	if (log_mode != LMI_YARN_LOG_NONE)
		mul = 10.0 * lmi_key_f64(k, "rope.scaling.yarn_log_multiplier", LMI_OPTIONAL, 0.0,
					 -1e3, 1e3);
	if (r->ext_factor != 0.0 && mul != 0.0)
		r->attn_factor = r->file_factor / inner *
				 magnitude(f, log_mode == LMI_YARN_LOG_LEVEL ? mul : 1.0) /
				 magnitude(f, mul);
	s = r->attn_factor * inner * (1.0 + 0.1 * mul * log(f));
	m->scale = (float)(s * s / sqrt((double)(m->nope + m->n_rot)));
}

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k, enum lmi_yarn_log log_mode)
{
	struct lmi_mla *m =
		lmi_mla_read(hp, k, !is_lite(hp) && lmi_key_has(k, "attention.q_lora_rank"));

	hp->own_data = m;
	if (!m)
		return;
	lmi_deepseek_yarn(hp, k, m, log_mode);
	hp->temp_scale =
		(float)lmi_key_f64(k, "attention.temperature_scale", LMI_OPTIONAL, 0.0, 0.0, 1e3);
	if (hp->temp_scale != 0.0f)
		hp->temp_len = lmi_key_u32(k, "attention.temperature_length", LMI_REQUIRED, 1, 1,
					   LMI_MAX_CTX);
}

static void adjust_deepseek2(struct lmi_hparams *hp, struct lmi_keys *k)
{
	adjust(hp, k, LMI_YARN_LOG_LEVEL);
}

static void adjust_mistral4(struct lmi_hparams *hp, struct lmi_keys *k)
{
	adjust(hp, k, LMI_YARN_LOG);
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);

	(void)pass;
	s->x = lmi_mla(e, &io, d->hp.own_data, d->hp.temp_scale != 0.0f ? 0 : LMD_NONE);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static const struct lmi_decoder_traits deepseek2 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_deepseek2,
	.layer = layer,
};

static const struct lmi_decoder_traits mistral4 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_mistral4,
	.layer = layer,
};

LMI_MLA_ARCH(deepseek2, deepseek2, sets)
LMI_MLA_ARCH(mistral4, mistral4, sets)
