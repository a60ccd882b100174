/* SPDX-License-Identifier: MIT
 *
 * MiniMax-M3 (model card MiniMaxAI/MiniMax-M3): grouped-query attention over blocks of keys;
 * leading dense layers, then routed experts and a shared one; all gates are clamped as in gpt-oss.
 *
 * In layers with experts an indexer scores each block of keys by its best key, for each key head; a
 * row attends to the best blocks and always to its own most recent ones. */
#include <math.h>

#include "arch/moe/moe.h"

#define ALPHA 1.702f /* of the activation */
#define LIMIT 7.0f

enum { D_IDX_Q = D_OWN, D_IDX_K };
enum { I_Q, I_K, I_Q_NORM, I_K_NORM, I_N };
#define ROW(stem, d0, d1)                                                                          \
	{                                                                                          \
		"blk.%d.indexer." stem, {d0, d1}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,        \
			LMI_L_MOE, NULL                                                            \
	}

static const struct lmd_tensor_row rows[I_N] = {
	[I_Q] = ROW("q_proj", D_EMBD, D_IDX_Q),
	[I_K] = ROW("k_proj", D_EMBD, D_IDX_K),
	[I_Q_NORM] = ROW("q_norm", D_IDX_K, 0),
	[I_K_NORM] = ROW("k_norm", D_IDX_K, 0),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN,    LMI_SET_MOE,       LMI_SET_SHEXP, LMI_OWN(rows),
};

struct indexer {
	uint32_t n_head, dk, top, block, local;
	uint32_t *cache;      /* [n_layer] */
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct indexer *x = lmi_hp_alloc(hp, k, 1, sizeof(*x));

	if (!x)
		return;
	hp->own_data = x;
	x->n_head =
		lmi_key_u32(k, "attention.indexer.head_count", LMI_REQUIRED, 1, 1, LMI_MAX_HEAD);
	x->dk = lmi_key_u32(k, "attention.indexer.key_length", LMI_REQUIRED, 2, 2, LMI_MAX_DK);
	x->top = lmi_key_u32(k, "attention.indexer.top_k", LMI_REQUIRED, 1, 1, LMI_MAX_CTX);
	x->block = lmi_key_u32(k, "attention.indexer.block_size", LMI_REQUIRED, 1, 1, LMI_MAX_CTX);
	x->local = lmi_key_u32(k, "attention.indexer.local_blocks", LMI_REQUIRED, 0, 0, x->top);
	x->cache = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct lmi_layer *l = &hp->layer[il];

		if ((l->cls & LMI_L_MOE) && (l->n_head_kv != x->n_head || l->n_rot > x->dk))
			lmi_key_fail(k, LMD_INVALID,
				     "%s.attention.indexer.head_count: %u heads of %u columns, but "
				     "layer %u has %u key heads and rotates %u columns",
				     hp->model->arch, x->n_head, x->dk, il, l->n_head_kv, l->n_rot);
	}
}

/* Places the index keys in the group of the attention keys that they represent. */
static void index_memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct indexer *x = (struct indexer *)(uintptr_t)hp->own_data;

	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct lmd_cache c = {.group = hp->layer[il].group,
					    .kind = LMD_CACHE_INDEX,
					    .n_head = 1,
					    .dk = x->dk,
					    .dtype_policy = LMD_KV_DTYPE_F32};

		if (!(hp->layer[il].cls & LMI_L_MOE))
			continue;
		x->cache[il] = lmi_hp_add_cache(hp, k, &c);
	}
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;
	const struct indexer *x = hp->own_data;

	return symbol == D_IDX_Q   ? (int64_t)x->n_head * x->dk
	       : symbol == D_IDX_K ? x->dk
				   : lmi_hp_dim(state, symbol, layer);
}

/* The chosen blocks: one list per key head. */
static uint32_t choose(struct lmi_emit *e, const struct indexer *x, struct lmd_opnd in)
{
	const struct lmi_layer *l = lmi_cur(e);
	struct lmi_w wq = lmi_w(e, &rows[I_Q]), wk = lmi_w(e, &rows[I_K]);
	uint32_t q = lmi_linear(e, in, NULL, &wq, LMD_VTYPE_F32, "index_q");
	uint32_t k = lmi_linear(e, in, NULL, &wk, LMD_VTYPE_F32, "index_k");
	uint32_t q_rot = lmi_f32(e, x->n_head * x->dk, "index_q_rot");
	uint32_t list = lmi_i32(e, x->n_head * x->top, "blocks");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = lmi_heads(q, 0, x->n_head, x->dk);
	op.u.rope_kv.q_out = lmi_heads(q_rot, 0, x->n_head, x->dk);
	op.u.rope_kv.k = lmi_whole(e, k);
	op.u.rope_kv.qn = lmi_norm_req(e, LMD_NORM_RMS, &rows[I_Q_NORM]);
	op.u.rope_kv.kn = lmi_norm_req(e, LMD_NORM_RMS, &rows[I_K_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.cache = x->cache[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_INDEX);
	op.u.index.q = lmi_heads(q_rot, 0, x->n_head, x->dk);
	op.u.index.y = lmi_heads(list, 0, x->n_head, x->top);
	op.u.index.kind = LMD_INDEX_PER_HEAD;
	op.u.index.cache = x->cache[e->il];
	op.u.index.n = x->top;
	op.u.index.unit = x->block;
	op.u.index.local = x->local;
	op.u.index.scale = 1.0f;
	lmi_put(e, &op);
	return list;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	const struct indexer *x = d->hp.own_data;
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);

	if (lmi_cur(e)->cls & LMI_L_MOE) {
		io.x = lmi_normed(e, &io, "attn_norm");
		io.norm = lmi_no_norm();
		a.list = lmi_heads(choose(e, x, io.x), 0, x->n_head, x->top);
		a.list_unit = x->block;
	}
	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static void clamped(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_ffn *f)
{
	(void)e;
	(void)d;
	f->p[0] = ALPHA;
	f->p[1] = LIMIT;
}

static void clamped_moe(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	m->p[0] = ALPHA;
	m->p[1] = LIMIT;
	clamped(e, d, &m->shared);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.act = LMD_ACT_OAI,
	.adjust = adjust,
	.memory = index_memory,
	.ffn = clamped,
	.moe = clamped_moe,
	.layer = layer,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return lmi_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

const struct lmd_arch_ops lmi_arch_minimax_m3 = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class,
	.build = lmi_decoder_build,
};
