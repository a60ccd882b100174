/* SPDX-License-Identifier: MIT
 *
 * group.h - (row, choice) pairs in the order of the slices that they choose, so that kernels of many
 * rows read each slice once.  In memory:
 *
 *   u32 [n_stack + 2]   where the pairs of each slice begin; those without a slice come last
 *   u32 [pairs]         the pairs: row * heads + choice, ascending within a slice */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_GROUP_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_GROUP_H

#include "backend/gpu/kern/view.h"

/* The slice of a pair; n_stack = none. */
GPU_FN uint32_t gpu_group_slice(const struct gpu_group_args *a, uint32_t pair)
{
	uint32_t slice = (uint32_t)gpu_cell_i32(&a->ids, pair / a->heads, pair % a->heads);

	return slice < a->n_stack ? slice : a->n_stack;
}

/* A block finds the pairs of a slice: each thread looks at neighbouring pairs, and counts those of
 * this slice and of the ones before.  Shared: two numbers for each thread. */
GPU_KERNEL gpu_group(struct gpu_group_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t pairs, each, from, to, *counts = GPU_SHARED(uint32_t);
	uint32_t *bounds = GPU_PTR(uint32_t, a.out), *order = bounds + a.n_stack + 2;

	gpu_open(r, &a.ids);
	pairs = gpu_space_rows(r, a.space) / a.fold * a.heads;
	each = (pairs + GPU_THREADS - 1) / GPU_THREADS;
	from = GPU_TID * each < pairs ? GPU_TID * each : pairs;
	to = pairs - from < each ? pairs : from + each;
	for (uint32_t slice = GPU_BLOCK_X; slice <= a.n_stack; slice += GPU_GRID_X) {
		uint32_t here = 0, before = 0, at = 0;

		for (uint32_t i = from; i < to; i++) {
			uint32_t s = gpu_group_slice(&a, i);

			here += s == slice;
			before += s < slice;
		}
		gpu_sync(); /* the last slice's counts have been read */
		counts[2 * GPU_TID] = here;
		counts[2 * GPU_TID + 1] = before;
		gpu_sync();
		for (uint32_t i = 0; i < GPU_THREADS; i++)
			at += counts[2 * i + 1] + (i < GPU_TID ? counts[2 * i] : 0);
		if (GPU_TID == 0)
			bounds[slice] = at;
		if (GPU_TID == 0 && slice == a.n_stack)
			bounds[slice + 1] = pairs;
		for (uint32_t i = from; here && i < to; i++) {
			if (gpu_group_slice(&a, i) == slice)
				order[at++] = i;
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_GROUP_H */
