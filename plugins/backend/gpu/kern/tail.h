/* SPDX-License-Identifier: MIT
 *
 * tail.h - what follows a product of few rows without a launch of its own: the block that comes last
 * does it, with the functions of the kernels that do it for many rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H

#include "backend/gpu/kern/glu.h"
#include "backend/gpu/kern/norm.h"

/* GLU of `count` items from `item` on, in columns [c, c + GPU_TAIL_COLUMNS). */
GPU_SLOW void gpu_tail_glu(const struct gpu_glu_args *a, uint32_t item, uint32_t count, uint32_t c)
{
	for (uint32_t i = item; i < item + count; i++) {
		for (uint32_t j = 0; j < GPU_TAIL_COLUMNS; j += GPU_THREADS)
			gpu_glu_column(a, i / a->y.n_head, i % a->y.n_head, c + j + GPU_TID,
				       c + j + GPU_TID < a->y.width);
	}
}

/* The norm of the only row. */
GPU_SLOW void gpu_tail_norm(const struct gpu_norm_args *a, float *red)
{
	gpu_norm_row(a, 0, 0, 0, red);
}

/* A block has outputs [first, first + per) of `count` of `items` items from `item` on, tile
 * number `tile`. Shared: red, which is free. */
GPU_FN void gpu_tail(const struct gpu_parts_args *p, uint32_t first, uint32_t per, uint32_t outputs,
		     uint32_t items, uint32_t tile, uint32_t item, uint32_t count, float *red)
{
	uint32_t *counter = GPU_PTR(uint32_t, p->counters), *flag = (uint32_t *)(void *)red;
	uint32_t c = first / GPU_TAIL_COLUMNS * GPU_TAIL_COLUMNS;
	uint32_t n = outputs - c < GPU_TAIL_COLUMNS ? outputs - c : GPU_TAIL_COLUMNS;

	if (p->tail_kind == GPU_TAIL_NORM) {
		if (items == 1 && gpu_last(counter, p->blocks[0], flag))
			gpu_tail_norm(GPU_PTR(const struct gpu_norm_args, p->tail), red);
		return;
	}
	counter += tile * ((outputs + GPU_TAIL_COLUMNS - 1) / GPU_TAIL_COLUMNS) + c / GPU_TAIL_COLUMNS;
	if (gpu_last(counter, p->n_part * ((n + per - 1) / per), flag))
		gpu_tail_glu(GPU_PTR(const struct gpu_glu_args, p->tail), item, count, c);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_TAIL_H */
