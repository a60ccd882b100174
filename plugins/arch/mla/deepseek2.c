/* SPDX-License-Identifier: MIT
 *
 * DeepSeek-V2 (arXiv 2405.04434) and V3 (arXiv 2412.19437), Kimi-K2, GLM-4.7-Flash, Mistral 4:
 * latent attention, leading dense layers, then shared and routed experts.
 *
 * YaRN scales all of q k^T by (a (1 + 0.1 m ln factor))^2, where m is the log multiplier (files
 * store a tenth of it) and a the additional magnitude of the rotated columns. */
#include <math.h>

#include "arch/common/attn_mla.h"
#include "arch/common/checkpoint.h"
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

/* Checkpoints. DeepSeek: latent attention. */
static const struct lmd_checkpoint_row latent[] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_a_proj", "blk.%d.attn_q_a", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_a_layernorm", "blk.%d.attn_q_a_norm", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_b_proj", "blk.%d.attn_q_b", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.kv_a_proj_with_mqa",
	 "blk.%d.attn_kv_a_mqa",
	 {.flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.kv_a_layernorm", "blk.%d.attn_kv_a_norm", {0}},
	{"layers.%d.self_attn.kv_b_proj",
	 "blk.%d.attn_k_b",
	 {.op = LMD_CKPT_LATENT_K, .flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.kv_b_proj",
	 "blk.%d.attn_v_b",
	 {.op = LMD_CKPT_LATENT_V, .flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.flags = LMD_CKPT_NO_BIAS}},
};

/* YaRN also scales the scores; these models state their own factor for it. */
static void yarn_mscale(struct lmd_checkpoint *c)
{
	double one = c->get_float(c, "rope_parameters.mscale|rope_scaling.mscale", 1);
	double all =
		c->get_float(c, "rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim", 0);

	if (!all)
		return;
	if (all != one)
		c->fail(c, LMD_UNSUPPORTED,
			"\"mscale\" is %g and \"mscale_all_dim\" is %g: "
			"architecture %s requires equal values",
			one, all, c->arch);
	c->put_f32(c, "rope.scaling.yarn_log_multiplier", 0.1 * all);
}

static void deepseek(struct lmd_checkpoint *c, enum arch_ckpt_gate def)
{
	int64_t nope = c->need_int(c, "qk_nope_head_dim", 1, 1 << 14);
	int64_t value = c->need_int(c, "v_head_dim", 1, 1 << 14);

	c->n_nope = (uint32_t)nope;
	c->n_value = (uint32_t)value;
	if (c->has(c, "q_lora_rank"))
		c->put_u32(c, "attention.q_lora_rank", c->need_int(c, "q_lora_rank", 1, 1 << 20));
	c->put_u32(c, "attention.kv_lora_rank", c->need_int(c, "kv_lora_rank", 1, 1 << 14));
	c->put_u32(c, "attention.key_length_mla", nope + c->rope_dim);
	c->put_u32(c, "attention.value_length_mla", value);
	arch_ckpt_require_value(c, "moe_layer_freq", 1);
	yarn_mscale(c);
	arch_ckpt_put_shared_count(c, "n_shared_experts");
	arch_ckpt_put_routing(c, def);
}

static void deepseek_v2(struct lmd_checkpoint *c)
{
	if (c->is_text(c, "topk_method", "group_limited_greedy"))
		arch_ckpt_require_value(c, "n_group", 1); /* our plans score a group by its best two
						 * experts */
	deepseek(c, ARCH_CKPT_SOFTMAX);
}

static void deepseek_v3(struct lmd_checkpoint *c)
{
	arch_ckpt_require_bool(c, "rope_interleave", true);
	deepseek(c, ARCH_CKPT_SIGMOID);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "deepseek_v2",
	 .arch = "deepseek2",
	 .flags = LMD_CKPT_MLA,
	 .rows = {&arch_ckpt_head, ARCH_CKPT_ROWS(latent), &arch_ckpt_dense_moe, &arch_ckpt_norms},
	 .layers = arch_ckpt_dense_layers,
	 .keys = deepseek_v2},
	{.type = "deepseek_v3",
	 .arch = "deepseek2",
	 .flags = LMD_CKPT_MLA,
	 .rows = {&arch_ckpt_head, ARCH_CKPT_ROWS(latent), &arch_ckpt_dense_moe, &arch_ckpt_norms},
	 .layers = arch_ckpt_dense_layers,
	 .keys = deepseek_v3},
};

static const struct arch_decoder_traits deepseek2 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_deepseek2,
	.layer = layer,
	.draft_layer = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

static const struct arch_decoder_traits mistral4 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust_mistral4,
	.layer = layer,
	.draft_layer = true,
};

ARCH_MLA_ARCH(deepseek2, deepseek2, sets)
ARCH_MLA_ARCH(mistral4, mistral4, sets)
