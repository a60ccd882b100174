/* SPDX-License-Identifier: MIT
 *
 * tile.h - the products of kern/tile.h and kern/tile16.h on AMD's matrix units (mfma.h): 4 warps, each with 32
 * outputs of all rows.  Rows of x are the rows of matrix instructions and outputs their columns, so that a
 * thread needs the factors of one output of 16. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_TILE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_TILE_H

#include "backend/gpu/kern/amd/mfma.h"
#include "backend/gpu/kern/tile16.h"

/* Adds group g to acc[16 rows][16 outputs][4]; it is group j of the step, whose rows of x are at
 * x. */
GPU_FN void gpu_mfma_group(uint32_t type, const uint8_t *const *w, uint32_t g, uint32_t n,
			   const uint8_t *x, uint32_t j, float *acc)
{
	uint32_t lane = GPU_TID % 64, q = lane % 16, i = lane / 16, lo[2], hi[2];
	struct gpu_ints f[2];

	GPU_UNROLL
	for (uint32_t u = 0; u < 2; u++)
		gpu_tile_weight(type, w[u], g, n, i, &lo[u], &hi[u], &f[u]);
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE_N / 16; t++) {
		const uint8_t *row = x + (16 * t + q) * GPU_TILE_ROW + 16 * j + 4 * i;
		const uint8_t *of = x + (16 * t + 4 * i) * GPU_TILE_ROW + 128 + 8 * j;
		uint32_t a0 = gpu_plane4(row), a1 = gpu_plane4(row + 64);

		GPU_UNROLL
		for (uint32_t u = 0; u < 2; u++) {
			int32_t c[4] = {0, 0, 0, 0}, s[4] = {0, 0, 0, 0};

			gpu_mfma_i8(c, a0, lo[u]);
			gpu_mfma_i8(type == GPU_Q6_K ? s : c, a1, hi[u]);
			GPU_UNROLL
			for (uint32_t e = 0; e < 4; e++) {
				const uint8_t *d = of + e * GPU_TILE_ROW;
				float *to = acc + 8 * t + 4 * u + e;

				if (type == GPU_Q6_K)
					c[e] = f[u].s0 * c[e] + f[u].s1 * s[e];
				*to += (f[u].d * gpu_bits_float(gpu_plane4(d))) * (float)c[e];
				if (type == GPU_Q4_K || type == GPU_Q5_K)
					*to += f[u].m * gpu_bits_float(gpu_plane4(d + 4));
			}
		}
	}
}

/* Where the sums of this warp's 16 outputs u begin in a row of sums. */
GPU_FN uint32_t gpu_mfma_place(uint32_t share, uint32_t u)
{
	uint32_t warp = GPU_TID / 64;

	return 16 * ((warp / share * 2 + u) * share + warp % share);
}

GPU_FN void gpu_mfma_store(uint32_t share, const float *acc, float *sums)
{
	uint32_t lane = GPU_TID % 64;

	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++) {
		uint32_t t = i / 8 * 16 + lane / 16 * 4 + i % 4;

		sums[t * (GPU_TILE_M + 1) + gpu_mfma_place(share, i / 4 % 2) + lane % 16] = acc[i];
	}
}

GPU_TILE_STEPS(gpu_mfma_steps, 64, const uint8_t *const *row, gpu_mfma_group)

/* The products of a block.  Shared: two buffers of rows of x, or the sums. */
GPU_FN void gpu_mfma_block(const struct gpu_linear_args *a, uint32_t type,
			   const struct gpu_tile_work *w)
{
	uint32_t line = GPU_TID / 64 / w->share * 32 + GPU_TID % 16;
	const uint8_t *rows[2];
	float acc[GPU_TILE_N / 2];

	rows[0] = gpu_tile_row(a, w, line);
	rows[1] = gpu_tile_row(a, w, line + 16);
	gpu_mfma_steps(a, type, w, rows, acc);
	gpu_sync(); /* nobody copies any more */
	gpu_mfma_store(w->share, acc, GPU_SHARED(float));
}

/* ---- 16-bit floats ---- */

/* Two words: columns 4i..4i+3 of row `line` of a slice. */
GPU_FN void gpu_mfma16_load(uint8_t *buffer, uint32_t share, uint32_t slice, uint32_t line,
			    uint32_t i, uint32_t *to)
{
	const uint32_t *from = (const uint32_t *)(const void *)gpu_tile16_at(buffer, share, slice,
									     line, i / 2) +
			       i % 2 * 2;

	to[0] = from[0];
	to[1] = from[1];
}

/* Adds a slice to acc[16 rows][16 outputs][4]. */
GPU_FN void gpu_mfma16_slice(int bf16, uint32_t share, uint8_t *buffer, uint32_t slice, float *acc)
{
	uint32_t q = GPU_TID % 16, i = GPU_TID % 64 / 16, m = GPU_TILE_M / share, w[4];
	uint32_t output = share > 1 ? 0 : GPU_TID / 64 * 32;

	GPU_UNROLL
	for (uint32_t u = 0; u < 2; u++)
		gpu_mfma16_load(buffer, share, slice, output + 16 * u + q, i, w + 2 * u);
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE_N / 16 * 2; t++) { /* upper halves of all rows, then lower */
		uint32_t x[2], at = t % (GPU_TILE_N / 16);

		gpu_mfma16_load(buffer, share, slice, m + 16 * t + q, i, x);
		GPU_UNROLL
		for (uint32_t u = 0; u < 2; u++)
			gpu_mfma_16(bf16, acc + 8 * at + 4 * u, x, w + 2 * u);
	}
}

GPU_TILE16_STEPS(gpu_mfma16_steps, GPU_TID / 64, gpu_mfma16_slice)

GPU_FN void gpu_mfma16_block(const struct gpu_linear_args *a, int bf16, uint32_t share,
			     const struct gpu_tile_work *w)
{
	float acc[GPU_TILE_N / 2];

	gpu_mfma16_steps(a, bf16, share, w, acc);
	gpu_sync(); /* nobody copies any more */
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++)
		acc[i] *= gpu_tile16_factor(a, w, i / 8 * 16 + GPU_TID % 64 / 16 * 4 + i % 4);
	gpu_mfma_store(share, acc, GPU_SHARED(float));
}

GPU_TILE_BLOCKS(mfma, gpu_mfma_block)
GPU_TILE16_BLOCKS(mfma, gpu_mfma16_block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_TILE_H */
