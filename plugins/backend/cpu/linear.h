/* SPDX-License-Identifier: MIT
 *
 * linear.h - LINEAR in a step: op_linear.c multiplies, linear_out.c has what becomes of outputs. */
#ifndef LLAMAD_CPU_LINEAR_H
#define LLAMAD_CPU_LINEAR_H

#include "backend/common/lists.h"
#include "product.h"

struct linear {
	const struct cpu_run *r;
	const struct lmd_op_linear *op;
	struct hm_view x, ids;
	uint64_t n_x;    /* rows of x, heads counted */
	uint64_t n_item; /* rows of each y, heads counted */
	uint32_t heads;  /* of y */
	bool small;      /* each thread prepares x */
	struct cpu_x px;
	struct hm_lists lists;
	float *delta[LMD_LINEAR_MAX];
	char *scratch; /* of the products of this part */
};

/* One weight's outputs. */
struct linear_out {
	const struct linear *l;
	const struct lmd_weight *w;
	struct hm_view y, r_in, r_out;
	const float *delta;
	bool plain; /* nothing is done to an output but the residual */
};

/* Columns of an item's output. */
static inline uint64_t linear_cols(const struct lmd_op_linear *l, const struct lmd_weight *w)
{
	return l->ids.src == LMD_SRC_NONE ? (uint64_t)w->n_stack * w->n : w->n;
}

/* Of struct cpu_emit, with a struct linear_out: where outputs go, and all that is between the
 * product and the residual, which is added at last. */
float *linear_place(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n);
void linear_done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v);
/* Choices without a slice: columns lo..hi of y are 0. */
void linear_skip(const struct linear_out *o, const struct cpu_items *none, uint32_t lo,
		 uint32_t hi);

#endif /* LLAMAD_CPU_LINEAR_H */
