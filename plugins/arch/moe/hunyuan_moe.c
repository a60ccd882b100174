/* SPDX-License-Identifier: MIT
 *
 * Hunyuan-A13B (model card tencent/Hunyuan-A13B-Instruct): queries and keys are normalised after
 * the rotation; every layer has a shared expert.  Experts have the layer's feed_forward_length;
 * expert_feed_forward_length is ignored.
 *
 * hy_v3 is its successor: norm before the rotation, a sigmoid router with a selection bias; a layer
 * is dense unless it has a router. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_FFN,
	ARCH_SET_MOE,     ARCH_SET_SHEXP,     ARCH_SET_ROPE_FACTORS,
};

static void widths(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->n_ff_exp = hp->layer[0].n_ff;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->n_ff_exp;
	hp->n_dense_lead = 0;
	arch_moe_by_step(hp, 1);
}

static const struct lmd_checkpoint_row hunyuan_rows[] = {
	{"layers.%d.mlp.gate.wg", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_mlp.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_mlp.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_mlp.down_proj", "blk.%d.ffn_down_shexp", {0}},
};

static void checkpoint_hunyuan_moe(struct lmd_checkpoint *c)
{
	int64_t n = c->need_int(c, "intermediate_size", 1, 1 << 24);

	c->put_u32(c, "expert_shared_feed_forward_length", n);
	if (!c->has(c, "moe_intermediate_size"))
		c->put_u32(c, "expert_feed_forward_length", n);
	arch_ckpt_require_value(c, "moe_intermediate_size", (double)n);
	arch_ckpt_require_value(c, "num_shared_expert", 1);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "hunyuan_v1_moe",
	 .arch = "hunyuan-moe",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(hunyuan_rows),
		  &arch_ckpt_query_norms},
	 .keys = checkpoint_hunyuan_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = widths,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(hunyuan_moe, traits, sets)

/* Some converters omitted the suffix ".bias". */
static const struct lmd_tensor_row bare_bias[] = {
	{"blk.%d.exp_probs_b", {D_EXPERT}, LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, ARCH_L_MOE, NULL},
};

static const struct lmd_tensor_set sets3[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,    ARCH_SET_QKV, ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,          ARCH_SET_MOE, ARCH_ROWS_OWN(bare_bias),
	ARCH_SET_SHEXP,    ARCH_SET_ROPE_FACTORS,
};

static void layers3(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->n_ff_exp;
	arch_moe_by_tensor(hp);
}

static void bias(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)d;
	if (arch_weight_exists(e, &bare_bias[0]))
		m->probs_b = &bare_bias[0];
}

static const struct arch_decoder_traits traits3 = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.adjust = layers3,
	.moe = bias,
};
ARCH_DECODER_ARCH(hy_v3, traits3, sets3)
