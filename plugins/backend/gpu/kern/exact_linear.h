/* SPDX-License-Identifier: MIT
 *
 * exact_linear.h - kernels of products in exact arithmetic: for each group of 32 the exact integer
 * sum and its factors, and the terms of the groups added one after the other, as
 * plugins/backend/cpu/kern/kern.h defines it.
 *
 * A warp computes GPU_OUTPUTS outputs of up to GPU_TILE rows.  Its threads compute the terms of
 * neighbouring groups and leave them in shared memory, where each thread adds up those of one
 * (output, row): the additions of an output follow each other, but 32 outputs go on at once. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_LINEAR_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_LINEAR_H

#include "backend/gpu/kern/exact.h"
#include "backend/gpu/kern/fast.h"

#define GPU_EXACT_SUMS (GPU_OUTPUTS * GPU_TILE) /* of a warp */

/* The term of a group. */
GPU_FN float gpu_exact_group(uint32_t type, const struct gpu_ints *w, const struct gpu_unit *x)
{
	int32_t i0 = 0, i1 = 0;
	float v;

	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		i0 = gpu_dot4(w->lo[i], x->lo.v[i], i0);
		i1 = gpu_dot4(w->hi[i], x->hi.v[i], i1);
	}
	if (type == GPU_Q6_K)
		i0 = w->s0 * (i0 - 32 * x->s0) + w->s1 * (i1 - 32 * x->s1);
	else
		i0 += i1 - gpu_planes_offset(type) * (x->s0 + x->s1);
	v = DEVICE_MUL(DEVICE_MUL(w->d, x->d), (float)i0);
	if (type == GPU_Q4_K || type == GPU_Q5_K)
		v = DEVICE_ADD(v, DEVICE_MUL(w->m, DEVICE_MUL(x->d, (float)(x->s0 + x->s1))));
	return v;
}

/* What follows a product: see gpu_linear_emit. */
GPU_FN void gpu_exact_emit(const struct gpu_linear_args *a, uint32_t item, uint32_t slice,
			   uint32_t n, float v)
{
	uint32_t row = item / a->heads, head = item % a->heads, col = slice * a->w.n + n;
	const struct gpu_epilogue *e = &a->e;

	if (a->w.n_scale)
		v = DEVICE_MUL(v, gpu_weight_scale(&a->w, slice, n));
	if (e->scale != 1.0f)
		v = DEVICE_MUL(v, e->scale);
	if (a->w.n_bias)
		v = DEVICE_ADD(v, gpu_weight_bias(&a->w, slice, n));
	gpu_linear_store(a, row, head, col, device_exact_act(e->act, v), 1);
}

/* Outputs [first, first + GPU_OUTPUTS) of `count` items from `item` on.  Every warp of the block
 * calls it.  terms: shared, of this warp: [GPU_EXACT_SUMS][GPU_WARP + 1]. */
GPU_FN void gpu_exact_tile(const struct gpu_linear_args *a, uint32_t type, uint32_t outputs,
			   uint32_t first, uint32_t item, uint32_t count, float *terms)
{
	uint32_t n = a->w.k / 32, lane = GPU_TID % GPU_WARP, o = first + lane / GPU_TILE,
		 t = lane % GPU_TILE;
	const uint8_t *w[GPU_OUTPUTS];
	float sum = 0;

	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_OUTPUTS; i++) {
		uint32_t at = first + i < outputs ? first + i : outputs - 1; /* something to read */

		w[i] = gpu_weight_row(&a->w, at / a->w.n, at % a->w.n);
	}
	for (uint32_t from = 0; from < n; from += GPU_WARP) {
		uint32_t u = from + lane, here = n - from < GPU_WARP ? n - from : GPU_WARP;
		uint32_t g = u < n ? u : n - 1; /* something to read */
		struct gpu_raw raw[GPU_OUTPUTS];
		struct gpu_ints ints[GPU_OUTPUTS];

		GPU_UNROLL
		for (uint32_t i = 0; i < GPU_OUTPUTS; i++)
			gpu_planes_load(type, w[i], g, n, &raw[i]);
		GPU_UNROLL
		for (uint32_t i = 0; i < GPU_OUTPUTS; i++)
			gpu_planes_unpack(type, &raw[i], g, &ints[i]);
		for (uint32_t j = 0; j < count && u < n; j++) {
			struct gpu_unit x;

			gpu_fast_x(a, type, (item + j) / a->x_div, u, &x);
			GPU_UNROLL
			for (uint32_t i = 0; i < GPU_OUTPUTS; i++)
				terms[(i * GPU_TILE + j) * (GPU_WARP + 1) + lane] =
					gpu_exact_group(type, &ints[i], &x);
		}
		gpu_sync();
		for (uint32_t j = 0; j < here && lane < GPU_EXACT_SUMS && t < count; j++)
			sum = DEVICE_ADD(sum, terms[lane * (GPU_WARP + 1) + j]);
		gpu_sync();
	}
	if (lane < GPU_EXACT_SUMS && t < count && o < outputs)
		gpu_exact_emit(a, item + t, o / a->w.n, o % a->w.n, sum);
}

GPU_FN void gpu_exact_product(const struct gpu_linear_args *a, uint32_t type)
{
	uint32_t warp = GPU_TID / GPU_WARP, per = GPU_THREADS / GPU_WARP * GPU_OUTPUTS;
	uint32_t outputs = a->w.n_stack * a->w.n;
	uint32_t items = gpu_space_rows(gpu_run_of(a->run), a->space) / a->fold * a->heads;
	float *terms = GPU_SHARED(float) + warp * GPU_EXACT_SUMS * (GPU_WARP + 1);

	for (uint32_t o = GPU_BLOCK_X * per; o < outputs; o += GPU_GRID_X * per) {
		for (uint32_t i = GPU_BLOCK_Y * GPU_TILE; i < items; i += GPU_GRID_Y * GPU_TILE)
			gpu_exact_tile(a, type, outputs, o + warp * GPU_OUTPUTS, i,
				       items - i < GPU_TILE ? items - i : GPU_TILE, terms);
	}
}

#define GPU_EXACT(name, TYPE)                                                                      \
	GPU_KERNEL gpu_exact_##name(struct gpu_linear_args a)                                      \
	{                                                                                          \
		gpu_exact_product(&a, TYPE);                                                       \
	}

GPU_EXACT(q4_0, GPU_Q4_0)
GPU_EXACT(q8_0, GPU_Q8_0)
GPU_EXACT(q4_k, GPU_Q4_K)
GPU_EXACT(q5_k, GPU_Q5_K)
GPU_EXACT(q6_k, GPU_Q6_K)
GPU_EXACT(iq4_nl, GPU_IQ4_NL)
GPU_EXACT(iq4_xs, GPU_IQ4_XS)
GPU_EXACT(mxfp4, GPU_MXFP4)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_LINEAR_H */
