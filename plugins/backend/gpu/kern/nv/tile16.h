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

/* The products of a block. */
GPU_FN void gpu_tile16_block(const struct gpu_linear_args *a, int bf16, uint32_t share,
			     const struct gpu_tile_work *w)
{
	uint32_t slices = gpu_tile16_slices(share), vectors = 2 * slices, step = 16 * slices;
	uint8_t *buffer = GPU_SHARED(uint8_t);
	const uint8_t *from[5];
	float acc[32], factor[8];

	GPU_UNROLL
	for (uint32_t i = 0; i < gpu_tile16_lines(share) * vectors / GPU_TILE_THREADS; i++)
		from[i] = gpu_tile16_source(a, w, share, (i * GPU_TILE_THREADS + GPU_TID) / vectors);
	GPU_UNROLL
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t t = GPU_TID / 32 % 2 * 32 + i / 2 * 8 + GPU_TID % 4 * 2 + i % 2;

		factor[i] = gpu_tile16_factor(a, w, t);
	}
	GPU_UNROLL
	for (uint32_t i = 0; i < 32; i++)
		acc[i] = 0;
	gpu_tile16_copy(from, share, a->w.k, 0, buffer);
	for (uint32_t c = 0; c < a->w.k; c += step) {
		uint8_t *now = buffer + c / step % 2 * GPU_TILE16_BUFFER;

		gpu_tile16_copy(from, share, a->w.k, c + step,
				buffer + (c / step + 1) % 2 * GPU_TILE16_BUFFER);
		gpu_async_wait(1);
		gpu_sync();
		if (share > 1) {
			gpu_tile16_slice(bf16, share, now, GPU_TID / 64, acc);
		} else {
			GPU_UNROLL
			for (uint32_t i = 0; i < slices; i++)
				gpu_tile16_slice(bf16, share, now, i, acc);
		}
		gpu_sync();
	}
	gpu_async_wait(0);
	gpu_sync(); /* other threads' zeros have been stored */
	gpu_tile16_store(share, acc, factor, GPU_SHARED(float));
}

GPU_FN void gpu_tile16(const struct gpu_linear_args *a, int bf16, const struct gpu_tile_work *w)
{
	if (w->share > 1)
		gpu_tile16_block(a, bf16, 4, w);
	else
		gpu_tile16_block(a, bf16, 1, w);
}

GPU_TILE_OF(tile_f16, 0, gpu_tile16)
GPU_TILE_OF(tile_bf16, 1, gpu_tile16)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H */
