/* SPDX-License-Identifier: MIT
 *
 * wmma.h - matrix instructions of AMD's RDNA 3 devices (gfx11), whose warps have 32 threads, and the products
 * of kern/tile.h and kern/tile16.h with them.  Fragments are as AMD's documentation of
 * v_wmma_i32_16x16x16_iu8, v_wmma_f32_16x16x16_f16 and _bf16 describes them; with q = lane % 16:
 *
 *   a      row q, all 16 columns, of 8 or of 16 bits; lanes q and q + 16 have the same
 *   b      column q, all 16 rows; lanes q and q + 16 have the same
 *   c[r]   row 2r + lane / 16, column q
 *
 * tests/gpu/emu.c has the same for the host.  8 warps have 16 outputs of all rows each; rows of x are
 * the rows of matrix instructions and outputs their columns, so that a thread needs the factors of
 * one output. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_WMMA_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_WMMA_H

#include "backend/gpu/kern/tile16.h"

#if defined(__HIP__) && defined(__GFX11__)

typedef int gpu_ints8 __attribute__((ext_vector_type(8)));
typedef float gpu_floats8 __attribute__((ext_vector_type(8)));
typedef short gpu_shorts16 __attribute__((ext_vector_type(16)));
typedef _Float16 gpu_halves16 __attribute__((ext_vector_type(16)));
typedef int gpu_ints4 __attribute__((ext_vector_type(4)));
typedef unsigned gpu_words8 __attribute__((ext_vector_type(8)));

/* Products of signed bytes: c[8], a[4], b[4]. */
GPU_FN void gpu_wmma_i8(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	gpu_ints4 x = {(int)a[0], (int)a[1], (int)a[2], (int)a[3]};
	gpu_ints4 y = {(int)b[0], (int)b[1], (int)b[2], (int)b[3]};
	gpu_ints8 v = {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]};

	v = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, y, v, false);
	GPU_UNROLL
	for (uint32_t r = 0; r < 8; r++)
		c[r] = v[r];
}

/* Products of 16-bit floats, sums in f32: c[8], a[8], b[8]. */
GPU_FN void gpu_wmma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b)
{
	gpu_words8 x = {a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]};
	gpu_words8 y = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]};
	gpu_floats8 v = {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]};

	if (bf16)
		v = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(
			__builtin_bit_cast(gpu_shorts16, x), __builtin_bit_cast(gpu_shorts16, y), v);
	else
		v = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(gpu_halves16, x),
							       __builtin_bit_cast(gpu_halves16, y),
							       v);
	GPU_UNROLL
	for (uint32_t r = 0; r < 8; r++)
		c[r] = v[r];
}

#endif

/* Four words of a group of a row: those that this thread would have with i = 0..3. */
GPU_FN void gpu_wmma_weight(uint32_t type, const uint8_t *row, uint32_t g, uint32_t n, uint32_t *lo,
			    uint32_t *hi, struct gpu_ints *f)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++)
		gpu_tile_weight(type, row, g, n, i, &lo[i], &hi[i], f);
}

/* Adds group g to acc[16 rows][8]; it is group j of the step, whose rows of x are at x. */
GPU_FN void gpu_wmma_group(uint32_t type, const uint8_t *w, uint32_t g, uint32_t n, const uint8_t *x,
			   uint32_t j, float *acc)
{
	uint32_t lane = GPU_TID % 32, lo[4], hi[4];
	struct gpu_ints f;

	gpu_wmma_weight(type, w, g, n, lo, hi, &f);
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE_N / 16; t++) {
		const uint8_t *row = x + (16 * t + lane % 16) * GPU_TILE_ROW + 16 * j;
		const uint8_t *of = x + (16 * t + lane / 16) * GPU_TILE_ROW + 128 + 8 * j;
		struct gpu_four a0 = gpu_load16(row), a1 = gpu_load16(row + 64);
		int32_t c[8] = {0, 0, 0, 0, 0, 0, 0, 0}, s[8] = {0, 0, 0, 0, 0, 0, 0, 0};

		gpu_wmma_i8(c, a0.v, lo);
		gpu_wmma_i8(type == GPU_Q6_K ? s : c, a1.v, hi);
		GPU_UNROLL
		for (uint32_t e = 0; e < 8; e++) {
			const uint8_t *d = of + 2 * e * GPU_TILE_ROW;

			if (type == GPU_Q6_K)
				c[e] = f.s0 * c[e] + f.s1 * s[e];
			acc[8 * t + e] += (f.d * gpu_bits_float(gpu_plane4(d))) * (float)c[e];
			if (type == GPU_Q4_K || type == GPU_Q5_K)
				acc[8 * t + e] += f.m * gpu_bits_float(gpu_plane4(d + 4));
		}
	}
}

