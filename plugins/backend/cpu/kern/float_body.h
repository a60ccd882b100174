/* SPDX-License-Identifier: MIT
 *
 * The float kernels over vectors of W floats, for float_c.c, float_avx2.c and float_avx512.c.
 * Each defines W, ROWS (rows of two vectors of C that gemm keeps in registers), FEW (rows of four,
 * at most 3), TABLE, LABEL, FLAGS, SWAP, and the conversions of 16-bit floats. */
#include <math.h>
#include <string.h>

#include "kern/float.h"

typedef float vf __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * W), aligned(4), may_alias));

/* Small loops over registers are written out whatever the optimisation level. */
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
	sum = add_up((s0 + s1) + (s2 + s3));
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
	sum = add_up(s0 + s1);
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
	sum = add_up(s0 + s1);
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

/* ---- products ---- */

/* Two rows of x and two of w: the same chains as in dot. */
static inline void four_dots(const float *x0, const float *x1, const float *w0, const float *w1,
			     size_t k, float *o0, float *o1)
{
	vf a[4] = {{0}}, b[4] = {{0}}, c[4] = {{0}}, d[4] = {{0}};
	float r[4];
	size_t i = 0;

	for (; i + 4 * W <= k; i += 4 * W) {
		UNROLL for (size_t u = 0; u < 4; u++)
		{
			vf vx = load(x0 + i + u * W), vy = load(x1 + i + u * W);
			vf vw = load(w0 + i + u * W), vz = load(w1 + i + u * W);

			a[u] += vx * vw;
			b[u] += vx * vz;
			c[u] += vy * vw;
			d[u] += vy * vz;
		}
	}
	for (; i + W <= k; i += W) {
		a[0] += load(x0 + i) * load(w0 + i);
		b[0] += load(x0 + i) * load(w1 + i);
		c[0] += load(x1 + i) * load(w0 + i);
		d[0] += load(x1 + i) * load(w1 + i);
	}
	r[0] = add_up((a[0] + a[1]) + (a[2] + a[3]));
	r[1] = add_up((b[0] + b[1]) + (b[2] + b[3]));
	r[2] = add_up((c[0] + c[1]) + (c[2] + c[3]));
	r[3] = add_up((d[0] + d[1]) + (d[2] + d[3]));
	for (; i < k; i++) {
		r[0] += x0[i] * w0[i];
		r[1] += x0[i] * w1[i];
		r[2] += x1[i] * w0[i];
		r[3] += x1[i] * w1[i];
	}
	o0[0] = r[0];
	o0[1] = r[1];
	o1[0] = r[2];
	o1[1] = r[3];
}

static void dots_k(const float *x, size_t ldx, size_t nx, const float *w, size_t ldw, size_t nw,
		   size_t k, float *out, size_t ldo)
{
	for (size_t j = 0; j < nw; j += 2) {
		const float *w0 = w + j * ldw;
		size_t i = 0;

		for (; i + 2 <= nx && j + 2 <= nw; i += 2)
			four_dots(x + i * ldx, x + (i + 1) * ldx, w0, w0 + ldw, k,
				  out + i * ldo + j, out + (i + 1) * ldo + j);
		for (; i < nx; i++) {
			out[i * ldo + j] = dot_k(x + i * ldx, w0, k);
			if (j + 1 < nw)
				out[i * ldo + j + 1] = dot_k(x + i * ldx, w0 + ldw, k);
		}
	}
}

/* m rows of v vectors; m and v constants, so that the sums stay in registers. */
#define GEMM_BLOCK(name, type, fetch)                                                              \
	static inline __attribute__((always_inline)) void name(                                    \
		size_t m, size_t v, size_t k, const float *a, size_t lda, const type *b,           \
		size_t ldb, float *c, size_t ldc)                                                  \
	{                                                                                          \
		vf s[ROWS][4], t[4];                                                               \
                                                                                                   \
		UNROLL for (size_t i = 0; i < m; i++)                                              \
		{                                                                                  \
			UNROLL for (size_t j = 0; j < v; j++) s[i][j] = load(c + i * ldc + j * W); \
		}                                                                                  \
		for (size_t l = 0; l < k; l++) {                                                   \
			UNROLL for (size_t j = 0; j < v; j++) t[j] = fetch(b + l * ldb + j * W);   \
			UNROLL for (size_t i = 0; i < m; i++)                                      \
			{                                                                          \
				vf x = splat(a[i * lda + l]);                                      \
                                                                                                   \
				UNROLL for (size_t j = 0; j < v; j++) s[i][j] += x * t[j];         \
			}                                                                          \
		}                                                                                  \
		UNROLL for (size_t i = 0; i < m; i++)                                              \
		{                                                                                  \
			UNROLL for (size_t j = 0; j < v; j++) store(c + i * ldc + j * W, s[i][j]); \
		}                                                                                  \
	}

