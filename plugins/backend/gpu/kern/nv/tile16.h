/* SPDX-License-Identifier: MIT
 *
 * tile16.h - the products of kern/tile16.h on NVIDIA's matrix units: a warp has 32 outputs of 32 rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H

#include "backend/gpu/kern/nv/mma.h"
#include "backend/gpu/kern/tile16.h"

/* Adds a slice to acc[tile of 16 outputs][tile of 8 rows][4]. */
GPU_FN void gpu_tile16_slice(int bf16, uint32_t share, uint8_t *buffer, uint32_t slice, float *acc)
{
	uint32_t lane = GPU_TID % 32, warp = GPU_TID / 32, m = GPU_TILE_M / share;
	uint32_t output = share > 1 ? 0 : warp / 2 * 32, row = m + warp % 2 * 32, w[8];

	GPU_UNROLL
	for (uint32_t i = 0; i < 2; i++)
		gpu_ldmatrix(w + 4 * i, gpu_tile16_at(buffer, share, slice,
						      output + 16 * i + lane % 16, lane / 16));
	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) { /* 16 rows, upper or lower halves */
		uint32_t x[4], line = row + i / 2 * GPU_TILE_N + i % 2 * 16;

		gpu_ldmatrix(x, gpu_tile16_at(buffer, share, slice,
					      line + lane / 16 * 8 + lane % 8, lane / 8 % 2));
		GPU_UNROLL
		for (uint32_t j = 0; j < 4; j++) {
			float *c = acc + 16 * (j / 2) + 4 * (i % 2 * 2 + j % 2);

			if (bf16)
				gpu_mma_bf16(c, w + 4 * (j / 2), x + 2 * (j % 2));
			else
				gpu_mma_f16(c, w + 4 * (j / 2), x + 2 * (j % 2));
		}
	}
}

/* factor: of the rows of x. */
GPU_FN void gpu_tile16_store(uint32_t share, const float *acc, const float *factor, float *sums)
{
	uint32_t lane = GPU_TID % 32, warp = GPU_TID / 32;
	uint32_t output = share > 1 ? 0 : warp / 2 * 32, part = share > 1 ? warp / 2 * 16 : 0;

	GPU_UNROLL
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t t = warp % 2 * 32 + 8 * (i / 4 % 4) + 2 * (lane % 4) + i % 2;
		uint32_t o = output + i / 16 * 16 + lane / 4 + 8 * (i / 2 % 2);

		sums[t * (GPU_TILE_M + 1) + gpu_tile_place(share, o) + part] =
			acc[i] * factor[i / 4 % 4 * 2 + i % 2];
	}
}

GPU_TILE16_STEPS(gpu_tile16_steps, GPU_TID / 64, gpu_tile16_slice)

/* The products of a block. */
GPU_FN void gpu_tile16_block(const struct gpu_linear_args *a, int bf16, uint32_t share,
			     const struct gpu_tile_work *w)
{
	float acc[GPU_TILE_N / 2], factor[8];

	GPU_UNROLL
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t t = GPU_TID / 32 % 2 * 32 + i / 2 * 8 + GPU_TID % 4 * 2 + i % 2;

		factor[i] = gpu_tile16_factor(a, w, t);
	}
	gpu_tile16_steps(a, bf16, share, w, acc);
	gpu_sync(); /* other threads' zeros have been stored */
	gpu_tile16_store(share, acc, factor, GPU_SHARED(float));
}

GPU_TILE16_BLOCKS(tile, gpu_tile16_block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H */
