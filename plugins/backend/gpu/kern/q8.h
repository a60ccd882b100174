/* SPDX-License-Identifier: MIT
 *
 * q8.h - on the device: activation rows rounded to 8 bits, as plugins/backend/ref/op_linear_int8.c
 * defines them.  A row of k values, a multiple of 32, with g = k / 32:
 *
 *   int8 [g][16]   values 0..15 of each group
 *   int8 [g][16]   values 16..31
 *   [g] of         f32 d, then i16 sums of values 0..15 and of 16..31
 *
 * so that the threads of a warp, each with a group, read consecutive vectors of 16 bytes. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_Q8_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_Q8_H

#include "backend/gpu/kern/view.h"

/* Bytes from one row to the next. */
#define GPU_Q8_BYTES(k) (((uint64_t)(k) + (k) / 4 + 15) / 16 * 16)

/* Rounds a group, a value in each of 32 neighbouring threads, and returns what the value became.
 * row: where it is stored; 0 = nowhere.  All threads of the warp call it. */
GPU_FN float gpu_q8_round(float v, uint64_t row, uint32_t k, uint32_t group)
{
	uint32_t lane = GPU_TID % 32, groups = k / 32;
	float most = fmaxf(fabsf(v), 0.0f), d, q, sum, other;

	for (uint32_t m = 16; m; m /= 2)
		most = fmaxf(most, gpu_shfl_xor(most, m));
	d = most / 127.0f;
	q = fmaxf(-127.0f, fminf(127.0f, rintf(v * (most > 0 ? 127.0f / most : 0.0f))));
	sum = q;
	for (uint32_t m = 8; m; m /= 2)
		sum += gpu_shfl_xor(sum, m);
	other = gpu_shfl_xor(sum, 16);
	if (row) {
		GPU_PTR(int8_t, row)[16 * (lane / 16 * groups + group) + lane % 16] = (int8_t)q;
		if (lane == 0) {
			uint32_t *tail = GPU_PTR(uint32_t, row + 32 * groups + 8 * group);

			tail[0] = gpu_float_bits(d);
			tail[1] = ((uint32_t)(int32_t)sum & 0xffff) | (uint32_t)(int32_t)other << 16;
		}
	}
	return q * d;
}

/* Threads take groups of 32 values in turn. */
GPU_KERNEL gpu_round(struct gpu_round_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t groups = a.k / 32, rows = gpu_space_rows(r, a.space) / a.fold * a.heads;
	uint32_t n = rows * groups, per = GPU_THREADS / 32;

	for (uint32_t at = GPU_BLOCK_X * per; at < n; at += GPU_GRID_X * per) {
		uint32_t i = at + GPU_TID / 32, row = i / groups, c = i % groups * 32 + GPU_TID % 32;
		float v = i < n ? GPU_PTR(const float, a.x)[(uint64_t)row * a.x_stride + c] : 0.0f;

		v = gpu_q8_round(v, a.q8 && i < n ? a.q8 + row * GPU_Q8_BYTES(a.k) : 0, a.k,
				 i % groups);
		if (a.y && i < n)
			GPU_PTR(float, a.y)[(uint64_t)row * a.k + c] = v;
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_Q8_H */
