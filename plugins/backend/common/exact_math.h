/* SPDX-License-Identifier: MIT
 *
 * exact_math.h - functions of exact arithmetic (docs/exact.md) that have the same bits on every
 * device: each operation is rounded separately, in the order that is written here.
 *
 * For hosts: in files that are compiled without contraction.  Compilers of devices contract what
 * they can, so kernels define DEVICE_EXACT_FN and the operations in front of this file. */
#ifndef LLAMAD_BACKEND_COMMON_EXACT_MATH_H
#define LLAMAD_BACKEND_COMMON_EXACT_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef DEVICE_EXACT_FN
#define DEVICE_EXACT_FN        static inline
#define DEVICE_ADD(a, b) ((a) + (b))
#define DEVICE_MUL(a, b) ((a) * (b))
/* the same in double */
#define DEVICE_DADD(a, b) ((a) + (b))
#define DEVICE_DMUL(a, b) ((a) * (b))
#define DEVICE_BITS_OF(f)  device_bits_of(f)
#define DEVICE_FLOAT_OF(u) device_float_of(u)

static inline uint32_t device_bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float device_float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}
#endif

#define DEVICE_EXP_LOWEST (-87.3f)
#define DEVICE_EXP_MOST   88.7f

/* e^x = 2^n times a polynomial of degree 6 in the remainder; relative error 2e-7.  0 below
 * DEVICE_EXP_LOWEST, infinity above DEVICE_EXP_MOST. */
DEVICE_EXACT_FN float device_exact_exp(float x)
{
	float t = x < DEVICE_EXP_LOWEST ? DEVICE_EXP_LOWEST : x, n, r, p;
	int32_t e;

	t = t > DEVICE_EXP_MOST ? DEVICE_EXP_MOST : t;
	n = DEVICE_ADD(DEVICE_MUL(t, 1.44269504f), 12582912.0f); /* rounds to an integer */
	e = (int32_t)(DEVICE_BITS_OF(n) - DEVICE_BITS_OF(12582912.0f));
	n = DEVICE_ADD(n, -12582912.0f);
	r = DEVICE_ADD(t, -DEVICE_MUL(n, 0.693359375f));
	r = DEVICE_ADD(r, -DEVICE_MUL(n, -2.12194440e-4f));
	p = 1.0f / 720;
	p = DEVICE_ADD(DEVICE_MUL(p, r), 1.0f / 120);
	p = DEVICE_ADD(DEVICE_MUL(p, r), 1.0f / 24);
	p = DEVICE_ADD(DEVICE_MUL(p, r), 1.0f / 6);
	p = DEVICE_ADD(DEVICE_MUL(p, r), 0.5f);
	p = DEVICE_ADD(DEVICE_MUL(p, r), 1.0f);
	p = DEVICE_ADD(DEVICE_MUL(p, r), 1.0f);
	/* 2^n as two factors, because n reaches 128. */
	p = DEVICE_MUL(p, DEVICE_FLOAT_OF((uint32_t)((e >> 1) + 127) << 23));
	p = DEVICE_MUL(p, DEVICE_FLOAT_OF((uint32_t)(e - (e >> 1) + 127) << 23));
	p = x < DEVICE_EXP_LOWEST ? 0.0f : p;
	return x > DEVICE_EXP_MOST ? DEVICE_FLOAT_OF(0x7f800000u) : p;
}

DEVICE_EXACT_FN float device_exact_sigmoid(float x)
{
	return 1.0f / DEVICE_ADD(1.0f, device_exact_exp(-x));
}

/* The activation functions of exact arithmetic, of x alone, by their numbers in llamad/op.h. */
DEVICE_EXACT_FN float device_exact_act(uint32_t act, float x)
{
	float u;

	switch (act) {
	case 1: /* SILU */
		return DEVICE_MUL(x, device_exact_sigmoid(x));
	case 2: /* GELU: 0.5(1 + tanh u) = sigmoid(2u) */
		u = DEVICE_MUL(DEVICE_MUL(DEVICE_MUL(0.044715f, x), x), x);
		u = DEVICE_MUL(2 * 0.79788456080286536f, DEVICE_ADD(x, u));
		return DEVICE_MUL(x, device_exact_sigmoid(u));
	case 4: /* GELU_QUICK */
		return DEVICE_MUL(x, device_exact_sigmoid(DEVICE_MUL(1.702f, x)));
	case 5: /* RELU */
		return x > 0.0f ? x : 0.0f;
	case 6: /* RELU2 */
		x = x > 0.0f ? x : 0.0f;
		return DEVICE_MUL(x, x);
	default: /* NONE */
		return x;
	}
}

/* Cosine and sine, in double; the error is below 1e-12 up to an angle of 10^6.  The angle is
 * reduced by multiples of pi/2 in three parts, of which the first two have 33 bits. */
DEVICE_EXACT_FN void device_exact_turn(double angle, double *c, double *s)
{
	double n = rint(DEVICE_DMUL(angle, 0.63661977236758134308)), r, z, p, q;
	int32_t quarter = (int32_t)((int64_t)n & 3);

	r = DEVICE_DADD(angle, -DEVICE_DMUL(n, 1.57079632673412561417e+00));
	r = DEVICE_DADD(r, -DEVICE_DMUL(n, 6.07710050630396597660e-11));
	r = DEVICE_DADD(r, -DEVICE_DMUL(n, 2.02226624879595063154e-21));
	z = DEVICE_DMUL(r, r);
	p = 1.0 / 6227020800;
	p = DEVICE_DADD(DEVICE_DMUL(p, z), -1.0 / 39916800);
	p = DEVICE_DADD(DEVICE_DMUL(p, z), 1.0 / 362880);
	p = DEVICE_DADD(DEVICE_DMUL(p, z), -1.0 / 5040);
	p = DEVICE_DADD(DEVICE_DMUL(p, z), 1.0 / 120);
	p = DEVICE_DADD(DEVICE_DMUL(p, z), -1.0 / 6);
	p = DEVICE_DADD(r, DEVICE_DMUL(DEVICE_DMUL(p, z), r)); /* sine of the rest */
	q = 1.0 / 479001600;
	q = DEVICE_DADD(DEVICE_DMUL(q, z), -1.0 / 3628800);
	q = DEVICE_DADD(DEVICE_DMUL(q, z), 1.0 / 40320);
	q = DEVICE_DADD(DEVICE_DMUL(q, z), -1.0 / 720);
	q = DEVICE_DADD(DEVICE_DMUL(q, z), 1.0 / 24);
	q = DEVICE_DADD(DEVICE_DMUL(q, z), -0.5);
	q = DEVICE_DADD(1.0, DEVICE_DMUL(q, z)); /* its cosine */
	*c = quarter == 0 ? q : quarter == 1 ? -p : quarter == 2 ? -q : p;
	*s = quarter == 0 ? p : quarter == 1 ? q : quarter == 2 ? -p : -q;
}

#endif /* LLAMAD_BACKEND_COMMON_EXACT_MATH_H */
