/* SPDX-License-Identifier: MIT
 *
 * Families whose first layers are dense and whose other layers have experts, usually with a shared
 * expert: DeepSeek and similar models. */
#include "core/format/folder/families.h"

#define HEAD LMI_ROWS(lmi_rows_head)
#define ATTN LMI_ROWS(lmi_rows_attn)

static const struct lmi_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", 0},
};
#define NORMS LMI_ROWS(norms)

static const struct lmi_row blocks[] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", LMI_ROW_DENSE},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", LMI_ROW_DENSE},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", LMI_ROW_DENSE},
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", LMI_ROW_MOE},
	{"layers.%d.mlp.gate.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 LMI_ROW_MOE | LMI_ROW_BARE | LMI_ROW_WHOLE | LMI_ROW_OPT},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps",
	 LMI_ROW_MOE | LMI_ROW_EXPERT},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", LMI_ROW_MOE | LMI_ROW_EXPERT},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps",
	 LMI_ROW_MOE | LMI_ROW_EXPERT},
	{"layers.%d.mlp.shared_experts.gate_proj", "blk.%d.ffn_gate_shexp",
	 LMI_ROW_MOE | LMI_ROW_OPT},
	{"layers.%d.mlp.shared_experts.up_proj", "blk.%d.ffn_up_shexp", LMI_ROW_MOE | LMI_ROW_OPT},
	{"layers.%d.mlp.shared_experts.down_proj", "blk.%d.ffn_down_shexp",
	 LMI_ROW_MOE | LMI_ROW_OPT},
};
#define BLOCKS LMI_ROWS(blocks)

/* ---- keys ---- */

enum gate { SOFTMAX = 1, SIGMOID = 2 }; /* values of expert_gating_func */

static void dense_layers(struct lmi_folder *f)
{
	lmi_conf_lead(f, lmi_conf_int(f, "first_k_dense_replace", f->n_expert ? 0 : f->n_layer, 0,
				      f->n_layer));
}

/* Sets how experts are chosen; `def` is used if the file does not say. */
static void put_routing(struct lmi_folder *f, enum gate def)
{
	enum gate gate = lmi_conf_is(f, "scoring_func", "sigmoid")   ? SIGMOID
			 : lmi_conf_is(f, "scoring_func", "softmax") ? SOFTMAX
								     : def;

	lmi_folder_put_u32(f, "expert_gating_func", gate);
	if (lmi_conf_has(f, "routed_scaling_factor"))
		lmi_folder_put_f32(f, "expert_weights_scale",
				   lmi_conf_real(f, "routed_scaling_factor", 1));
	lmi_folder_put_bool(f, "expert_weights_norm", lmi_conf_bool(f, "norm_topk_prob", false));
	if (lmi_conf_has(f, "n_group")) {
		lmi_folder_put_u32(f, "expert_group_count",
				   lmi_conf_int(f, "n_group", 1, 1, LMI_MAX_LAYERS));
		lmi_folder_put_u32(f, "expert_group_used_count",
				   lmi_conf_need(f, "topk_group", 1, LMI_MAX_LAYERS));
	}
}

static void put_shared_count(struct lmi_folder *f, const char *names)
{
	lmi_folder_put_u32(f, "expert_shared_count", lmi_conf_int(f, names, 0, 0, 64));
}

/* ---- DeepSeek: latent attention ---- */

static const struct lmi_row latent[] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", LMI_ROW_OPT},
	{"layers.%d.self_attn.q_a_proj", "blk.%d.attn_q_a", LMI_ROW_OPT},
	{"layers.%d.self_attn.q_a_layernorm", "blk.%d.attn_q_a_norm", LMI_ROW_OPT},
	{"layers.%d.self_attn.q_b_proj", "blk.%d.attn_q_b", LMI_ROW_OPT},
	{"layers.%d.self_attn.kv_a_proj_with_mqa", "blk.%d.attn_kv_a_mqa", LMI_ROW_NO_BIAS},
	{"layers.%d.self_attn.kv_a_layernorm", "blk.%d.attn_kv_a_norm", 0},
	{"layers.%d.self_attn.kv_b_proj", "blk.%d.attn_k_b", LMI_ROW_K_B | LMI_ROW_NO_BIAS},
	{"layers.%d.self_attn.kv_b_proj", "blk.%d.attn_v_b", LMI_ROW_V_B | LMI_ROW_NO_BIAS},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", LMI_ROW_NO_BIAS},
};

