/* SPDX-License-Identifier: MIT
 *
 * LLaMA and related families.  Their checkpoints apply RoPE to the two halves of a head; GGUF files
 * of these architectures have the rows of queries and keys reordered to adjacent pairs. */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn_adj)
#define GLU  LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_glu)

static const struct lmi_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
};
#define NORMS LMI_CHECKPOINT_ROWS(norms)

const struct lmi_checkpoint_family lmi_checkpoint_family_llama = {
	.type = "llama", .arch = "llama", .rows = {HEAD, ATTN, GLU, NORMS}};

/* All layers have the window; if the key is absent, that of the first Mistral model. */
static void mistral(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_put_folder_window(f, lmi_checkpoint_fam_window_size(f, 4096), NULL);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_mistral = {
	.type = "mistral", .arch = "llama", .rows = {HEAD, ATTN, GLU, NORMS}, .keys = mistral};

const struct lmi_checkpoint_family lmi_checkpoint_family_arcee = {
	.type = "arcee",
	.arch = "arcee",
	.rows = {HEAD,
		 ATTN,
		 {lmi_checkpoint_rows_glu + 1, LMI_CHECKPOINT_ROW_COUNT_GLU - 1},
		 NORMS}};

const struct lmi_checkpoint_family lmi_checkpoint_family_ernie4_5 = {
	.type = "ernie4_5",
	.arch = "ernie4_5",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn), GLU, NORMS}};

/* ---- Mixtral: w1 gate, w2 down, w3 up ---- */

