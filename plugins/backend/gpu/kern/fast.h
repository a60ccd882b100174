/* SPDX-License-Identifier: MIT
 *
 * fast.h - kernels of products with few rows, limited by reading the weight.  A warp computes
 * GPU_OUTPUTS outputs of up to `rows` rows; the threads of `split` warps of the block take the
 * units of the weight's rows in turn: 16 bytes of codes, and what belongs to them.  So the loads of
 * a warp are 512 consecutive bytes, and each thread has GPU_OUTPUTS of them under way.
 *
 * Block types are multiplied with rows rounded to 8 bits: exact integer sums of 32 products, and
 * the formula of plugins/backend/ref/op_linear_int8.c, with float sums in another order.  The order
 * depends on `split` alone and each operation is written out, so a row's result does not depend on how many rows
 * there are, nor on the kernel of this file that computes it.  F32,
 * F16 and BF16 are multiplied with f32. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_FAST_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_FAST_H

#include "backend/gpu/kern/linear.h"
#include "backend/gpu/kern/tail.h"

#define GPU_FAST_THREADS 256
#define GPU_OUTPUTS      4
/* Types that need more registers than a third of a processor's. */
#define GPU_FAST_LARGE(type)                                                                       \
	((type) == GPU_Q8_0 || (type) == GPU_Q5_K || (type) == GPU_Q6_K || (type) == GPU_MXFP4 ||  \
	 (type) == GPU_IQ4_NL || (type) == GPU_IQ4_XS)

/* Values of a unit. */
GPU_FN uint32_t gpu_fast_unit(uint32_t type)
{
	return type == GPU_F32 ? 4 : type == GPU_F16 || type == GPU_BF16 ? 8 : 32;
}

/* A unit of a row of x: 8-bit values with their factor and sums, or up to 8 floats. */
struct gpu_unit {
	struct gpu_four lo, hi;
	float d;
	int32_t s0, s1;
};

GPU_FN void gpu_fast_x(const struct gpu_linear_args *a, uint32_t type, uint32_t row, uint32_t u,
		       struct gpu_unit *x)
{
	uint32_t groups = a->w.k / 32;
	uint64_t q = a->q8 + row * GPU_Q8_BYTES(a->w.k);
	const float *f = GPU_PTR(const float, a->x) + (uint64_t)row * a->x_stride +
			 (uint64_t)u * gpu_fast_unit(type);
	uint32_t sums;

	x->d = 0;
	x->s0 = x->s1 = 0;
	if (gpu_fast_unit(type) < 32) {
		x->lo = gpu_load16(f);
		if (type != GPU_F32)
			x->hi = gpu_load16(f + 4);
		return;
	}
	x->lo = gpu_load16(GPU_PTR(const void, q + 16 * u));
	x->hi = gpu_load16(GPU_PTR(const void, q + 16 * (groups + u)));
	q += 32 * groups + 8 * u;
	x->d = *GPU_PTR(const float, q);
	sums = *GPU_PTR(const uint32_t, q + 4);
	x->s0 = (int16_t)sums;
	x->s1 = (int16_t)(sums >> 16);
}

GPU_FN float gpu_fast_float(uint32_t type, const struct gpu_raw *w, const struct gpu_unit *x)
{
	float sum = 0;

	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t v = w->codes.v[i], first = i < 2 ? x->lo.v[2 * i] : x->hi.v[2 * i - 4],
			 second = i < 2 ? x->lo.v[2 * i + 1] : x->hi.v[2 * i - 3];

		if (type == GPU_F32) {
			sum = gpu_mac(gpu_bits_float(v), gpu_bits_float(x->lo.v[i]), sum);
			continue;
		}
		sum = gpu_mac(type == GPU_F16 ? gpu_half_to_float((uint16_t)v)
					      : gpu_bits_float(v << 16),
			      gpu_bits_float(first), sum);
		sum = gpu_mac(type == GPU_F16 ? gpu_half_to_float((uint16_t)(v >> 16))
					      : gpu_bits_float(v & 0xffff0000u),
			      gpu_bits_float(second), sum);
	}
	return sum;
}

