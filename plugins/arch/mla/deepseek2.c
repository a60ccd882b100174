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
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_MLA,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FREQS,
};

/* Is this the small model, which has a single matrix for q?  No key says so. */
static bool is_lite(const struct arch_hparams *hp)
{
	return hp->n_layer == 26 || hp->n_layer == 27;
}

static double magnitude(double factor, double m)
{
	return factor <= 1.0 ? 1.0 : 1.0 + 0.1 * m * log(factor);
}

void arch_deepseek_yarn(struct arch_hparams *hp, struct arch_keys *k, struct arch_mla *m,
			enum arch_yarn_log log_mode)
{
	struct arch_rope_hp *r = &hp->rope[ARCH_ROPE_FULL];
	double f = 1.0 / r->freq_scale, inner = 1.0 + 0.1 * log(f), mul = 0.0, s;

	if (log_mode != ARCH_YARN_LOG_NONE)
		mul = 10.0 * arch_key_f64(k, "rope.scaling.yarn_log_multiplier", ARCH_OPTIONAL, 0.0,
					  -1e3, 1e3);
	if (r->ext_factor != 0.0 && mul != 0.0)
		r->attn_factor = r->file_factor / inner *
				 magnitude(f, log_mode == ARCH_YARN_LOG_LEVEL ? mul : 1.0) /
				 magnitude(f, mul);
	s = r->attn_factor * inner * (1.0 + 0.1 * mul * log(f));
	m->scale = (float)(s * s / sqrt((double)(m->n_nope + m->n_rot)));
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k, enum arch_yarn_log log_mode)
{
	struct arch_mla *m =
		arch_mla_read(hp, k, !is_lite(hp) && arch_key_has(k, "attention.q_lora_rank"));

	hp->arch_data = m;
	if (!m)
		return;
	arch_deepseek_yarn(hp, k, m, log_mode);
	hp->attn_temp_scale =
		(float)arch_key_f64(k, "attention.temperature_scale", ARCH_OPTIONAL, 0.0, 0.0, 1e3);
	if (hp->attn_temp_scale != 0.0f)
		hp->attn_temp_len = arch_key_u32(k, "attention.temperature_length", ARCH_REQUIRED,
						 1, 1, ARCH_MAX_CTX);
}

static void adjust_deepseek2(struct arch_hparams *hp, struct arch_keys *k)
{
	adjust(hp, k, ARCH_YARN_LOG_LEVEL);
}

static void adjust_mistral4(struct arch_hparams *hp, struct arch_keys *k)
{
	adjust(hp, k, ARCH_YARN_LOG);
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);

	(void)pass;
	s->x = arch_mla(e, &io, d->hp.arch_data, d->hp.attn_temp_scale != 0.0f ? 0 : LMD_NONE);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static const struct arch_decoder_traits deepseek2 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_deepseek2,
	.layer = layer,
};

static const struct arch_decoder_traits mistral4 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_mistral4,
	.layer = layer,
};

ARCH_MLA_ARCH(deepseek2, deepseek2, sets)
ARCH_MLA_ARCH(mistral4, mistral4, sets)
