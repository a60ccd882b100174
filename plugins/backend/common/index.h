/* SPDX-License-Identifier: MIT
 *
 * index.h - INDEX (llamad/op.h): chooses the best keys, or units of keys, from the scores that a
 * backend computes.
 *
 * Scores of exactly 0 are common here (ReLU), so the choice among equal keys is part of the
 * definition: the heap is the one described in llamad/op.h. */
#ifndef LLAMAD_BACKEND_COMMON_INDEX_H
#define LLAMAD_BACKEND_COMMON_INDEX_H

#include "backend/common/compiled_plan.h"
#include "backend/common/view.h"

/* A key of sequence `seq` that row `row` of the step sees, for list `list` of that row. */
struct host_mem_index_key {
	uint32_t seq, row, list, key;
};

struct host_mem_index {
	const struct host_mem_run *r;
	const struct lmd_op_index *op;
	uint32_t group; /* of the cache */
	struct host_mem_view y;
	float *score;   /* [units] of the current row and list */
	uint32_t *heap; /* [n] units */
	float (*key_score)(const void *arg, const struct host_mem_index_key *k);
	const void *arg;
};

/* Adds the scratch that one part needs.  LMD_INVALID if the group of the keys has no pool.  Call
 * after host_mem_need_cache succeeded for the op's cache. */
enum lmd_status host_mem_index_plan(struct host_mem_build *b,
				    const struct host_mem_compiled_plan *p,
				    const struct lmd_op_index *op, struct lmd_error *err);
/* Takes that scratch.  The caller sets key_score and arg. */
struct host_mem_index host_mem_index_take(char **cursor, const struct host_mem_run *r,
					  const struct host_mem_compiled_plan *p,
					  const struct lmd_op_index *op);

/* Writes one list of a row of y. */
void host_mem_index_list(const struct host_mem_index *x, uint32_t row, uint32_t list);

#endif /* LLAMAD_BACKEND_COMMON_INDEX_H */
