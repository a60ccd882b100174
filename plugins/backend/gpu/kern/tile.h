/* SPDX-License-Identifier: MIT
 *
 * tile.h - products of many rows with block types on matrix units: 8-bit integers, exact sums of 32
 * products (16 for Q6_K), then the formula of plugins/backend/ref/op_linear_int8.c.  kern/fast.h
 * computes the same without them.  Here is what the units of all vendors have in common; nv/ and
 * amd/ have the products themselves.
 *
 * A block of GPU_TILE_THREADS computes GPU_TILE_M outputs of GPU_TILE_N rows of x, each warp its own outputs.
 * With few rows, `share` warps have the same outputs and divide the groups, so that more blocks
 * read the weight.  Pairs of rows and slices come in the order of their slices (group.h), and a
 * block has those of one slice.  A step is GPU_TILE_G groups of 32: rows of x are copied to shared
 * memory while the last step is computed; weights go from memory to fragments, since a warp's words
 * of a group are its fragment. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE_H

#include "backend/gpu/kern/linear.h"
#include "backend/gpu/kern/copies.h"
#include "backend/gpu/kern/q8.h"

#define GPU_TILE_THREADS 256
#define GPU_TILE_M       128
#define GPU_TILE_N       64
#define GPU_TILE_G       4
/* A row of x in shared memory: 64 + 64 bytes of values, 32 of factors, and 16 that keep the rows of
 * a fragment in different banks. */
#define GPU_TILE_ROW     176

/* Where the numbers of the rows that a block multiplies are in shared memory. */
#define GPU_TILE_LIST 40960

/* What a block multiplies: outputs [first, first + GPU_TILE_M / share) of n rows, which have a
 * slice of the weight in common; n_stack = none, the outputs are zeros.  A flat weight is one
 * slice. */
struct gpu_tile_work {
	uint32_t first, outputs, share;
	uint32_t slice, n;
	const uint32_t *list; /* the items [GPU_TILE_N], the last one again from n on */
};

/* Takes number t of the parts of up to GPU_TILE_N items; returns 0 if there are fewer.  All
 * threads of the block call it. */
GPU_FN int gpu_tile_take(const struct gpu_linear_args *a, uint32_t items, uint32_t t,
			 struct gpu_tile_work *w)
{
	const uint32_t *bounds = GPU_PTR(const uint32_t, a->groups);
	const uint32_t *order = bounds + a->w.n_stack + 2;
	uint32_t *list = GPU_SHARED(uint32_t) + GPU_TILE_LIST / 4, from = 0, to = items;

	w->slice = 0;
	for (; a->groups && w->slice <= a->w.n_stack; w->slice++) {
		uint32_t parts;

		from = bounds[w->slice];
		to = bounds[w->slice + 1];
		parts = (to - from + GPU_TILE_N - 1) / GPU_TILE_N;
		if (t < parts)
			break;
		t -= parts;
	}
	if (w->slice > a->w.n_stack || t * GPU_TILE_N >= to - from)
		return 0;
	from += t * GPU_TILE_N;
	w->n = to - from < GPU_TILE_N ? to - from : GPU_TILE_N;
	w->list = list;
	if (GPU_TID < GPU_TILE_N) {
		from += GPU_TID < w->n ? GPU_TID : w->n - 1;
		list[GPU_TID] = a->groups ? order[from] : from;
	}
	gpu_sync();
	return 1;
}

/* Row of the weight for output i of a block. */
GPU_FN const uint8_t *gpu_tile_row(const struct gpu_linear_args *a, const struct gpu_tile_work *w,
				   uint32_t i)
{
	i = w->first + i < w->outputs ? w->first + i : w->outputs - 1;
	return gpu_weight_row(&a->w, w->slice + i / a->w.n, i % a->w.n);
}

