/* SPDX-License-Identifier: MIT
 *
 * hadamard.h - caches of type q4_0_rot, which store H x for each 64 columns x, as q4_0.  H is the Hadamard matrix
 * divided by 8, h(i, j) = (-1)^(bits that are 1 in both i and j) / 8: symmetric and its own inverse.  So a
 * product of queries with keys is that of H q with what is stored, and a sum of values is H times the sum of what
 * is stored: attention reads such a cache as q4_0, between two launches of this kernel. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_HADAMARD_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_HADAMARD_H

#include "backend/gpu/kern/types.h"

/* Replaces each 64 of `width` numbers at x by H times them.  All threads of the block call it. */
GPU_FN void gpu_hadamard_64(float *x, uint32_t width)
{
	for (uint32_t w = 1; w < 64; w *= 2) {
		float scale = w == 32 ? 0.125f : 1.0f;

		gpu_sync();
		for (uint32_t i = GPU_TID; i < width / 2; i += GPU_THREADS) {
			float *p = x + i / w * 2 * w + i % w, a = p[0], b = p[w];

			p[0] = (a + b) * scale;
			p[w] = (a - b) * scale;
		}
	}
	gpu_sync();
}

/* A block takes a (row, head).  Shared: its columns. */
GPU_KERNEL gpu_hadamard(struct gpu_hadamard_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	float *x = GPU_SHARED(float);
	uint32_t n;

	gpu_open(r, &a.x);
	gpu_open(r, &a.y);
	n = gpu_n_row(r, &a.x) * a.x.n_head;
	for (uint32_t i = GPU_BLOCK_X; i < n; i += GPU_GRID_X) {
		uint32_t row = i / a.x.n_head, head = i % a.x.n_head;

		gpu_sync(); /* the last head has been stored */
		for (uint32_t c = GPU_TID; c < a.x.width; c += GPU_THREADS)
			x[c] = gpu_get(&a.x, row, head, c);
		gpu_hadamard_64(x, a.x.width);
		for (uint32_t c = GPU_TID; c < a.x.width; c += GPU_THREADS)
			gpu_put(&a.y, row, head, c, x[c]);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_HADAMARD_H */
