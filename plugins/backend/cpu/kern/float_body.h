/* SPDX-License-Identifier: MIT
 *
 * The float kernels over vectors of W floats, for float_c.c, float_avx2.c, float_avx512.c and
 * float_neon.c.  Each of them defines W, ROWS (rows of two vectors of C that gemm keeps in
 * registers), FEW (rows of four, at most 3), TABLE, LABEL, FLAGS, SWAP, and the conversions of
 * 16-bit floats.  It may define ADD_UP and GREATEST, the sum and the maximum of the lanes;
 * LARGER(a, b), the larger number in each lane, or b if one is NaN; and EXP instead of expf. */
#include <math.h>
#include <string.h>

#include "kern/float.h"

typedef float vf __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * W), aligned(4), may_alias));

/* Unrolls small loops over registers at any optimisation level. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static inline vf load(const float *p)
{
	return *(const vf *)p;
}

static inline void store(float *p, vf v)
{
	*(vf *)p = v;
}

static inline vf splat(float x)
{
	return x - (vf){0};
}

static inline vf blend(vi mask, vf a, vf b)
{
	return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

#ifndef LARGER
#define LARGER(a, b) blend((a) > (b), a, b)
#endif

/* The sum of the lanes: those of the upper half are added to the lower half, and so on. */
#ifndef ADD_UP
static inline float add_up(vf v)
{
	float t[W];

	store(t, v);
	for (int step = W / 2; step; step /= 2) {
		for (int i = 0; i < step; i++)
			t[i] += t[i + step];
	}
	return t[0];
}
#define ADD_UP add_up
#endif

#ifndef EXP
#define EXP expf
#endif

/* ---- sums ---- */

/* Four chains of W lanes over whole groups of 4W, then one chain of W, then the tail. */
static float dot_k(const float *a, const float *b, size_t n)
{
	vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
	size_t i = 0;
	float sum;

	for (; i + 4 * W <= n; i += 4 * W) {
		s0 += load(a + i) * load(b + i);
		s1 += load(a + i + W) * load(b + i + W);
		s2 += load(a + i + 2 * W) * load(b + i + 2 * W);
		s3 += load(a + i + 3 * W) * load(b + i + 3 * W);
	}
	for (; i + W <= n; i += W)
		s0 += load(a + i) * load(b + i);
	sum = ADD_UP((s0 + s1) + (s2 + s3));
	for (; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static float sum_k(const float *x, size_t n)
{
	vf s0 = {0}, s1 = {0};
	size_t i = 0;
	float sum;

	for (; i + 2 * W <= n; i += 2 * W) {
		s0 += load(x + i);
		s1 += load(x + i + W);
	}
	sum = ADD_UP(s0 + s1);
	for (; i < n; i++)
		sum += x[i];
	return sum;
}

static float sum_sq_k(const float *x, float mean, size_t n)
{
	vf s0 = {0}, s1 = {0}, m = splat(mean);
	size_t i = 0;
	float sum;

	for (; i + 2 * W <= n; i += 2 * W) {
		vf a = load(x + i) - m, b = load(x + i + W) - m;

		s0 += a * a;
		s1 += b * b;
	}
	sum = ADD_UP(s0 + s1);
	for (; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

static void madd_k(float *y, const float *x, float a, const float *v, size_t n)
{
	size_t i = 0;

	for (; x && i + W <= n; i += W)
		store(y + i, load(x + i) + splat(a) * load(v + i));
	for (; !x && i + W <= n; i += W)
		store(y + i, splat(a) * load(v + i));
	for (; i < n; i++)
		y[i] = x ? x[i] + a * v[i] : a * v[i];
}

static void norm_k(const float *x, float *y, size_t n, float mean, float scale, const float *g,
		   float one, const float *b)
{
	vf zero = {0};
	size_t i = 0;

	for (; i + W <= n; i += W) {
		vf v = (load(x + i) - splat(mean)) * splat(scale);

		v = v * (g ? load(g + i) + splat(one) : zero + 1.0f);
		store(y + i, v + (b ? load(b + i) : zero));
	}
	for (; i < n; i++)
		y[i] = (x[i] - mean) * scale * (g ? g[i] + one : 1.0f) + (b ? b[i] : 0.0f);
}

#include "kern/float_functions.h"
#include "kern/float_products.h"

/* ---- 16-bit floats ---- */

static void bf16_from_k(const float *x, uint16_t *y, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t u;

		memcpy(&u, x + i, sizeof(u));
		y[i] = (uint16_t)((u & 0x7fffffff) > 0x7f800000
					  ? (u >> 16) | 64
					  : (u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
}

static void bf16_to_k(const uint16_t *x, float *y, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t u = (uint32_t)x[i] << 16;

		memcpy(y + i, &u, sizeof(u));
	}
}

const struct cpu_float TABLE = {
	.name = LABEL,
	.flags = FLAGS,
	.f16_from = f16_from,
	.f16_to = f16_to,
	.bf16_from = bf16_from_k,
	.bf16_to = bf16_to_k,
	.dot = dot_k,
	.sum = sum_k,
	.sum_sq = sum_sq_k,
	.madd = madd_k,
	.norm = norm_k,
	.dots = dots_k,
	.gemm = gemm_k,
	.gemm_f16 = gemm_f16_k,
	.max = max_k,
	.exp_sum = exp_sum_k,
	.exp = EXP,
	.silu = silu_k,
	.gelu = gelu_k,
	.gelu_quick = gelu_quick_k,
	.rotate = rotate_k,
};
