/* SPDX-License-Identifier: MIT
 *
 * kernels.h - the few inner loops that take nearly all of the time.
 *
 * Sums run in eight lanes (element i goes to lane i mod 8), which are added in one fixed order
 * without fused multiply-add.  So the variants for wider registers give the same bits. */
#ifndef LLAMAD_REF_KERNELS_H
#define LLAMAD_REF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct lmd_cpu;

struct ref_kernels {
	/* sum of a[i]*b[i], i < n */
	float (*dot)(const float *a, const float *b, size_t n);
	/* out[j][i] = dot(w[i], x[j]); i < 4, j < 2 */
	void (*dot4x2)(const float *const w[4], const float *const x[2], size_t n, float out[2][4]);
	/* y[i] += a*x[i] */
	void (*axpy)(float *y, float a, const float *x, size_t n);
	/* out[b] = sum of a[i]*b[i] over block b of 32 values, |sum| < 2^24; n is a multiple of
	 * 32 */
	void (*iblocks)(const int16_t *a, const int8_t *b, size_t n, float *out);
};

/* Returns the fastest variant that this machine can run. */
const struct ref_kernels *ref_kernels_select(const struct lmd_cpu *cpu);

#endif /* LLAMAD_REF_KERNELS_H */
