/* SPDX-License-Identifier: MIT
 *
 * glu.h - the kernel of GLU, which also passes the results of products through an activation.  With
 * `exact`, in exact arithmetic (exact.h). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_GLU_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_GLU_H

#include "backend/gpu/kern/act.h"
#include "backend/gpu/kern/exact.h"
#include "backend/gpu/kern/q8.h"

/* Column c of head h of a row.  All threads of a warp call it, 32 neighbouring ones with the
 * columns of a group if there is q8; those whose column does not exist are not ok. */
GPU_FN void gpu_glu_column(const struct gpu_glu_args *a, uint32_t row, uint32_t h, uint32_t c,
			   int ok, int exact)
{
	int has_b = gpu_is_set(&a->b);
	float v = 0;

	if (ok && exact) {
		v = device_exact_act(a->act, gpu_get(&a->a, row, h, c));
		v = has_b ? DEVICE_MUL(v, gpu_get(&a->b, row, h, c)) : v;
		gpu_put(&a->y, row, h, c, v);
	} else if (ok) {
		v = gpu_act(a->act, a->p, gpu_get(&a->a, row, h, c),
			    has_b ? gpu_get(&a->b, row, h, c) : 0.0f, has_b);
		gpu_put(&a->y, row, h, c, v);
	}
	if (a->q8)
		gpu_q8_round(v,
			     ok ? a->q8 + ((uint64_t)row * a->y.n_head + h) * GPU_Q8_BYTES(a->y.width)
				: 0,
			     a->y.width, c / 32);
}

/* With q8, rows have whole groups of 32 columns. */
GPU_FN void gpu_glu_rows(struct gpu_glu_args *a, int exact)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	uint32_t cols = a->y.n_head * a->y.width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a->a);
	gpu_open(r, &a->b);
	n = (uint64_t)gpu_n_row(r, &a->y) * cols;
	for (uint64_t at = (uint64_t)GPU_BLOCK_X * GPU_THREADS; at < n; at += step) {
		uint64_t i = at + GPU_TID;
		uint32_t row = (uint32_t)(i / cols), c = (uint32_t)(i % cols);

		gpu_glu_column(a, row, c / a->y.width, c % a->y.width, i < n, exact);
	}
}

GPU_KERNEL gpu_glu(struct gpu_glu_args a)
{
	gpu_glu_rows(&a, 0);
}

GPU_KERNEL gpu_exact_glu(struct gpu_glu_args a)
{
	gpu_glu_rows(&a, 1);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_GLU_H */
