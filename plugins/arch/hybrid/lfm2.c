/* SPDX-License-Identifier: MIT
 *
 * LFM2, dense and with experts (arXiv 2511.23404): short convolutions between two gates; every few
 * layers have attention with normalised queries and keys instead.  The final norm is named
 * token_embd_norm.
 *
 * Convolution layer: (b, c, x) = W u; the result is out(c * conv(b * x)), with a causal depthwise
 * convolution. */
#include "arch/common/checkpoint.h"
#include "arch/hybrid/hybrid.h"

enum { D_L_CONV = D_OWN, D_BCX };

enum { C_CONV, C_IN, C_OUT };
static const struct lmd_tensor_row conv_rows[] = {
	[C_CONV] = {"blk.%d.shortconv.conv",
		    {D_L_CONV, D_EMBD},
		    LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA | LMD_TENSOR_KEEP_TYPE,
		    LMD_SPLIT_ROWS,
		    ARCH_L_RECURRENT,
		    NULL},
	[C_IN] = {"blk.%d.shortconv.in_proj",
		  {D_EMBD, D_BCX},
		  LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA,
		  LMD_SPLIT_ROWS,
		  ARCH_L_RECURRENT,
		  NULL},
	[C_OUT] = {"blk.%d.shortconv.out_proj",
		   {D_EMBD, D_EMBD},
		   LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA,
		   LMD_SPLIT_COLS,
		   ARCH_L_RECURRENT,
		   NULL},
};

#define SETS                                                                                       \
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), ARCH_ROWS_REQ(T_OUTPUT, T_TOKEN_EMBD_NORM),     \
		ARCH_SET_HYBRID_NORM, ARCH_ROWS_OWN(conv_rows), ARCH_SET_QKV, ARCH_SET_QK_NORM,    \
		ARCH_SET_FFN_NORM, ARCH_SET_FFN, ARCH_SET_ROPE_FREQS,                              \
		ARCH_ROWS_OPT(T_DENSE_2, T_DENSE_3)

static const struct lmd_tensor_set sets[] = {SETS};
static const struct lmd_tensor_set sets_moe[] = {SETS, ARCH_SET_MOE};

static void read_conv(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_hybrid *h = arch_hybrid(hp);

	h->n_conv = arch_key_u32(k, "shortconv.l_cache", ARCH_REQUIRED, 2, 2, 256);
	h->dims[D_L_CONV - D_OWN] = h->n_conv;
	h->dims[D_BCX - D_OWN] = 3 * (int64_t)hp->n_embd;
	arch_hybrid_layers(hp);
}

/* Reads the window, which only the model without experts supports. */
static void adjust_dense(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t w = arch_key_u32(k, "attention.sliding_window", ARCH_OPTIONAL, 0, 0, ARCH_MAX_CTX);

	read_conv(hp, k);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].window = w;
}

static void memory(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct arch_hybrid *h = arch_hybrid(hp);
	struct lmd_cache c = {.kind = LMD_CACHE_CONV,
			      .n_head = 1,
			      .dk = h->n_conv - 1,
			      .dv = hp->n_embd,
			      .dtype_policy = LMD_KV_DTYPE_F32};

	h->conv = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*h->conv));
	if (!h->conv)
		return;
	c.group = arch_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (hp->layer[il].cls & ARCH_L_RECURRENT)
			h->conv[il] = arch_hp_add_cache(hp, k, &c);
	}
}

static uint32_t mixer(struct arch_emit *e, const struct arch_decoder *d,
		      const struct arch_block_io *io)
{
	const struct arch_hybrid *h = d->hp.arch_data;
	const uint32_t n = d->hp.n_embd;
	struct arch_weight in = arch_weight_req(e, &conv_rows[C_IN]),
			   out = arch_weight_req(e, &conv_rows[C_OUT]);
	uint32_t bcx = arch_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "conv_bcx");
	uint32_t bx = arch_value_act(e, n, "conv_in"), y = arch_value_act(e, n, "conv");
	uint32_t cy = arch_value_act(e, n, "conv_gated");
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);

	arch_put_mul(e, arch_operand_cols(bcx, 0, n), arch_operand_cols(bcx, 2 * n, n),
		     arch_operand_all(e, bx));
	op.u.conv.x = arch_operand_all(e, bx);
	op.u.conv.y = arch_operand_all(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = arch_weight_req(e, &conv_rows[C_CONV]).id;
	op.u.conv.kernel = h->n_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = h->n_conv - 1;
	op.u.conv.cache = h->conv[e->il];
	arch_emit_op(e, &op);
	arch_put_mul(e, arch_operand_cols(bcx, n, n), arch_operand_all(e, y),
		     arch_operand_all(e, cy));
	return arch_block_out(e, arch_operand_all(e, cy), NULL, &out, io);
}

