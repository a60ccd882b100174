/* SPDX-License-Identifier: MIT
 *
 * Llama 4 (model cards meta-llama/Llama-4-Scout-17B-16E, -Maverick-17B-128E).  In three of four
 * layers attention is limited to chunks of 8192 positions, with rotation and, in the small model,
 * normalised queries and keys.  The fourth layer has full attention, no rotation, and an attention
 * temperature that grows with the position.  The router's sigmoid multiplies the input of the
 * experts.  Files with a window of 0 have rotation in all layers and no chunks. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

#define CHUNK      8192u
#define PERIOD     4u
#define TEMP_SCALE 0.1f

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FREQS,
};

/* The keys for windows say which layers have chunks. */
static const struct arch_hp_opts chunks = {
	.window = true, .window_default = CHUNK, .window_period = PERIOD};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t step =
		arch_key_u32(k, "interleave_moe_layer_step", ARCH_REQUIRED, 1, 0, ARCH_MAX_LAYER);

	hp->n_ff_shexp = hp->n_ff_exp;
	hp->n_dense_lead = 0;
	arch_moe_by_step(hp, step);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
	arch_hp_windows(hp, k, &chunks);
	if (arch_key_u32(k, "attention.sliding_window", ARCH_OPTIONAL, CHUNK, 0, ARCH_MAX_CTX) == 0)
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->chunk = l->window ? CHUNK : 0;
		l->window = 0;
		if ((il + 1) % PERIOD == 0)
			l->rope = LMD_NONE;
	}
	hp->attn_temp_scale = TEMP_SCALE;
	hp->attn_temp_offset = 1.0f;
	hp->attn_temp_len = CHUNK;
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	if (arch_current_layer(e)->rope == LMD_NONE)
		return;
	a->q_row_in = LMD_NONE;
	if (d->hp.n_expert != 128) /* the large model */
		a->qk_norm = ARCH_QKN_BARE;
}

static void moe(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)e;
	(void)d;
	m->weight_before = true;
}

/* Checkpoints. Llama 4. */
#define CKPT_CHUNK 8192 /* positions that layers with RoPE attend to */

#define BIG_EXPERTS 128 /* number of experts of the model without norms of queries and keys */

static const struct lmd_checkpoint_row llama4_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.feed_forward.gate_proj", "blk.%d.ffn_gate", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.up_proj", "blk.%d.ffn_up", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.down_proj", "blk.%d.ffn_down", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.router", "blk.%d.ffn_gate_inp", {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.experts.gate_up_proj",
	 "blk.%d.ffn_gate_exps",
	 {.layers = LMD_CKPT_IN_MOE,
	  .op = LMD_CKPT_TRANSPOSE,
	  .part = LMD_CKPT_FIRST_HALF,
	  .flags = LMD_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.experts.gate_up_proj",
	 "blk.%d.ffn_up_exps",
	 {.layers = LMD_CKPT_IN_MOE,
	  .op = LMD_CKPT_TRANSPOSE,
	  .part = LMD_CKPT_SECOND_HALF,
	  .flags = LMD_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.experts.down_proj",
	 "blk.%d.ffn_down_exps",
	 {.layers = LMD_CKPT_IN_MOE, .op = LMD_CKPT_TRANSPOSE, .flags = LMD_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.shared_expert.gate_proj",
	 "blk.%d.ffn_gate_shexp",
	 {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.shared_expert.up_proj",
	 "blk.%d.ffn_up_shexp",
	 {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.shared_expert.down_proj",
	 "blk.%d.ffn_down_shexp",
	 {.layers = LMD_CKPT_IN_MOE}},
};

/* Every step-th layer has experts. */
static void llama4_layers(struct lmd_checkpoint *c)
{
	int64_t step = c->get_int(c, "interleave_moe_layer_step", 1, 1, LMD_CKPT_MAX_LAYERS);

	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] = (i + 1) % (uint32_t)step == 0 ? LMD_CKPT_LAYER_MOE : 0;
	c->put_u32(c, "interleave_moe_layer_step", step);
}

static void checkpoint_llama4(struct lmd_checkpoint *c)
{
	c->put_u32(c, "expert_feed_forward_length",
		   c->need_int(c, "intermediate_size", 1, 1 << 24));
	arch_ckpt_require_value(c, "attention_chunk_size", CKPT_CHUNK);
	arch_ckpt_require_bool(c, "attn_temperature_tuning", true);
	arch_ckpt_require_value(c, "floor_scale", CKPT_CHUNK);
	arch_ckpt_require_value(c, "attn_scale", 0.1);
	arch_ckpt_require_bool(c, "use_qk_norm", c->n_expert != BIG_EXPERTS);
	arch_ckpt_check_nope(c, 4);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "llama4_text",
	 .arch = "llama4",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(llama4_rows)},
	 .layers = llama4_layers,
	 .keys = checkpoint_llama4},
	/* The text model of a vision model. */
	{.type = "llama4",
	 .arch = "llama4",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(llama4_rows)},
	 .layers = llama4_layers,
	 .keys = checkpoint_llama4},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_fn = LMD_ROUTE_SIGMOID},
	.qk_norm_after = true,
	.adjust = adjust,
	.attn = attn,
	.moe = moe,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(llama4, traits, sets)
