/* SPDX-License-Identifier: MIT
 *
 * EAGLE-3 (arXiv 2503.01840): a draft model of one layer.
 *
 * Row r joins the normalised embedding of token r with a normalised row g, and is a LLaMA layer from there
 * on whose attention reads both halves:
 *
 *     x_r = g + attn([norm(E[token r]) | norm(g)]);  y_r = x_r + ffn(norm(x_r));  logits = head(norm(y_r))
 *
 * g is fc of three streams of the target at token r - 1 (variant 0); after the first guess it is y_(r-1)
 * (variant 1).  With norm_before_residual, norm(g) takes the place of the first g. */
#include "arch/common/checkpoint.h"
#include "arch/common/draft.h"
#include "arch/dense/dense.h"

struct eagle {
	struct arch_draft d;
	bool norm_before_residual;
};

enum { HIDDEN_NORM, Q, K, V };

static const struct lmd_tensor_row own[] = {
	[HIDDEN_NORM] = {"blk.%d.attn_norm_2", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
			 ARCH_L_ATTN, "blk.%d.hidden_norm"},
	/* their rows have 2 * n_embd columns */
	[Q] = {"blk.%d.attn_q", {0}, LMD_TENSOR_REQUIRED | LMD_TENSOR_ANY_SHAPE | LMD_TENSOR_BIAS,
	       LMD_SPLIT_REPLICATE, ARCH_L_ATTN, NULL},
	[K] = {"blk.%d.attn_k", {0}, LMD_TENSOR_REQUIRED | LMD_TENSOR_ANY_SHAPE | LMD_TENSOR_BIAS,
	       LMD_SPLIT_REPLICATE, ARCH_L_ATTN, NULL},
	[V] = {"blk.%d.attn_v", {0}, LMD_TENSOR_REQUIRED | LMD_TENSOR_ANY_SHAPE | LMD_TENSOR_BIAS,
	       LMD_SPLIT_REPLICATE, ARCH_L_ATTN, NULL},
};

static const struct lmd_tensor_row global[] = {ARCH_DRAFT_FC, ARCH_DRAFT_D2T, ARCH_DRAFT_OUTPUT};

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_OPT(T_TOKEN_EMBD, T_TOKEN_EMBD), ARCH_ROWS_REQ(T_OUTPUT_NORM, T_OUTPUT_NORM),
	ARCH_ROWS_OWN(global),	ARCH_SET_ATTN_NORM,
	ARCH_ROWS_OWN(own),	ARCH_ROWS_REQ(T_ATTN_OUT, T_ATTN_OUT),
	ARCH_SET_FFN_NORM,	ARCH_SET_FFN,
	ARCH_SET_ROPE_FACTORS,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_RMS,
						 .rope_pairing = LMD_ROPE_ADJACENT};
	struct eagle *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	arch_hp_read(&m->d.hp, &k, host, arena, params, &opts);
	if (k.st != LMD_OK)
		return k.st;
	arch_draft_read(&m->d, &k, "extract_layers");
	m->norm_before_residual = arch_key_bool(&k, "norm_before_residual", ARCH_OPTIONAL, false);
	if (m->d.hp.n_layer != 1)
		arch_key_fail(&k, LMD_UNSUPPORTED, "%s.block_count: %u layers, expected 1", model->arch,
			      m->d.hp.n_layer);
	if (arch_key_bool(&k, "norm_before_fc", ARCH_OPTIONAL, false) ||
	    arch_hp_tensor(&m->d.hp, "fc_norm.weight") != LMD_NONE)
		arch_key_fail(&k, LMD_UNSUPPORTED,
			      "architecture %s: norms before the matrix fc (norm_before_fc) are not "
			      "supported",
			      model->arch);
	arch_hp_memory(&m->d.hp, &k, 1);
	if (k.st == LMD_OK)
		arch_hp_finish(&m->d.hp, &k, params, out);
	out->draft = &m->d.desc;
	return k.st;
}

/* The row that is joined with the token: of the target's streams, or of the step before. */
static struct lmd_operand joined_row(struct arch_emit *e, const struct eagle *m,
				     const struct lmd_plan_key *key)
{
	if (key->variant)
		return arch_draft_input(e, m->d.hp.n_embd);
	return arch_operand_cols(arch_draft_fuse(e, &m->d, LMD_VTYPE_F32), 0, m->d.hp.n_embd);
}

/* The residual stream before the attention, as a value. */
static uint32_t stream(struct arch_emit *e, const struct eagle *m, struct lmd_operand g,
		       struct lmd_operand g_norm)
{
	uint32_t x;

	if (!m->norm_before_residual && g.src == LMD_SRC_VALUE)
		return g.id;
	x = arch_value_f32(e, m->d.hp.n_embd, "x");
	arch_put_scale_add(e, m->norm_before_residual ? g_norm : g, 1.0f, arch_operand_none(),
			   arch_operand_cols(x, 0, m->d.hp.n_embd));
	return x;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	static const struct arch_attn_rows rows = {
		.q = &own[Q], .k = &own[K], .v = &own[V], .out = &arch_rows[T_ATTN_OUT]};
	const struct eagle *m = state;
	const uint32_t n = m->d.hp.n_embd;
	struct arch_ffn f = arch_ffn_default();
	struct arch_block_io io = {.norm = arch_no_norm(), .a = 1.0f};
	struct lmd_norm token_norm, hidden_norm;
	struct lmd_operand g, g_norm;
	uint32_t token, both, x;
	struct arch_attn a;
	struct arch_emit e;