static const struct lmi_checkpoint_row mixtral_rows[] = {
	{"layers.%d.block_sparse_moe.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.block_sparse_moe.experts.%d.w1", "blk.%d.ffn_gate_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w3", "blk.%d.ffn_up_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w2", "blk.%d.ffn_down_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
};

static void mixtral(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_put_folder_window(f, lmi_checkpoint_fam_window_size(f, 0), NULL);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_mixtral = {
	.type = "mixtral",
	.arch = "llama",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(mixtral_rows), NORMS},
	.keys = mixtral};

/* ---- Granite: four multipliers ---- */

void lmi_checkpoint_fam_granite_multipliers(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_f32(f, "attention.scale",
			       lmi_checkpoint_config_float(f, "attention_multiplier", 1));
	lmi_checkpoint_put_f32(f, "embedding_scale",
			       lmi_checkpoint_config_float(f, "embedding_multiplier", 1));
	lmi_checkpoint_put_f32(f, "residual_scale",
			       lmi_checkpoint_config_float(f, "residual_multiplier", 1));
	lmi_checkpoint_put_f32(f, "logit_scale",
			       lmi_checkpoint_config_float(f, "logits_scaling", 1));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_granite = {
	.type = "granite",
	.arch = "granite",
	.rows = {HEAD, ATTN, GLU, NORMS},
	.keys = lmi_checkpoint_fam_granite_multipliers};

static const struct lmi_checkpoint_row granitemoe_rows[] = {
	{"layers.%d.block_sparse_moe.router.layer", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.block_sparse_moe.input_linear", "blk.%d.ffn_gate_exps",
	 {.part = LMI_CKPT_FIRST_HALF}},
	{"layers.%d.block_sparse_moe.input_linear", "blk.%d.ffn_up_exps",
	 {.part = LMI_CKPT_SECOND_HALF}},
	{"layers.%d.block_sparse_moe.output_linear", "blk.%d.ffn_down_exps", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_granitemoe = {
	.type = "granitemoe",
	.arch = "granitemoe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(granitemoe_rows), NORMS},
	.keys = lmi_checkpoint_fam_granite_multipliers};

static const struct lmi_checkpoint_row granite_shared[] = {
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_gate_shexp",
	 {.part = LMI_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_up_shexp",
	 {.part = LMI_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear", "blk.%d.ffn_down_shexp", {0}},
};

static void granite_moe_shared(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_granite_multipliers(f);
	lmi_checkpoint_put_u32(
		f, "expert_shared_feed_forward_length",
		lmi_checkpoint_config_require_int(f, "shared_intermediate_size", 1, 1 << 24));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_granitemoeshared = {
	.type = "granitemoeshared",
	.arch = "granitemoe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(granitemoe_rows),
		 LMI_CHECKPOINT_ROWS(granite_shared), NORMS},
	.keys = granite_moe_shared};

/* ---- SmolLM3: every fourth layer without RoPE ---- */

static void smollm3(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *a = lmi_checkpoint_config_find(f, "no_rope_layers"),
				   *v = lmi_json_node_first(a);

	if (!a || (a->type == LMI_JSON_ARRAY && !a->n))
		return;
	for (uint32_t i = 0; i < f->n_layer; i++, v = lmi_json_node_next(v)) {
		int64_t has_rope = 0;

		if (a->type != LMI_JSON_ARRAY || a->n != f->n_layer ||
		    !lmi_json_node_int(v, 0, 1, &has_rope) || has_rope != ((i + 1) % 4 != 0)) {
			lmi_checkpoint_fail(
				f, LMD_UNSUPPORTED,
				"%s/config.json: \"no_rope_layers\": element %u does not fit "
				"architecture smollm3, where every fourth layer has no RoPE",
				f->dir, i);
			return;
		}
	}
}

const struct lmi_checkpoint_family lmi_checkpoint_family_smollm3 = {
	.type = "smollm3", .arch = "smollm3", .rows = {HEAD, ATTN, GLU, NORMS}, .keys = smollm3};

/* ---- OLMo: LayerNorm without weights; OLMo 2 and 3: norms after the blocks ---- */

static const struct lmi_checkpoint_row olmo_head[] = {
	{"embed_tokens", "token_embd", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
};

static void olmo(struct lmi_checkpoint *f)
{
	if (lmi_checkpoint_config_has(f, "clip_qkv"))
		lmi_checkpoint_put_f32(f, "attention.clamp_kqv",
				       lmi_checkpoint_config_float(f, "clip_qkv", 0));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_olmo = {
	.type = "olmo",
	.arch = "olmo",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {LMI_CHECKPOINT_ROWS(olmo_head), ATTN, GLU},
	.keys = olmo};

static const struct lmi_checkpoint_row olmo2_rows[] = {
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.post_feedforward_layernorm", "blk.%d.post_ffw_norm", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_olmo2 = {
	.type = "olmo2",
	.arch = "olmo2",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn), GLU,
		 LMI_CHECKPOINT_ROWS(olmo2_rows)}};

static void olmo3(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_put_window(f, 4);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_olmo3 = {
	.type = "olmo3",
	.arch = "olmo2",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn), GLU,
		 LMI_CHECKPOINT_ROWS(olmo2_rows)},
	.keys = olmo3};

/* ---- EXAONE 4: norms placed as in OLMo 2, and a norm for each head ---- */

#define EXAONE4_LARGE 64 /* number of layers of the model that has windows */

static void exaone4(struct lmi_checkpoint *f)
{
	uint8_t *is = lmi_checkpoint_alloc(f, f->n_layer, 1);
	bool any = false;

	if (is && lmi_checkpoint_window_layers(f, is))
		for (uint32_t i = 0; i < f->n_layer; i++)
			any = any || is[i];
	if (any && f->n_layer != EXAONE4_LARGE)
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"layer_types\": architecture exaone4 has windows "
			"only in models of %d layers, this one has %u",
			f->dir, EXAONE4_LARGE, f->n_layer);
	else if (any)
		lmi_checkpoint_fam_put_window(f, 4);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_exaone4 = {
	.type = "exaone4",
	.arch = "exaone4",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn), GLU,
		 LMI_CHECKPOINT_ROWS(olmo2_rows)},
	.keys = exaone4};

/* ---- Apertus: xIELU, with four parameters stored as tensors in each layer ---- */

static const struct lmi_checkpoint_row apertus_rows[] = {
	{"layers.%d.attention_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.feedforward_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

static void apertus(struct lmi_checkpoint *f)
{
	static const struct {
		const char *name, *key;
	} rows[] = {{".mlp.act_fn.alpha_n", "@xielu.alpha_n"},
		    {".mlp.act_fn.alpha_p", "@xielu.alpha_p"},
		    {".mlp.act_fn.beta", "@xielu.beta"},
		    {".mlp.act_fn.eps", "@xielu.eps"}};

	for (size_t k = 0; k < LMD_LEN(rows) && f->status == LMD_OK; k++) {
		double *v = lmi_checkpoint_alloc(f, f->n_layer, sizeof(*v));

		for (uint32_t i = 0; v && i < f->n_layer; i++)
			v[i] = lmi_checkpoint_read_scalar(f, "model.layers.", i, rows[k].name);
		lmi_checkpoint_put_floats(f, rows[k].key, v, f->n_layer);
	}
}

const struct lmi_checkpoint_family lmi_checkpoint_family_apertus = {
	.type = "apertus",
	.arch = "apertus",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn),
		 LMI_CHECKPOINT_ROWS(apertus_rows)},
	.keys = apertus};
