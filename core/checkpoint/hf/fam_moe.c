/* SPDX-License-Identifier: MIT
 *
 * Families whose first layers are dense and whose other layers have experts, usually with a shared
 * expert: DeepSeek and similar models. */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn)

static const struct lmi_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
};
#define NORMS LMI_CHECKPOINT_ROWS(norms)

static const struct lmi_checkpoint_row blocks[] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.mlp.gate.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO |
	  LMI_CKPT_OPTIONAL}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_experts.gate_proj", "blk.%d.ffn_gate_shexp",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.mlp.shared_experts.up_proj", "blk.%d.ffn_up_shexp",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.mlp.shared_experts.down_proj", "blk.%d.ffn_down_shexp",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_OPTIONAL}},
};
#define BLOCKS LMI_CHECKPOINT_ROWS(blocks)

/* ---- keys ---- */

enum gate { SOFTMAX = 1, SIGMOID = 2 }; /* values of expert_gating_func */

static void dense_layers(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_dense_first_layers(
		f, lmi_checkpoint_config_int(f, "first_k_dense_replace",
					     f->n_expert ? 0 : f->n_layer, 0, f->n_layer));
}

/* Sets how experts are chosen; `def` is used if the file does not say. */
static void put_routing(struct lmi_checkpoint *f, enum gate def)
{
	enum gate gate = lmi_checkpoint_config_equals(f, "scoring_func", "sigmoid")   ? SIGMOID
			 : lmi_checkpoint_config_equals(f, "scoring_func", "softmax") ? SOFTMAX
										      : def;

	lmi_checkpoint_put_u32(f, "expert_gating_func", gate);
	if (lmi_checkpoint_config_has(f, "routed_scaling_factor"))
		lmi_checkpoint_put_f32(f, "expert_weights_scale",
				       lmi_checkpoint_config_float(f, "routed_scaling_factor", 1));
	lmi_checkpoint_put_bool(f, "expert_weights_norm",
				lmi_checkpoint_config_bool(f, "norm_topk_prob", false));
	if (lmi_checkpoint_config_has(f, "n_group")) {
		lmi_checkpoint_put_u32(
			f, "expert_group_count",
			lmi_checkpoint_config_int(f, "n_group", 1, 1, LMI_MODEL_MAX_LAYERS));
		lmi_checkpoint_put_u32(f, "expert_group_used_count",
				       lmi_checkpoint_config_require_int(f, "topk_group", 1,
									 LMI_MODEL_MAX_LAYERS));
	}
}

static void put_shared_count(struct lmi_checkpoint *f, const char *names)
{
	lmi_checkpoint_put_u32(f, "expert_shared_count",
			       lmi_checkpoint_config_int(f, names, 0, 0, 64));
}

/* ---- DeepSeek: latent attention ---- */

static const struct lmi_checkpoint_row latent[] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_a_proj", "blk.%d.attn_q_a", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_a_layernorm", "blk.%d.attn_q_a_norm", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.q_b_proj", "blk.%d.attn_q_b", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.kv_a_proj_with_mqa", "blk.%d.attn_kv_a_mqa",
	 {.flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.kv_a_layernorm", "blk.%d.attn_kv_a_norm", {0}},
	{"layers.%d.self_attn.kv_b_proj", "blk.%d.attn_k_b",
	 {.op = LMI_CKPT_LATENT_K, .flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.kv_b_proj", "blk.%d.attn_v_b",
	 {.op = LMI_CKPT_LATENT_V, .flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.flags = LMI_CKPT_NO_BIAS}},
};

/* YaRN also scales the scores; these models state their own factor for it. */
static void yarn_mscale(struct lmi_checkpoint *f)
{
	double one =
		lmi_checkpoint_config_float(f, "rope_parameters.mscale|rope_scaling.mscale", 1);
	double all = lmi_checkpoint_config_float(
		f, "rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim", 0);

	if (!all)
		return;
	if (all != one)
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"mscale\" is %g and \"mscale_all_dim\" is %g: "
			"architecture %s requires equal values",
			f->dir, one, all, f->fam->arch);
	lmi_checkpoint_put_f32(f, "rope.scaling.yarn_log_multiplier", 0.1 * all);
}

