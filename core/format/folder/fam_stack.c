/* SPDX-License-Identifier: MIT
 *
 * Families whose checkpoints store stacks of experts as [in, out]: gpt-oss, with interleaved
 * columns of gate and up projection, and Llama 4, where these are halves. */
#include "core/format/folder/families.h"

#define HEAD LMI_ROWS(lmi_rows_head)
#define ATTN LMI_ROWS(lmi_rows_attn)

#define EXPS "layers.%d.mlp.experts."

static const struct lmi_row gpt_oss_rows[] = {
	{"layers.%d.self_attn.sinks", "blk.%d.attn_sinks", LMI_ROW_BARE},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", 0},
	{"layers.%d.mlp.router", "blk.%d.ffn_gate_inp", 0},
	{EXPS "gate_up_proj", "blk.%d.ffn_gate_exps", LMI_ROW_BARE | LMI_ROW_TURN | LMI_ROW_EVEN0},
	{EXPS "gate_up_proj", "blk.%d.ffn_up_exps", LMI_ROW_BARE | LMI_ROW_TURN | LMI_ROW_EVEN1},
	{EXPS "down_proj", "blk.%d.ffn_down_exps", LMI_ROW_BARE | LMI_ROW_TURN},
	{EXPS "gate_up_proj_bias", "blk.%d.ffn_gate_exps.bias",
	 LMI_ROW_BARE | LMI_ROW_WHOLE | LMI_ROW_EVEN0},
	{EXPS "gate_up_proj_bias", "blk.%d.ffn_up_exps.bias",
	 LMI_ROW_BARE | LMI_ROW_WHOLE | LMI_ROW_EVEN1},
	{EXPS "down_proj_bias", "blk.%d.ffn_down_exps.bias", LMI_ROW_BARE | LMI_ROW_WHOLE},
};

static void gpt_oss(struct lmi_folder *f)
{
	lmi_folder_put_u32(f, "expert_feed_forward_length",
			   lmi_conf_need(f, "intermediate_size", 1, 1 << 24));
	lmi_conf_only(f, "swiglu_limit", 7);
	(void)lmi_conf_need(f, "sliding_window", 1, INT32_MAX);
	lmi_conf_window(f, 2);
}

const struct lmi_family lmi_family_gpt_oss = {.type = "gpt_oss",
					      .arch = "gpt-oss",
					      .rows = {HEAD, ATTN, LMI_ROWS(gpt_oss_rows)},
					      .keys = gpt_oss};

/* ---- Llama 4 ---- */

#define CHUNK       8192 /* positions that layers with RoPE attend to */
#define BIG_EXPERTS 128  /* number of experts of the model without norms of queries and keys */

static const struct lmi_row llama4_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", 0},
	{"layers.%d.feed_forward.gate_proj", "blk.%d.ffn_gate", LMI_ROW_DENSE},
	{"layers.%d.feed_forward.up_proj", "blk.%d.ffn_up", LMI_ROW_DENSE},
	{"layers.%d.feed_forward.down_proj", "blk.%d.ffn_down", LMI_ROW_DENSE},
	{"layers.%d.feed_forward.router", "blk.%d.ffn_gate_inp", LMI_ROW_MOE},
	{"layers.%d.feed_forward.experts.gate_up_proj", "blk.%d.ffn_gate_exps",
	 LMI_ROW_MOE | LMI_ROW_BARE | LMI_ROW_TURN | LMI_ROW_HALF0},
	{"layers.%d.feed_forward.experts.gate_up_proj", "blk.%d.ffn_up_exps",
	 LMI_ROW_MOE | LMI_ROW_BARE | LMI_ROW_TURN | LMI_ROW_HALF1},
	{"layers.%d.feed_forward.experts.down_proj", "blk.%d.ffn_down_exps",
	 LMI_ROW_MOE | LMI_ROW_BARE | LMI_ROW_TURN},
	{"layers.%d.feed_forward.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp", LMI_ROW_MOE},
	{"layers.%d.feed_forward.shared_expert.up_proj", "blk.%d.ffn_up_shexp", LMI_ROW_MOE},
	{"layers.%d.feed_forward.shared_expert.down_proj", "blk.%d.ffn_down_shexp", LMI_ROW_MOE},
};

/* Every step-th layer has experts. */
static void llama4_layers(struct lmi_folder *f)
{
	int64_t step = lmi_conf_int(f, "interleave_moe_layer_step", 1, 1, LMI_MAX_LAYERS);

	f->layers = lmi_folder_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = (i + 1) % (uint32_t)step == 0 ? LMI_LAYER_MOE : 0;
	lmi_folder_put_u32(f, "interleave_moe_layer_step", step);
}

/* Checks that exactly every fourth layer has no RoPE. */
static void check_rope_layers(struct lmi_folder *f)
{
	const struct lmi_jnode *a = lmi_conf(f, "no_rope_layers"), *v = lmi_jnode_first(a);

	for (uint32_t i = 0; lmi_jnode_is(a, LMI_JARRAY) && i < a->n; i++, v = lmi_jnode_next(v)) {
		int64_t has_rope = 0;

		if (lmi_jnode_int(v, 0, 1, &has_rope) && has_rope == ((i + 1) % 4 != 0))
			continue;
		lmi_folder_fail(f, LMD_UNSUPPORTED,
				"%s/config.json: \"no_rope_layers\": element %u does not fit "
				"architecture llama4, where every fourth layer has no RoPE",
				f->dir, i);
		return;
	}
}

static void llama4(struct lmi_folder *f)
{
	lmi_folder_put_u32(f, "expert_feed_forward_length",
			   lmi_conf_need(f, "intermediate_size", 1, 1 << 24));
	lmi_conf_only(f, "attention_chunk_size", CHUNK);
	lmi_conf_only_bool(f, "attn_temperature_tuning", true);
	lmi_conf_only(f, "floor_scale", CHUNK);
	lmi_conf_only(f, "attn_scale", 0.1);
	lmi_conf_only_bool(f, "use_qk_norm", f->n_expert != BIG_EXPERTS);
	check_rope_layers(f);
}

const struct lmi_family lmi_family_llama4_text = {.type = "llama4_text",
						  .arch = "llama4",
						  .rows = {HEAD, ATTN, LMI_ROWS(llama4_rows)},
						  .layers = llama4_layers,
						  .keys = llama4};

/* The text model of a vision model. */
const struct lmi_family lmi_family_llama4 = {.type = "llama4",
					     .arch = "llama4",
					     .rows = {HEAD, ATTN, LMI_ROWS(llama4_rows)},
					     .layers = llama4_layers,
					     .keys = llama4};
