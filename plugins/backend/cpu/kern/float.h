/* SPDX-License-Identifier: MIT
 *
 * float.h - the float kernels: one table for each instruction set, chosen when a device is opened.
 *
 * Guarantees of every table that the ops rely on:
 *  - The bits of an element depend only on its own operands, not on how many rows or columns are
 *    computed beside it, nor on alignment.
 *  - Sums over k run in an order that is determined by k alone.
 * Tables differ from each other in the last bits (fused multiply-add, width of partial sums).
 * Threads: any; no state. */
#ifndef LLAMAD_CPU_KERN_FLOAT_H
#define LLAMAD_CPU_KERN_FLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_float {
	const char *name; /* "c", "avx2", "avx512", "neon", "exact" */
	uint64_t flags;   /* LMD_CPU_* flags that it needs */

	/* Converts n 16-bit floats; rounds to nearest even. */
	void (*f16_from)(const float *x, uint16_t *y, size_t n);
	void (*f16_to)(const uint16_t *x, float *y, size_t n);
	void (*bf16_from)(const float *x, uint16_t *y, size_t n);
	void (*bf16_to)(const uint16_t *x, float *y, size_t n);

	/* Sum of a[i]*b[i]; of x[i]; of (x[i] - mean)^2. */
	float (*dot)(const float *a, const float *b, size_t n);
	float (*sum)(const float *x, size_t n);
	float (*sum_sq)(const float *x, float mean, size_t n);
	/* y = x + a*v; y = a*v if x is NULL.  y may be x or v. */
	void (*madd)(float *y, const float *x, float a, const float *v, size_t n);
	/* y = (x - mean)*scale * (g + one) + b; without the factor if g is NULL, without the term
	 * if b is NULL. */
	void (*norm)(const float *x, float *y, size_t n, float mean, float scale, const float *g,
		     float one, const float *b);

	/* out[i*ldo + j] = dot of x + i*ldx and w + j*ldw, computed as by `dot`, for i < nx, j <
	 * nw. */
	void (*dots)(const float *x, size_t ldx, size_t nx, const float *w, size_t ldw, size_t nw,
		     size_t k, float *out, size_t ldo);
	/* c[i][j] += sum over l < k of a[i*lda + l] * b[l*ldb + j], added one after the other with
	 * l ascending, for i < m, j < n.  B is f32 or f16; for f16 n is a multiple of 16. */
	void (*gemm)(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
		     size_t ldb, float *c, size_t ldc);
	void (*gemm_f16)(size_t m, size_t n, size_t k, const float *a, size_t lda,
			 const uint16_t *b, size_t ldb, float *c, size_t ldc);

	/* max: the maximum of n scores (-inf = not visible).  exp_sum: sets s[i] = exp(s[i] - max),
	 * 0 for -inf, and returns their sum; s[i] - max is at most 88. */
	float (*max)(const float *s, size_t n);
	float (*exp_sum)(float *s, size_t n, float max);
	float (*exp)(float x);

	/* y = act(a) * b for LMD_ACT_FN_SILU, _GELU, _GELU_ERF, _GELU_QUICK; b may be NULL (factor
	 * 1). */
	void (*silu)(const float *a, const float *b, float *y, size_t n);
	void (*gelu)(const float *a, const float *b, float *y, size_t n);
	void (*gelu_quick)(const float *a, const float *b, float *y, size_t n);

	/* y[i] = x[i]*c[i] + x[partner of i]*s[i] for i < n, n even.  Partners are neighbours,
	 * (0,1), (2,3) ..., or n/2 apart.  y may be x. */
	void (*rotate)(const float *x, float *y, const float *c, const float *s, size_t n,
		       bool adjacent);
};

extern const struct cpu_float cpu_float_c, cpu_float_avx2, cpu_float_avx512, cpu_float_neon;
extern const struct cpu_float cpu_float_exact; /* of `deterministic = exact`; never selected */

/* Returns the best table for these LMD_CPU_* flags. */
const struct cpu_float *cpu_float_select(uint64_t flags);

#endif /* LLAMAD_CPU_KERN_FLOAT_H */
