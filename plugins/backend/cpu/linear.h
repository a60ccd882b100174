/* SPDX-License-Identifier: MIT
 *
 * linear.h - LINEAR in a step: op_linear.c multiplies, linear_out.c processes the outputs. */
#ifndef LLAMAD_CPU_LINEAR_H
#define LLAMAD_CPU_LINEAR_H

#include "backend/common/lists.h"
#include "product.h"

struct linear {
	const struct cpu_run *r;
	const struct lmd_op_linear *op;
	struct host_mem_view x, ids;
	uint64_t n_x;    /* rows of x times heads */
	uint64_t n_item; /* rows of each y times heads */
	uint32_t heads;  /* of y */
	bool small;      /* each thread prepares all of x for itself */
	struct cpu_x px;
	struct host_mem_lists lists;
	float *delta[LMD_LINEAR_MAX];
	char *scratch; /* for the products of this part */
};

/* The outputs of one weight. */
struct linear_out {
	const struct linear *l;
	const struct lmd_weight *w;
	struct host_mem_view y, r_in, r_out;
	const float *delta;
	bool plain; /* outputs need nothing but the residual */
};

/* Number of output columns of an item. */
static inline uint64_t linear_cols(const struct lmd_op_linear *l, const struct lmd_weight *w)
{
	return l->ids.src == LMD_SRC_NONE ? (uint64_t)w->n_stack * w->n : w->n;
}

/* Callbacks of struct cpu_emit; arg is a struct linear_out.  linear_place says where outputs go;
 * linear_done does everything after the product; the residual is added last. */
float *linear_place(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n);
void linear_done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v);
/* Sets columns [lo, hi) of y to 0 for the choices that have no slice. */
void linear_skip(const struct linear_out *o, const struct cpu_items *none, uint32_t lo,
		 uint32_t hi);

#endif /* LLAMAD_CPU_LINEAR_H */