/* YaRN also scales the scores; these models state their own factor for it. */
static void yarn_mscale(struct lmi_folder *f)
{
	double one = lmi_conf_real(f, "rope_parameters.mscale|rope_scaling.mscale", 1);
	double all =
		lmi_conf_real(f, "rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim", 0);

	if (!all)
		return;
	if (all != one)
		lmi_folder_fail(f, LMD_UNSUPPORTED,
				"%s/config.json: \"mscale\" is %g and \"mscale_all_dim\" is %g: "
				"architecture %s requires equal values",
				f->dir, one, all, f->fam->arch);
	lmi_folder_put_f32(f, "rope.scaling.yarn_log_multiplier", 0.1 * all);
}

static void deepseek(struct lmi_folder *f, enum gate def)
{
	int64_t nope = lmi_conf_need(f, "qk_nope_head_dim", 1, 1 << 14);
	int64_t value = lmi_conf_need(f, "v_head_dim", 1, 1 << 14);

	f->n_nope = (uint32_t)nope;
	f->n_value = (uint32_t)value;
	if (lmi_conf_has(f, "q_lora_rank"))
		lmi_folder_put_u32(f, "attention.q_lora_rank",
				   lmi_conf_need(f, "q_lora_rank", 1, 1 << 20));
	lmi_folder_put_u32(f, "attention.kv_lora_rank",
			   lmi_conf_need(f, "kv_lora_rank", 1, 1 << 14));
	lmi_folder_put_u32(f, "attention.key_length_mla", nope + f->rope_dim);
	lmi_folder_put_u32(f, "attention.value_length_mla", value);
	lmi_conf_only(f, "moe_layer_freq", 1);
	yarn_mscale(f);
	put_shared_count(f, "n_shared_experts");
	put_routing(f, def);
}

static void deepseek_v2(struct lmi_folder *f)
{
	if (lmi_conf_is(f, "topk_method", "group_limited_greedy"))
		lmi_conf_only(f, "n_group", 1); /* our plans score a group by its best two
						 * experts */
	deepseek(f, SOFTMAX);
}

static void deepseek_v3(struct lmi_folder *f)
{
	lmi_conf_only_bool(f, "rope_interleave", true);
	deepseek(f, SIGMOID);
}

const struct lmi_family lmi_family_deepseek_v2 = {
	.type = "deepseek_v2",
	.arch = "deepseek2",
	.flags = LMI_FAM_MLA,
	.rows = {HEAD, LMI_ROWS(latent), BLOCKS, NORMS},
	.layers = dense_layers,
	.keys = deepseek_v2};

const struct lmi_family lmi_family_deepseek_v3 = {
	.type = "deepseek_v3",
	.arch = "deepseek2",
	.flags = LMI_FAM_MLA,
	.rows = {HEAD, LMI_ROWS(latent), BLOCKS, NORMS},
	.layers = dense_layers,
	.keys = deepseek_v3};

/* ---- GLM 4.5, dots ---- */

static const struct lmi_row glm4_moe_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", 0},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", LMI_ROW_OPT},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", LMI_ROW_OPT},
};

static void glm4_moe(struct lmi_folder *f)
{
	put_shared_count(f, "n_shared_experts");
	put_routing(f, SIGMOID);
}

const struct lmi_family lmi_family_glm4_moe = {
	.type = "glm4_moe",
	.arch = "glm4moe",
	.rows = {HEAD, ATTN, BLOCKS, LMI_ROWS(glm4_moe_norms)},
	.layers = dense_layers,
	.keys = glm4_moe};

static const struct lmi_row dots_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", 0},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", 0},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", 0},
};

static void dots1(struct lmi_folder *f)
{
	uint8_t *is = lmi_folder_alloc(f, f->n_layer, 1);

	if (is && lmi_folder_windows(f, is))
		lmi_conf_own_window(f, lmi_conf_window_size(f, 0), is);
	put_shared_count(f, "n_shared_experts");
	put_routing(f, SIGMOID);
}

const struct lmi_family lmi_family_dots1 = {
	.type = "dots1",
	.arch = "dots1",
	.rows = {HEAD, ATTN, BLOCKS, LMI_ROWS(dots_norms)},
	.layers = dense_layers,
	.keys = dots1};

/* ---- ERNIE 4.5 ---- */

