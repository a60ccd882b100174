/* SPDX-License-Identifier: MIT
 *
 * rope.h - what happens to heads of q, k and v before attention: norm, rotation, storing in the
 * cache.  Op ROPE_KV does so for a whole step; ATTN can do it itself for the heads of one of its
 * work items (attn_rope.c). */
#ifndef LLAMAD_CPU_ROPE_H
#define LLAMAD_CPU_ROPE_H

#include "norm.h"
#include "backend/common/view.h"
#include "cpu.h"

/* node->data of a ROPE_KV */
struct cpu_rope_data {
	struct cpu_rope_table *turns; /* NULL without rotation */
	bool first;                  /* this op fills the table */
	const struct cpu_node *attn; /* an ATTN that can do the work instead, or NULL */
};

struct cpu_rope {
	const struct cpu_run *r;
	const struct lmd_op_rope_kv *op;
	const struct lmd_rope *rope; /* NULL without rotation */
	const struct cpu_rope_table *turns;
	struct host_mem_view q, k, v, q_out, k_out;
	struct cpu_norm qn, kn;
	const struct host_mem_cache *cache; /* NULL if nothing is stored */
	float *tmp, *head, *out, *enc; /* one head each: scratch of the part */
};

/* Adds the scratch that one part needs; cpu_rope_setup takes it from a cursor. */
void cpu_rope_need(uint64_t *bytes, const struct lmd_op_rope_kv *o);
void cpu_rope_setup(struct cpu_rope *w, const struct cpu_run *r, const struct cpu_node *n,
		    char **scratch);

/* The first of q, k and v that is present; all have the same rows. */
struct host_mem_view cpu_rope_any(const struct cpu_run *r, const struct lmd_op_rope_kv *o);
/* Is the whole op little work (CPU_SMALL_PHASE)? */
bool cpu_rope_little(const struct cpu_run *r, const struct cpu_node *n);

/* Head h of q, normed and rotated, in memory of w that is valid until the next head. */
const float *cpu_rope_q(const struct cpu_rope *w, uint32_t row, uint32_t h);
/* Norms, rotates and stores head h of k, or of v, where the op wants it.  k or v may be absent. */
void cpu_rope_k(const struct cpu_rope *w, uint32_t row, uint32_t h);
void cpu_rope_v(const struct cpu_rope *w, uint32_t row, uint32_t h);

/* Computes the rope table for one row. */
void cpu_rope_table_row(const struct cpu_run *r, const struct cpu_rope_table *t,
			const struct host_mem_view *pos, uint32_t row);

#endif /* LLAMAD_CPU_ROPE_H */
