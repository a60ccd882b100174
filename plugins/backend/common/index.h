/* SPDX-License-Identifier: MIT
 *
 * index.h - INDEX (llamad/op.h): which keys, or units of keys, are the best, once a backend says
 * how good each key is.
 *
 * Scores of exactly 0 are common here (relu), so which of equal keys is chosen is part of the
 * definition: the heap is the one that llamad/op.h describes. */
#ifndef LLAMAD_BACKEND_COMMON_INDEX_H
#define LLAMAD_BACKEND_COMMON_INDEX_H

#include "backend/common/cplan.h"
#include "backend/common/view.h"

/* A key of sequence `seq` that a row of the step sees, for list `list` of that row. */
struct hm_index_key {
	uint32_t seq, row, list, key;
};

struct hm_index {
	const struct hm_run *r;
	const struct lmd_op_index *op;
	uint32_t group; /* of the cache */
	struct hm_view y;
	float *score;   /* [units] of the row and list at hand */
	uint32_t *heap; /* [n] units */
	float (*key_score)(const void *arg, const struct hm_index_key *k);
	const void *arg;
};

/* Asks for the scratch of a part; LMD_INVALID if the group of the keys has no pool.  The cache has
 * been looked for. */
enum lmd_status hm_index_plan(struct hm_build *b, const struct hm_cplan *p,
			      const struct lmd_op_index *op, struct lmd_error *err);
/* Takes it.  key_score and arg are the caller's to fill in. */
struct hm_index hm_index_take(char **cursor, const struct hm_run *r, const struct hm_cplan *p,
			      const struct lmd_op_index *op);

/* Writes one list of a row of y. */
void hm_index_list(const struct hm_index *x, uint32_t row, uint32_t list);

#endif /* LLAMAD_BACKEND_COMMON_INDEX_H */
