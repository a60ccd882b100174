/* SPDX-License-Identifier: MIT
 *
 * tile16.h - products of many rows with F16 and BF16 on matrix units.  Rows of x are sums of two
 * 16-bit floats (halves.h), each a product of its own, and sums are f32.  kern/fast.h computes the
 * same without them.  Here is what the units of all vendors have in common; nv/ and amd/ have the
 * products themselves.
 *
 * A block computes GPU_TILE_M outputs of GPU_TILE_N rows of x.  With few rows, `share` parts of its
 * warps have the same outputs and divide the columns, so that more blocks read the weight.  Both
 * operands are copied to shared memory, the next step's while this one is computed.  A step has
 * slices of 16 columns, 32 bytes of each row; rows that a matrix instruction loads at once are in
 * different banks, since every other four have their two vectors exchanged. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE16_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE16_H

#include "backend/gpu/kern/halves.h"
#include "backend/gpu/kern/tile.h"

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

/* What row t of x is multiplied with. */
GPU_FN float gpu_tile16_factor(const struct gpu_linear_args *a, const struct gpu_tile_work *w,
			       uint32_t t)
{
	return *GPU_PTR(const float, a->halves + w->list[t] / a->x_div * GPU_HALVES_BYTES(a->w.k) +
					     4 * (uint64_t)a->w.k);
}

/* Sources of this thread's copies. */
GPU_FN void gpu_tile16_sources(const struct gpu_linear_args *a, const struct gpu_tile_work *w,
			       uint32_t share, const uint8_t **from)
{
	uint32_t vectors = 2 * gpu_tile16_slices(share);

	GPU_UNROLL
	for (uint32_t i = 0; i < gpu_tile16_lines(share) * vectors / GPU_TILE_THREADS; i++)
		from[i] = gpu_tile16_source(a, w, share, (i * GPU_TILE_THREADS + GPU_TID) / vectors);
}

/* Starts the copies of the step at column c. */
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

/* A function that computes the sums of a thread, acc[GPU_TILE_N / 2], step by step; the factors are
 * left to the caller.  add_slice(bf16, share, buffer, i, acc) adds slice i of a step; with
 * share > 1 a thread adds slice `part` alone.  Shared: two buffers of a step.  In the end none of
 * the thread's copies is under way. */
#define GPU_TILE16_STEPS(name, part, add_slice)                                                    \
	GPU_FN void name(const struct gpu_linear_args *a, int bf16, uint32_t share,                \
			 const struct gpu_tile_work *w, float *acc)                                \
	{                                                                                          \
		uint32_t slices = gpu_tile16_slices(share), step = 16 * slices;                    \
		uint8_t *buffer = GPU_SHARED(uint8_t);                                             \
		const uint8_t *from[5];                                                            \
                                                                                                   \
		gpu_tile16_sources(a, w, share, from);                                             \
		gpu_tile_zero(acc);                                                                \
		gpu_tile16_copy(from, share, a->w.k, 0, buffer);                                   \
		for (uint32_t c = 0; c < a->w.k; c += step) {                                      \
			uint8_t *now = buffer + c / step % 2 * GPU_TILE16_BUFFER;                  \
                                                                                                   \
			gpu_tile16_copy(from, share, a->w.k, c + step,                             \
					buffer + (c / step + 1) % 2 * GPU_TILE16_BUFFER);          \
			gpu_async_wait(1);                                                         \
			gpu_sync();                                                                \
			if (share > 1) {                                                           \
				add_slice(bf16, share, now, part, acc);                            \
			} else {                                                                   \
				GPU_UNROLL                                                         \
				for (uint32_t i = 0; i < slices; i++)                              \
					add_slice(bf16, share, now, i, acc);                       \
			}                                                                          \
			gpu_sync();                                                                \
		}                                                                                  \
		gpu_async_wait(0);                                                                 \
	}

/* The kernels of both types; block(a, bf16, share, w) leaves the products of a block in sums. */
#define GPU_TILE16_BLOCKS(unit, block)                                                             \
	GPU_FN void gpu_##unit##16_any(const struct gpu_linear_args *a, int bf16,                  \
				       const struct gpu_tile_work *w)                              \
	{                                                                                          \
		if (w->share > 1)                                                                  \
			block(a, bf16, 4, w);                                                      \
		else                                                                               \
			block(a, bf16, 1, w);                                                      \
	}                                                                                          \
	GPU_TILE_OF(unit##_f16, 0, gpu_##unit##16_any)                                             \
	GPU_TILE_OF(unit##_bf16, 1, gpu_##unit##16_any)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE16_H */
