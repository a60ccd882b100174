/* SPDX-License-Identifier: MIT
 *
 * Families with recurrent mixers: Mamba and Mamba-2, alone or mixed with attention layers; short
 * convolutions (LFM2); gated delta (Qwen3-Next). */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)

/* The tensors of one mixer; `at` is the prefix that the family gives it. */
#define MAMBA1(at)										   \
	{at "in_proj", "blk.%d.ssm_in", {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}}, \
	{at "conv1d", "blk.%d.ssm_conv1d", {.layers = LMI_CKPT_IN_MIXER}},			   \
	{at "x_proj", "blk.%d.ssm_x", {.layers = LMI_CKPT_IN_MIXER}},				   \
	{at "dt_proj", "blk.%d.ssm_dt", {.layers = LMI_CKPT_IN_MIXER}},				   \
	{at "A_log", "blk.%d.ssm_a",								   \
	 {.layers = LMI_CKPT_IN_MIXER, .values = LMI_CKPT_NEG_EXP, .flags = LMI_CKPT_BARE_FROM |   \
	  LMI_CKPT_BARE_TO}},									   \
	{at "D", "blk.%d.ssm_d",								   \
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},	   \
	{at "out_proj", "blk.%d.ssm_out", {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}}
#define MAMBA2(at)										   \
	{at "in_proj", "blk.%d.ssm_in", {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}}, \
	{at "conv1d", "blk.%d.ssm_conv1d", {.layers = LMI_CKPT_IN_MIXER}},			   \
	{at "dt_bias", "blk.%d.ssm_dt.bias",							   \
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},	   \
	{at "A_log", "blk.%d.ssm_a",								   \
	 {.layers = LMI_CKPT_IN_MIXER, .op = LMI_CKPT_COLUMN, .values = LMI_CKPT_NEG_EXP,	   \
	  .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},					   \
	{at "D", "blk.%d.ssm_d",								   \
	 {.layers = LMI_CKPT_IN_MIXER, .op = LMI_CKPT_COLUMN, .flags = LMI_CKPT_BARE_FROM |	   \
	  LMI_CKPT_BARE_TO}},									   \
	{at "norm", "blk.%d.ssm_norm", {.layers = LMI_CKPT_IN_MIXER, .op = LMI_CKPT_GROUPS}},	   \
	{at "out_proj", "blk.%d.ssm_out", {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}}

/* ---- Mamba ---- */

static void all_mixers(struct lmi_checkpoint *f)
{
	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = LMI_CHECKPOINT_LAYER_MIXER;
}

static void put_ssm(struct lmi_checkpoint *f, const char *kernel, int64_t inner, const char *state,
		    int64_t rank)
{
	lmi_checkpoint_put_u32(f, "ssm.conv_kernel",
			       lmi_checkpoint_config_int(f, kernel, 4, 2, 256));
	lmi_checkpoint_put_u32(f, "ssm.inner_size", inner);
	lmi_checkpoint_put_u32(f, "ssm.state_size",
			       lmi_checkpoint_config_require_int(f, state, 1, 4096));
	lmi_checkpoint_put_u32(f, "ssm.time_step_rank", rank);
}

static const struct lmi_checkpoint_row mamba_head[] = {
	{"embeddings", "token_embd", {0}},
	{"norm_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.norm", "blk.%d.attn_norm", {0}},
};
static const struct lmi_checkpoint_row mamba_rows[] = {MAMBA1("layers.%d.mixer.")};

/* The rank defaults to a sixteenth of the width. */
static int64_t rank_of(struct lmi_checkpoint *f, const char *name)
{
	int64_t def = ((int64_t)f->n_embd + 15) / 16;

	return lmi_checkpoint_config_equals(f, name, "auto")
		       ? def
		       : lmi_checkpoint_config_int(f, name, def, 1, 1 << 20);
}

static void mamba(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	put_ssm(f, "conv_kernel",
		lmi_checkpoint_config_int(f, "intermediate_size", 2 * (int64_t)f->n_embd, 1,
					  1 << 20),
		"state_size", rank_of(f, "time_step_rank"));
	lmi_checkpoint_put_bool(
		f, "ssm.dt_b_c_rms",
		lmi_json_node_eq(lmi_checkpoint_config_find(f, "model_type"), "falcon_mamba"));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_mamba = {
	.type = "mamba",
	.arch = "mamba",
	.flags = LMI_CHECKPOINT_FAM_NO_HEADS | LMI_CHECKPOINT_FAM_NO_ROPE,
	.rows = {LMI_CHECKPOINT_ROWS(mamba_head), LMI_CHECKPOINT_ROWS(mamba_rows)},
	.layers = all_mixers,
	.keys = mamba};

/* As Mamba, with norms that have no weights. */
const struct lmi_checkpoint_family lmi_checkpoint_family_falcon_mamba = {
	.type = "falcon_mamba",
	.arch = "mamba",
	.flags = LMI_CHECKPOINT_FAM_NO_HEADS | LMI_CHECKPOINT_FAM_NO_ROPE,
	.rows = {LMI_CHECKPOINT_ROWS(mamba_head), LMI_CHECKPOINT_ROWS(mamba_rows)},
	.layers = all_mixers,
	.keys = mamba};

static const struct lmi_checkpoint_row mamba2_rows[] = {MAMBA2("layers.%d.mixer.")};

static void groups(struct lmi_checkpoint *f, const char *name)
{
	f->n_group = (uint32_t)lmi_checkpoint_config_int(f, name, 1, 1, 1024);
	lmi_checkpoint_put_u32(f, "ssm.group_count", f->n_group);
}

static void mamba2(struct lmi_checkpoint *f)
{
	int64_t heads = lmi_checkpoint_config_require_int(f, "num_heads", 1, 1 << 16);
	int64_t dim = lmi_checkpoint_config_int(f, "head_dim", 64, 1, 1 << 14);

	put_ssm(f, "conv_kernel", heads * dim, "state_size", heads);
	groups(f, "n_groups");
	lmi_checkpoint_config_require_bool(f, "norm_before_gate", false);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_mamba2 = {
	.type = "mamba2",
	.arch = "mamba2",
	.flags = LMI_CHECKPOINT_FAM_NO_HEADS | LMI_CHECKPOINT_FAM_NO_ROPE,
	.rows = {LMI_CHECKPOINT_ROWS(mamba_head), LMI_CHECKPOINT_ROWS(mamba2_rows)},
	.layers = all_mixers,
	.keys = mamba2};

/* ---- Jamba: attention every n-th layer, experts every m-th layer ---- */

static const struct lmi_checkpoint_row jamba_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"final_layernorm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.pre_ff_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.mamba.dt_layernorm", "blk.%d.ssm_dt_norm", {.layers = LMI_CKPT_IN_MIXER}},
	{"layers.%d.mamba.b_layernorm", "blk.%d.ssm_b_norm", {.layers = LMI_CKPT_IN_MIXER}},
	{"layers.%d.mamba.c_layernorm", "blk.%d.ssm_c_norm", {.layers = LMI_CKPT_IN_MIXER}},
	{"layers.%d.feed_forward.gate_proj", "blk.%d.ffn_gate", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.up_proj", "blk.%d.ffn_up", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.down_proj", "blk.%d.ffn_down", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.router", "blk.%d.ffn_gate_inp", {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.experts.%d.gate_proj", "blk.%d.ffn_gate_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.up_proj", "blk.%d.ffn_up_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.down_proj", "blk.%d.ffn_down_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
};
static const struct lmi_checkpoint_row jamba_mixer[] = {MAMBA1("layers.%d.mamba.")};

static void jamba_layers(struct lmi_checkpoint *f)
{
	int64_t attn =
		lmi_checkpoint_config_int(f, "attn_layer_period", 8, 1, LMI_MODEL_MAX_LAYERS);
	int64_t attn0 =
		lmi_checkpoint_config_int(f, "attn_layer_offset", 4, 0, LMI_MODEL_MAX_LAYERS);
	int64_t moe =
		lmi_checkpoint_config_int(f, "expert_layer_period", 2, 1, LMI_MODEL_MAX_LAYERS);
	int64_t moe0 =
		lmi_checkpoint_config_int(f, "expert_layer_offset", 1, 0, LMI_MODEL_MAX_LAYERS);

	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] =
			(uint8_t)((i % attn == attn0 ? 0 : LMI_CHECKPOINT_LAYER_MIXER) |
				  (f->n_expert > 1 && i % moe == moe0 ? LMI_CHECKPOINT_LAYER_MOE
								      : 0));
}

static void jamba(struct lmi_checkpoint *f)
{
	int64_t expand = lmi_checkpoint_config_int(f, "mamba_expand", 2, 1, 64);

	put_ssm(f, "mamba_d_conv", expand * f->n_embd, "mamba_d_state",
		rank_of(f, "mamba_dt_rank"));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_jamba = {
	.type = "jamba",
	.arch = "jamba",
	.flags = LMI_CHECKPOINT_FAM_NO_ROPE | LMI_CHECKPOINT_FAM_KV_PER_LAYER,
	.rows = {LMI_CHECKPOINT_ROWS(jamba_rows), LMI_CHECKPOINT_ROWS(jamba_mixer)},
	.layers = jamba_layers,
	.keys = jamba};

/* ---- Granite 4: Mamba-2 and attention; experts with a shared one, or the shared one alone ---- */

static const struct lmi_checkpoint_row granite_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q",
	 {.layers = LMI_CKPT_IN_ATTN, .op = LMI_CKPT_ROPE_Q}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k",
	 {.layers = LMI_CKPT_IN_ATTN, .op = LMI_CKPT_ROPE_K}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.block_sparse_moe.router.layer", "blk.%d.ffn_gate_inp",
	 {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.block_sparse_moe.input_linear", "blk.%d.ffn_gate_exps",
	 {.layers = LMI_CKPT_IN_MOE, .part = LMI_CKPT_FIRST_HALF}},
	{"layers.%d.block_sparse_moe.input_linear", "blk.%d.ffn_up_exps",
	 {.layers = LMI_CKPT_IN_MOE, .part = LMI_CKPT_SECOND_HALF}},
	{"layers.%d.block_sparse_moe.output_linear", "blk.%d.ffn_down_exps",
	 {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_gate_shexp",
	 {.layers = LMI_CKPT_IN_MOE, .part = LMI_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_up_shexp",
	 {.layers = LMI_CKPT_IN_MOE, .part = LMI_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear", "blk.%d.ffn_down_shexp",
	 {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_gate",
	 {.layers = LMI_CKPT_IN_DENSE, .part = LMI_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear", "blk.%d.ffn_up",
	 {.layers = LMI_CKPT_IN_DENSE, .part = LMI_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear", "blk.%d.ffn_down", {.layers = LMI_CKPT_IN_DENSE}},
};
static const struct lmi_checkpoint_row granite_mixer[] = {MAMBA2("layers.%d.mamba.")};

static void granite_layers(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_mixer_layers(f);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] |= (uint8_t)(f->n_expert ? LMI_CHECKPOINT_LAYER_MOE : 0);
}

/* In models without experts the shared expert is the dense block. */
static int64_t granite_width(struct lmi_checkpoint *f, int64_t n)
{
	return f->n_expert ? n
			   : lmi_checkpoint_config_require_int(f, "shared_intermediate_size", 1,
							       1 << 24);
}

static void granite_hybrid(struct lmi_checkpoint *f)
{
	int64_t heads = lmi_checkpoint_config_require_int(f, "mamba_n_heads", 1, 1 << 16);
	int64_t expand = lmi_checkpoint_config_int(f, "mamba_expand", 2, 1, 64);

	lmi_checkpoint_fam_granite_multipliers(f);
	lmi_checkpoint_put_bool(f, "rope.scaling.finetuned",
				lmi_checkpoint_config_equals(f, "position_embedding_type", "rope"));
	put_ssm(f, "mamba_d_conv", expand * f->n_embd, "mamba_d_state", heads);
	groups(f, "mamba_n_groups");
	if (f->n_expert)
		lmi_checkpoint_put_u32(f, "expert_shared_feed_forward_length",
				       lmi_checkpoint_config_require_int(
					       f, "shared_intermediate_size", 1, 1 << 24));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_granitemoehybrid = {
	.type = "granitemoehybrid",
	.arch = "granitehybrid",
	.flags = LMI_CHECKPOINT_FAM_KV_PER_LAYER,
	.rows = {HEAD, LMI_CHECKPOINT_ROWS(granite_rows), LMI_CHECKPOINT_ROWS(granite_mixer)},
	.layers = granite_layers,
	.n_ff = granite_width,
	.keys = granite_hybrid};

/* ---- LFM2: short convolutions ---- */

static const struct lmi_checkpoint_row lfm2_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"embedding_norm", "token_embd_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.operator_norm", "blk.%d.attn_norm", {0}},
	{"layers.%d.ffn_norm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.conv.conv", "blk.%d.shortconv.conv",
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.conv.in_proj", "blk.%d.shortconv.in_proj",
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.conv.out_proj", "blk.%d.shortconv.out_proj",
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_NO_BIAS}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.out_proj", "blk.%d.attn_output", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.q_layernorm", "blk.%d.attn_q_norm", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_layernorm", "blk.%d.attn_k_norm", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.feed_forward.w1", "blk.%d.ffn_gate", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.w3", "blk.%d.ffn_up", {.layers = LMI_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.w2", "blk.%d.ffn_down", {.layers = LMI_CKPT_IN_DENSE}},
};
static const struct lmi_checkpoint_row lfm2_experts[] = {
	{"layers.%d.feed_forward.gate", "blk.%d.ffn_gate_inp", {.layers = LMI_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.expert_bias", "blk.%d.exp_probs_b.bias",
	 {.layers = LMI_CKPT_IN_MOE, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO |
	  LMI_CKPT_OPTIONAL}},
	{"layers.%d.feed_forward.experts.%d.w1", "blk.%d.ffn_gate_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.w3", "blk.%d.ffn_up_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.w2", "blk.%d.ffn_down_exps",
	 {.layers = LMI_CKPT_IN_MOE, .stack = LMI_CKPT_EXPERTS}},
};

/* Two thirds of the stated width, times a factor, rounded up. */
static int64_t lfm2_width(struct lmi_checkpoint *f, int64_t n)
{
	int64_t multiple = lmi_checkpoint_config_int(f, "block_multiple_of", 256, 1, 1 << 20);
	double factor = lmi_checkpoint_config_float(f, "block_ffn_dim_multiplier", 1);

	if (!lmi_checkpoint_config_bool(f, "block_auto_adjust_ff_dim", true))
		return n;
	if (!(factor > 0 && factor < 64))
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"block_ffn_dim_multiplier\" is %g, must be above 0 "
			"and below 64",
			f->dir, factor);
	n = f->status == LMD_OK ? (int64_t)(factor * (double)(2 * n / 3)) : n;
	return (n + multiple - 1) / multiple * multiple;
}

static void lfm2(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings|tie_embedding", true);
	lmi_checkpoint_put_u32(f, "shortconv.l_cache",
			       lmi_checkpoint_config_require_int(f, "conv_L_cache", 2, 256));
	lmi_checkpoint_config_require_bool(f, "conv_bias", false);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_lfm2 = {
	.type = "lfm2",
	.arch = "lfm2",
	.flags = LMI_CHECKPOINT_FAM_KV_PER_LAYER,
	.rows = {LMI_CHECKPOINT_ROWS(lfm2_rows)},
	.layers = lmi_checkpoint_fam_mixer_layers,
	.n_ff = lfm2_width,
	.keys = lfm2};

static void lfm2_moe_layers(struct lmi_checkpoint *f)
{
	int64_t dense = lmi_checkpoint_config_int(f, "num_dense_layers", 0, 0, f->n_layer);

	lmi_checkpoint_fam_mixer_layers(f);
	for (uint32_t i = (uint32_t)dense; f->layers && i < f->n_layer; i++)
		f->layers[i] |= LMI_CHECKPOINT_LAYER_MOE;
	lmi_checkpoint_put_u32(f, "leading_dense_block_count", dense);
}

static void lfm2_moe(struct lmi_checkpoint *f)
{
	lfm2(f);
	lmi_checkpoint_put_u32(f, "expert_gating_func", 2); /* sigmoid */
	lmi_checkpoint_config_require_bool(f, "norm_topk_prob", true);
	lmi_checkpoint_config_require_value(f, "routed_scaling_factor", 1);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_lfm2_moe = {
	.type = "lfm2_moe",
	.arch = "lfm2moe",
	.flags = LMI_CHECKPOINT_FAM_KV_PER_LAYER,
	.rows = {LMI_CHECKPOINT_ROWS(lfm2_rows), LMI_CHECKPOINT_ROWS(lfm2_experts)},
	.layers = lfm2_moe_layers,
	.keys = lfm2_moe};

/* ---- Qwen3-Next: gated delta, gated attention, norms stored minus 1 ---- */

#define DELTA "layers.%d.linear_attn."

static const struct lmi_checkpoint_row next_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm",
	 {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMI_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm",
	 {.layers = LMI_CKPT_IN_ATTN, .values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm",
	 {.layers = LMI_CKPT_IN_ATTN, .values = LMI_CKPT_PLUS_ONE}},
	{DELTA "in_proj_qkvz", "blk.%d.attn_qkv",
	 {.layers = LMI_CKPT_IN_MIXER, .op = LMI_CKPT_DELTA}},
	{DELTA "in_proj_qkvz", "blk.%d.attn_gate",
	 {.layers = LMI_CKPT_IN_MIXER, .op = LMI_CKPT_DELTA_GATE}},
	{DELTA "in_proj_ba", "blk.%d.ssm_ba", {.layers = LMI_CKPT_IN_MIXER}},
	{DELTA "conv1d", "blk.%d.ssm_conv1d", {.layers = LMI_CKPT_IN_MIXER}},
	{DELTA "dt_bias", "blk.%d.ssm_dt.bias",
	 {.layers = LMI_CKPT_IN_MIXER, .flags = LMI_CKPT_BARE_FROM | LMI_CKPT_BARE_TO}},
	{DELTA "A_log", "blk.%d.ssm_a",
	 {.layers = LMI_CKPT_IN_MIXER, .values = LMI_CKPT_NEG_EXP, .flags = LMI_CKPT_BARE_FROM |
	  LMI_CKPT_BARE_TO}},
	{DELTA "norm", "blk.%d.ssm_norm", {.layers = LMI_CKPT_IN_MIXER}},
	{DELTA "out_proj", "blk.%d.ssm_out", {.layers = LMI_CKPT_IN_MIXER}},
};
static const struct lmi_checkpoint_row next_experts[] = {
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMI_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_expert_gate", "blk.%d.ffn_gate_inp_shexp", {0}},
	{"layers.%d.mlp.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_expert.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_expert.down_proj", "blk.%d.ffn_down_shexp", {0}},
};

static void next_layers(struct lmi_checkpoint *f)
{
	int64_t n =
		lmi_checkpoint_config_int(f, "full_attention_interval", 4, 1, LMI_MODEL_MAX_LAYERS);

	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = (i + 1) % n ? LMI_CHECKPOINT_LAYER_MIXER : 0;
	lmi_checkpoint_put_u32(f, "full_attention_interval", n);
}

static void qwen3_next(struct lmi_checkpoint *f)
{
	int64_t keys = lmi_checkpoint_config_require_int(f, "linear_num_key_heads", 1, 1 << 14);
	int64_t values = lmi_checkpoint_config_require_int(f, "linear_num_value_heads", 1, 1 << 14);
	int64_t dk = lmi_checkpoint_config_require_int(f, "linear_key_head_dim", 1, 4096);
	int64_t dv = lmi_checkpoint_config_require_int(f, "linear_value_head_dim", 1, 4096);

	if (values % keys)
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"linear_num_value_heads\" is %lld, must be a multiple of "
			"%lld key heads",
			f->dir, (long long)values, (long long)keys);
	f->n_delta = (uint32_t)keys;
	f->delta_key = (uint32_t)dk;
	f->delta_value = (uint32_t)(values / keys * dv);
	put_ssm(f, "linear_conv_kernel_dim", values * dv, "linear_key_head_dim", values);
	lmi_checkpoint_put_u32(f, "ssm.group_count", keys);
	lmi_checkpoint_config_require_value(f, "decoder_sparse_step", 1);
	lmi_checkpoint_config_require_bool(f, "norm_topk_prob", true);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_qwen3_next = {
	.type = "qwen3_next",
	.arch = "qwen3next",
	.rows = {LMI_CHECKPOINT_ROWS(next_rows), LMI_CHECKPOINT_ROWS(next_experts)},
	.layers = next_layers,
	.keys = qwen3_next};
