/* SPDX-License-Identifier: MIT
 *
 * Families whose checkpoints store stacks of experts as [in, out]: gpt-oss, with interleaved
 * columns of gate and up projection, and Llama 4, where these are halves. */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn)

#define EXPS "layers.%d.mlp.experts."

static const struct lmi_checkpoint_row gpt_oss_rows[] = {
	{"layers.%d.self_attn.sinks", "blk.%d.attn_sinks", {.flags = LMI_CKPT_BARE_FROM}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.mlp.router", "blk.%d.ffn_gate_inp", {0}},
	{EXPS "gate_up_proj", "blk.%d.ffn_gate_exps",
	 {.op = LMI_CKPT_TRANSPOSE, .part = LMI_CKPT_EVEN, .flags = LMI_CKPT_BARE_FROM}},
	{EXPS "gate_up_proj", "blk.%d.ffn_up_exps",
	 {.op = LMI_CKPT_TRANSPOSE, .part = LMI_CKPT_ODD, .flags = LMI_CKPT_BARE_FROM}},
	{EXPS "down_proj", "blk.%d.ffn_down_exps",
	 {.op = LMI_CKPT_TRANSPOSE, .flags = LMI_CKPT_BARE_FROM}},
	{EXPS "gate_up_proj_bias", "blk.%d.ffn_gate_exps.bias",
	 {.part = LMI_CKPT_EVEN, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},
	{EXPS "gate_up_proj_bias", "blk.%d.ffn_up_exps.bias",
	 {.part = LMI_CKPT_ODD, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},
	{EXPS "down_proj_bias", "blk.%d.ffn_down_exps.bias",
	 {.flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},
};

static void gpt_oss(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_u32(
		f, "expert_feed_forward_length",
		lmi_checkpoint_config_require_int(f, "intermediate_size", 1, 1 << 24));
	lmi_checkpoint_config_require_value(f, "swiglu_limit", 7);
	(void)lmi_checkpoint_config_require_int(f, "sliding_window", 1, INT32_MAX);
	lmi_checkpoint_fam_put_window(f, 2);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gpt_oss = {
	.type = "gpt_oss",
	.arch = "gpt-oss",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(gpt_oss_rows)},
	.keys = gpt_oss};

/* ---- Llama 4 ---- */

#define CHUNK       8192 /* positions that layers with RoPE attend to */
#define BIG_EXPERTS 128  /* number of experts of the model without norms of queries and keys */

static const struct lmi_checkpoint_row llama4_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.feed_forward.gate_proj", "blk.%d.ffn_gate", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.up_proj", "blk.%d.ffn_up", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.down_proj", "blk.%d.ffn_down", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.router", "blk.%d.ffn_gate_inp", {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.experts.gate_up_proj", "blk.%d.ffn_gate_exps",
	 {.layers = LMI_CKPT_IN_MOE, .op = LMI_CKPT_TRANSPOSE, .part = LMI_CKPT_FIRST_HALF,
	  .flags = LMI_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.experts.gate_up_proj", "blk.%d.ffn_up_exps",
	 {.layers = LMI_CKPT_IN_MOE, .op = LMI_CKPT_TRANSPOSE, .part = LMI_CKPT_SECOND_HALF,
	  .flags = LMI_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.experts.down_proj", "blk.%d.ffn_down_exps",
	 {.layers = LMI_CKPT_IN_MOE, .op = LMI_CKPT_TRANSPOSE, .flags = LMI_CKPT_BARE_FROM}},
	{"layers.%d.feed_forward.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp",
	 {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.shared_expert.up_proj", "blk.%d.ffn_up_shexp",
	 {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.shared_expert.down_proj", "blk.%d.ffn_down_shexp",
	 {.layers = LMI_CKPT_IN_MOE}},
};

/* Every step-th layer has experts. */
static void llama4_layers(struct lmi_checkpoint *f)
{
	int64_t step = lmi_checkpoint_config_int(f, "interleave_moe_layer_step", 1, 1,
						 LMI_MODEL_MAX_LAYERS);

	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = (i + 1) % (uint32_t)step == 0 ? LMI_CHECKPOINT_LAYER_MOE : 0;
	lmi_checkpoint_put_u32(f, "interleave_moe_layer_step", step);
}

/* Checks that exactly every fourth layer has no RoPE. */
static void check_rope_layers(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *a = lmi_checkpoint_config_find(f, "no_rope_layers"),
				   *v = lmi_json_node_first(a);

	for (uint32_t i = 0; lmi_json_node_is(a, LMI_JSON_ARRAY) && i < a->n;
	     i++, v = lmi_json_node_next(v)) {
		int64_t has_rope = 0;

		if (lmi_json_node_int(v, 0, 1, &has_rope) && has_rope == ((i + 1) % 4 != 0))
			continue;
		lmi_checkpoint_fail(f, LMD_UNSUPPORTED,
				    "%s/config.json: \"no_rope_layers\": element %u does not fit "
				    "architecture llama4, where every fourth layer has no RoPE",
				    f->dir, i);
		return;
	}
}

static void llama4(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_u32(
		f, "expert_feed_forward_length",
		lmi_checkpoint_config_require_int(f, "intermediate_size", 1, 1 << 24));
	lmi_checkpoint_config_require_value(f, "attention_chunk_size", CHUNK);
	lmi_checkpoint_config_require_bool(f, "attn_temperature_tuning", true);
	lmi_checkpoint_config_require_value(f, "floor_scale", CHUNK);
	lmi_checkpoint_config_require_value(f, "attn_scale", 0.1);
	lmi_checkpoint_config_require_bool(f, "use_qk_norm", f->n_expert != BIG_EXPERTS);
	check_rope_layers(f);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_llama4_text = {
	.type = "llama4_text",
	.arch = "llama4",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(llama4_rows)},
	.layers = llama4_layers,
	.keys = llama4};

/* The text model of a vision model. */
const struct lmi_checkpoint_family lmi_checkpoint_family_llama4 = {
	.type = "llama4",
	.arch = "llama4",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(llama4_rows)},
	.layers = llama4_layers,
	.keys = llama4};