/* Any number of rows of v vectors. */
#define GEMM_STRIPE(name, block, type, v)                                                          \
	static void name(size_t m, size_t k, const float *a, size_t lda, const type *b,            \
			 size_t ldb, float *c, size_t ldc)                                         \
	{                                                                                          \
		for (; m >= ROWS; m -= ROWS, a += ROWS * lda, c += ROWS * ldc)                     \
			block(ROWS, v, k, a, lda, b, ldb, c, ldc);                                 \
		for (; m >= 4; m -= 4, a += 4 * lda, c += 4 * ldc)                                 \
			block(4, v, k, a, lda, b, ldb, c, ldc);                                    \
		if (m == 3)                                                                        \
			block(3, v, k, a, lda, b, ldb, c, ldc);                                    \
		if (m == 2)                                                                        \
			block(2, v, k, a, lda, b, ldb, c, ldc);                                    \
		if (m == 1)                                                                        \
			block(1, v, k, a, lda, b, ldb, c, ldc);                                    \
	}

/* Few rows: as many vectors side by side as there are registers, to hide the time of an add. */
#define GEMM_FEW(name, block, type)                                                                \
	static void name(size_t m, size_t k, const float *a, size_t lda, const type *b,            \
			 size_t ldb, float *c, size_t ldc)                                         \
	{                                                                                          \
		if (m == 3)                                                                        \
			block(3, 4, k, a, lda, b, ldb, c, ldc);                                    \
		if (m == 2)                                                                        \
			block(2, 4, k, a, lda, b, ldb, c, ldc);                                    \
		if (m == 1)                                                                        \
			block(1, 4, k, a, lda, b, ldb, c, ldc);                                    \
	}

/* Columns by stripes of 4W (few rows), 2W and W; their number. */
#define GEMM_COLUMNS(name, type)                                                                   \
	static size_t columns_##name(size_t m, size_t n, size_t k, const float *a, size_t lda,     \
				     const type *b, size_t ldb, float *c, size_t ldc)              \
	{                                                                                          \
		size_t j = 0;                                                                      \
                                                                                                   \
		for (; m <= FEW && j + 4 * W <= n; j += 4 * W)                                     \
			few_##name(m, k, a, lda, b + j, ldb, c + j, ldc);                          \
		for (; j + 2 * W <= n; j += 2 * W)                                                 \
			two_##name(m, k, a, lda, b + j, ldb, c + j, ldc);                          \
		for (; j + W <= n; j += W)                                                         \
			one_##name(m, k, a, lda, b + j, ldb, c + j, ldc);                          \
		return j;                                                                          \
	}

GEMM_BLOCK(block_f32, float, load)
GEMM_STRIPE(one_f32, block_f32, float, 1)
GEMM_STRIPE(two_f32, block_f32, float, 2)
GEMM_FEW(few_f32, block_f32, float)
GEMM_COLUMNS(f32, float)
GEMM_BLOCK(block_f16, uint16_t, load_f16)
GEMM_STRIPE(one_f16, block_f16, uint16_t, 1)
GEMM_STRIPE(two_f16, block_f16, uint16_t, 2)
GEMM_FEW(few_f16, block_f16, uint16_t)
GEMM_COLUMNS(f16, uint16_t)

/* The columns after the last whole vector: in a padded one, row by row. */
static void gemm_k(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
		   size_t ldb, float *c, size_t ldc)
{
	size_t j = columns_f32(m, n, k, a, lda, b, ldb, c, ldc);

	for (size_t i = 0; j < n && i < m; i++) {
		vf s = {0}, t = {0};

		memcpy(&s, c + i * ldc + j, (n - j) * sizeof(float));
		for (size_t l = 0; l < k; l++) {
			memcpy(&t, b + l * ldb + j, (n - j) * sizeof(float));
			s += splat(a[i * lda + l]) * t;
		}
		memcpy(c + i * ldc + j, &s, (n - j) * sizeof(float));
	}
}

static void gemm_f16_k(size_t m, size_t n, size_t k, const float *a, size_t lda, const uint16_t *b,
		       size_t ldb, float *c, size_t ldc)
{
	(void)columns_f16(m, n, k, a, lda, b, ldb, c, ldc); /* n is a multiple of every W */
}

/* ---- functions ---- */

/* e^x: 2^n times a polynomial of degree 6 in the rest, |rest| <= ln(2)/2; relative error 2e-7.
 * Below -87.3 it is 0, above 88.7 infinity. */
