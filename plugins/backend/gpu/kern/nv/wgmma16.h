/* SPDX-License-Identifier: MIT
 *
 * wgmma16.h - the products of kern/tile16.h by warp groups, which read both operands in shared memory: two groups of 4
 * warps, each with 64 outputs of 64 rows of x.  The rows of a slice have 32 bytes and lie as the instructions
 * want them.  Few rows, whose warps divide the columns, are too few outputs for a warp group: nv/tile16.h
 * computes them. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA16_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA16_H

#include "backend/gpu/kern/nv/tile.h"
#include "backend/gpu/kern/nv/tile16.h"
#include "backend/gpu/kern/nv/wgmma.h"

/* Begins to add a slice: products with the upper and the lower halves of x. */
GPU_FN void gpu_wgmma16_slice(int bf16, uint8_t *buffer, uint32_t slice, float *acc)
{
	uint64_t w = gpu_wgmma_rows(gpu_tile16_at(buffer, 1, slice, GPU_TID / 128 * 64, 0));

	for (uint32_t half = 0; half < 2; half++)
		gpu_wgmma(bf16, acc, w,
			  gpu_wgmma_rows(gpu_tile16_at(buffer, 1, slice,
						       GPU_TILE_M + half * GPU_TILE_N, 0)));
}

/* The sums of a thread.  Shared: two buffers of a step. */
GPU_FN void gpu_wgmma16_steps(const struct gpu_linear_args *a, int bf16, const struct gpu_tile_work *w,
			      float *acc)
{
	uint32_t slices = gpu_tile16_slices(1), step = 16 * slices;
	uint8_t *buffer = GPU_SHARED(uint8_t);
	const uint8_t *from[5];

	gpu_tile16_sources(a, w, 1, from);
	gpu_tile_zero(acc);
	gpu_tile16_copy(from, 1, a->w.k, 0, buffer);
	for (uint32_t c = 0; c < a->w.k; c += step) {
		uint8_t *now = buffer + c / step % 2 * GPU_TILE16_BUFFER;

		gpu_tile16_copy(from, 1, a->w.k, c + step,
				buffer + (c / step + 1) % 2 * GPU_TILE16_BUFFER);
		gpu_async_wait(1);
		gpu_proxy_fence();
		gpu_sync();
		gpu_wgmma_fence();
		GPU_UNROLL
		for (uint32_t i = 0; i < slices; i++)
			gpu_wgmma16_slice(bf16, now, i, acc);
		gpu_wgmma_wait(acc);
		gpu_sync();
	}
	gpu_async_wait(0);
}

/* The products of a block. */
GPU_FN void gpu_wgmma16_block(const struct gpu_linear_args *a, int bf16, uint32_t share,
			      const struct gpu_tile_work *w)
{
	float acc[GPU_WGMMA_SUMS];

	if (share > 1) {
		gpu_tile16_block(a, bf16, share, w);
		return;
	}
	gpu_wgmma16_steps(a, bf16, w, acc);
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_WGMMA_SUMS; i++)
		acc[i] *= gpu_tile16_factor(a, w, 8 * (i / 4) + GPU_TID % 4 * 2 + i % 2);
	gpu_sync(); /* other threads' zeros have been stored */
	gpu_tile_store(acc, GPU_SHARED(float));
}

GPU_TILE16_BLOCKS(wgmma, gpu_wgmma16_block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA16_H */
