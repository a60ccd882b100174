/* SPDX-License-Identifier: MIT
 *
 * attn.h - the keys of attention: tiles of 32 keys, which of them a row sees, and what is added to
 * their scores.  op_attn.c describes the order of work. */
#ifndef LLAMAD_CPU_ATTN_H
#define LLAMAD_CPU_ATTN_H

#include "kern/float.h"
#include "kv.h"
#include "backend/common/view.h"
#include "cpu.h"

#define ATTN_TILE  32u
#define ATTN_CHUNK 128u /* keys per chunk; softmax is merged chunk by chunk */
#define ATTN_N_SRC 2

/* Attention of one op in one step.  All parts have the same values except for the scratch. */
struct attn {
	const struct cpu_run *r;
	const struct lmd_op_attn *op;
	struct host_mem_view q, y, k[ATTN_N_SRC], v[ATTN_N_SRC], list[ATTN_N_SRC], q2[2];
	const struct host_mem_cache *cache[ATTN_N_SRC]; /* entries may be NULL */
	uint32_t n_head, per_kv, dk, dv;
	/* Scratch of the part. */
	float *kt, *kt2, *vt; /* [dk*32], [dk*32], [32*max(dk, dv)] */
	int32_t *step_key;    /* [rows of the step] key of each row of the step; for trees */
};

/* The keys of a source that a block of rows of one sequence attends to. */
struct attn_keys {
	int src;
	uint32_t seq, kv_head;
	bool listed;
	uint32_t row;   /* if listed: the only row of the block */
	int64_t lo, hi; /* if listed: positions in the list, counted in keys */
};

/* Head of q and y that is number g of those that share a key head. */
static inline uint32_t attn_head(const struct attn *a, uint32_t kv_head, uint32_t g)
{
	return a->op->kv_map == LMD_MAP_CYCLE ? g * a->op->n_kv_head + kv_head
					      : kv_head * a->per_kv + g;
}

/* Key number at position j: j itself, or the entry of the list; -1 = none. */
int64_t attn_key(const struct attn *a, const struct attn_keys *s, int64_t j);
/* A key as dk floats, a value as dv floats: in place, or decoded to tmp [max(dk, dv)]. */
const float *attn_key_row(const struct attn *a, const struct attn_keys *s, int64_t key, float *tmp);
const float *attn_value_row(const struct attn *a, const struct attn_keys *s, int64_t key,
			    float *tmp);
/* c[i][0..32) += q[i] times the keys of tile t (positions t*32 ...), for i < m. */
void attn_scores(const struct attn *a, const struct attn_keys *s, uint32_t t, const float *q,
		 uint32_t m, float *c, uint32_t ldc);
/* o[i] += sum of p[i][j - t*32] * (value at position j) over from <= j < to, all within tile t. */
void attn_values(const struct attn *a, const struct attn_keys *s, uint32_t t, uint32_t from,
		 uint32_t to, const float *p, uint32_t ldp, uint32_t m, float *o);
/* Adds the bias to, and then caps, the scores s[j - first] of (row, head) at positions [from,
 * to). */
void attn_bias(const struct attn *a, const struct attn_keys *s, uint32_t row, uint32_t head,
	       float *score, uint32_t first, uint32_t from, uint32_t to);
/* Stores the keys of the sequence's rows in this step in a->step_key; returns their number. */
uint32_t attn_step_keys(const struct attn *a, const struct attn_keys *s);
/* Applies the row's tree mask: scores of hidden keys in [first, first + n) become -inf. */
void attn_mask_tree(const struct attn *a, uint32_t row, uint32_t n_step, float *score,
		    uint32_t first, uint32_t n);

/* ---- half precision (attn_half.c) ---- */

/* LMD_ATTENTION_HALF for one query: computes m, l and o like kernels that see each key once, in
 * order, and round to half precision after each key.  Call attn_half_init before the first key of
 * any source.  q [dk] is unscaled.  Scores are not rounded. */
struct attn_f16 {
	uint32_t row, head;
	float m, l;
	float *o; /* [dv] */
};
void attn_half_init(const struct attn *a, struct attn_f16 *h);
void attn_half_add(const struct attn *a, const struct attn_keys *s, uint32_t n_step,
		   struct attn_f16 *h);

/* ---- rotation (attn_rope.c) ---- */

/* Does this ATTN also do the work of the preceding ROPE_KV in this step? */
bool attn_does_rope(const struct cpu_run *r, const struct cpu_node *n);

#endif /* LLAMAD_CPU_ATTN_H */
