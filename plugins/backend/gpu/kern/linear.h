/* SPDX-License-Identifier: MIT
 *
 * linear.h - kernels of products: a warp computes an output of up to GPU_TILE rows, its threads
 * take groups of 32 values of the weight's row in turn.  One kernel for each type. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_LINEAR_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_LINEAR_H

#include "backend/common/exact_math.h"
#include "backend/gpu/kern/act.h"
#include "backend/gpu/kern/decode.h"

#define GPU_TILE 8

GPU_FN float gpu_linear_residual(const struct gpu_linear_args *a, uint32_t row, uint32_t head,
				 uint32_t col)
{
	struct gpu_view in = a->e.r_in;

	gpu_open(gpu_run_of(a->run), &in);
	return gpu_get(&in, row, head, col);
}

/* The end of what follows a product, after the activation; exact: in exact arithmetic. */
GPU_FN void gpu_linear_store(const struct gpu_linear_args *a, uint32_t row, uint32_t head,
			     uint32_t col, float v, int exact)
{
	const struct gpu_epilogue *e = &a->e;
	float r;

	if (e->clamp)
		v = fminf(fmaxf(v, e->clamp_lo), e->clamp_hi);
	if (e->extra)
		v = exact ? DEVICE_ADD(v, GPU_PTR(const float, e->extra)[col])
			  : v + GPU_PTR(const float, e->extra)[col];
	if (gpu_is_set(&e->y))
		gpu_put(&e->y, row, head, col, v);
	if (!gpu_is_set(&e->r_out))
		return;
	r = gpu_linear_residual(a, row, head, col);
	gpu_put(&e->r_out, row, head, col,
		exact ? DEVICE_ADD(r, DEVICE_MUL(e->a, v)) : r + e->a * v);
}

/* Stores an output of an item; v: the product alone. */
GPU_FN void gpu_linear_emit(const struct gpu_linear_args *a, uint32_t item, uint32_t slice,
			    uint32_t n, float v)
{
	uint32_t row = item / a->heads, head = item % a->heads;
	uint32_t col = a->mode == GPU_LINEAR_FLAT ? slice * a->w.n + n : n;
	const struct gpu_epilogue *e = &a->e;

	v *= gpu_weight_scale(&a->w, slice, n);
	if (a->delta) {
		uint64_t cols =
			a->mode == GPU_LINEAR_FLAT ? (uint64_t)a->w.n_stack * a->w.n : a->w.n;

		uint64_t gain = GPU_PTR(const uint64_t, a->gains)[item];

		v += GPU_PTR(const float, a->delta)[item * cols + col];
		if (gain)
			v *= GPU_PTR(const float, gain)[col];
	}
	v = e->scale * v + gpu_weight_bias(&a->w, slice, n);
	v = gpu_softcap(gpu_act(e->act, e->p, v, 0, 0), e->softcap);
	gpu_linear_store(a, row, head, col, v, 0);
}

/* An item whose id names no slice. */
GPU_FN void gpu_linear_skip(const struct gpu_linear_args *a, uint32_t item, uint32_t n)
{
	uint32_t row = item / a->heads, head = item % a->heads;

	if (gpu_is_set(&a->e.y))
		gpu_put(&a->e.y, row, head, n, 0.0f);
	if (gpu_is_set(&a->e.r_out))
		gpu_put(&a->e.r_out, row, head, n, gpu_linear_residual(a, row, head, n));
}

/* Sum of the products of the first n values of 32. */
GPU_FN float gpu_linear_dot(const float *w, const float *x, uint32_t n)
{
	float sum = 0;

	GPU_UNROLL
	for (uint32_t j = 0; j < 32; j++) {
		if (j < n)
			sum += w[j] * x[j];
	}
	return sum;
}

