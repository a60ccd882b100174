/* SPDX-License-Identifier: MIT
 *
 * Helpers shared by all encoders, and the searches for a scale without a minimum.  Each candidate
 * scale is evaluated in one pass; the most promising ones are improved by alternately rounding and
 * solving. */
#include "core/quant_search/scale_search.h"

#include <math.h>
#include <string.h>

#include "core/base/float16.h"

#define N_TOP 4 /* number of candidates that are improved */

void lmi_search_fit_clean(const float *src, float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float v = src[i];

		if (v != v)
			v = 0;
		x[i] = v > 0x1p100f ? 0x1p100f : v < -0x1p100f ? -0x1p100f : v;
	}
}

void lmi_search_fit_weights(const float *importance, float *w, size_t n)
{
	float top = 0;

	for (size_t i = 0; i < n; i++) {
		float v = importance ? importance[i] : 1;

		w[i] = v > 0 ? fminf(v, 0x1p100f) : 0;
		top = fmaxf(top, w[i]);
	}
	for (size_t i = 0; i < n; i++)
		w[i] = top > 0 ? w[i] / top : 1;
}

void lmi_search_fit_load(const float *src, const float *importance, size_t at, float *x, float *w,
			 size_t n)
{
	lmi_search_fit_clean(src + at, x, n);
	lmi_search_fit_weights(importance ? importance + at : NULL, w, n);
}

float lmi_search_fit_max_magnitude(const float *x, size_t n)
{
	int32_t top = 0; /* bits without the sign: they order like the magnitudes */

	for (size_t i = 0; i < n; i++) {
		int32_t mag = (int32_t)(lmi_f32_bits(x[i]) & 0x7FFFFFFFu);

		top = mag > top ? mag : top;
	}
	return lmi_bits_f32((uint32_t)top);
}

float lmi_search_fit_peak(const float *x, size_t n)
{
	float peak = 0;

	for (size_t i = 0; i < n; i++)
		peak = fabsf(x[i]) > fabsf(peak) ? x[i] : peak;
	return peak;
}

bool lmi_search_fit_finite(const float *x, size_t n)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad |= (lmi_f32_bits(x[i]) & 0x7F800000u) == 0x7F800000u;
	return !bad;
}

bool lmi_search_fit_all_equal(const float *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (x[i] != x[0])
			return false;
	return true;
}

float lmi_search_fit_f16(float f)
{
	return lmi_f16_to_f32(lmi_f32_to_f16(f > 65504 ? 65504 : f < -65504 ? -65504 : f));
}

struct scale_fit {
	const float *x, *w;
	const int8_t *book; /* NULL: the codes are the values */
	size_t n;
	int lo, hi;
	double best;
	float d;
	int8_t *q;
	struct {
		double gain;
		float d;
	} top[N_TOP]; /* the most promising scales, best first */
};

/* Returns the index of the codebook value nearest to v: four steps of a binary search. */
static int nearest(const int8_t book[16], float v)
{
	int i = 0;

	for (int step = 8; step; step /= 2)
		i += v > 0.5f * (float)(book[i + step - 1] + book[i + step]) ? step : 0;
	return i;
}

/* Estimates how much of sum w x^2 the codes for scale d explain with the best scale for these
 * codes.  One pass in float, accurate enough to choose the candidates to improve. */
static void scale_probe(struct scale_fit *f, float d)
{
	float xq = 0, qq = 0, inv = 1 / d, lo = (float)f->lo, hi = (float)f->hi;
	double gain;
	int at = N_TOP;

	for (size_t i = 0; i < f->n; i++) {
		float v = f->x[i] * inv;

		v = f->book ? (float)f->book[nearest(f->book, v)]
			    : lmi_search_fit_nearest(v, lo, hi);
		xq += f->w[i] * f->x[i] * v;
		qq += f->w[i] * v * v;
	}
	gain = qq > 0 ? (double)xq * xq / qq : 0;
	d = qq > 0 ? lmi_search_fit_f16(xq / qq) : d;
	for (int i = 0; i < N_TOP; i++)
		if (f->top[i].d == d)
			return;
	while (at > 0 && gain > f->top[at - 1].gain)
		at--;
	if (at == N_TOP)
		return;
	memmove(&f->top[at + 1], &f->top[at], (size_t)(N_TOP - 1 - at) * sizeof(f->top[0]));
	f->top[at].gain = gain;
	f->top[at].d = d;
}

