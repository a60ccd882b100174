/* SPDX-License-Identifier: MIT
 *
 * halves.h - rows of f32 as sums of two 16-bit floats, for matrix units: the upper half has the
 * leading bits, the lower half what is left, so that products with 16-bit weights are as exact as
 * with f32 (2^-17 with bf16, 2^-22 with f16).  A row of k values, a multiple of 8:
 *
 *   [k] upper halves, [k] lower halves, then 16 bytes: the f32 that both are multiplied with
 *
 * The factor is a power of two that keeps f16 in its range; it is 1 with bf16. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_HALVES_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_HALVES_H

#include "backend/gpu/kern/view.h"

/* Bytes from one row to the next. */
#define GPU_HALVES_BYTES(k) (4 * (uint64_t)(k) + 16)

/* Upper and lower half of v, in the lower 16 bits of each. */
GPU_FN void gpu_halve(int bf16, float v, uint32_t *upper, uint32_t *lower)
{
	float most;

	if (bf16) {
		*upper = gpu_float_bits(v) >> 16; /* truncated: finite numbers stay finite */
		most = gpu_bits_float(*upper << 16);
		v = most == v ? 0.0f : v - most;
		*lower = (gpu_float_bits(v) + 0x8000u) >> 16;
	} else {
		*upper = gpu_float_to_half(v);
		most = gpu_half_to_float((uint16_t)*upper);
		*lower = gpu_float_to_half(most == v ? 0.0f : v - most);
	}
}

/* A power of two, and its inverse, that brings numbers up to `most` below 2^15. */
GPU_FN float gpu_halves_factor(float most, float *inverse)
{
	uint32_t e = gpu_float_bits(most) >> 23, f = 268 - e;

	f = e == 0 || e > 254 ? 127 : f > 253 ? 253 : f;
	*inverse = gpu_bits_float((254 - f) << 23);
	return gpu_bits_float(f << 23);
}

/* A block makes a row.  Shared: one number for each warp. */
GPU_KERNEL gpu_halves(struct gpu_halves_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t rows = gpu_space_rows(r, a.space) / a.fold * a.heads;

	for (uint32_t row = GPU_BLOCK_X; row < rows; row += GPU_GRID_X) {
		const float *x = GPU_PTR(const float, a.x) + (uint64_t)row * a.x_stride;
		uint16_t *out = GPU_PTR(uint16_t, a.out + row * GPU_HALVES_BYTES(a.k));
		float most = 0, f = 1, inverse = 1;

		if (!a.bf16) {
			for (uint32_t c = GPU_TID; c < a.k; c += GPU_THREADS)
				most = fmaxf(most, fabsf(x[c]));
			f = gpu_halves_factor(gpu_block_max(most, GPU_SHARED(float)), &inverse);
		}
		for (uint32_t c = GPU_TID; c < a.k; c += GPU_THREADS) {
			uint32_t upper, lower;

			gpu_halve((int)a.bf16, x[c] * f, &upper, &lower);
			out[c] = (uint16_t)upper;
			out[a.k + c] = (uint16_t)lower;
		}
		if (GPU_TID == 0)
			*(float *)(void *)(out + 2 * a.k) = inverse;
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_HALVES_H */