/* acc + the products of a unit of 8-bit values. */
GPU_FN float gpu_fast_int(uint32_t type, const struct gpu_ints *w, const struct gpu_unit *x,
			  float acc)
{
	int32_t i0 = 0, i1 = 0;

	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		i0 = gpu_dot4(w->lo[i], x->lo.v[i], i0);
		i1 = gpu_dot4(w->hi[i], x->hi.v[i], i1);
	}
	if (type == GPU_Q6_K)
		i0 = w->s0 * (i0 - 32 * x->s0) + w->s1 * (i1 - 32 * x->s1);
	else
		i0 += i1 - gpu_planes_offset(type) * (x->s0 + x->s1);
	if (type == GPU_Q4_K || type == GPU_Q5_K)
		acc = gpu_mac(w->m, DEVICE_MUL(x->d, (float)(x->s0 + x->s1)), acc);
	return gpu_mac(DEVICE_MUL(w->d, x->d), (float)i0, acc);
}

/* Sums of this thread's units: acc[output][row]. */
GPU_FN void gpu_fast_units(const struct gpu_linear_args *a, uint32_t type, uint32_t rows,
			   const uint8_t *const *w, const uint32_t *x, uint32_t first, uint32_t step,
			   float *acc)
{
	uint32_t n = a->w.k / gpu_fast_unit(type);

	for (uint32_t u = first; u < n; u += step) {
		struct gpu_raw raw[GPU_OUTPUTS];
		struct gpu_ints ints[GPU_OUTPUTS];

		GPU_UNROLL
		for (uint32_t o = 0; o < GPU_OUTPUTS; o++) {
			if (gpu_fast_unit(type) < 32)
				raw[o].codes = gpu_stream16(w[o] + 16 * u);
			else
				gpu_planes_load(type, w[o], u, n, &raw[o]);
		}
		GPU_UNROLL
		for (uint32_t o = 0; o < GPU_OUTPUTS; o++) {
			if (gpu_fast_unit(type) == 32)
				gpu_planes_unpack(type, &raw[o], u, &ints[o]);
		}
		GPU_UNROLL
		for (uint32_t t = 0; t < rows; t++) {
			struct gpu_unit unit;

			gpu_fast_x(a, type, x[t], u, &unit);
			GPU_UNROLL
			for (uint32_t o = 0; o < GPU_OUTPUTS; o++)
				acc[o * rows + t] =
					gpu_fast_unit(type) < 32
						? acc[o * rows + t] +
							  gpu_fast_float(type, &raw[o], &unit)
						: gpu_fast_int(type, &ints[o], &unit,
							       acc[o * rows + t]);
		}
	}
}

/* Outputs [o, o + GPU_OUTPUTS) of `count` items from `item` on, by this warp's share of the units;
 * the sums over the warp go to red[output][row]. */
GPU_FN void gpu_fast_warp(const struct gpu_linear_args *a, uint32_t type, uint32_t rows, uint32_t o,
			  uint32_t outputs, uint32_t slice, uint32_t item, uint32_t count,
			  uint32_t share, float *red)
{
	const uint8_t *w[GPU_OUTPUTS];
	uint32_t x[8], lane = GPU_TID % GPU_WARP;
	float acc[GPU_OUTPUTS * 8];

	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_OUTPUTS; i++) {
		uint32_t at = o + i < outputs ? o + i : outputs - 1; /* something to read */

		w[i] = a->mode == GPU_LINEAR_FLAT ? gpu_weight_row(&a->w, at / a->w.n, at % a->w.n)
						  : gpu_weight_row(&a->w, slice, at);
	}
	GPU_UNROLL
	for (uint32_t t = 0; t < rows; t++)
		x[t] = (t < count ? item + t : item) / a->x_div;
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_OUTPUTS * rows; i++)
		acc[i] = 0;
	gpu_fast_units(a, type, rows, w, x, share * GPU_WARP + lane, a->split * GPU_WARP, acc);
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_OUTPUTS * rows; i++) {
		float v = gpu_warp_sum(acc[i]);

		if (lane == 0)
			red[i] = v;
	}
}

/* The slice of item i; all slices of a flat weight are one. */
GPU_FN uint32_t gpu_fast_slice(const struct gpu_linear_args *a, uint32_t i)
{
	struct gpu_view ids = a->ids;

	if (a->mode == GPU_LINEAR_FLAT)
		return 0;
	if (a->mode == GPU_LINEAR_HEAD)
		return i % a->heads;
	gpu_open(gpu_run_of(a->run), &ids);
	return (uint32_t)gpu_cell_i32(&ids, i / a->heads, i % a->heads);
}

