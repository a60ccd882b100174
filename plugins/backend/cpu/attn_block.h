/* SPDX-License-Identifier: MIT
 *
 * attn_block.h - a block of rows of one sequence goes through its keys, chunk by chunk. */
#ifndef LLAMAD_CPU_ATTN_BLOCK_H
#define LLAMAD_CPU_ATTN_BLOCK_H

#include "attn.h"
#include "rope.h"

/* node->data */
struct attn_data {
	uint32_t block;      /* rows of an item */
	bool tokens;         /* queries are rows of TOKENS */
	uint32_t most_split; /* items (row, key head) that can be split; 0: none */
	uint32_t most_chunk;
	uint32_t *done; /* [most_split] chunks of an item that are done; 0 between steps */
	const struct cpu_node *rope; /* ROPE_KV that may be done here; or NULL */
};

/* Softmax over some keys: greatest score, sum of exp(score - m), weighted sum of the values. */
struct attn_state {
	float *m, *l; /* [queries] */
	float *o;     /* [queries][dv] */
};

struct attn_work {
	struct attn a;
	const struct attn_data *d;
	bool turns; /* the ROPE_KV is done here */
	struct cpu_rope rope;
	float *q; /* [queries][dk], scaled */
	float *s; /* [queries][128] */
	struct attn_state all, part;
	struct attn_state split; /* [most_split][most_chunk][per_kv] */
};

/* A block of rows and what it looks at in the source at hand. */
struct attn_block {
	uint32_t row0, n_row, seq, kv_head;
	uint32_t head0, n_head; /* of the heads that share the key head */
	struct attn_keys keys;
	uint32_t n_step; /* rows of the step in a->step_key; 0: no tree */
};

/* Queries of the block, scaled: row by row, heads side by side. */
void attn_load_queries(struct attn_work *w, const struct attn_block *b);
/* What the block sees in source i; false: nothing. */
bool attn_look(struct attn_work *w, struct attn_block *b, int i);
/* w->part becomes the softmax over chunk number c of what the block looks at. */
void attn_chunk(struct attn_work *w, const struct attn_block *b, uint32_t c);
/* (m, l, o) of one query becomes that of its keys and those of (m2, l2, o2). */
void attn_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, uint32_t dv);
/* y of query i from w->all, with the sink. */
void attn_finish(struct attn_work *w, const struct attn_block *b, uint32_t i);

/* ---- few rows (attn_split.c) ---- */

/* Is the work of this step shared out by chunks? */
bool attn_splits(const struct cpu_run *r, const struct cpu_node *n);
void attn_run_split(struct attn_work *w, const struct cpu_part *p);
/* Into how many groups the heads of a key head are shared out, if they are not turned here. */
uint32_t attn_groups(const struct cpu_run *r, const struct cpu_node *n);

/* ---- rotation (attn_rope.c) ---- */

/* d->rope: the op before, if its work can be done here. */
void attn_find_rope(struct cpu_build *b, const struct lmd_op_attn *a, struct attn_data *d);
/* The block's keys and values go to the cache, if the work is done here. */
void attn_store(const struct attn_work *w, const struct attn_block *b);

#endif /* LLAMAD_CPU_ATTN_BLOCK_H */
