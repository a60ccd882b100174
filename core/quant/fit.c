/* SPDX-License-Identifier: MIT
 *
 * Least-squares searches of the encoders; fit.h has the contract. */
#include "core/quant/fit.h"

#include <math.h>
#include <string.h>

#include "core/quant/half.h"

#define N_FAN    14 /* scales tried at each end of the range */
#define N_ROUNDS 3  /* of "round, solve" for each */

void lmi_fit_clean(const float *src, float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float v = src[i];

		if (v != v)
			v = 0;
		x[i] = v > 0x1p100f ? 0x1p100f : v < -0x1p100f ? -0x1p100f : v;
	}
}

void lmi_fit_weights(const float *importance, float *w, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++) {
		float v = importance ? importance[i] : 1;

		w[i] = v > 0 ? fminf(v, 0x1p100f) : 0;
		sum += w[i];
	}
	for (size_t i = 0; sum <= 0 && i < n; i++)
		w[i] = 1;
}

float lmi_fit_f16(float f)
{
	return lmi_f16_to_f32(lmi_f32_to_f16(f > 65504 ? 65504 : f < -65504 ? -65504 : f));
}

int lmi_fit_round(float v, int lo, int hi)
{
	if (!(v > (float)lo))
		return lo;
	/* Adding 1.5 * 2^23 rounds to an integer, ties to even, without a call of rintf. */
	return v >= (float)hi ? hi : (int)((v + 0x1.8p23f) - 0x1.8p23f);
}

/* Where in units of one code step the end of the range is put, relative to the last code:
 * a little inside, up to well outside (which cuts the greatest values off). */
static float fan(int i)
{
	return -1 + 0.2f * (float)i;
}

static float peak_of(const float *x, size_t n)
{
	float peak = 0;

	for (size_t i = 0; i < n; i++)
		if (fabsf(x[i]) > fabsf(peak))
			peak = x[i];
	return peak;
}

struct scale_fit {
	const float *x, *w;
	const int8_t *book; /* NULL: the codes themselves are the values */
	size_t n;
	int lo, hi;
	double best;
	float d;
	int8_t *q;
};

/* The number of the book's value nearest to v. */
static int nearest(const int8_t book[16], float v)
{
	int i = 0;

	while (i < 15 && v > 0.5f * (float)(book[i] + book[i + 1]))
		i++;
	return i;
}

/* Rounds with scale d, keeps it if that is the best so far; returns the scale that suits
 * these codes best. */
static float scale_round(struct scale_fit *f, float d)
{
	double err = 0, xq = 0, qq = 0;
	float inv = d != 0 ? 1 / d : 0;
	int8_t q[LMI_FIT_MAX];

	for (size_t i = 0; i < f->n; i++) {
		double w = f->w[i], x = f->x[i], v, e;

		q[i] = (int8_t)(f->book ? nearest(f->book, f->x[i] * inv)
					: lmi_fit_round(f->x[i] * inv, f->lo, f->hi));
		v = f->book ? f->book[q[i]] : q[i];
		e = x - (double)d * v;
		err += w * e * e;
		xq += w * x * v;
		qq += w * v * v;
	}
	if (err < f->best) {
		f->best = err;
		f->d = d;
		memcpy(f->q, q, f->n);
	}
	return qq > 0 ? lmi_fit_f16((float)(xq / qq)) : d;
}

/* Scales that put the peak near code `end`; step: the distance of codes there. */
static void scale_fan(struct scale_fit *f, float peak, float end, float step)
{
	for (int i = 0; i < N_FAN; i++) {
		float out = end + (end < 0 ? -step : step) * fan(i), d;

		if (fabsf(out) < 0.5f * step)
			continue;
		d = lmi_fit_f16(peak / out);
		for (int round = 0; round < N_ROUNDS; round++) {
			float next = scale_round(f, d);

			if (next == d)
				break;
			d = next;
		}
	}
}

void lmi_fit_book_codes(const float *x, size_t n, const int8_t book[16], float d, int8_t *q)
{
	float inv = d != 0 ? 1 / d : 0;

	for (size_t i = 0; i < n; i++)
		q[i] = (int8_t)(d != 0 ? nearest(book, x[i] * inv) : 0);
}

float lmi_fit_scale(const float *x, const float *w, size_t n, int lo, int hi, int8_t *q)
{
	struct scale_fit f = {.x = x, .w = w, .n = n, .lo = lo, .hi = hi, .best = INFINITY, .q = q};
	float peak = peak_of(x, n);

	scale_round(&f, 0);
	if (peak != 0) {
		scale_fan(&f, peak, (float)lo, 1);
		scale_fan(&f, peak, (float)hi, 1);
	}
	return f.d;
}