#define TRAITS                                                                                     \
	.final_norm = &arch_rows[T_TOKEN_EMBD_NORM], .qk_norm = ARCH_QKN_HEAD, .memory = memory,   \
	.mixer = mixer

/* Checkpoints. LFM2: short convolutions. */
static const struct lmd_checkpoint_row lfm2_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"embedding_norm", "token_embd_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.operator_norm", "blk.%d.attn_norm", {0}},
	{"layers.%d.ffn_norm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.conv.conv",
	 "blk.%d.shortconv.conv",
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.conv.in_proj",
	 "blk.%d.shortconv.in_proj",
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.conv.out_proj",
	 "blk.%d.shortconv.out_proj",
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.out_proj", "blk.%d.attn_output", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.q_layernorm", "blk.%d.attn_q_norm", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_layernorm", "blk.%d.attn_k_norm", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.feed_forward.w1", "blk.%d.ffn_gate", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.w3", "blk.%d.ffn_up", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.w2", "blk.%d.ffn_down", {.layers = LMD_CKPT_IN_DENSE}},
};

static const struct lmd_checkpoint_row lfm2_experts[] = {
	{"layers.%d.feed_forward.gate", "blk.%d.ffn_gate_inp", {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.expert_bias",
	 "blk.%d.exp_probs_b.bias",
	 {.layers = LMD_CKPT_IN_MOE,
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO | LMD_CKPT_OPTIONAL}},
	{"layers.%d.feed_forward.experts.%d.w1",
	 "blk.%d.ffn_gate_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.w3",
	 "blk.%d.ffn_up_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.w2",
	 "blk.%d.ffn_down_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
};

/* Two thirds of the stated width, times a factor, rounded up. */
static int64_t lfm2_width(struct lmd_checkpoint *c, int64_t n)
{
	int64_t multiple = c->get_int(c, "block_multiple_of", 256, 1, 1 << 20);
	double factor = c->get_float(c, "block_ffn_dim_multiplier", 1);

	if (!c->get_bool(c, "block_auto_adjust_ff_dim", true))
		return n;
	if (!(factor > 0 && factor < 64))
		c->fail(c, LMD_INVALID,
			"\"block_ffn_dim_multiplier\" is %g, must be above 0 "
			"and below 64",
			factor);
	n = !c->failed(c) ? (int64_t)(factor * (double)(2 * n / 3)) : n;
	return (n + multiple - 1) / multiple * multiple;
}

static void checkpoint_lfm2(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings|tie_embedding", true);
	c->put_u32(c, "shortconv.l_cache", c->need_int(c, "conv_L_cache", 2, 256));
	arch_ckpt_require_bool(c, "conv_bias", false);
}

static void lfm2_moe_layers(struct lmd_checkpoint *c)
{
	int64_t dense = c->get_int(c, "num_dense_layers", 0, 0, c->n_layer);

	arch_ckpt_mixer_layers(c);
	for (uint32_t i = (uint32_t)dense; c->layers && i < c->n_layer; i++)
		c->layers[i] |= LMD_CKPT_LAYER_MOE;
	c->put_u32(c, "leading_dense_block_count", dense);
}

static void lfm2_moe(struct lmd_checkpoint *c)
{
	checkpoint_lfm2(c);
	c->put_u32(c, "expert_gating_func", 2); /* sigmoid */
	arch_ckpt_require_bool(c, "norm_topk_prob", true);
	arch_ckpt_require_value(c, "routed_scaling_factor", 1);
}

static const struct lmd_checkpoint_map lfm2_checkpoints[] = {
	{.type = "lfm2",
	 .arch = "lfm2",
	 .flags = LMD_CKPT_KV_PER_LAYER,
	 .rows = {ARCH_CKPT_ROWS(lfm2_rows)},
	 .layers = arch_ckpt_mixer_layers,
	 .n_ff = lfm2_width,
	 .keys = checkpoint_lfm2},
};

static const struct lmd_checkpoint_map lfm2moe_checkpoints[] = {
	{.type = "lfm2_moe",
	 .arch = "lfm2moe",
	 .flags = LMD_CKPT_KV_PER_LAYER,
	 .rows = {ARCH_CKPT_ROWS(lfm2_rows), ARCH_CKPT_ROWS(lfm2_experts)},
	 .layers = lfm2_moe_layers,
	 .keys = lfm2_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .n_head_zero = true},
	.adjust = adjust_dense,
	TRAITS,
	.checkpoints = ARCH_CKPT_MAPS(lfm2_checkpoints),
};

static const struct arch_decoder_traits traits_moe = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .n_head_zero = true,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_renorm = true,
	       .route_by_key = true},
	.adjust = read_conv,
	TRAITS,
	.checkpoints = ARCH_CKPT_MAPS(lfm2moe_checkpoints),
};

ARCH_HYBRID_ARCH(lfm2, traits, sets)
ARCH_HYBRID_ARCH(lfm2moe, traits_moe, sets_moe)
