/* SPDX-License-Identifier: MIT
 *
 * rope.h - heads of q, k and v on their way to attention: norm, rotation, the cache.  Op ROPE_KV
 * brings all of a step there; where it can, ATTN does so itself with the heads that an item of its
 * work needs (attn_rope.c). */
#ifndef LLAMAD_CPU_ROPE_H
#define LLAMAD_CPU_ROPE_H

#include "norm.h"
#include "backend/common/view.h"
#include "cpu.h"

/* node->data of a ROPE_KV */
struct cpu_rope_data {
	struct cpu_turns *turns;     /* or NULL */
	bool first;                  /* makes them */
	const struct cpu_node *attn; /* may do the work instead; or NULL */
};

struct cpu_rope {
	const struct cpu_run *r;
	const struct lmd_op_rope_kv *op;
	const struct lmd_rope *rope; /* or NULL */
	const struct cpu_turns *turns;
	struct hm_view q, k, v, q_out, k_out;
	struct cpu_norm qn, kn;
	const struct hm_cache *cache; /* or NULL */
	float *tmp, *head, *out, *enc; /* a head each: scratch of the part */
};

/* Scratch of a part; then the same from a cursor. */
void cpu_rope_need(uint64_t *bytes, const struct lmd_op_rope_kv *o);
void cpu_rope_setup(struct cpu_rope *w, const struct cpu_run *r, const struct cpu_node *n,
		    char **scratch);

/* Of q, k and v the first that is there: its rows are those of all. */
struct hm_view cpu_rope_any(const struct cpu_run *r, const struct lmd_op_rope_kv *o);
/* Is all of it little work (CPU_LITTLE)? */
bool cpu_rope_little(const struct cpu_run *r, const struct cpu_node *n);

/* Head h of q, finished: memory of w, until the next head. */
const float *cpu_rope_q(const struct cpu_rope *w, uint32_t row, uint32_t h);
/* Heads h of k and of v, finished and stored where the op wants them.  k or v may be absent. */
void cpu_rope_k(const struct cpu_rope *w, uint32_t row, uint32_t h);
void cpu_rope_v(const struct cpu_rope *w, uint32_t row, uint32_t h);

/* The factors of one row. */
void cpu_turn_row(const struct cpu_run *r, const struct cpu_turns *t, const struct hm_view *pos,
		  uint32_t row);

#endif /* LLAMAD_CPU_ROPE_H */
