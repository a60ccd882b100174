/* SPDX-License-Identifier: MIT
 *
 * attn.h - the keys of attention: tiles of 32, which of them a row sees, and what is added to their
 * scores.  op_attn.c has the order of work. */
#ifndef LLAMAD_CPU_ATTN_H
#define LLAMAD_CPU_ATTN_H

#include "kern/float.h"
#include "kv.h"
#include "backend/common/view.h"
#include "cpu.h"

#define ATTN_TILE  32u
#define ATTN_CHUNK 128u /* keys whose scores are kept: softmax is merged chunk by chunk */
#define ATTN_N_SRC 2

/* Attention of an op in a step: the same for all parts but the scratch. */
struct attn {
	const struct cpu_run *r;
	const struct lmd_op_attn *op;
	struct hm_view q, y, k[ATTN_N_SRC], v[ATTN_N_SRC], list[ATTN_N_SRC], q2[2];
	const struct hm_cache *cache[ATTN_N_SRC]; /* or NULL */
	uint32_t n_head, per_kv, dk, dv;
	/* scratch of the part */
	float *kt, *kt2, *vt; /* [dk*32], [dk*32], [32*max(dk, dv)] */
	int32_t *step_key;    /* [rows of the step]: their keys, with a tree */
};

/* Keys of a source that a block of rows of one sequence looks at. */
struct attn_keys {
	int src;
	uint32_t seq, kv_head;
	bool listed;
	uint32_t row;   /* listed: the only row of the block */
	int64_t lo, hi; /* listed: places in the list, in keys */
};

/* Head of q and y number g of a key head. */
static inline uint32_t attn_head(const struct attn *a, uint32_t kv_head, uint32_t g)
{
	return a->op->kv_map == LMD_MAP_CYCLE ? g * a->op->n_kv_head + kv_head
					      : kv_head * a->per_kv + g;
}

/* Key at place j: itself, or the one that the list names; -1: none. */
int64_t attn_key(const struct attn *a, const struct attn_keys *s, int64_t j);
/* A key as dk floats, a value as dv of them: where they are, or in tmp [max(dk, dv)]. */
const float *attn_key_row(const struct attn *a, const struct attn_keys *s, int64_t key, float *tmp);
const float *attn_value_row(const struct attn *a, const struct attn_keys *s, int64_t key,
			    float *tmp);
/* c[i][0..32) += q[i] times the keys of tile t (places t*32..), i < m. */
void attn_scores(const struct attn *a, const struct attn_keys *s, uint32_t t, const float *q,
		 uint32_t m, float *c, uint32_t ldc);
/* o[i] += sum of p[i][j - t*32] times the value at place j, from <= j < to within tile t. */
void attn_values(const struct attn *a, const struct attn_keys *s, uint32_t t, uint32_t from,
		 uint32_t to, const float *p, uint32_t ldp, uint32_t m, float *o);
/* Bias and cap of the scores s[j - first] of the places from..to for (row, head). */
void attn_bias(const struct attn *a, const struct attn_keys *s, uint32_t row, uint32_t head,
	       float *score, uint32_t first, uint32_t from, uint32_t to);
/* Writes down the keys of the sequence's rows of this step (a->step_key); their number. */
uint32_t attn_step_keys(const struct attn *a, const struct attn_keys *s);
/* Hides what the row's tree hides: scores of places first.. first+n become -inf. */
void attn_hide(const struct attn *a, uint32_t row, uint32_t n_step, float *score, uint32_t first,
	       uint32_t n);

/* ---- half precision (attn_half.c) ---- */

/* LMD_ATTENTION_HALF, for one query: m, l and o as kernels get them that see each key once, in
 * order, and round to half precision after each.  attn_half_init: before the first key of any
 * source; q [dk] unscaled.  Scores are rounded nowhere. */
struct attn_half {
	uint32_t row, head;
	float m, l;
	float *o; /* [dv] */
};
void attn_half_init(const struct attn *a, struct attn_half *h);
void attn_half_add(const struct attn *a, const struct attn_keys *s, uint32_t n_step,
		   struct attn_half *h);

/* ---- rotation (attn_rope.c) ---- */

/* Does this ATTN do the work of the ROPE_KV before it in this step? */
bool attn_turns(const struct cpu_run *r, const struct cpu_node *n);

#endif /* LLAMAD_CPU_ATTN_H */
