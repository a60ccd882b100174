/* SPDX-License-Identifier: MIT
 *
 * Qwen3-Next (model card Qwen/Qwen3-Next-80B-A3B-Instruct) and Qwen3.5, dense and with experts
 * (model card Qwen/Qwen3.5-397B-A17B): gated delta layers (arXiv 2412.06464); every fourth layer
 * has attention with normalised queries and keys and a sigmoid gate that is part of the q matrix;
 * routed experts and a shared expert with its own gate.  Qwen3.5 has interleaved M-RoPE and maps
 * value heads to key heads cyclically, not in blocks. */
#include "arch/common/checkpoint.h"
#include "arch/hybrid/hybrid.h"

/* query with gate, key and value, for files with fused matrices */
static const struct lmd_tensor_row qkv_rows[] = {
	{"blk.%d.attn_qkv",
	 {D_EMBD, D_QKV2},
	 LMD_TENSOR_BIAS | LMD_TENSOR_SCALE | LMD_TENSOR_LORA,
	 LMD_SPLIT_HEADS,
	 ARCH_L_ATTN,
	 NULL},
};

static const struct arch_attn_rows attn_rows = {.q = &arch_rows[T_ATTN_Q_GATED],
						.k = &arch_rows[T_ATTN_K],
						.v = &arch_rows[T_ATTN_V],
						.qkv = &qkv_rows[0],
						.out = &arch_rows[T_ATTN_OUT]};

#define SETS                                                                                       \
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_ROWS_OPT(T_ATTN_Q_GATED, T_ATTN_Q_GATED),      \
		ARCH_ROWS_OWN(qkv_rows), ARCH_ROWS_REQ(T_ATTN_K, T_ATTN_V),                        \
		ARCH_ROWS_REQ(T_ATTN_OUT, T_ATTN_OUT), ARCH_SET_QK_NORM,                           \
		ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM)
#define SETS_MOE                                                                                   \
	ARCH_SET_MOE, ARCH_ROWS_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_GATE_INP_SHEXP), ARCH_SET_SHEXP

static const struct lmd_tensor_set sets_next[] = {SETS, ARCH_SET_DELTA_JOINT, SETS_MOE};
static const struct lmd_tensor_set sets[] = {SETS, ARCH_SET_DELTA, ARCH_SET_FFN};
static const struct lmd_tensor_set sets_moe[] = {SETS, ARCH_SET_DELTA, SETS_MOE};

static void kinds(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_delta_read(&arch_hybrid(hp)->delta, hp, k);
	arch_hybrid_kinds(hp, k, 4);
}

static void kinds_moe(struct arch_hparams *hp, struct arch_keys *k)
{
	if (!hp->n_expert) {
		arch_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected at least 1",
			      hp->model->arch);
		return;
	}
	if (!arch_key_has(k, "expert_feed_forward_length"))
		hp->n_ff_exp = hp->layer[0].n_ff / hp->n_expert_used;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->layer[0].n_ff;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= ARCH_L_SHEXP;
	kinds(hp, k);
}

static void kinds_next(struct arch_hparams *hp, struct arch_keys *k)
{
	kinds_moe(hp, k);
	arch_hybrid(hp)->delta.key_map = LMD_MAP_BLOCK;
}

static void memory(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_delta_memory(&arch_hybrid(hp)->delta, hp, k);
}

static uint32_t mixer(struct arch_emit *e, const struct arch_decoder *d,
		      const struct arch_block_io *io)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	return arch_delta(e, io, &h->delta);
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->rows = &attn_rows;
}

#define TRAITS(adjust_)                                                                            \
	.t_ffn_norm = T_POST_ATTN_NORM, .qk_norm = ARCH_QKN_HEAD, .gate = ARCH_GATE_IN_Q,          \
	.moe_gate = true, .adjust = adjust_, .memory = memory, .attn = attn, .mixer = mixer

/* Checkpoints. Qwen3-Next: gated delta, gated attention, norms stored minus 1. */
#define DELTA "layers.%d.linear_attn."

