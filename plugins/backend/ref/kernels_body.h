/* SPDX-License-Identifier: MIT
 *
 * Included by kernels.c once for each variant, with two macros defined: ATTR, the instruction sets
 * that the compiler may use, and NAME(x), the variant's name for x. */
#include <string.h>

ATTR static float NAME(dot)(const float *a, const float *b, size_t n)
{
	lanes s = {0};
	size_t i = 0;
	float sum;

	for (; i + 8 <= n; i += 8) {
		lanes va, vb;

		memcpy(&va, a + i, sizeof(va));
		memcpy(&vb, b + i, sizeof(vb));
		s += va * vb;
	}
	sum = LANES_SUM(s);
	for (; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

ATTR static void NAME(dot4x2)(const float *const w[4], const float *const x[2], size_t n,
			      float out[2][4])
{
	const float *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
	const float *x0 = x[0], *x1 = x[1];
	lanes a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		lanes v, vx, vy;

		memcpy(&vx, x0 + i, sizeof(vx));
		memcpy(&vy, x1 + i, sizeof(vy));
		memcpy(&v, w0 + i, sizeof(v));
		a0 += v * vx;
		b0 += v * vy;
		memcpy(&v, w1 + i, sizeof(v));
		a1 += v * vx;
		b1 += v * vy;
		memcpy(&v, w2 + i, sizeof(v));
		a2 += v * vx;
		b2 += v * vy;
		memcpy(&v, w3 + i, sizeof(v));
		a3 += v * vx;
		b3 += v * vy;
	}
	out[0][0] = LANES_SUM(a0);
	out[0][1] = LANES_SUM(a1);
	out[0][2] = LANES_SUM(a2);
	out[0][3] = LANES_SUM(a3);
	out[1][0] = LANES_SUM(b0);
	out[1][1] = LANES_SUM(b1);
	out[1][2] = LANES_SUM(b2);
	out[1][3] = LANES_SUM(b3);
	for (; i < n; i++) {
		for (size_t j = 0; j < 4; j++) {
			out[0][j] += w[j][i] * x0[i];
			out[1][j] += w[j][i] * x1[i];
		}
	}
}

ATTR static void NAME(axpy)(float *y, float a, const float *x, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		lanes vx, vy;

		memcpy(&vx, x + i, sizeof(vx));
		memcpy(&vy, y + i, sizeof(vy));
		vy += a * vx;
		memcpy(y + i, &vy, sizeof(vy));
	}
	for (; i < n; i++)
		y[i] += a * x[i];
}

ATTR static void NAME(iblocks)(const int16_t *a, const int8_t *b, size_t n, float *out)
{
	for (size_t at = 0; at < n; at += 32) {
		ilanes s = {0};

		for (size_t i = at; i < at + 32; i += 8) {
			shorts va;
			bytes vb;

			memcpy(&va, a + i, sizeof(va));
			memcpy(&vb, b + i, sizeof(vb));
			s += __builtin_convertvector(va, ilanes) *
			     __builtin_convertvector(vb, ilanes);
		}
		*out++ = (float)LANES_SUM(s);
	}
}

static const struct ref_kernels NAME(kernels) = {
	NAME(dot),
	NAME(dot4x2),
	NAME(axpy),
	NAME(iblocks),
};