/* Starts the copies of step g. */
GPU_FN void gpu_tile_copy(const struct gpu_linear_args *a, const struct gpu_tile_work *w, uint32_t g,
			  uint8_t *to)
{
	uint32_t groups = a->w.k / 32;

	for (uint32_t v = GPU_TID; v < GPU_TILE_N * 10; v += GPU_THREADS) {
		uint32_t t = v / 10, j = v % 10, group = g + (j < 8 ? j % 4 : 2 * (j - 8));
		uint64_t row = a->q8 + (uint64_t)(w->list[t] / a->x_div) * GPU_Q8_BYTES(a->w.k);

		if (group >= groups)
			continue;
		row += j < 8 ? 16 * (j / 4 * groups + group) : 32 * groups + 8 * group;
		gpu_async16(to + t * GPU_TILE_ROW + 16 * j, GPU_PTR(const void, row));
	}
	gpu_async_commit();
}

/* In types with a minimum: the sums of x become floats, times d. */
GPU_FN void gpu_tile_sums(uint8_t *x)
{
	for (uint32_t i = GPU_TID; i < GPU_TILE_N * GPU_TILE_G; i += GPU_THREADS) {
		uint32_t *p = (uint32_t *)(void *)(x + i / GPU_TILE_G * GPU_TILE_ROW + 128 +
						   8 * (i % GPU_TILE_G));
		int32_t sum = (int16_t)p[1] + (int16_t)(p[1] >> 16);

		p[1] = gpu_float_bits(gpu_bits_float(p[0]) * (float)sum);
	}
}

