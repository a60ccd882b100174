/* SPDX-License-Identifier: MIT
 *
 * Searches for a scale and a minimum; see scale_search.h.  As in scale_search.c, several candidate
 * scales are evaluated and the best one is improved. */
#include <math.h>
#include <string.h>

#include "core/quant_search/scale_search.h"

struct fit {
	const float *x, *w;
	size_t n;
	int hi;
	bool stored;        /* scale and minimum are f16 values; otherwise the minimum is at most
			     * 0 */
	double best, noise; /* an error counts as lower only if it is lower by at least `noise` */
	float d, m;
	uint8_t *q;  /* NULL: not wanted */
	double gain; /* gain of the best candidate, which led to d0 and m0 */
	float d0, m0;
};

/* Sums over values and codes q: everything that solving needs. */
struct sums {
	double w, x, q, xq, qq;
};

/* Computes the best scale and minimum for the codes that the sums describe. */
static void solve(const struct fit *f, const struct sums *s, float *d, float *m)
{
	double det = s->w * s->qq - s->q * s->q, slope = *d, min;

	if (det > 0)
		slope = fmax(0, (s->w * s->xq - s->x * s->q) / det);
	if (f->stored)
		slope = lmi_search_fit_f16((float)slope);
	min = s->w > 0 ? (s->x - slope * s->q) / s->w : 0;
	if (!f->stored && min > 0) {
		min = 0;
		slope = s->qq > 0 ? fmax(0, s->xq / s->qq) : 0;
	}
	*d = (float)slope;
	*m = f->stored ? lmi_search_fit_f16((float)min) : (float)min;
}

static float inverse(float d)
{
	return d > 1e-30f ? 1 / d : 0;
}

/* Evaluates scale d and minimum m in one pass in float, after solving for their codes. */
static void probe(struct fit *f, float d, float m)
{
	float x = 0, q = 0, xq = 0, qq = 0, w = 0, inv = inverse(d), hi = (float)f->hi;
	struct sums s;
	double gain;

	for (size_t i = 0; i < f->n; i++) {
		float v = lmi_search_fit_nearest((f->x[i] - m) * inv, 0, hi),
		      wx = f->w[i] * f->x[i];

		w += f->w[i];
		x += wx;
		q += f->w[i] * v;
		xq += wx * v;
		qq += f->w[i] * v * v;
	}
	s = (struct sums){.w = w, .x = x, .q = q, .xq = xq, .qq = qq};
	solve(f, &s, &d, &m);
	/* sum w x^2 minus the error */
	gain = 2 * (d * s.xq + m * s.x) - (d * d * s.qq + 2.0 * d * m * s.q + (double)m * m * s.w);
	if (gain <= f->gain)
		return;
	f->gain = gain;
	f->d0 = d;
	f->m0 = m;
}

/* Rounds, keeps the result if it is the best so far, and solves. */
static void improve(struct fit *f, float *d, float *m)
{
	struct sums s = {0, 0, 0, 0, 0};
	float inv = inverse(*d);
	uint8_t q[LMI_SEARCH_FIT_MAX];
	double err = 0;

	for (size_t i = 0; i < f->n; i++) {
		double w = f->w[i], x = f->x[i], e;

		q[i] = (uint8_t)lmi_search_fit_round((f->x[i] - *m) * inv, 0, f->hi);
		e = x - ((double)*d * q[i] + *m);
		err += w * e * e;
		s.w += w;
		s.x += w * x;
		s.q += w * q[i];
		s.xq += w * x * q[i];
		s.qq += w * q[i] * q[i];
	}
	if (err < f->best - f->noise) {
		f->best = err;
		f->d = *d;
		f->m = *m;
		if (f->q)
			memcpy(f->q, q, f->n);
	}
	solve(f, &s, d, m);
}

static void improve_from(struct fit *f, float d, float m)
{
	for (int round = 0; round < LMI_SEARCH_FIT_ROUNDS; round++) {
		float old_d = d, old_m = m;

		improve(f, &d, &m);
		if (d == old_d && m == old_m)
			return;
	}
}

/* Tries candidate scales that map min..max onto the codes. */
static void search(struct fit *f, float min, float max)
{
	float d = (max - min) / (float)f->hi;

	/* the plain scale comes first: it wins if all are equally good */
	improve_from(f, f->stored ? lmi_search_fit_f16(d) : d,
		     f->stored ? lmi_search_fit_f16(min) : min);
	f->gain = -INFINITY;
	f->d0 = f->m0 = 0;
	for (int i = 0; i < LMI_SEARCH_FIT_CANDIDATES; i++)
		probe(f, (max - min) / fmaxf((float)f->hi + lmi_search_fit_candidate(i), 1), min);
	improve_from(f, f->d0, f->m0);
}

static void range_of(const float *x, size_t n, float *min, float *max)
{
	*min = *max = x[0];
	for (size_t i = 1; i < n; i++) {
		*min = fminf(*min, x[i]);
		*max = fmaxf(*max, x[i]);
	}
}

/* All values are equal: the minimum represents them except for its rounding error, which the scale
 * adds. */
static void flat(struct fit *f, float x)
{
	float m = lmi_search_fit_f16(x), d;

	if (m > x) /* use the f16 below: 2^-11 of the value is at least one step of f16 */
		m = lmi_search_fit_f16(m - fmaxf(fabsf(m) * 0x1p-11f, 0x1p-24f));
	d = lmi_search_fit_f16(x - m);
	improve(f, &d, &m);
}

void lmi_search_fit_affine(const float *x, const float *w, size_t n, int hi, float *d, float *m,
			   uint8_t *q)
{
	struct fit f = {.x = x, .w = w, .n = n, .hi = hi, .stored = true, .best = INFINITY, .q = q};
	float min, max;

	range_of(x, n, &min, &max);
	search(&f, min, max);
	/* Values on one side of 0: a range starting at 0 lets the minimum correct the rounding of
	 * d. */
	if (min > 0 || max < 0)
		search(&f, fminf(min, 0), fmaxf(max, 0));
	if (min == max)
		flat(&f, min);
	*d = f.d;
	*m = f.m;
}

void lmi_search_fit_affine_f32(const float *x, const float *w, size_t n, int hi, float *a, float *b)
{
	struct fit f = {.x = x, .w = w, .n = n, .hi = hi, .best = INFINITY};
	float min, max;

	range_of(x, n, &min, &max);
	for (size_t i = 0; i < n; i++)
		f.noise += 1e-12 * w[i] * x[i] * x[i];
	search(&f, fminf(min, 0), max);
	*a = f.d;
	*b = -f.m;
}
