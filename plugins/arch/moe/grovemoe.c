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
		"blk.%d." stem, {d0, d1, D_CHUNKS}, LMD_TENSOR_REQUIRED, LMD_SPLIT_EXPERTS,        \
			LMI_L_MOE, NULL                                                            \
	}

static const struct lmd_tensor_row rows[CH_N] = {
	[CH_GATE] = ROW("ffn_gate_chexps", D_EMBD, D_FF_CHUNK),
	[CH_DOWN] = ROW("ffn_down_chexps", D_FF_CHUNK, D_EMBD),
	[CH_UP] = ROW("ffn_up_chexps", D_EMBD, D_FF_CHUNK),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV,   LMI_SET_QK_NORM,
	LMI_SET_FFN_NORM, LMI_SET_MOE,       LMI_OWN(rows),
};

struct grove {
	uint32_t per_group, n_ff;
	float scale;
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct grove *g = lmi_hp_alloc(hp, k, 1, sizeof(*g));

	if (!g)
		return;
	hp->own_data = g;
	g->n_ff = lmi_key_u32(k, "expert_chunk_feed_forward_length", LMI_REQUIRED, 1, 1,
			      LMI_MAX_WIDTH);
	g->scale = (float)lmi_key_f64(k, "expert_group_scale", LMI_REQUIRED, 1.0, -1e6, 1e6);
	g->per_group = lmi_key_u32(k, "experts_per_group", LMI_REQUIRED, 1, 1, LMI_MAX_EXPERT);
	if (k->st == LMD_OK && (!hp->n_expert || hp->n_expert % g->per_group))
		lmi_key_fail(k, LMD_INVALID, "%s.experts_per_group: %u does not divide %u experts",
			     hp->model->arch, g->per_group, hp->n_expert);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;
	const struct grove *g = hp->own_data;

	return symbol == D_FF_CHUNK ? g->n_ff
	       : symbol == D_CHUNKS ? hp->n_expert / g->per_group
				    : lmi_hp_dim(state, symbol, layer);
}

/* The chosen experts' indices divided by the group size.  The routing weights are also looked up
 * by the divided index, as existing files expect. */
static uint32_t chunks_of(struct lmi_emit *e, const struct lmi_moe *m, uint32_t per_group)
{
	struct lmd_op op = lmi_op(LMD_OP_ROUTE);
	uint32_t ids = lmi_i32(e, m->n_used, "chunks"), weights = lmi_f32(e, m->n_used, "chunk_of");

	op.u.route.logits = lmi_whole(e, m->logits);
	op.u.route.ids = lmi_whole(e, ids);
	op.u.route.weights = lmi_whole(e, weights);
	op.u.route.fn = LMD_ROUTE_SOFTMAX;
	op.u.route.k = m->n_used;
	op.u.route.id_div = per_group;
	lmi_put(e, &op);
	return ids;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	const struct grove *g = d->hp.own_data;
	const uint32_t n_chunk = d->hp.n_expert / g->per_group;
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_moe m = lmi_moe_default(e);
	uint32_t y;

	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	io.x = lmi_normed(e, &io, "ffn_norm");
	io.norm = lmi_no_norm();
	io.res = LMD_NONE;
	m.need_gate = true;
	m.logits = lmi_router(e, io.x, m.router);
	y = lmi_moe(e, &io, &m);
	lmi_add_later(e, s, y, 1.0f);
	(void)lmi_flush(e, s);

	m.gate = &rows[CH_GATE];
	m.up = &rows[CH_UP];
	m.down = &rows[CH_DOWN];
	m.gate_up = NULL;
	m.n_used = m.n_used < n_chunk ? m.n_used : n_chunk;
	m.given = chunks_of(e, &m, g->per_group);
	io.x = lmi_whole(e, y);
	io.res = s->x;
	io.a = g->scale;
	s->x = lmi_moe(e, &io, &m);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = adjust,
	.layer = layer,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return lmi_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

const struct lmd_arch_ops lmi_arch_grovemoe = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class,
	.build = lmi_decoder_build,
};
