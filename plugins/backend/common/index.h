/* SPDX-License-Identifier: MIT
 *
 * index.h - INDEX (llamad/op.h): chooses the best keys, or units of keys, from the scores that a
 * backend computes.
 *
 * Scores of exactly 0 are common here (ReLU), so the choice among equal keys is part of the
 * definition: the heap is the one described in llamad/op.h. */
#ifndef LLAMAD_BACKEND_COMMON_INDEX_H
#define LLAMAD_BACKEND_COMMON_INDEX_H

#include "backend/common/cplan.h"
#include "backend/common/view.h"

/* A key of sequence `seq` that row `row` of the step sees, for list `list` of that row. */
struct hm_index_key {
	uint32_t seq, row, list, key;
};

struct hm_index {
	const struct hm_run *r;
	const struct lmd_op_index *op;
	uint32_t group; /* of the cache */
	struct hm_view y;
	float *score;   /* [units] of the current row and list */
	uint32_t *heap; /* [n] units */
	float (*key_score)(const void *arg, const struct hm_index_key *k);
	const void *arg;
};

/* Adds the scratch that one part needs.  LMD_INVALID if the group of the keys has no pool.  Call
 * after hm_need_cache succeeded for the op's cache. */
enum lmd_status hm_index_plan(struct hm_build *b, const struct hm_cplan *p,
			      const struct lmd_op_index *op, struct lmd_error *err);
/* Takes that scratch.  The caller sets key_score and arg. */
struct hm_index hm_index_take(char **cursor, const struct hm_run *r, const struct hm_cplan *p,
			      const struct lmd_op_index *op);

/* Writes one list of a row of y. */
void hm_index_list(const struct hm_index *x, uint32_t row, uint32_t list);

#endif /* LLAMAD_BACKEND_COMMON_INDEX_H */
