/* SPDX-License-Identifier: MIT
 *
 * float_functions.h - softmax, activation functions and rotation over vectors of W floats; a part
 * of float_body.h. */
#ifndef LLAMAD_CPU_KERN_FLOAT_FUNCTIONS_H
#define LLAMAD_CPU_KERN_FLOAT_FUNCTIONS_H

#include <string.h>

/* e^x = 2^n times a polynomial of degree 6 in the remainder, |remainder| <= ln(2)/2; relative error
 * 2e-7.  Returns 0 below -87.3 and infinity above 88.7.  Unless `large`, x is at most 88. */
static inline vf exp_of(vf x, bool large)
{
	const vf magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
	vf lo = splat(-87.3f), hi = splat(88.7f);
	vf t = LARGER(lo, x), n, r, p;
	vi bits;

	if (large)
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
	if (!large)
		return (vf)((vi)(p * (vf)((bits + 127) << 23)) & ~(x < lo));
	/* 2^n as two factors, because n reaches 128. */
	n = (vf)(((bits >> 1) + 127) << 23);
	p = p * n;
	n = (vf)(((bits - (bits >> 1)) + 127) << 23);
	p = p * n;
	p = blend(x < lo, (vf){0}, p);
	return blend(x > hi, splat(INFINITY), p);
}

static inline vf exp_v(vf x)
{
	return exp_of(x, true);
}

#ifndef GREATEST
static inline float greatest(vf v)
{
	float t[W];

	store(t, v);
	for (int j = 1; j < W; j++)
		t[0] = t[j] > t[0] ? t[j] : t[0];
	return t[0];
}
#define GREATEST greatest
#endif

static float max_k(const float *s, size_t n)
{
	vf m = splat(-INFINITY);
	float t;
	size_t i = 0;

	for (; i + W <= n; i += W)
		m = LARGER(load(s + i), m);
	t = GREATEST(m);
	for (; i < n; i++)
		t = s[i] > t ? s[i] : t;
	return t;
}

static float exp_sum_k(float *s, size_t n, float max)
{
	vf sum = {0};
	size_t i = 0;

	for (; i + W <= n; i += W) {
		vf e = exp_of(load(s + i) - splat(max), false);

		store(s + i, e);
		sum += e;
	}
	if (i < n) {
		vf tail = splat(-INFINITY);

		memcpy(&tail, s + i, (n - i) * sizeof(*s));
		tail = exp_of(tail - splat(max), false);
		sum += tail;
		memcpy(s + i, &tail, (n - i) * sizeof(*s));
	}
	return ADD_UP(sum);
}

/* Applies `f` to whole vectors and then to a padded one. */
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

/* Uses 0.5(1 + tanh u) = sigmoid(2u). */
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

/* y = x*c + partner(x)*s; partners are neighbours or half a row apart. */
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

#endif /* LLAMAD_CPU_KERN_FLOAT_FUNCTIONS_H */
