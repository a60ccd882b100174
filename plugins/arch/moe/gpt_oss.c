/* SPDX-License-Identifier: MIT
 *
 * gpt-oss (arXiv 2508.10925): a window in every second layer, attention sinks, biases in all
 * matrices, a softmax over the chosen experts only, a clamped gate. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

#define ALPHA 1.702f /* of the activation */
#define LIMIT 7.0f

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_SINKS, T_ATTN_SINKS),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
}

static void clamped(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)e;
	(void)d;
	m->p[0] = ALPHA;
	m->p[1] = LIMIT;
}

#define EXPS "layers.%d.mlp.experts."

static const struct lmd_checkpoint_row gpt_oss_rows[] = {
	{"layers.%d.self_attn.sinks", "blk.%d.attn_sinks", {.flags = LMD_CKPT_BARE_FROM}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.mlp.router", "blk.%d.ffn_gate_inp", {0}},
	{EXPS "gate_up_proj",
	 "blk.%d.ffn_gate_exps",
	 {.op = LMD_CKPT_TRANSPOSE, .part = LMD_CKPT_EVEN, .flags = LMD_CKPT_BARE_FROM}},
	{EXPS "gate_up_proj",
	 "blk.%d.ffn_up_exps",
	 {.op = LMD_CKPT_TRANSPOSE, .part = LMD_CKPT_ODD, .flags = LMD_CKPT_BARE_FROM}},
	{EXPS "down_proj",
	 "blk.%d.ffn_down_exps",
	 {.op = LMD_CKPT_TRANSPOSE, .flags = LMD_CKPT_BARE_FROM}},
	{EXPS "gate_up_proj_bias",
	 "blk.%d.ffn_gate_exps.bias",
	 {.part = LMD_CKPT_EVEN, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
	{EXPS "gate_up_proj_bias",
	 "blk.%d.ffn_up_exps.bias",
	 {.part = LMD_CKPT_ODD, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
	{EXPS "down_proj_bias",
	 "blk.%d.ffn_down_exps.bias",
	 {.flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
};

static void checkpoint_gpt_oss(struct lmd_checkpoint *c)
{
	c->put_u32(c, "expert_feed_forward_length",
		   c->need_int(c, "intermediate_size", 1, 1 << 24));
	arch_ckpt_require_value(c, "swiglu_limit", 7);
	(void)c->need_int(c, "sliding_window", 1, INT32_MAX);
	arch_ckpt_put_window(c, 2);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gpt_oss",
	 .arch = "gpt-oss",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(gpt_oss_rows)},
	 .keys = checkpoint_gpt_oss},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 2,
	       .route_fn = LMD_ROUTE_SOFTMAX_CHOSEN},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.sinks = true,
	.act = LMD_ACT_FN_OAI,
	.moe_gate = true,
	.adjust = adjust,
	.moe = clamped,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(gpt_oss, traits, sets)
