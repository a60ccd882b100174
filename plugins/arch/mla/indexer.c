/* SPDX-License-Identifier: MIT
 *
 * indexer.c - the indexer of sparse latent attention.  See indexer.h. */
#include "arch/mla/indexer.h"

#include <math.h>
#include <stdio.h>

#define OWN_LIST 0 /* index into e->arch_values: the list made by the last layer with an indexer */

#define ROW(stem, d0, d1, flags)                                                                   \
	{                                                                                          \
		"blk.%d.indexer." stem, {d0, d1}, LMD_TENSOR_REQUIRED | (flags),                   \
			LMD_SPLIT_REPLICATE, ARCH_L_INDEX, NULL                                    \
	}

const struct lmd_tensor_row arch_indexer_rows[IDX_N] = {
	[IDX_Q] = ROW("attn_q_b", D_MLA_RANK_Q, D_IDX_Q, 0),
	[IDX_K] = ROW("attn_k", D_EMBD, D_IDX_K, 0),
	[IDX_K_NORM] = ROW("k_norm", D_IDX_K, 0, LMD_TENSOR_BIAS),
	[IDX_PROJ] = ROW("proj", D_EMBD, D_IDX_HEAD, 0),
};

static struct lmd_operand choose(struct arch_emit *e, struct lmd_operand x, struct lmd_operand qr);

static void read_indexer(struct arch_hparams *hp, struct arch_keys *k, struct arch_sparse_mla *d)
{
	const uint32_t n_rot = d->m.n_rot;

	d->n_head =
		arch_key_u32(k, "attention.indexer.head_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	d->dk = arch_key_u32(k, "attention.indexer.key_length", ARCH_REQUIRED, n_rot ? n_rot : 1,
			     n_rot ? n_rot : 1, ARCH_MAX_DK);
	d->top = arch_key_u32(k, "attention.indexer.top_k", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	d->top = d->top < hp->n_ctx ? d->top : hp->n_ctx;
	d->eps = 1e-6f;
	d->m.choose_keys = choose;
}

struct arch_sparse_mla *arch_dsa_read(struct arch_hparams *hp, struct arch_keys *k, bool index)
{
	struct arch_sparse_mla *d = arch_hp_alloc(hp, k, 1, sizeof(*d));
	const struct arch_mla *m = d ? arch_mla_read(hp, k, true) : NULL;

	if (!m)
		return NULL;
	if (!m->absorbed) {
		arch_key_fail(k, LMD_NOTFOUND,
			      "%s.attention.key_length_mla: the file has no such key",
			      hp->model->arch);
		return NULL;
	}
	d->m = *m;
	d->cache = arch_hp_alloc(hp, k, hp->n_layer_all, sizeof(*d->cache));
	if (!d->cache)
		return NULL;
	for (uint32_t il = 0; il < hp->n_layer_all; il++)
		d->cache[il] = LMD_NONE;
	if (index)
		read_indexer(hp, k, d);
	hp->arch_data = d;
	return k->st == LMD_OK ? d : NULL;
}

void arch_dsa_layer(struct arch_hparams *hp, uint32_t il)
{
	hp->layer[il].cls |= ARCH_L_INDEX;
}

void arch_dsa_draft(struct arch_hparams *hp, uint32_t il)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "blk.%u.indexer.proj.weight", il);
	hp->layer[il].cls &= ~ARCH_L_INDEX;
	if (arch_hp_tensor(hp, name) != LMD_NONE)
		arch_dsa_layer(hp, il);
}

void arch_dsa_memory(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct arch_sparse_mla *d = hp->arch_data;

	for (uint32_t il = 0; il < hp->n_layer + hp->n_draft && k->st == LMD_OK; il++) {
		const struct lmd_cache c = {.group = hp->layer[il].group,
					    .kind = LMD_CACHE_INDEX,
					    .n_head = 1,
					    .dk = d->dk,
					    .dtype_policy = LMD_KV_DTYPE_F32};

		if (hp->layer[il].cls & ARCH_L_INDEX)
			d->cache[il] = arch_hp_add_cache(hp, k, &c);
	}
}

int64_t arch_dsa_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;
	const struct arch_sparse_mla *d = hp->arch_data;

	switch (symbol) {
	case D_IDX_Q:
		return (int64_t)d->n_head * d->dk;
	case D_IDX_K:
		return d->dk;
	case D_IDX_HEAD:
		return d->n_head;
	default:
		if (d->w.n_head && symbol >= D_MLA_RANK_Q && symbol < D_MLA_END && layer >= 0 &&
		    (uint32_t)layer < hp->n_layer && hp->layer[layer].window)
			return arch_mla_dim(&d->w, symbol);
		return arch_mla_hp_dim(state, symbol, layer);
	}
}

/* Computes and rotates index queries and keys; stores the keys, returns the queries. */
static struct lmd_operand queries(struct arch_emit *e, const struct arch_sparse_mla *d,
				  struct lmd_operand x, struct lmd_operand qr)
{
	const struct lmd_tensor_row *r = arch_indexer_rows;
	struct arch_weight wq = arch_weight_req(e, &r[IDX_Q]), wk = arch_weight_req(e, &r[IDX_K]);
	uint32_t q = arch_linear(e, qr, NULL, &wq, LMD_VTYPE_F32, "index_q");
	uint32_t k = arch_linear(e, x, NULL, &wk, LMD_VTYPE_F32, "index_k");
	uint32_t q_rot = arch_value_f32(e, d->n_head * d->dk, "index_q_rot");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = arch_operand_heads(q, 0, d->n_head, d->dk);
	op.u.rope_kv.q_out = arch_operand_heads(q_rot, 0, d->n_head, d->dk);
	op.u.rope_kv.k = arch_operand_all(e, k);
	op.u.rope_kv.kn = arch_norm_req(e, LMD_NORM_LAYER, &r[IDX_K_NORM]);
	op.u.rope_kv.kn.eps = d->eps;
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = arch_rope(e, ARCH_ROPE_INDEX, d->m.n_rot);
	op.u.rope_kv.rot0 = d->rope_last ? d->dk - d->m.n_rot : 0;
	op.u.rope_kv.cache = d->cache[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	arch_emit_op(e, &op);
	return op.u.rope_kv.q_out;
}

static struct lmd_operand choose(struct arch_emit *e, struct lmd_operand x, struct lmd_operand qr)
{
	const struct arch_sparse_mla *d = e->hp->arch_data;
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct arch_weight w;
	uint32_t weights, list;

	if (d->cache[e->il] == LMD_NONE)
		return e->arch_values[OWN_LIST] == LMD_NONE
			       ? arch_operand_none()
			       : arch_operand_all(e, e->arch_values[OWN_LIST]);
	w = arch_weight_req(e, &arch_indexer_rows[IDX_PROJ]);
	weights = arch_value_f32(e, d->n_head, "index_w");
	list = arch_value_i32(e, d->top, "index");
	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.scale = 1.0f / sqrtf((float)d->n_head * (float)d->dk);
	op.u.linear.y[0] = arch_operand_all(e, weights);
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_INDEX);
	op.u.index.q = queries(e, d, x, qr);
	op.u.index.w = arch_operand_all(e, weights);
	op.u.index.y = arch_operand_all(e, list);
	op.u.index.kind = LMD_INDEX_WEIGHTED;
	op.u.index.cache = d->cache[e->il];
	op.u.index.n = d->top;
	arch_emit_op(e, &op);
	e->arch_values[OWN_LIST] = list;
	return arch_operand_all(e, list);
}