/* Row of x of sum i of a thread. */
GPU_FN uint32_t gpu_wmma_row(uint32_t i)
{
	return i / 8 * 16 + i % 8 * 2 + GPU_TID % 32 / 16;
}

GPU_FN void gpu_wmma_store(const float *acc, float *sums)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++)
		sums[gpu_wmma_row(i) * (GPU_TILE_M + 1) + GPU_TID / 32 * 16 + GPU_TID % 16] = acc[i];
}

GPU_TILE_STEPS(gpu_wmma_steps, 32, const uint8_t *row, gpu_wmma_group)

/* The products of a block.  Shared: two buffers of rows of x, or the sums. */
GPU_FN void gpu_wmma_block(const struct gpu_linear_args *a, uint32_t type,
			   const struct gpu_tile_work *w)
{
	uint32_t line = GPU_TID / 32 / w->share * 16 + GPU_TID % 16;
	float acc[GPU_TILE_N / 2];

	gpu_wmma_steps(a, type, w, gpu_tile_row(a, w, line), acc);
	gpu_sync(); /* nobody copies any more */
	gpu_wmma_store(acc, GPU_SHARED(float));
}

/* ---- 16-bit floats ---- */

/* The 16 columns of row `line` of a slice. */
GPU_FN void gpu_wmma16_load(uint8_t *buffer, uint32_t share, uint32_t slice, uint32_t line,
			    uint32_t *to)
{
	GPU_UNROLL
	for (uint32_t h = 0; h < 2; h++) {
		struct gpu_four v = gpu_load16(gpu_tile16_at(buffer, share, slice, line, h));

		GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			to[4 * h + i] = v.v[i];
	}
}

/* Adds a slice to acc[16 rows][8]. */
GPU_FN void gpu_wmma16_slice(int bf16, uint32_t share, uint8_t *buffer, uint32_t slice, float *acc)
{
	uint32_t q = GPU_TID % 16, m = GPU_TILE_M / share, w[8];

	gpu_wmma16_load(buffer, share, slice, GPU_TID / 32 / share * 16 + q, w);
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE_N / 16 * 2; t++) { /* upper halves of all rows, then lower */
		uint32_t x[8];

		gpu_wmma16_load(buffer, share, slice, m + 16 * t + q, x);
		gpu_wmma_16(bf16, acc + 8 * (t % (GPU_TILE_N / 16)), x, w);
	}
}

GPU_TILE16_STEPS(gpu_wmma16_steps, GPU_TID / 32 % share, gpu_wmma16_slice)

GPU_FN void gpu_wmma16_block(const struct gpu_linear_args *a, int bf16, uint32_t share,
			     const struct gpu_tile_work *w)
{
	float acc[GPU_TILE_N / 2];

	gpu_wmma16_steps(a, bf16, share, w, acc);
	gpu_sync(); /* nobody copies any more */
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++)
		acc[i] *= gpu_tile16_factor(a, w, gpu_wmma_row(i));
	gpu_wmma_store(acc, GPU_SHARED(float));
}

GPU_TILE_BLOCKS(wmma, gpu_wmma_block)
GPU_TILE16_BLOCKS(wmma, gpu_wmma16_block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_WMMA_H */