/* Evaluates scales that put the peak near code `end`; step: distance between codes there. */
static void scale_candidates(struct scale_fit *f, float peak, float end, float step)
{
	for (int i = 0; i < LMI_SEARCH_FIT_CANDIDATES; i++) {
		float out = end + (end < 0 ? -step : step) * lmi_search_fit_candidate(i);
		float d = fabsf(out) < 0.5f * step ? 0 : lmi_search_fit_f16(peak / out);

		if (d != 0)
			scale_probe(f, d);
	}
}

/* Rounds with scale d and keeps the result if it is the best so far; returns the best scale for
 * these codes. */
static float scale_round(struct scale_fit *f, float d)
{
	double err = 0, xq = 0, qq = 0;
	float inv = d != 0 ? 1 / d : 0;
	int8_t q[LMI_SEARCH_FIT_MAX];

	for (size_t i = 0; i < f->n; i++) {
		double w = f->w[i], x = f->x[i], v, e;

		q[i] = (int8_t)(f->book ? nearest(f->book, f->x[i] * inv)
					: lmi_search_fit_round(f->x[i] * inv, f->lo, f->hi));
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
	return qq > 0 ? lmi_search_fit_f16((float)(xq / qq)) : d;
}

static void scale_improve(struct scale_fit *f, float d)
{
	for (int round = 0; d != 0 && round < LMI_SEARCH_FIT_ROUNDS; round++) {
		float next = scale_round(f, d);

		if (next == d)
			return;
		d = next;
	}
}

/* All values are equal: every code can represent them, only the rounding of d differs. */
static void scale_flat(struct scale_fit *f, float x)
{
	int n = f->book ? 16 : f->hi - f->lo + 1;

	for (int i = 0; i < n; i++) {
		float v = f->book ? (float)f->book[i] : (float)(f->lo + i);

		if (v != 0)
			(void)scale_round(f, lmi_search_fit_f16(x / v));
	}
}

/* Searches from both ends of the codes. */
static float scale_search(struct scale_fit *f, float lo, float lo_step, float hi, float hi_step)
{
	float peak = lmi_search_fit_peak(f->x, f->n);

	(void)scale_round(f, 0);
	if (peak == 0)
		return 0;
	scale_candidates(f, peak, lo, lo_step);
	scale_candidates(f, peak, hi, hi_step);
	scale_improve(f, lmi_search_fit_f16(peak /
					    lo)); /* the plain scale wins if all are equally good */
	for (int i = 0; i < N_TOP; i++)
		scale_improve(f, f->top[i].d);
	if (lmi_search_fit_all_equal(f->x, f->n))
		scale_flat(f, peak);
	return f->d;
}

void lmi_search_fit_book_codes(const float *x, size_t n, const int8_t book[16], float d, int8_t *q)
{
	float inv = d != 0 ? 1 / d : 0;

	for (size_t i = 0; i < n; i++)
		q[i] = (int8_t)(d != 0 ? nearest(book, x[i] * inv) : 0);
}

float lmi_search_fit_scale(const float *x, const float *w, size_t n, int lo, int hi, int8_t *q)
{
	struct scale_fit f = {.x = x, .w = w, .n = n, .lo = lo, .hi = hi, .best = INFINITY, .q = q};

	return scale_search(&f, (float)lo, 1, (float)hi, 1);
}

float lmi_search_fit_book(const float *x, const float *w, size_t n, const int8_t book[16],
			  int8_t *q)
{
	struct scale_fit f = {.x = x, .w = w, .book = book, .n = n, .best = INFINITY, .q = q};

	return scale_search(&f, book[0], (float)(book[1] - book[0]), book[15],
			    (float)(book[15] - book[14]));
}