/* One output of `count` items from `item` on, which use the same slice. */
GPU_FN void gpu_linear_row(const struct gpu_linear_args *a, uint32_t type, uint32_t slice,
			   uint32_t n, uint32_t item, uint32_t count)
{
	const uint8_t *row = gpu_weight_row(&a->w, slice, n);
	uint32_t lane = GPU_TID % GPU_WARP, groups = (a->w.k + 31) / 32;
	int ragged = type == GPU_F32 || type == GPU_F16 || type == GPU_BF16; /* k is any number */
	float acc[GPU_TILE], v = 0;

	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE; t++)
		acc[t] = 0;
	for (uint32_t g = lane; g < groups; g += GPU_WARP) {
		uint32_t most = ragged && a->w.k - 32 * g < 32 ? a->w.k - 32 * g : 32;
		float w[32];

		gpu_decode32(type, row, g, a->w.k, w);
		GPU_UNROLL
		for (uint32_t t = 0; t < GPU_TILE; t++) {
			const float *x = GPU_PTR(const float, a->x) +
					 (uint64_t)((item + t) / a->x_div) * a->x_stride + 32 * g;

			if (t < count)
				acc[t] += gpu_linear_dot(w, x, most);
		}
	}
	GPU_UNROLL
	for (uint32_t t = 0; t < GPU_TILE; t++) {
		float sum = t < count ? gpu_warp_sum(acc[t]) : 0;

		v = lane == t ? sum : v;
	}
	if (lane < count) /* the epilogue is long: once in the code, for all items at once */
		gpu_linear_emit(a, item + lane, slice, n, v);
}

GPU_FN void gpu_linear(struct gpu_linear_args *a, uint32_t type)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	uint32_t warps = GPU_THREADS / GPU_WARP, lane = GPU_TID % GPU_WARP;
	uint32_t outputs = a->mode == GPU_LINEAR_FLAT ? a->w.n_stack * a->w.n : a->w.n;
	uint32_t tile = a->mode == GPU_LINEAR_FLAT ? GPU_TILE : 1;
	uint32_t items = gpu_space_rows(r, a->space) / a->fold * a->heads;

	gpu_open(r, &a->ids);
	for (uint32_t o = GPU_BLOCK_X * warps + GPU_TID / GPU_WARP; o < outputs;
	     o += GPU_GRID_X * warps) {
		for (uint32_t i = GPU_BLOCK_Y * tile; i < items; i += GPU_GRID_Y * tile) {
			uint32_t slice = a->mode == GPU_LINEAR_FLAT ? o / a->w.n : i % a->heads;

			if (a->mode == GPU_LINEAR_IDS)
				slice = (uint32_t)gpu_cell_i32(&a->ids, i / a->heads, i % a->heads);
			if (slice < a->w.n_stack)
				gpu_linear_row(a, type, slice, o % a->w.n, i,
					       items - i < tile ? items - i : tile);
			else if (lane == 0)
				gpu_linear_skip(a, i, o);
		}
	}
}

#define GPU_LINEAR(name, TYPE)                                                                     \
	GPU_KERNEL gpu_linear_##name(struct gpu_linear_args a)                                     \
	{                                                                                          \
		gpu_linear(&a, TYPE);                                                              \
	}

GPU_LINEAR(f32, GPU_F32)
GPU_LINEAR(f16, GPU_F16)
GPU_LINEAR(bf16, GPU_BF16)
GPU_LINEAR(q4_0, GPU_Q4_0 | GPU_PLANES)
GPU_LINEAR(q4_1, GPU_Q4_1)
GPU_LINEAR(q5_0, GPU_Q5_0)
GPU_LINEAR(q5_1, GPU_Q5_1)
GPU_LINEAR(q8_0, GPU_Q8_0 | GPU_PLANES)
GPU_LINEAR(q2_k, GPU_Q2_K)
GPU_LINEAR(q3_k, GPU_Q3_K)
GPU_LINEAR(q4_k, GPU_Q4_K | GPU_PLANES)
GPU_LINEAR(q5_k, GPU_Q5_K | GPU_PLANES)
GPU_LINEAR(q6_k, GPU_Q6_K | GPU_PLANES)
GPU_LINEAR(iq4_nl, GPU_IQ4_NL | GPU_PLANES)
GPU_LINEAR(iq4_xs, GPU_IQ4_XS | GPU_PLANES)
GPU_LINEAR(mxfp4, GPU_MXFP4 | GPU_PLANES)
#define GPU_LINEAR_SHARED(_, constant, name, number, head, bytes, groups) GPU_LINEAR(name, number)
DEVICE_TYPES(GPU_LINEAR_SHARED, _)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_LINEAR_H */
