/* SPDX-License-Identifier: MIT
 *
 * GroveMoE (arXiv 2508.07785): Qwen3 with experts, and small "chunk" experts, each shared by a
 * group of neighbouring experts.  The chunk experts read the output of the experts; the index of a
 * chosen expert divided by the group size gives its chunk expert. */
#include "arch/moe/moe.h"

enum { D_FF_CHUNK = D_OWN, D_CHUNKS };
enum { CH_GATE, CH_DOWN, CH_UP, CH_N };
#define ROW(stem, d0, d1)                                                                          \
	{                                                                                          \
		"blk.%d." stem, {d0, d1, D_CHUNKS}, LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA, LMD_SPLIT_EXPERTS,        \
			ARCH_L_MOE, NULL                                                           \
	}

static const struct lmd_tensor_row rows[CH_N] = {
	[CH_GATE] = ROW("ffn_gate_chexps", D_EMBD, D_FF_CHUNK),
	[CH_DOWN] = ROW("ffn_down_chexps", D_FF_CHUNK, D_EMBD),
	[CH_UP] = ROW("ffn_up_chexps", D_EMBD, D_FF_CHUNK),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,        ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_MOE,       ARCH_ROWS_OWN(rows),
};

struct grove {
	uint32_t per_group, n_ff;
	float scale;
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct grove *g = arch_hp_alloc(hp, k, 1, sizeof(*g));

	if (!g)
		return;
	hp->arch_data = g;
	g->n_ff = arch_key_u32(k, "expert_chunk_feed_forward_length", ARCH_REQUIRED, 1, 1,
			       ARCH_KEY_MAX_WIDTH);
	g->scale = (float)arch_key_f64(k, "expert_group_scale", ARCH_REQUIRED, 1.0, -1e6, 1e6);
	g->per_group = arch_key_u32(k, "experts_per_group", ARCH_REQUIRED, 1, 1, ARCH_MAX_EXPERT);
	if (k->st == LMD_OK && (!hp->n_expert || hp->n_expert % g->per_group))
		arch_key_fail(k, LMD_INVALID, "%s.experts_per_group: %u does not divide %u experts",
			      hp->model->arch, g->per_group, hp->n_expert);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;
	const struct grove *g = hp->arch_data;

	return symbol == D_FF_CHUNK ? g->n_ff
	       : symbol == D_CHUNKS ? hp->n_expert / g->per_group
				    : arch_hp_dim(state, symbol, layer);
}

/* The chosen experts' indices divided by the group size.  The routing weights are also looked up
 * by the divided index, as existing files expect. */
static uint32_t chunks_of(struct arch_emit *e, const struct arch_moe *m, uint32_t per_group)
{
	struct lmd_op op = arch_op_empty(LMD_OP_ROUTE);
	uint32_t ids = arch_value_i32(e, m->n_used, "chunks"),
		 weights = arch_value_f32(e, m->n_used, "chunk_of");

	op.u.route.logits = arch_operand_all(e, m->logits);
	op.u.route.ids = arch_operand_all(e, ids);
	op.u.route.weights = arch_operand_all(e, weights);
	op.u.route.fn = LMD_ROUTE_SOFTMAX;
	op.u.route.k = m->n_used;
	op.u.route.id_div = per_group;
	arch_emit_op(e, &op);
	return ids;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const struct grove *g = d->hp.arch_data;
	const uint32_t n_chunk = d->hp.n_expert / g->per_group;
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_moe m = arch_moe_default(e);
	uint32_t y;

	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	io.x = arch_normalised_input(e, &io, "ffn_norm");
	io.norm = arch_no_norm();
	io.res = LMD_NONE;
	m.need_gate = true;
	m.logits = arch_router(e, io.x, m.router);
	y = arch_moe(e, &io, &m);
	arch_residual_defer_add(e, s, y, 1.0f);
	(void)arch_residual_flush(e, s);

	m.gate = &rows[CH_GATE];
	m.up = &rows[CH_UP];
	m.down = &rows[CH_DOWN];
	m.gate_up = NULL;
	m.n_used = m.n_used < n_chunk ? m.n_used : n_chunk;
	m.expert_ids = chunks_of(e, &m, g->per_group);
	io.x = arch_operand_all(e, y);
	io.res = s->x;
	io.a = g->scale;
	s->x = arch_moe(e, &io, &m);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.adjust = adjust,
	.layer = layer,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return arch_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				     err);
}

const struct lmd_arch_ops arch_grovemoe = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = arch_decoder_build,
};
