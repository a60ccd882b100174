/* SPDX-License-Identifier: MIT
 *
 * exact.h - sums of exact arithmetic in the order of docs/exact.md, which backend cpu follows as well
 * (plugins/backend/cpu/kern/float_exact.c). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_H

#include "backend/common/exact_math.h"
#include "backend/gpu/kern/view.h"

#define GPU_EXACT_CHAINS 32 /* of the sum of a row */
#define GPU_EXACT_LANES  16 /* of the sum of a softmax */

/* Sum of n numbers, 32 or 16: those of the upper half are added to the lower half, and so on. */
GPU_FN float gpu_exact_tree(const float *x, uint32_t n)
{
	float t[16];

	GPU_UNROLL
	for (uint32_t i = 0; i < 16; i++)
		t[i] = n > 16 ? DEVICE_ADD(x[i], x[i + 16]) : x[i];
	GPU_UNROLL
	for (uint32_t step = 8; step; step /= 2) {
		GPU_UNROLL
		for (uint32_t i = 0; i < step; i++)
			t[i] = DEVICE_ADD(t[i], t[i + step]);
	}
	return t[0];
}

/* Columns [at, at + n) of a row: of x, or of a view if x is 0. */
struct gpu_exact_row {
	const float *x;
	const struct gpu_view *v;
	uint32_t row, head, at, n;
};

GPU_FN float gpu_exact_number(const struct gpu_exact_row *r, uint32_t c, float mean, int square)
{
	float v = r->x ? r->x[r->at + c] : gpu_get(r->v, r->row, r->head, r->at + c);

	v = DEVICE_ADD(v, -mean);
	return square ? DEVICE_MUL(v, v) : v;
}

/* Sum of the numbers minus `mean`, or of their squares.  All threads of the block call it, at least
 * 32, and get the sum.  red: shared, 32 numbers. */
GPU_FN float gpu_exact_sum(const struct gpu_exact_row *r, float mean, int square, float *red)
{
	uint32_t whole = r->n / GPU_EXACT_CHAINS * GPU_EXACT_CHAINS;
	float sum = 0;

	gpu_sync(); /* the last reading of `red` is over */
	if (GPU_TID < GPU_EXACT_CHAINS) {
		for (uint32_t c = GPU_TID; c < whole; c += GPU_EXACT_CHAINS)
			sum = DEVICE_ADD(sum, gpu_exact_number(r, c, mean, square));
		red[GPU_TID] = sum;
	}
	gpu_sync();
	sum = gpu_exact_tree(red, GPU_EXACT_CHAINS);
	for (uint32_t c = whole; c < r->n; c++)
		sum = DEVICE_ADD(sum, gpu_exact_number(r, c, mean, square));
	return sum;
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_H */
