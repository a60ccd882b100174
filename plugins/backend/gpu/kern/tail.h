/* SPDX-License-Identifier: MIT
 *
 * tail.h - what follows a product of few rows without a launch of its own: the block that comes last
 * does it, with the functions of the kernels that do it for many rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H

#include "backend/gpu/kern/glu.h"
#include "backend/gpu/kern/norm.h"

/* GLU of `count` items from `item` on, in columns [c, c + GPU_TAIL_COLUMNS). */
GPU_FN void gpu_tail_glu(const struct gpu_glu_args *a, uint32_t item, uint32_t count, uint32_t c)
{
	for (uint32_t i = item; i < item + count; i++) {
		for (uint32_t j = 0; j < GPU_TAIL_COLUMNS; j += GPU_THREADS)
			gpu_glu_column(a, i / a->y.n_head, i % a->y.n_head, c + j + GPU_TID,
				       c + j + GPU_TID < a->y.width, 0);
	}
}

/* The last of `expected` blocks goes on: with GLU of `count` items from `item` on, from column c
 * on, or with the norm of the only row.  A function of its own, so that all products share its
 * code.  red: shared and free. */
GPU_SLOW void gpu_tail_do(uint32_t kind, uint64_t args, uint32_t *counter, uint32_t expected,
			  uint32_t item, uint32_t count, uint32_t c, float *red)
{
	if (!gpu_last(counter, expected, (uint32_t *)(void *)red))
		return;
	if (kind == GPU_TAIL_GLU)
		gpu_tail_glu(GPU_PTR(const struct gpu_glu_args, args), item, count, c);
	else
		gpu_norm_row(GPU_PTR(const struct gpu_norm_args, args), 0, 0, 0, red, 0);
}

/* A block has outputs [first, first + per) of `count` of `items` items from `item` on, tile number
 * `tile`.  Shared: red, which is free. */
GPU_FN void gpu_tail(const struct gpu_parts_args *p, uint32_t first, uint32_t per, uint32_t outputs,
		     uint32_t items, uint32_t tile, uint32_t item, uint32_t count, float *red)
{
	uint32_t *counter = GPU_PTR(uint32_t, p->counters), expected = p->blocks[0];
	uint32_t g = first / GPU_TAIL_COLUMNS, c = g * GPU_TAIL_COLUMNS;

	if (p->tail_kind == GPU_TAIL_NORM && items > 1)
		return;
	if (p->tail_kind == GPU_TAIL_GLU) {
		uint32_t n = outputs - c < GPU_TAIL_COLUMNS ? outputs - c : GPU_TAIL_COLUMNS;

		counter += tile * ((outputs + GPU_TAIL_COLUMNS - 1) / GPU_TAIL_COLUMNS) + g;
		expected = p->n_part * ((n + per - 1) / per);
	}
	gpu_tail_do(p->tail_kind, p->tail, counter, expected, item, count, c, red);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H */
