/* SPDX-License-Identifier: MIT
 *
 * Qwen and similar models: RoPE on halves, so that the rows keep their order. */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn)
#define GLU  LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_glu)

static const struct lmi_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
};

static const struct lmi_checkpoint_row qk_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
};

/* Sets the windows, if there are any: the layers come from layer_types, or else from the rule
 * `has`. */
static void windows(struct lmi_checkpoint *f, bool (*has)(int64_t il, int64_t n_max))
{
	int64_t n = lmi_checkpoint_fam_window_size(f, 4096), n_max;
	uint8_t *is;

	if (!lmi_checkpoint_config_bool(f, "use_sliding_window", false))
		return;
	n_max = lmi_checkpoint_config_int(f, "max_window_layers", 28, 0, INT32_MAX);
	is = lmi_checkpoint_alloc(f, f->n_layer, 1);
	if (!is)
		return;
	if (!lmi_checkpoint_window_layers(f, is))
		for (uint32_t i = 0; i < f->n_layer; i++)
			is[i] = has(i, n_max);
	lmi_checkpoint_fam_put_folder_window(f, n, is);
}

static bool upper_layer(int64_t il, int64_t n_max)
{
	return il >= n_max;
}

static bool lower_even_layer(int64_t il, int64_t n_max)
{
	return il % 2 == 0 && il < n_max;
}

static void qwen(struct lmi_checkpoint *f)
{
	windows(f, upper_layer);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen2 = {
	.type = "qwen2",
	.arch = "qwen2",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(norms)},
	.keys = qwen};

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen3 = {
	.type = "qwen3",
	.arch = "qwen3",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(qk_norms)},
	.keys = qwen};

/* The text models of vision models, whose positions have four parts. */
const struct lmi_checkpoint_family lmi_checkpoint_family_qwen2_vl = {
	.type = "qwen2_vl",
	.arch = "qwen2vl",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(norms)},
	.keys = qwen};

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen2_5_vl = {
	.type = "qwen2_5_vl",
	.arch = "qwen2vl",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(norms)},
	.keys = qwen};

/* ---- experts ---- */

#define EXPERTS											   \
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {0}},					   \
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMI_CKPT_EXPERTS}},\
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMI_CKPT_EXPERTS}},   \
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMI_CKPT_EXPERTS}}

static const struct lmi_checkpoint_row qwen2_moe_rows[] = {
	EXPERTS,
	{"layers.%d.mlp.shared_expert_gate", "blk.%d.ffn_gate_inp_shexp", {0}},
	{"layers.%d.mlp.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_expert.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_expert.down_proj", "blk.%d.ffn_down_shexp", {0}},
};
static const struct lmi_checkpoint_row expert_rows[] = {EXPERTS};

/* Checks that every layer has experts. */
static void all_experts(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *dense = lmi_checkpoint_config_find(f, "mlp_only_layers");

	lmi_checkpoint_config_require_value(f, "decoder_sparse_step", 1);
	if (lmi_json_node_is(dense, LMI_JSON_ARRAY) && dense->n)
		lmi_checkpoint_fail(f, LMD_UNSUPPORTED,
				    "%s/config.json: \"mlp_only_layers\" has %u elements, but all "
				    "layers have experts in architecture %s",
				    f->dir, dense->n, f->fam->arch);
}

static void qwen2_moe(struct lmi_checkpoint *f)
{
	all_experts(f);
	windows(f, lower_even_layer);
	lmi_checkpoint_config_require_bool(f, "norm_topk_prob", false);
}

static void qwen3_moe(struct lmi_checkpoint *f)
{
	all_experts(f);
	if (lmi_checkpoint_config_bool(f, "use_sliding_window", false))
		lmi_checkpoint_fam_put_folder_window(f, lmi_checkpoint_fam_window_size(f, 4096),
						     NULL);
	lmi_checkpoint_config_require_bool(f, "norm_topk_prob", true);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen2_moe = {
	.type = "qwen2_moe",
	.arch = "qwen2moe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(qwen2_moe_rows), LMI_CHECKPOINT_ROWS(norms)},
	.keys = qwen2_moe};

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen3_moe = {
	.type = "qwen3_moe",
	.arch = "qwen3moe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(expert_rows), LMI_CHECKPOINT_ROWS(qk_norms)},
	.keys = qwen3_moe};

static void olmoe(struct lmi_checkpoint *f)
{
	lmi_checkpoint_config_require_bool(f, "norm_topk_prob", false);
	if (lmi_checkpoint_config_has(f, "clip_qkv"))
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"clip_qkv\": architecture olmoe does not clamp "
			"queries, keys and values",
			f->dir);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_olmoe = {
	.type = "olmoe",
	.arch = "olmoe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(expert_rows), LMI_CHECKPOINT_ROWS(qk_norms)},
	.keys = olmoe};

/* ---- similar models ---- */

static const struct lmi_checkpoint_row seed_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_seed_oss = {
	.type = "seed_oss",
	.arch = "seed_oss",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(seed_norms)}};

static const struct lmi_checkpoint_row phi3_rows[] = {
	{"layers.%d.self_attn.qkv_proj", "blk.%d.attn_qkv", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
	{"layers.%d.mlp.gate_up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

/* Files have the window as a key, but no program that reads them applies it. */
static void phi3(struct lmi_checkpoint *f)
{
	int64_t n = lmi_checkpoint_fam_window_size(f, 0);

	lmi_checkpoint_put_u32(f, "attention.sliding_window", n);
	lmi_checkpoint_fam_put_folder_window(f, n, NULL);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_phi3 = {
	.type = "phi3",
	.arch = "phi3",
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(phi3_rows), LMI_CHECKPOINT_ROWS(norms)},
	.keys = phi3};

static const struct lmi_checkpoint_row glm4_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_self_attn_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.post_mlp_layernorm", "blk.%d.post_ffw_norm", {0}},
	{"layers.%d.mlp.gate_up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_glm4 = {
	.type = "glm4", .arch = "glm4", .rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(glm4_rows)}};
