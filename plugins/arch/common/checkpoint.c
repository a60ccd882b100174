/* SPDX-License-Identifier: MIT */
#include "arch/common/checkpoint.h"

#include "llamad/attr.h"

/* ---- rows ---- */

/* clang-format off */

static const struct lmd_checkpoint_row head[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
};
const struct lmd_checkpoint_rows arch_ckpt_head = {head, LMD_LEN(head), 0};

static const struct lmd_checkpoint_row attn[] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {0}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {0}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_attn = {attn, LMD_LEN(attn), 0};

static const struct lmd_checkpoint_row attn_adj[] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.op = LMD_CKPT_ROPE_Q}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.op = LMD_CKPT_ROPE_K}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_attn_adj = {attn_adj, LMD_LEN(attn_adj), 0};

static const struct lmd_checkpoint_row glu[] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", {0}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_glu = {glu, LMD_LEN(glu), 0};

static const struct lmd_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_norms = {norms, LMD_LEN(norms), 0};

static const struct lmd_checkpoint_row qk_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_qk_norms = {qk_norms, LMD_LEN(qk_norms), 0};

static const struct lmd_checkpoint_row query_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.query_layernorm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.key_layernorm", "blk.%d.attn_k_norm", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_query_norms = {query_norms, LMD_LEN(query_norms), 0};

static const struct lmd_checkpoint_row post_norms[] = {
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.post_feedforward_layernorm", "blk.%d.post_ffw_norm", {0}},
};
const struct lmd_checkpoint_rows arch_ckpt_post_norms = {post_norms, LMD_LEN(post_norms), 0};

static const struct lmd_checkpoint_row experts[] = {
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps", {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps", {.stack = LMD_CKPT_EXPERTS}},
};
const struct lmd_checkpoint_rows arch_ckpt_experts = {experts, LMD_LEN(experts), 0};

static const struct lmd_checkpoint_row dense_moe[] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.mlp.gate", "blk.%d.ffn_gate_inp", {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.mlp.gate.e_score_correction_bias", "blk.%d.exp_probs_b.bias",
	 {.layers = LMD_CKPT_IN_MOE, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO |
	  LMD_CKPT_OPTIONAL}},
	{"layers.%d.mlp.experts.%d.gate_proj", "blk.%d.ffn_gate_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.up_proj", "blk.%d.ffn_up_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.experts.%d.down_proj", "blk.%d.ffn_down_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.mlp.shared_experts.gate_proj", "blk.%d.ffn_gate_shexp",
	 {.layers = LMD_CKPT_IN_MOE, .flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.mlp.shared_experts.up_proj", "blk.%d.ffn_up_shexp",
	 {.layers = LMD_CKPT_IN_MOE, .flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.mlp.shared_experts.down_proj", "blk.%d.ffn_down_shexp",
	 {.layers = LMD_CKPT_IN_MOE, .flags = LMD_CKPT_OPTIONAL}},
};
const struct lmd_checkpoint_rows arch_ckpt_dense_moe = {dense_moe, LMD_LEN(dense_moe), 0};

/* clang-format on */

/* ---- keys ---- */

void arch_ckpt_require_value(struct lmd_checkpoint *c, const char *name, double want)
{
	double v = c->get_float(c, name, want);

	if (v != want)
		c->fail(c, LMD_UNSUPPORTED, "\"%s\" is %g, but architecture %s requires %g", name,
			v, c->arch, want);
}

void arch_ckpt_require_bool(struct lmd_checkpoint *c, const char *name, bool want)
{
	if (c->get_bool(c, name, want) != want)
		c->fail(c, LMD_UNSUPPORTED,
			"\"%s\" is %s, but architecture %s supports only "
			"the other value",
			name, want ? "false" : "true", c->arch);
}

void arch_ckpt_put_window(struct lmd_checkpoint *c, uint32_t period)
{
	uint8_t *is;
	bool usual = true, any = false;

	if (!c->has(c, "sliding_window"))
		return;
	is = c->alloc(c, c->n_layer, 1);
	if (!is)
		return;
	if (!c->window_layers(c, is)) {
		uint32_t n =
			(uint32_t)c->get_int(c, "sliding_window_pattern|_sliding_window_pattern",
					     period, 0, LMD_CKPT_MAX_LAYERS);

		for (uint32_t i = 0; i < c->n_layer; i++)
			is[i] = !n || (i + 1) % n != 0;
	}
	for (uint32_t i = 0; i < c->n_layer; i++) {
		any = any || is[i];
		usual = usual && is[i] == (!period || (i + 1) % period != 0);
	}
	if (!any)
		return;
	c->put_u32(c, "attention.sliding_window", c->get_int(c, "sliding_window", 0, 0, INT32_MAX));
	if (!usual)
		c->put_bools(c, "attention.sliding_window_pattern", is, c->n_layer);
}

int64_t arch_ckpt_window_size(struct lmd_checkpoint *c, int64_t absent)
{
	if (c->is_null(c, "sliding_window"))
		return 0;
	return c->get_int(c, "sliding_window", absent, 0, INT32_MAX);
}

void arch_ckpt_put_folder_window(struct lmd_checkpoint *c, int64_t n, const uint8_t *is)
{
	bool any = !is, all = true;

	for (uint32_t i = 0; is && i < c->n_layer; i++) {
		any = any || is[i];
		all = all && is[i];
	}
	if (n < 1 || !any)
		return;
	c->put_u32(c, "@folder.attention.sliding_window", n);
	if (!all)
		c->put_bools(c, "@folder.attention.sliding_window_pattern", is, c->n_layer);
}

void arch_ckpt_put_windows(struct lmd_checkpoint *c, bool (*has)(int64_t il, int64_t n_max))
{
	int64_t n = arch_ckpt_window_size(c, 4096), n_max;
	uint8_t *is;

	if (!c->get_bool(c, "use_sliding_window", false))
		return;
	n_max = c->get_int(c, "max_window_layers", 28, 0, INT32_MAX);
	is = c->alloc(c, c->n_layer, 1);
	if (!is)
		return;
	if (!c->window_layers(c, is))
		for (uint32_t i = 0; i < c->n_layer; i++)
			is[i] = has(i, n_max);
	arch_ckpt_put_folder_window(c, n, is);
}

static bool upper_layer(int64_t il, int64_t n_max)
{
	return il >= n_max;
}

void arch_ckpt_put_upper_windows(struct lmd_checkpoint *c)
{
	arch_ckpt_put_windows(c, upper_layer);
}

void arch_ckpt_dense_first_layers(struct lmd_checkpoint *c, int64_t n)
{
	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] = (uint8_t)(i < n ? 0 : LMD_CKPT_LAYER_MOE);
	c->put_u32(c, "leading_dense_block_count", n);
}

