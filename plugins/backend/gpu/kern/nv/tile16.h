/* SPDX-License-Identifier: MIT
 *
 * tile16.h - products of many rows with F16 and BF16 on NVIDIA's matrix units.  Rows of x are sums of
 * two 16-bit floats (halves.h), each a product of its own, and sums are f32.  kern/fast.h computes the
 * same without them.
 *
 * A block of 8 warps computes GPU_TILE_M outputs of GPU_TILE_N rows of x, a warp 32 of each.  With
 * few rows, `share` pairs of warps have the same outputs and divide the columns, so that more blocks
 * read the weight.  Both operands are copied to shared memory, the next step's while this one is
 * computed.  A step has slices of 16 columns, 32 bytes of each row; rows that a matrix instruction
 * loads at once are in different banks, since every other four have their two vectors exchanged. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H

#include "backend/gpu/kern/nv/halves.h"
#include "backend/gpu/kern/nv/tile.h"

#define GPU_TILE16_BUFFER 20480 /* bytes of a step: 4 slices of 32 + 2 * 64 rows */

/* Slices of a step. */
GPU_FN uint32_t gpu_tile16_slices(uint32_t share)
{
	return share > 1 ? 4 : 2;
}

/* Rows of a slice: outputs, upper halves of x, lower halves of x. */
GPU_FN uint32_t gpu_tile16_lines(uint32_t share)
{
	return GPU_TILE_M / share + 2 * GPU_TILE_N;
}

/* Vector `half` of a row of a slice. */
GPU_FN uint8_t *gpu_tile16_at(uint8_t *buffer, uint32_t share, uint32_t slice, uint32_t line,
			      uint32_t half)
{
	return buffer + 32 * (slice * gpu_tile16_lines(share) + line) + 16 * (half ^ (line >> 2 & 1));
}

/* Where row `line` of a slice comes from. */
GPU_FN const uint8_t *gpu_tile16_source(const struct gpu_linear_args *a,
					const struct gpu_tile_work *w, uint32_t share, uint32_t line)
{
	uint32_t m = GPU_TILE_M / share, x = line - m;

	if (line < m)
		return gpu_tile_row(a, w, line);
	return GPU_PTR(const uint8_t,
		       a->halves + w->list[x % GPU_TILE_N] / a->x_div * GPU_HALVES_BYTES(a->w.k) +
			       x / GPU_TILE_N * 2 * (uint64_t)a->w.k);
}

/* Starts the copies of the step at column c.  from: this thread's sources. */
GPU_FN void gpu_tile16_copy(const uint8_t *const *from, uint32_t share, uint32_t k, uint32_t c,
			    uint8_t *buffer)
{
	uint32_t vectors = 2 * gpu_tile16_slices(share);

	GPU_UNROLL
	for (uint32_t i = 0; i < gpu_tile16_lines(share) * vectors / GPU_TILE_THREADS; i++) {
		uint32_t v = i * GPU_TILE_THREADS + GPU_TID, j = v % vectors;
		int inside = c + 8 * j < k;

		gpu_async16_or_zero(gpu_tile16_at(buffer, share, j / 2, v / vectors, j % 2),
				    from[i] + (inside ? 2 * (c + 8 * j) : 0), inside);
	}
	gpu_async_commit();
}

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

		factor[i] = *GPU_PTR(const float,
				     a->halves + w->list[t] / a->x_div * GPU_HALVES_BYTES(a->w.k) +
					     4 * (uint64_t)a->w.k);
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

GPU_FN void gpu_tile16(struct gpu_linear_args *a, int bf16)
{
	uint32_t items = gpu_space_rows(gpu_run_of(a->run), a->space) / a->fold * a->heads;
	struct gpu_tile_work w;

	w.outputs = gpu_tile_outputs(a);
	w.share = items <= GPU_TILE_N ? 4 : 1;
	for (w.first = GPU_BLOCK_X * (GPU_TILE_M / w.share); w.first < w.outputs;
	     w.first += GPU_GRID_X * (GPU_TILE_M / w.share)) {
		for (uint32_t t = GPU_BLOCK_Y; gpu_tile_take(a, items, t, &w); t += GPU_GRID_Y) {
			if (w.slice < a->w.n_stack && w.share > 1)
				gpu_tile16_block(a, bf16, 4, &w);
			else if (w.slice < a->w.n_stack)
				gpu_tile16_block(a, bf16, 1, &w);
			gpu_tile_emit(a, &w, GPU_SHARED(float));
		}
	}
}

/* Shared: two buffers of GPU_TILE16_BUFFER, or the sums. */
GPU_BLOCK_OF(GPU_TILE_THREADS, 2) gpu_tile_f16(struct gpu_linear_args a)
{
	gpu_tile16(&a, 0);
}

GPU_BLOCK_OF(GPU_TILE_THREADS, 2) gpu_tile_bf16(struct gpu_linear_args a)
{
	gpu_tile16(&a, 1);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_TILE16_H */
