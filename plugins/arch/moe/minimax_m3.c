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
#define ROW(stem, d0, d1, flags)                                                                   \
	{                                                                                          \
		"blk.%d.indexer." stem, {d0, d1}, LMD_TENSOR_REQUIRED | (flags),                   \
			LMD_SPLIT_REPLICATE, ARCH_L_MOE, NULL                                      \
	}

static const struct lmd_tensor_row rows[I_N] = {
	[I_Q] = ROW("q_proj", D_EMBD, D_IDX_Q, LMD_TENSOR_KEEP_TYPE),
	[I_K] = ROW("k_proj", D_EMBD, D_IDX_K, LMD_TENSOR_KEEP_TYPE),
	[I_Q_NORM] = ROW("q_norm", D_IDX_K, 0, 0),
	[I_K_NORM] = ROW("k_norm", D_IDX_K, 0, 0),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_QK_NORM,    ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_ROWS_OWN(rows),
};

struct indexer {
	uint32_t n_head, dk, top, block, local;
	uint32_t *cache;      /* [n_layer] */
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct indexer *x = arch_hp_alloc(hp, k, 1, sizeof(*x));

	if (!x)
		return;
	hp->arch_data = x;
	x->n_head =
		arch_key_u32(k, "attention.indexer.head_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	x->dk = arch_key_u32(k, "attention.indexer.key_length", ARCH_REQUIRED, 2, 2, ARCH_MAX_DK);
	x->top = arch_key_u32(k, "attention.indexer.top_k", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	x->block =
		arch_key_u32(k, "attention.indexer.block_size", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	x->local = arch_key_u32(k, "attention.indexer.local_blocks", ARCH_REQUIRED, 0, 0, x->top);
	x->cache = arch_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct arch_layer *l = &hp->layer[il];

		if ((l->cls & ARCH_L_MOE) && (l->n_head_kv != x->n_head || l->n_rot > x->dk))
			arch_key_fail(
				k, LMD_INVALID,
				"%s.attention.indexer.head_count: %u heads of %u columns, but "
				"layer %u has %u key heads and rotates %u columns",
				hp->model->arch, x->n_head, x->dk, il, l->n_head_kv, l->n_rot);
	}
}

/* Places the index keys in the group of the attention keys that they represent. */
static void index_memory(struct arch_hparams *hp, struct arch_keys *k)
{
	struct indexer *x = (struct indexer *)(uintptr_t)hp->arch_data;

	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct lmd_cache c = {.group = hp->layer[il].group,
					    .kind = LMD_CACHE_INDEX,
					    .n_head = 1,
					    .dk = x->dk,
					    .dtype_policy = LMD_KV_DTYPE_F32};

		if (!(hp->layer[il].cls & ARCH_L_MOE))
			continue;
		x->cache[il] = arch_hp_add_cache(hp, k, &c);
	}
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;
	const struct indexer *x = hp->arch_data;

	return symbol == D_IDX_Q   ? (int64_t)x->n_head * x->dk
	       : symbol == D_IDX_K ? x->dk
				   : arch_hp_dim(state, symbol, layer);
}

/* The chosen blocks: one list per key head. */
static uint32_t choose(struct arch_emit *e, const struct indexer *x, struct lmd_operand in)
{
	const struct arch_layer *l = arch_current_layer(e);
	struct arch_weight wq = arch_weight_req(e, &rows[I_Q]), wk = arch_weight_req(e, &rows[I_K]);
	uint32_t q = arch_linear(e, in, NULL, &wq, LMD_VTYPE_F32, "index_q");
	uint32_t k = arch_linear(e, in, NULL, &wk, LMD_VTYPE_F32, "index_k");
	uint32_t q_rot = arch_value_f32(e, x->n_head * x->dk, "index_q_rot");
	uint32_t list = arch_value_i32(e, x->n_head * x->top, "blocks");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = arch_operand_heads(q, 0, x->n_head, x->dk);
	op.u.rope_kv.q_out = arch_operand_heads(q_rot, 0, x->n_head, x->dk);
	op.u.rope_kv.k = arch_operand_all(e, k);
	op.u.rope_kv.qn = arch_norm_req(e, LMD_NORM_RMS, &rows[I_Q_NORM]);
	op.u.rope_kv.kn = arch_norm_req(e, LMD_NORM_RMS, &rows[I_K_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = arch_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.cache = x->cache[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_INDEX);
	op.u.index.q = arch_operand_heads(q_rot, 0, x->n_head, x->dk);
	op.u.index.y = arch_operand_heads(list, 0, x->n_head, x->top);
	op.u.index.kind = LMD_INDEX_PER_HEAD;
	op.u.index.cache = x->cache[e->il];
	op.u.index.n = x->top;
	op.u.index.unit = x->block;
	op.u.index.local = x->local;
	op.u.index.scale = 1.0f;
	arch_emit_op(e, &op);
	return list;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const struct indexer *x = d->hp.arch_data;
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);

	if (arch_current_layer(e)->cls & ARCH_L_MOE) {
		io.x = arch_normalised_input(e, &io, "attn_norm");
		io.norm = arch_no_norm();
		a.key_list = arch_operand_heads(choose(e, x, io.x), 0, x->n_head, x->top);
		a.key_list_unit = x->block;
	}
	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static void clamped(struct arch_emit *e, const struct arch_decoder *d, struct arch_ffn *f)
{
	(void)e;
	(void)d;
	f->p[0] = ALPHA;
	f->p[1] = LIMIT;
}

static void clamped_moe(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	m->p[0] = ALPHA;
	m->p[1] = LIMIT;
	clamped(e, d, &m->shared);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.act = LMD_ACT_FN_OAI,
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
	return arch_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				     err);
}

const struct lmd_arch_ops arch_minimax_m3 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = arch_decoder_build,
};