static const struct lmi_row ernie_rows[] = {
	{"layers.%d.mlp.moe_statics.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 LMI_ROW_MOE | LMI_ROW_BARE | LMI_ROW_WHOLE | LMI_ROW_OPT},
};

static void ernie_layers(struct lmi_folder *f)
{
	int64_t last = lmi_conf_int(f, "moe_layer_end_index", -1, -1, LMI_MAX_LAYERS);

	lmi_conf_only(f, "moe_layer_interval", 1);
	if (last >= 0 && last + 1 < (int64_t)f->n_layer)
		lmi_folder_fail(f, LMD_UNSUPPORTED,
				"%s/config.json: \"moe_layer_end_index\" is %lld, but the last of "
				"%u layers must have experts in architecture %s",
				f->dir, (long long)last, f->n_layer, f->fam->arch);
	lmi_conf_lead(f, lmi_conf_int(f, "moe_layer_start_index", 0, 0, f->n_layer));
}

static void ernie4_5_moe(struct lmi_folder *f)
{
	int64_t n = lmi_conf_int(f, "moe_num_shared_experts", 0, 0, 64);

	f->tied = lmi_conf_bool(f, "tie_word_embeddings", true);
	lmi_folder_put_u32(f, "interleave_moe_layer_step", 1);
	put_shared_count(f, "moe_num_shared_experts");
	if (n)
		lmi_folder_put_u32(f, "expert_shared_feed_forward_length",
				   n * lmi_conf_need(f, "moe_intermediate_size", 1, 1 << 24));
}

const struct lmi_family lmi_family_ernie4_5_moe = {
	.type = "ernie4_5_moe",
	.arch = "ernie4_5-moe",
	.rows = {HEAD, ATTN, BLOCKS, LMI_ROWS(ernie_rows), NORMS},
	.layers = ernie_layers,
	.keys = ernie4_5_moe};

/* ---- MiniMax M2: experts in every layer, norms over all queries and keys ---- */

static const struct lmi_row minimax_m2_rows[] = {
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", 0},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", 0},
	{"layers.%d.block_sparse_moe.gate", "blk.%d.ffn_gate_inp", 0},
	{"layers.%d.block_sparse_moe.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 LMI_ROW_BARE | LMI_ROW_WHOLE},
	{"layers.%d.block_sparse_moe.experts.%d.w1", "blk.%d.ffn_gate_exps", LMI_ROW_EXPERT},
	{"layers.%d.block_sparse_moe.experts.%d.w3", "blk.%d.ffn_up_exps", LMI_ROW_EXPERT},
	{"layers.%d.block_sparse_moe.experts.%d.w2", "blk.%d.ffn_down_exps", LMI_ROW_EXPERT},
};

static void minimax_m2(struct lmi_folder *f)
{
	lmi_folder_put_u32(f, "expert_feed_forward_length",
			   lmi_conf_need(f, "intermediate_size", 1, 1 << 24));
	lmi_folder_put_u32(f, "expert_gating_func", SIGMOID);
}

const struct lmi_family lmi_family_minimax_m2 = {
	.type = "minimax_m2",
	.arch = "minimax-m2",
	.rows = {HEAD, ATTN, LMI_ROWS(minimax_m2_rows), NORMS},
	.keys = minimax_m2};

/* ---- Hunyuan: norms of queries and keys after RoPE ---- */

static const struct lmi_row hunyuan_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", 0},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", 0},
	{"layers.%d.self_attn.query_layernorm", "blk.%d.attn_q_norm", 0},
	{"layers.%d.self_attn.key_layernorm", "blk.%d.attn_k_norm", 0},
};

const struct lmi_family lmi_family_hunyuan_v1_dense = {
	.type = "hunyuan_v1_dense",
	.arch = "hunyuan-dense",
	.rows = {HEAD, ATTN, LMI_ROWS(lmi_rows_glu), LMI_ROWS(hunyuan_norms)}};

static const struct lmi_row hunyuan_rows[] = {
	{"layers.%d.mlp.gate.wg", "blk.%d.ffn_gate_inp", 0},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", LMI_ROW_EXPERT},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", LMI_ROW_EXPERT},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", LMI_ROW_EXPERT},
	{"layers.%d.mlp.shared_mlp.gate_proj", "blk.%d.ffn_gate_shexp", 0},
	{"layers.%d.mlp.shared_mlp.up_proj", "blk.%d.ffn_up_shexp", 0},
	{"layers.%d.mlp.shared_mlp.down_proj", "blk.%d.ffn_down_shexp", 0},
};

static void hunyuan_moe(struct lmi_folder *f)
{
	int64_t n = lmi_conf_need(f, "intermediate_size", 1, 1 << 24);

	lmi_folder_put_u32(f, "expert_shared_feed_forward_length", n);
	if (!lmi_conf_has(f, "moe_intermediate_size"))
		lmi_folder_put_u32(f, "expert_feed_forward_length", n);
	lmi_conf_only(f, "moe_intermediate_size", (double)n);
	lmi_conf_only(f, "num_shared_expert", 1);
}

const struct lmi_family lmi_family_hunyuan_v1_moe = {
	.type = "hunyuan_v1_moe",
	.arch = "hunyuan-moe",
	.rows = {HEAD, ATTN, LMI_ROWS(hunyuan_rows), LMI_ROWS(hunyuan_norms)},
	.keys = hunyuan_moe};