float lmi_fit_book(const float *x, const float *w, size_t n, const int8_t book[16], int8_t *q)
{
	struct scale_fit f = {.x = x, .w = w, .book = book, .n = n, .best = INFINITY, .q = q};
	float peak = peak_of(x, n);

	scale_round(&f, 0);
	if (peak != 0) {
		scale_fan(&f, peak, book[0], (float)(book[1] - book[0]));
		scale_fan(&f, peak, book[15], (float)(book[15] - book[14]));
	}
	return f.d;
}

struct affine_fit {
	const float *x, *w;
	size_t n;
	int hi;
	double best;
	float d, m;
	uint8_t *q;
};

/* As scale_round; *d and *m become the solution for these codes. */
static void affine_round(struct affine_fit *f, float *d, float *m)
{
	double err = 0, sw = 0, sx = 0, sq = 0, sxq = 0, sqq = 0, det;
	float inv = *d > 0 ? 1 / *d : 0;
	uint8_t q[LMI_FIT_MAX];

	for (size_t i = 0; i < f->n; i++) {
		double w = f->w[i], x = f->x[i], e;

		q[i] = (uint8_t)lmi_fit_round((f->x[i] - *m) * inv, 0, f->hi);
		e = x - ((double)*d * q[i] + *m);
		err += w * e * e;
		sw += w;
		sx += w * x;
		sq += w * q[i];
		sxq += w * x * q[i];
		sqq += w * q[i] * q[i];
	}
	if (err < f->best) {
		f->best = err;
		f->d = *d;
		f->m = *m;
		memcpy(f->q, q, f->n);
	}
	det = sw * sqq - sq * sq;
	if (det > 0)
		*d = lmi_fit_f16((float)fmax(0, (sw * sxq - sx * sq) / det));
	*m = lmi_fit_f16((float)((sx - (double)*d * sq) / sw));
}

/* The fan over scales that map min..max onto the codes. */
static void affine_range(struct affine_fit *f, float min, float max)
{
	for (int i = 0; i < N_FAN; i++) {
		float d = lmi_fit_f16((max - min) / fmaxf((float)f->hi + fan(i), 1));
		float m = lmi_fit_f16(min);

		for (int round = 0; round < N_ROUNDS; round++) {
			float old_d = d, old_m = m;

			affine_round(f, &d, &m);
			if (d == old_d && m == old_m)
				break;
		}
	}
}

void lmi_fit_affine(const float *x, const float *w, size_t n, int hi, float *d, float *m,
		    uint8_t *q)
{
	struct affine_fit f = {.x = x, .w = w, .n = n, .hi = hi, .best = INFINITY, .q = q};
	float min = x[0], max = x[0];

	for (size_t i = 1; i < n; i++) {
		min = fminf(min, x[i]);
		max = fmaxf(max, x[i]);
	}
	affine_range(&f, min, max);
	/* Values on one side of 0: a range from 0 lets the minimum correct the rounding of d. */
	if (min > 0 || max < 0)
		affine_range(&f, fminf(min, 0), fmaxf(max, 0));
	*d = f.d;
	*m = f.m;
}

struct slope_fit {
	const float *x, *w;
	size_t n;
	int hi;
	double best;
	float a, b;
};

/* As affine_round, with the minimum held at or below 0. */
static void slope_round(struct slope_fit *f, float *a, float *b)
{
	double err = 0, sw = 0, sx = 0, sq = 0, sxq = 0, sqq = 0, det, slope, off;
	float inv = *a > 0 ? 1 / *a : 0;

	for (size_t i = 0; i < f->n; i++) {
		double w = f->w[i], x = f->x[i], e;
		int q = lmi_fit_round((f->x[i] + *b) * inv, 0, f->hi);

		e = x - ((double)*a * q - *b);
		err += w * e * e;
		sw += w;
		sx += w * x;
		sq += w * q;
		sxq += w * x * q;
		sqq += w * q * q;
	}
	if (err < f->best) {
		f->best = err;
		f->a = *a;
		f->b = *b;
	}
	det = sw * sqq - sq * sq;
	slope = det > 0 ? (sw * sxq - sx * sq) / det : *a;
	off = sw > 0 ? (slope * sq - sx) / sw : 0;
	if (off < 0) {
		off = 0;
		slope = sqq > 0 ? sxq / sqq : 0;
	}
	*a = (float)fmax(slope, 0);
	*b = (float)off;
}

void lmi_fit_slope(const float *x, const float *w, size_t n, int hi, float *a, float *b)
{
	struct slope_fit f = {.x = x, .w = w, .n = n, .hi = hi, .best = INFINITY};
	float min = 0, max = x[0];

	for (size_t i = 0; i < n; i++) {
		min = fminf(min, x[i]);
		max = fmaxf(max, x[i]);
	}
	for (int i = 0; i < N_FAN; i++) {
		*a = (max - min) / fmaxf((float)hi + fan(i), 1);
		*b = -min;
		for (int round = 0; round < N_ROUNDS; round++)
			slope_round(&f, a, b);
	}
	*a = f.a;
	*b = f.b;
}