void arch_ckpt_dense_layers(struct lmd_checkpoint *c)
{
	arch_ckpt_dense_first_layers(c, c->get_int(c, "first_k_dense_replace",
						   c->n_expert ? 0 : c->n_layer, 0, c->n_layer));
}

void arch_ckpt_mixer_layers(struct lmd_checkpoint *c)
{
	static const char key[] = "layer_types";
	int64_t n = c->list_len(c, key);

	if (n != (int64_t)c->n_layer) {
		c->fail(c, LMD_INVALID, "\"%s\" is not a list of %u elements", key, c->n_layer);
		return;
	}
	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] = (uint8_t)(c->list_is_text(c, key, i, "full_attention") ||
							 c->list_is_text(c, key, i, "attention")
						 ? 0
						 : LMD_CKPT_LAYER_MIXER);
}

void arch_ckpt_all_experts(struct lmd_checkpoint *c)
{
	int64_t n = c->list_len(c, "mlp_only_layers");

	arch_ckpt_require_value(c, "decoder_sparse_step", 1);
	if (n > 0)
		c->fail(c, LMD_UNSUPPORTED,
			"\"mlp_only_layers\" has %lld elements, but all layers have experts in "
			"architecture %s",
			(long long)n, c->arch);
}

void arch_ckpt_check_nope(struct lmd_checkpoint *c, uint32_t period)
{
	static const char key[] = "no_rope_layers";
	int64_t n = c->list_len(c, key);

	if (n > 0 ? n != (int64_t)c->n_layer : n < 0 && c->has(c, key)) {
		c->fail(c, LMD_UNSUPPORTED, "\"%s\" is not a list of %u elements", key, c->n_layer);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (c->list_int(c, key, i, 1) == ((i + 1) % period != 0))
			continue;
		c->fail(c, LMD_UNSUPPORTED,
			"\"%s\": element %u does not fit architecture %s, in which one layer in "
			"%u has no RoPE",
			key, i, c->arch, period);
		return;
	}
}

void arch_ckpt_put_routing(struct lmd_checkpoint *c, enum arch_ckpt_gate def)
{
	enum arch_ckpt_gate gate = c->is_text(c, "scoring_func", "sigmoid")   ? ARCH_CKPT_SIGMOID
				   : c->is_text(c, "scoring_func", "softmax") ? ARCH_CKPT_SOFTMAX
									      : def;

	c->put_u32(c, "expert_gating_func", gate);
	if (c->has(c, "routed_scaling_factor"))
		c->put_f32(c, "expert_weights_scale", c->get_float(c, "routed_scaling_factor", 1));
	c->put_bool(c, "expert_weights_norm", c->get_bool(c, "norm_topk_prob", false));
	if (c->has(c, "n_group")) {
		c->put_u32(c, "expert_group_count",
			   c->get_int(c, "n_group", 1, 1, LMD_CKPT_MAX_LAYERS));
		c->put_u32(c, "expert_group_used_count",
			   c->need_int(c, "topk_group", 1, LMD_CKPT_MAX_LAYERS));
	}
}

void arch_ckpt_put_shared_count(struct lmd_checkpoint *c, const char *names)
{
	c->put_u32(c, "expert_shared_count", c->get_int(c, names, 0, 0, 64));
}

void arch_ckpt_put_ssm(struct lmd_checkpoint *c, const char *kernel, int64_t inner,
		       const char *state, int64_t rank)
{
	c->put_u32(c, "ssm.conv_kernel", c->get_int(c, kernel, 4, 2, 256));
	c->put_u32(c, "ssm.inner_size", inner);
	c->put_u32(c, "ssm.state_size", c->need_int(c, state, 1, 4096));
	c->put_u32(c, "ssm.time_step_rank", rank);
}

void arch_ckpt_put_groups(struct lmd_checkpoint *c, const char *name)
{
	c->n_group = (uint32_t)c->get_int(c, name, 1, 1, 1024);
	c->put_u32(c, "ssm.group_count", c->n_group);
}

int64_t arch_ckpt_rank(struct lmd_checkpoint *c, const char *name)
{
	int64_t def = ((int64_t)c->n_embd + 15) / 16;

	return c->is_text(c, name, "auto") ? def : c->get_int(c, name, def, 1, 1 << 20);
}

void arch_ckpt_put_granite(struct lmd_checkpoint *c)
{
	c->put_f32(c, "attention.scale", c->get_float(c, "attention_multiplier", 1));
	c->put_f32(c, "embedding_scale", c->get_float(c, "embedding_multiplier", 1));
	c->put_f32(c, "residual_scale", c->get_float(c, "residual_multiplier", 1));
	c->put_f32(c, "logit_scale", c->get_float(c, "logits_scaling", 1));
}