/* Block `block` of a product a of p.  Shared: [warps][GPU_OUTPUTS][rows]. */
GPU_FN void gpu_fast_block(const struct gpu_parts_args *p, const struct gpu_linear_args *a,
			   uint32_t type, uint32_t rows, uint32_t block)
{
	uint32_t warps = GPU_THREADS / GPU_WARP, warp = GPU_TID / GPU_WARP;
	uint32_t outputs = a->mode == GPU_LINEAR_FLAT ? a->w.n_stack * a->w.n : a->w.n;
	uint32_t tile = a->mode == GPU_LINEAR_FLAT ? rows : 1;
	uint32_t items = gpu_space_rows(gpu_run_of(a->run), a->space) / a->fold * a->heads;
	uint32_t per = warps / a->split * GPU_OUTPUTS, of_warp = GPU_OUTPUTS * rows;
	uint32_t first = block * per;
	float *red = GPU_SHARED(float);

	for (uint32_t i = GPU_BLOCK_Y * tile; i < items; i += GPU_GRID_Y * tile) {
		uint32_t count = items - i < tile ? items - i : tile;
		uint32_t slice = gpu_fast_slice(a, i);

		if (slice < a->w.n_stack)
			gpu_fast_warp(a, type, rows, first + warp / a->split * GPU_OUTPUTS, outputs,
				      slice, i, count, warp % a->split, red + warp * of_warp);
		gpu_sync();
		for (uint32_t j = GPU_TID; j < per * count; j += GPU_THREADS) {
			uint32_t o = j / count, t = j % count, n = first + o;
			const float *part = red + o / GPU_OUTPUTS * a->split * of_warp +
					    o % GPU_OUTPUTS * rows + t;
			float v = 0;

			if (n >= outputs)
				continue;
			if (slice >= a->w.n_stack) {
				gpu_linear_skip(a, i, n);
				continue;
			}
			for (uint32_t s = 0; s < a->split; s++)
				v += part[s * of_warp];
			gpu_linear_emit(a, i + t, a->mode == GPU_LINEAR_FLAT ? n / a->w.n : slice,
					a->mode == GPU_LINEAR_FLAT ? n % a->w.n : n, v);
		}
		gpu_sync();
		if (p->tail_kind)
			gpu_tail(p, first, per, outputs, items, i / tile, i, count, red);
	}
}

GPU_FN void gpu_fast(const struct gpu_parts_args *a, uint32_t type, uint32_t rows)
{
	for (uint32_t at = GPU_BLOCK_X;; at += GPU_GRID_X) {
		uint32_t block = at, i = 0;

		while (i < a->n_part && block >= a->blocks[i])
			block -= a->blocks[i++];
		if (i == a->n_part)
			break;
		gpu_fast_block(a, &a->part[i], type, rows, block);
	}
}

#define GPU_FAST_ROWS(name, TYPE, rows)                                                            \
	GPU_BLOCK_OF(GPU_FAST_THREADS, rows > 1 ? 1 : GPU_FAST_LARGE(TYPE) ? 2 : 3)                \
	gpu_fast_##name##_##rows(GPU_PARAM struct gpu_parts_args a)                                \
	{                                                                                          \
		gpu_fast(GPU_ARGS(a), TYPE, rows);                                                 \
	}
#define GPU_FAST(name, TYPE)                                                                       \
	GPU_FAST_ROWS(name, TYPE, 1)                                                               \
	GPU_FAST_ROWS(name, TYPE, 4)                                                               \
	GPU_FAST_ROWS(name, TYPE, 8)

GPU_FAST(f32, GPU_F32)
GPU_FAST(f16, GPU_F16)
GPU_FAST(bf16, GPU_BF16)
GPU_FAST(q4_0, GPU_Q4_0)
GPU_FAST(q8_0, GPU_Q8_0)
GPU_FAST(q4_k, GPU_Q4_K)
GPU_FAST(q5_k, GPU_Q5_K)
GPU_FAST(q6_k, GPU_Q6_K)
GPU_FAST(iq4_nl, GPU_IQ4_NL)
GPU_FAST(iq4_xs, GPU_IQ4_XS)
GPU_FAST(mxfp4, GPU_MXFP4)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_FAST_H */