static void deepseek(struct lmi_checkpoint *f, enum gate def)
{
	int64_t nope = lmi_checkpoint_config_require_int(f, "qk_nope_head_dim", 1, 1 << 14);
	int64_t value = lmi_checkpoint_config_require_int(f, "v_head_dim", 1, 1 << 14);

	f->n_nope = (uint32_t)nope;
	f->n_value = (uint32_t)value;
	if (lmi_checkpoint_config_has(f, "q_lora_rank"))
		lmi_checkpoint_put_u32(
			f, "attention.q_lora_rank",
			lmi_checkpoint_config_require_int(f, "q_lora_rank", 1, 1 << 20));
	lmi_checkpoint_put_u32(f, "attention.kv_lora_rank",
			       lmi_checkpoint_config_require_int(f, "kv_lora_rank", 1, 1 << 14));
	lmi_checkpoint_put_u32(f, "attention.key_length_mla", nope + f->rope_dim);
	lmi_checkpoint_put_u32(f, "attention.value_length_mla", value);
	lmi_checkpoint_config_require_value(f, "moe_layer_freq", 1);
	yarn_mscale(f);
	put_shared_count(f, "n_shared_experts");
	put_routing(f, def);
}

static void deepseek_v2(struct lmi_checkpoint *f)
{
	if (lmi_checkpoint_config_equals(f, "topk_method", "group_limited_greedy"))
		lmi_checkpoint_config_require_value(f, "n_group",
						    1); /* our plans score a group by its best two
						 * experts */
	deepseek(f, SOFTMAX);
}

static void deepseek_v3(struct lmi_checkpoint *f)
{
	lmi_checkpoint_config_require_bool(f, "rope_interleave", true);
	deepseek(f, SIGMOID);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_deepseek_v2 = {
	.type = "deepseek_v2",
	.arch = "deepseek2",
	.flags = LMI_CHECKPOINT_FAM_MLA,
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(latent), BLOCKS, NORMS},
	.layers = dense_layers,
	.keys = deepseek_v2};

const struct lmi_checkpoint_family lmi_checkpoint_family_deepseek_v3 = {
	.type = "deepseek_v3",
	.arch = "deepseek2",
	.flags = LMI_CHECKPOINT_FAM_MLA,
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(latent), BLOCKS, NORMS},
	.layers = dense_layers,
	.keys = deepseek_v3};

/* ---- GLM 4.5, dots ---- */

static const struct lmi_checkpoint_row glm4_moe_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {.flags = LMI_CKPT_OPTIONAL}},
};

static void glm4_moe(struct lmi_checkpoint *f)
{
	put_shared_count(f, "n_shared_experts");
	put_routing(f, SIGMOID);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_glm4_moe = {
	.type = "glm4_moe",
	.arch = "glm4moe",
	.rows = {HEAD, ATTN, BLOCKS, LMI_CHECKPOINT_ROWS(glm4_moe_norms)},
	.layers = dense_layers,
	.keys = glm4_moe};

static const struct lmi_checkpoint_row dots_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
};

static void dots1(struct lmi_checkpoint *f)
{
	uint8_t *is = lmi_checkpoint_alloc(f, f->n_layer, 1);

	if (is && lmi_checkpoint_window_layers(f, is))
		lmi_checkpoint_fam_put_folder_window(f, lmi_checkpoint_fam_window_size(f, 0), is);
	put_shared_count(f, "n_shared_experts");
	put_routing(f, SIGMOID);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_dots1 = {
	.type = "dots1",
	.arch = "dots1",
	.rows = {HEAD, ATTN, BLOCKS, LMI_CHECKPOINT_ROWS(dots_norms)},
	.layers = dense_layers,
	.keys = dots1};

/* ---- ERNIE 4.5 ---- */

static const struct lmi_checkpoint_row ernie_rows[] = {
	{"layers.%d.mlp.moe_statics.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO |
	  LMI_CKPT_OPTIONAL}},
};