	arch_emit_init(&e, b, &m->d.hp, key);
	if (!arch_draft_key_ok(&e, key))
		return LMD_UNSUPPORTED;
	arch_set_layer(&e, 0);
	g = joined_row(&e, m, key);
	token = arch_draft_embed(&e);
	both = arch_value_act(&e, 2 * n, "token_hidden");
	token_norm = arch_norm_req(&e, m->d.hp.norm_kind, &arch_rows[T_ATTN_NORM]);
	hidden_norm = arch_norm_heads(&e, m->d.hp.norm_kind, NULL, 1, n);
	hidden_norm.g = arch_operand_weight_cols(arch_weight_req(&e, &own[HIDDEN_NORM]).id, n);
	g_norm = arch_operand_cols(both, n, n);
	arch_put_norm(&e, arch_operand_cols(token, 0, n), &token_norm, arch_operand_cols(both, 0, n));
	arch_put_norm(&e, g, &hidden_norm, g_norm);
	io.x = arch_operand_cols(both, 0, 2 * n);
	io.res = stream(&e, m, g, g_norm);
	a = arch_attn_default(&e, 0);
	a.rows = &rows;
	x = arch_attn(&e, &io, &a);
	io.x = arch_operand_cols(x, 0, n);
	io.norm = arch_norm_req(&e, m->d.hp.norm_kind, &arch_rows[T_FFN_NORM]);
	io.res = x;
	x = arch_ffn(&e, &io, &f);
	if (key->flags & LMD_PLAN_HIDDEN)
		b->output(b->ctx, LMD_OUT_TAP, x);
	arch_draft_head(&e, x);
	return b->status(b->ctx);
}

/* ---- checkpoints ---- */

#define BARE     (LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO)
#define OPTIONAL LMD_CKPT_OPTIONAL

static const struct lmd_checkpoint_row ckpt_rows[] = {
	{"fc", "fc", {0}},
	{"norm", "output_norm", {0}},
	{"lm_head", "output", {.flags = OPTIONAL}},
	{"embed_tokens", "token_embd", {.flags = OPTIONAL}},
	{"d2t", "d2t", {.flags = BARE | OPTIONAL | LMD_CKPT_INTEGERS}},
	{"t2d", "t2d", {.flags = LMD_CKPT_BARE_FROM | LMD_CKPT_UNUSED}},
	{"midlayer.input_layernorm", "blk.0.attn_norm", {0}},
	{"midlayer.hidden_norm", "blk.0.attn_norm_2", {0}},
	{"midlayer.self_attn.q_proj", "blk.0.attn_q", {.op = LMD_CKPT_ROPE_Q}},
	{"midlayer.self_attn.k_proj", "blk.0.attn_k", {.op = LMD_CKPT_ROPE_K}},
	{"midlayer.self_attn.v_proj", "blk.0.attn_v", {0}},
	{"midlayer.self_attn.o_proj", "blk.0.attn_output", {0}},
	{"midlayer.post_attention_layernorm", "blk.0.ffn_norm", {0}},
	{"midlayer.mlp.gate_proj", "blk.0.ffn_gate", {0}},
	{"midlayer.mlp.up_proj", "blk.0.ffn_up", {0}},
	{"midlayer.mlp.down_proj", "blk.0.ffn_down", {0}},
};

/* The layers whose output is read, as SGLang counts them, or those before which it is, as vLLM does. */
static void ckpt_keys(struct lmd_checkpoint *c)
{
	static const char after[] = "eagle_config.eagle_aux_hidden_state_layer_ids",
			  before[] = "eagle_aux_hidden_state_layer_ids";
	const bool is_after = c->list_len(c, after) > 0;

	c->tied = false; /* a head in the file is the draft model's own, also beside an embedding */
	if (c->has(c, "target_hidden_size"))
		c->put_u32(c, "target_hidden_size",
			   c->get_int(c, "target_hidden_size", 0, 1, ARCH_KEY_MAX_WIDTH));
	c->put_bool(c, "norm_before_residual", c->get_bool(c, "norm_before_residual", false));
	c->put_bool(c, "@folder.d2t_is_relative", true);
	arch_draft_put_layers(c, is_after ? after : before, is_after);
}

static const struct lmd_checkpoint_map maps[] = {
	{.type = "LlamaForCausalLMEagle3",
	 .arch = "eagle3",
	 .rows = {ARCH_CKPT_ROWS(ckpt_rows)},
	 .keys = ckpt_keys},
};
static const struct lmd_checkpoint_maps checkpoints = ARCH_CKPT_MAPS(maps);

const struct lmd_arch_ops arch_eagle3 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = arch_hp_dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.checkpoints = &checkpoints,
};