static inline vf exp_v(vf x)
{
	const vf magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
	vf lo = splat(-87.3f), hi = splat(88.7f);
	vf t = blend(x < lo, lo, x), n, r, p;
	vi bits;

	t = blend(t > hi, hi, t);
	n = t * splat(1.44269504f) + magic;
	bits = (vi)n - (vi)magic;
	n -= magic;
	r = t - n * splat(0.693359375f);
	r = r - n * splat(-2.12194440e-4f);
	p = splat(1.0f / 720);
	p = p * r + splat(1.0f / 120);
	p = p * r + splat(1.0f / 24);
	p = p * r + splat(1.0f / 6);
	p = p * r + splat(0.5f);
	p = p * r + splat(1.0f);
	p = p * r + splat(1.0f);
	/* 2^n in two factors: n reaches 128 */
	n = (vf)(((bits >> 1) + 127) << 23);
	p = p * n;
	n = (vf)(((bits - (bits >> 1)) + 127) << 23);
	p = p * n;
	p = blend(x < lo, (vf){0}, p);
	return blend(x > hi, splat(INFINITY), p);
}

static float max_k(const float *s, size_t n)
{
	vf m = splat(-INFINITY);
	float t[W];
	size_t i = 0;

	for (; i + W <= n; i += W) {
		vf v = load(s + i);

		m = blend(v > m, v, m);
	}
	store(t, m);
	for (; i < n; i++)
		t[0] = s[i] > t[0] ? s[i] : t[0];
	for (int j = 1; j < W; j++)
		t[0] = t[j] > t[0] ? t[j] : t[0];
	return t[0];
}

static float exp_sum_k(float *s, size_t n, float max)
{
	vf sum = {0};
	size_t i = 0;

	for (; i + W <= n; i += W) {
		vf e = exp_v(load(s + i) - splat(max));

		store(s + i, e);
		sum += e;
	}
	if (i < n) {
		vf tail = splat(-INFINITY);

		memcpy(&tail, s + i, (n - i) * sizeof(*s));
		tail = exp_v(tail - splat(max));
		sum += tail;
		memcpy(s + i, &tail, (n - i) * sizeof(*s));
	}
	return add_up(sum);
}

/* Runs `f` over whole vectors and then a padded one. */
#define MAP(name, f)                                                                               \
	static void name(const float *a, const float *b, float *y, size_t n)                       \
	{                                                                                          \
		size_t i = 0;                                                                      \
                                                                                                   \
		for (; i + W <= n; i += W) {                                                       \
			vf v = f(load(a + i));                                                     \
                                                                                                   \
			if (b)                                                                     \
				v *= load(b + i);                                                  \
			store(y + i, v);                                                           \
		}                                                                                  \
		if (i < n) {                                                                       \
			vf v = {0}, u = {0};                                                       \
                                                                                                   \
			memcpy(&v, a + i, (n - i) * sizeof(*a));                                   \
			v = f(v);                                                                  \
			if (b) {                                                                   \
				memcpy(&u, b + i, (n - i) * sizeof(*b));                           \
				v *= u;                                                            \
			}                                                                          \
			memcpy(y + i, &v, (n - i) * sizeof(*y));                                   \
		}                                                                                  \
	}

static inline vf sigmoid_v(vf x)
{
	return splat(1.0f) / (splat(1.0f) + exp_v(-x));
}

static inline vf silu_v(vf x)
{
	return x * sigmoid_v(x);
}

/* 0.5(1 + tanh u) is sigmoid(2u). */
static inline vf gelu_v(vf x)
{
	return x * sigmoid_v(splat(2 * 0.79788456080286536f) * (x + splat(0.044715f) * x * x * x));
}

static inline vf gelu_quick_v(vf x)
{
	return x * sigmoid_v(splat(1.702f) * x);
}

MAP(silu_k, silu_v)
MAP(gelu_k, gelu_v)
MAP(gelu_quick_k, gelu_quick_v)

/* y = x*c + partner(x)*s; partners are neighbours or half of the row apart. */
static void rotate_k(const float *x, float *y, const float *c, const float *s, size_t n,
		     bool adjacent)
{
	size_t half = n / 2, i = 0;

	for (; adjacent && i + W <= n; i += W) {
		vf v = load(x + i);

		store(y + i, v * load(c + i) + SWAP(v) * load(s + i));
	}
	for (; adjacent && i < n; i += 2) {
		float a = x[i], b = x[i + 1];

		y[i] = a * c[i] + b * s[i];
		y[i + 1] = b * c[i + 1] + a * s[i + 1];
	}
	for (; !adjacent && i + W <= half; i += W) {
		vf a = load(x + i), b = load(x + i + half);

		store(y + i, a * load(c + i) + b * load(s + i));
		store(y + i + half, b * load(c + i + half) + a * load(s + i + half));
	}
	for (; !adjacent && i < half; i++) {
		float a = x[i], b = x[i + half];

		y[i] = a * c[i] + b * s[i];
		y[i + half] = b * c[i + half] + a * s[i + half];
	}
}

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
	.silu = silu_k,
	.gelu = gelu_k,
	.gelu_quick = gelu_quick_k,
	.rotate = rotate_k,
};