static void ernie_layers(struct lmi_checkpoint *f)
{
	int64_t last =
		lmi_checkpoint_config_int(f, "moe_layer_end_index", -1, -1, LMI_MODEL_MAX_LAYERS);

	lmi_checkpoint_config_require_value(f, "moe_layer_interval", 1);
	if (last >= 0 && last + 1 < (int64_t)f->n_layer)
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"moe_layer_end_index\" is %lld, but the last of "
			"%u layers must have experts in architecture %s",
			f->dir, (long long)last, f->n_layer, f->fam->arch);
	lmi_checkpoint_fam_dense_first_layers(
		f, lmi_checkpoint_config_int(f, "moe_layer_start_index", 0, 0, f->n_layer));
}

static void ernie4_5_moe(struct lmi_checkpoint *f)
{
	int64_t n = lmi_checkpoint_config_int(f, "moe_num_shared_experts", 0, 0, 64);

	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_put_u32(f, "interleave_moe_layer_step", 1);
	put_shared_count(f, "moe_num_shared_experts");
	if (n)
		lmi_checkpoint_put_u32(f, "expert_shared_feed_forward_length",
				       n * lmi_checkpoint_config_require_int(
						   f, "moe_intermediate_size", 1, 1 << 24));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_ernie4_5_moe = {
	.type = "ernie4_5_moe",
	.arch = "ernie4_5-moe",
	.rows = {HEAD, ATTN, BLOCKS, LMI_CHECKPOINT_ROWS(ernie_rows), NORMS},
	.layers = ernie_layers,
	.keys = ernie4_5_moe};

/* ---- MiniMax M2: experts in every layer, norms over all queries and keys ---- */

static const struct lmi_checkpoint_row minimax_m2_rows[] = {
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.block_sparse_moe.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.block_sparse_moe.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 {.flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},
	{"layers.%d.block_sparse_moe.experts.%d.w1", "blk.%d.ffn_gate_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w3", "blk.%d.ffn_up_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w2", "blk.%d.ffn_down_exps",
	 {.stack = LMI_CKPT_EXPERTS}},
};

static void minimax_m2(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_u32(
		f, "expert_feed_forward_length",
		lmi_checkpoint_config_require_int(f, "intermediate_size", 1, 1 << 24));
	lmi_checkpoint_put_u32(f, "expert_gating_func", SIGMOID);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_minimax_m2 = {
	.type = "minimax_m2",
	.arch = "minimax-m2",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(minimax_m2_rows), NORMS},
	.keys = minimax_m2};

/* ---- Hunyuan: norms of queries and keys after RoPE ---- */

static const struct lmi_checkpoint_row hunyuan_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.query_layernorm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.key_layernorm", "blk.%d.attn_k_norm", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_hunyuan_v1_dense = {
	.type = "hunyuan_v1_dense",
	.arch = "hunyuan-dense",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_glu),
		 LMI_CHECKPOINT_ROWS(hunyuan_norms)}};

static const struct lmi_checkpoint_row hunyuan_rows[] = {
	{"layers.%d.mlp.gate.wg", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_mlp.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_mlp.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_mlp.down_proj", "blk.%d.ffn_down_shexp", {0}},
};

static void hunyuan_moe(struct lmi_checkpoint *f)
{
	int64_t n = lmi_checkpoint_config_require_int(f, "intermediate_size", 1, 1 << 24);

	lmi_checkpoint_put_u32(f, "expert_shared_feed_forward_length", n);
	if (!lmi_checkpoint_config_has(f, "moe_intermediate_size"))
		lmi_checkpoint_put_u32(f, "expert_feed_forward_length", n);
	lmi_checkpoint_config_require_value(f, "moe_intermediate_size", (double)n);
	lmi_checkpoint_config_require_value(f, "num_shared_expert", 1);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_hunyuan_v1_moe = {
	.type = "hunyuan_v1_moe",
	.arch = "hunyuan-moe",
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(hunyuan_rows), LMI_CHECKPOINT_ROWS(hunyuan_norms)},
	.keys = hunyuan_moe};
