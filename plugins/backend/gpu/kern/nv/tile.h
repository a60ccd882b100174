/* SPDX-License-Identifier: MIT
 *
 * tile.h - the products of kern/tile.h on NVIDIA's matrix units: 8 warps, each with 16 outputs of all
 * rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE_H

#include "backend/gpu/kern/nv/mma.h"
#include "backend/gpu/kern/tile.h"

/* Adds group g to acc[row tile][4]; it is group j of the step, whose rows of x are at x. */
GPU_FN void gpu_tile_group(uint32_t type, const uint8_t *const *w, uint32_t g, uint32_t n,
			   const uint8_t *x, uint32_t j, float *acc)
{
	uint32_t lane = GPU_TID % 32, q = lane / 4, i = lane % 4, a[4];
	struct gpu_ints f[2];

	gpu_tile_weight(type, w[0], g, n, i, &a[0], &a[2], &f[0]);
	gpu_tile_weight(type, w[1], g, n, i, &a[1], &a[3], &f[1]);
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE_N / 8; t++) {
		const uint8_t *col = x + (8 * t + q) * GPU_TILE_ROW + 16 * j + 4 * i;
		const uint8_t *of = x + (8 * t + 2 * i) * GPU_TILE_ROW + 128 + 8 * j;
		int32_t c[4] = {0, 0, 0, 0}, s[4] = {0, 0, 0, 0};
		uint32_t b[2];

		b[0] = gpu_plane4(col);
		b[1] = gpu_plane4(col + 64);
		if (type == GPU_Q6_K) {
			gpu_mma_k16(c, a, b);
			gpu_mma_k16(s, a + 2, b + 1);
		} else {
			gpu_mma_k32(c, a, b);
		}
		GPU_UNROLL
		for (uint32_t e = 0; e < 4; e++) {
			const uint8_t *d = of + e % 2 * GPU_TILE_ROW;
			const struct gpu_ints *y = &f[e / 2];

			if (type == GPU_Q6_K)
				c[e] = y->s0 * c[e] + y->s1 * s[e];
			acc[4 * t + e] += (y->d * gpu_bits_float(gpu_plane4(d))) * (float)c[e];
			if (type == GPU_Q4_K || type == GPU_Q5_K)
				acc[4 * t + e] += y->m * gpu_bits_float(gpu_plane4(d + 4));
		}
	}
}

GPU_FN void gpu_tile_store(const float *acc, float *sums)
{
	uint32_t lane = GPU_TID % 32;

	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++) {
		uint32_t t = 8 * (i / 4) + 2 * (lane % 4) + i % 2;

		sums[t * (GPU_TILE_M + 1) + GPU_TID / 32 * 16 + lane / 4 + 8 * (i / 2 % 2)] = acc[i];
	}
}

GPU_TILE_STEPS(gpu_tile_steps, 32, const uint8_t *const *row, gpu_tile_group)

/* The products of a block.  Shared: two buffers of rows of x, or the sums. */
GPU_FN void gpu_tile_block(const struct gpu_linear_args *a, uint32_t type,
			   const struct gpu_tile_work *w)
{
	uint32_t line = GPU_TID / 32 / w->share * 16 + GPU_TID % 32 / 4;
	const uint8_t *rows[2];
	float acc[GPU_TILE_N / 2];

	rows[0] = gpu_tile_row(a, w, line);
	rows[1] = gpu_tile_row(a, w, line + 8);
	gpu_tile_steps(a, type, w, rows, acc);
	gpu_tile_store(acc, GPU_SHARED(float));
}

GPU_TILE_BLOCKS(tile, gpu_tile_block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE_H */