static const struct lmd_checkpoint_row next_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm",
	 "blk.%d.post_attention_norm",
	 {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.q_norm",
	 "blk.%d.attn_q_norm",
	 {.layers = LMD_CKPT_IN_ATTN, .values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.k_norm",
	 "blk.%d.attn_k_norm",
	 {.layers = LMD_CKPT_IN_ATTN, .values = LMD_CKPT_PLUS_ONE}},
	{DELTA "in_proj_qkvz",
	 "blk.%d.attn_qkv",
	 {.layers = LMD_CKPT_IN_MIXER, .op = LMD_CKPT_DELTA}},
	{DELTA "in_proj_qkvz",
	 "blk.%d.attn_gate",
	 {.layers = LMD_CKPT_IN_MIXER, .op = LMD_CKPT_DELTA_GATE}},
	{DELTA "in_proj_ba", "blk.%d.ssm_ba", {.layers = LMD_CKPT_IN_MIXER}},
	{DELTA "conv1d", "blk.%d.ssm_conv1d", {.layers = LMD_CKPT_IN_MIXER}},
	{DELTA "dt_bias",
	 "blk.%d.ssm_dt.bias",
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
	{DELTA "A_log",
	 "blk.%d.ssm_a",
	 {.layers = LMD_CKPT_IN_MIXER,
	  .values = LMD_CKPT_NEG_EXP,
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
	{DELTA "norm", "blk.%d.ssm_norm", {.layers = LMD_CKPT_IN_MIXER}},
	{DELTA "out_proj", "blk.%d.ssm_out", {.layers = LMD_CKPT_IN_MIXER}},
};

static const struct lmd_checkpoint_row next_experts[] = {
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_expert_gate", "blk.%d.ffn_gate_inp_shexp", {0}},
	{"layers.%d.mlp.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_expert.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_expert.down_proj", "blk.%d.ffn_down_shexp", {0}},
};

static void next_layers(struct lmd_checkpoint *c)
{
	int64_t n = c->get_int(c, "full_attention_interval", 4, 1, LMD_CKPT_MAX_LAYERS);

	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] = (i + 1) % n ? LMD_CKPT_LAYER_MIXER : 0;
	c->put_u32(c, "full_attention_interval", n);
}

static void qwen3_next(struct lmd_checkpoint *c)
{
	int64_t keys = c->need_int(c, "linear_num_key_heads", 1, 1 << 14);
	int64_t values = c->need_int(c, "linear_num_value_heads", 1, 1 << 14);
	int64_t dk = c->need_int(c, "linear_key_head_dim", 1, 4096);
	int64_t dv = c->need_int(c, "linear_value_head_dim", 1, 4096);

	if (values % keys)
		c->fail(c, LMD_INVALID,
			"\"linear_num_value_heads\" is %lld, must be a multiple of "
			"%lld key heads",
			(long long)values, (long long)keys);
	c->n_delta = (uint32_t)keys;
	c->delta_key = (uint32_t)dk;
	c->delta_value = (uint32_t)(values / keys * dv);
	arch_ckpt_put_ssm(c, "linear_conv_kernel_dim", values * dv, "linear_key_head_dim", values);
	c->put_u32(c, "ssm.group_count", keys);
	arch_ckpt_require_value(c, "decoder_sparse_step", 1);
	arch_ckpt_require_bool(c, "norm_topk_prob", true);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "qwen3_next",
	 .arch = "qwen3next",
	 .rows = {ARCH_CKPT_ROWS(next_rows), ARCH_CKPT_ROWS(next_experts)},
	 .layers = next_layers,
	 .keys = qwen3_next},
};

static const struct arch_decoder_traits traits_next = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	TRAITS(kinds_next),
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

#define HP_35                                                                                      \
	{                                                                                          \
		.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES,                        \
		.sections_kind = LMD_SECTIONS_INTERLEAVED, .sections_required = true,              \
		.route_renorm = true                                                               \
	}
static const struct arch_decoder_traits traits = {.hp = HP_35, TRAITS(kinds)};
static const struct arch_decoder_traits traits_moe = {.hp = HP_35, TRAITS(kinds_moe)};

ARCH_HYBRID_ARCH(qwen3next, traits_next, sets_next)
ARCH_HYBRID_ARCH(qwen35, traits, sets)
ARCH_HYBRID_ARCH(qwen35moe, traits_moe, sets_moe)
