/* SPDX-License-Identifier: MIT
 *
 * attn_block.h - takes a block of rows of one sequence through its keys, chunk by chunk. */
#ifndef LLAMAD_CPU_ATTN_BLOCK_H
#define LLAMAD_CPU_ATTN_BLOCK_H

#include "attn.h"
#include "rope.h"

/* node->data of an ATTN */
struct attn_data {
	uint32_t block;      /* rows of one work item */
	bool tokens;         /* queries are rows of TOKENS */
	uint32_t most_split; /* at most this many (row, key head) items are split; 0 = none */
	uint32_t most_chunk;
	uint32_t *done; /* [most_split] finished chunks of each item; 0 between steps */
	const struct cpu_node *rope; /* a ROPE_KV that can be merged into this op, or NULL */
};

/* Softmax over some of the keys: maximum score m, l = sum of exp(score - m), weighted sum o of the
 * values. */
struct attn_state {
	float *m, *l; /* [queries] */
	float *o;     /* [queries][dv] */
};

struct attn_work {
	struct attn a;
	const struct attn_data *d;
	bool turns; /* this op also does the ROPE_KV */
	struct cpu_rope rope;
	float *q; /* [queries][dk], scaled */
	float *s; /* [queries][128] */
	struct attn_state all, part;
	struct attn_state split; /* [most_split][most_chunk][per_kv] */
};

/* A block of rows and what it attends to in the current source. */
struct attn_block {
	uint32_t row0, n_row, seq, kv_head;
	uint32_t head0, n_head; /* range among the heads that share the key head */
	struct attn_keys keys;
	uint32_t n_step; /* rows of the step in a->step_key; 0 without a tree */
};

/* Stores the block's keys and values in the cache if this op does the ROPE_KV. */
void attn_store(const struct attn_work *w, const struct attn_block *b);
/* Loads the scaled queries of the block: row by row, heads side by side. */
void attn_load_queries(struct attn_work *w, const struct attn_block *b);
/* Finds what the block sees in source i; returns false if that is nothing. */
bool attn_find_keys(struct attn_work *w, struct attn_block *b, int i);
/* Sets w->part to the softmax over chunk number c of the block's keys. */
void attn_chunk(struct attn_work *w, const struct attn_block *b, uint32_t c);
/* Merges (m2, l2, o2) of another set of keys into (m, l, o) of one query. */
void attn_merge(const struct attn *a, float *m, float *l, float *o, float m2, float l2,
		const float *o2);
/* Writes y of query i from w->all, including the attention sink. */
void attn_finish(struct attn_work *w, const struct attn_block *b, uint32_t i);

/* ---- few rows (attn_split.c) ---- */

/* Is the work of this step divided by chunks of keys? */
bool attn_is_split(const struct cpu_run *r, const struct cpu_node *n);
void attn_run_split(struct attn_work *w, const struct cpu_part *p);
/* Number of groups into which the heads of a key head are divided if they are not rotated here. */
uint32_t attn_groups(const struct cpu_run *r, const struct cpu_node *n);

/* ---- rotation (attn_rope.c) ---- */

/* Sets d->rope to the preceding op if this op can do its work. */
void attn_find_rope(struct cpu_build *b, const struct lmd_op_attn *a, struct attn_data *d);

#endif /* LLAMAD_CPU_ATTN_BLOCK_H */
