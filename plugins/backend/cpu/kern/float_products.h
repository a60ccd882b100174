/* SPDX-License-Identifier: MIT
 *
 * float_products.h - products of rows with rows and with matrices over vectors of W floats; a part
 * of float_body.h. */
#ifndef LLAMAD_CPU_KERN_FLOAT_PRODUCTS_H
#define LLAMAD_CPU_KERN_FLOAT_PRODUCTS_H

#include <string.h>

/* Two rows of x times two of w, with the same chains as in dot. */
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
	r[0] = ADD_UP((a[0] + a[1]) + (a[2] + a[3]));
	r[1] = ADD_UP((b[0] + b[1]) + (b[2] + b[3]));
	r[2] = ADD_UP((c[0] + c[1]) + (c[2] + c[3]));
	r[3] = ADD_UP((d[0] + d[1]) + (d[2] + d[3]));
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

/* m rows of v vectors; m and v are constants, so that the sums stay in registers. */
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

/* Few rows: computes as many vectors side by side as there are registers, to hide the latency of
 * additions. */
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

/* Computes columns in stripes of 4W (few rows), 2W and W; returns the number of columns done. */
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

/* The columns after the last whole vector are computed in a padded one, row by row. */
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

#endif /* LLAMAD_CPU_KERN_FLOAT_PRODUCTS_H */