/* Subtracts from each of four bytes, which are less than 128. */
GPU_FN uint32_t gpu_tile_minus(uint32_t bytes, uint32_t offset)
{
	return ((bytes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

/* This thread's words of group g of a row. */
GPU_FN void gpu_tile_weight(uint32_t type, const uint8_t *row, uint32_t g, uint32_t n, uint32_t i,
			    uint32_t *lo, uint32_t *hi, struct gpu_ints *f)
{
	uint32_t word = gpu_plane4(row + 16 * g + 4 * i), second = 0;
	struct gpu_raw raw;

	if (type == GPU_Q8_0)
		second = gpu_plane4(row + 16 * (n + g) + 4 * i);
	gpu_planes_load_rest(type, row, g, n, &raw);
	gpu_planes_word(type, &raw, i, word, second, lo, hi);
	if (gpu_planes_offset(type)) {
		*lo = gpu_tile_minus(*lo, (uint32_t)gpu_planes_offset(type));
		*hi = gpu_tile_minus(*hi, (uint32_t)gpu_planes_offset(type));
	}
	gpu_planes_factors(type, &raw, g, f);
}

/* Place of output o of a block among the sums of a row; those of other shares follow, 16 apart. */
GPU_FN uint32_t gpu_tile_place(uint32_t share, uint32_t o)
{
	return o / 16 * share * 16 + o % 16;
}

/* The epilogue of what the warps have left in sums[row][GPU_TILE_M + 1]. */
GPU_FN void gpu_tile_emit(const struct gpu_linear_args *a, const struct gpu_tile_work *w,
			  const float *sums)
{
	uint32_t m = GPU_TILE_M / w->share;

	gpu_sync();
	for (uint32_t i = GPU_TID; i < w->n * m; i += GPU_THREADS) {
		uint32_t t = i / m, o = i % m, n = w->first + o;
		const float *s = sums + t * (GPU_TILE_M + 1) + gpu_tile_place(w->share, o);
		float v = 0;

		if (n >= w->outputs)
			continue;
		if (w->slice == a->w.n_stack) {
			gpu_linear_skip(a, w->list[t], n);
			continue;
		}
		for (uint32_t j = 0; j < w->share; j++)
			v += s[16 * j];
		gpu_linear_emit(a, w->list[t], w->slice + n / a->w.n, n % a->w.n, v);
	}
	gpu_sync();
}

GPU_FN void gpu_tile_zero(float *acc)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_TILE_N / 2; i++)
		acc[i] = 0;
}

/* A function that computes the sums of a thread, acc[GPU_TILE_N / 2], step by step.  `rows` declares
 * its parameter `row`, the thread's rows of the weight.  add_group(type, row, g, n, x, j, acc) adds
 * group g of n, which is group j of the step, whose rows of x are at x.  Shared: two buffers of
 * rows of x.  In the end none of the thread's copies is under way. */
#define GPU_TILE_STEPS(name, warp_threads, rows, add_group)                                        \
	GPU_FN void name(const struct gpu_linear_args *a, uint32_t type,                           \
			 const struct gpu_tile_work *w, rows, float *acc)                          \
	{                                                                                          \
		uint32_t groups = a->w.k / 32, warp = GPU_TID / (warp_threads);                    \
		uint8_t *x = GPU_SHARED(uint8_t);                                                  \
                                                                                                   \
		gpu_tile_zero(acc);                                                                \
		gpu_tile_copy(a, w, 0, x);                                                         \
		for (uint32_t g = 0; g < groups; g += GPU_TILE_G) {                                \
			uint8_t *now = x + g / GPU_TILE_G % 2 * GPU_TILE_N * GPU_TILE_ROW;         \
                                                                                                   \
			gpu_tile_copy(a, w, g + GPU_TILE_G,                                        \
				      x + (g / GPU_TILE_G + 1) % 2 * GPU_TILE_N * GPU_TILE_ROW);   \
			gpu_async_wait(1);                                                         \
			gpu_sync();                                                                \
			if (type == GPU_Q4_K || type == GPU_Q5_K) {                                \
				gpu_tile_sums(now);                                                \
				gpu_sync();                                                        \
			}                                                                          \
			for (uint32_t j = warp % w->share; j < GPU_TILE_G && g + j < groups;       \
			     j += w->share)                                                        \
				add_group(type, row, g + j, groups, now, j, acc);                  \
			gpu_sync();                                                                \
		}                                                                                  \
		gpu_async_wait(0);                                                                 \
	}

/* Outputs in all, of a slice if pairs are grouped. */
GPU_FN uint32_t gpu_tile_outputs(const struct gpu_linear_args *a)
{
	return a->groups ? a->w.n : a->w.n_stack * a->w.n;
}

/* The kernel of a type; `block` computes the products of a block and leaves them in sums. */
#define GPU_TILE_OF(name, TYPE, block)                                                             \
	GPU_BLOCK_OF(GPU_TILE_THREADS, 2) gpu_##name(struct gpu_linear_args a)                     \
	{                                                                                          \
		uint32_t items =                                                                   \
			gpu_space_rows(gpu_run_of(a.run), a.space) / a.fold * a.heads;             \
		struct gpu_tile_work w;                                                            \
                                                                                                   \
		w.outputs = gpu_tile_outputs(&a);                                                  \
		w.share = items <= GPU_TILE_N ? GPU_TILE_G : 1;                                    \
		for (w.first = GPU_BLOCK_X * (GPU_TILE_M / w.share); w.first < w.outputs;          \
		     w.first += GPU_GRID_X * (GPU_TILE_M / w.share)) {                             \
			for (uint32_t t = GPU_BLOCK_Y; gpu_tile_take(&a, items, t, &w);            \
			     t += GPU_GRID_Y) {                                                    \
				if (w.slice < a.w.n_stack)                                         \
					block(&a, TYPE, &w);                                       \
				gpu_tile_emit(&a, &w, GPU_SHARED(float));                          \
			}                                                                          \
		}                                                                                  \
	}
#define GPU_TILE_BLOCKS(unit, block)                                                               \
	GPU_TILE_OF(unit##_q4_0, GPU_Q4_0, block)                                                  \
	GPU_TILE_OF(unit##_q8_0, GPU_Q8_0, block)                                                  \
	GPU_TILE_OF(unit##_q4_k, GPU_Q4_K, block)                                                  \
	GPU_TILE_OF(unit##_q5_k, GPU_Q5_K, block)                                                  \
	GPU_TILE_OF(unit##_q6_k, GPU_Q6_K, block)                                                  \
	GPU_TILE_OF(unit##_iq4_nl, GPU_IQ4_NL, block)                                              \
	GPU_TILE_OF(unit##_iq4_xs, GPU_IQ4_XS, block)                                              \
	GPU_TILE_OF(unit##_mxfp4, GPU_MXFP4, block)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_TILE_H */
