/* SPDX-License-Identifier: MIT
 *
 * Superblock search; superblock_search.h has the contract.  A "trial" is a block under
 * construction: scales of the block, integers of the groups, codes, and the resulting error. */
#include "core/quant_search/superblock_search.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/quant_search/scale_search.h"

#define MAX_GROUPS (LMI_SEARCH_SUPERBLOCK / 16)
#define N_ROUNDS   5  /* rounds of "integers, then scales" */
#define N_FLAT     24 /* starts if all values are equal: only the rounding of d differs */

struct trial {
	const struct lmi_search_superblock_shape *k;
	const float *x, *w;
	int n_groups;
	struct lmi_search_superblock b;
	double err[MAX_GROUPS];
};

static double total(const struct trial *t)
{
	double sum = 0;

	for (int g = 0; g < t->n_groups; g++)
		sum += t->err[g];
	return sum;
}

/* Rounds group g with integers s and m; keeps them if the error is below the group's current
 * error. */
static void try_group(struct trial *t, int g, int s, int m, bool affine)
{
	const struct lmi_search_superblock_shape *k = t->k;
	const float *x = t->x + g * k->group, *w = t->w + g * k->group;
	float scale = t->b.d * (float)s, off = affine ? t->b.dmin * (float)m : 0;
	float inv = scale != 0 ? 1 / scale : 0, lo = (float)k->q_lo, hi = (float)k->q_hi;
	int8_t q[32];
	double err = 0;

	if (s < k->s_lo || s > k->s_hi || m < 0 || m > k->s_hi)
		return;
	if (k->book)
		lmi_search_fit_book_codes(x, (size_t)k->group, k->book, scale, q);
	for (int i = 0; i < k->group; i++) {
		float v = k->book ? (float)k->book[q[i]]
				  : lmi_search_fit_nearest((x[i] + off) * inv, lo, hi);
		double e = (double)x[i] - (double)(scale * v - off);

		if (!k->book)
			q[i] = (int8_t)v;
		err += w[i] * e * e;
		if (i % 8 == 7 && err >= t->err[g])
			return;
	}
	t->err[g] = err;
	t->b.s[g] = (int16_t)s;
	t->b.m[g] = (int16_t)m;
	memcpy(t->b.q + g * k->group, q, (size_t)k->group);
}

/* Tries the integers of all groups near their current values, for the current scales of the block.
 * Also tries scales with the opposite sign, because codes may reach further on one side.  wide:
 * tries all scales. */
static void improve_groups(struct trial *t, bool affine, bool wide)
{
	for (int g = 0; g < t->n_groups; g++) {
		int s0 = t->b.s[g], m0 = t->b.m[g];

		t->err[g] = INFINITY;
		try_group(t, g, s0, m0, affine);
		for (int s = wide ? t->k->s_lo : s0 - 1; s <= (wide ? t->k->s_hi : s0 + 1); s++) {
			for (int m = affine ? m0 - 1 : 0; m <= (affine ? m0 + 1 : 0); m++)
				if (s != s0 || m != m0)
					try_group(t, g, s, m, affine);
			if (!affine && !wide)
				try_group(t, g, -s, 0, false);
		}
	}
}

/* Solves for the best scales of the block, given all codes; returns false if they do not change. */
static bool improve_scales(struct trial *t, bool affine)
{
	double vv = 0, vm = 0, mm = 0, xv = 0, xm = 0, det;
	float d = t->b.d, dmin = t->b.dmin;

	for (int i = 0; i < LMI_SEARCH_SUPERBLOCK; i++) {
		int g = i / t->k->group;
		double v = t->k->book ? t->k->book[t->b.q[i]] : t->b.q[i], m = -t->b.m[g];

		v *= t->b.s[g];
		vv += t->w[i] * v * v;
		vm += t->w[i] * v * m;
		mm += t->w[i] * m * m;
		xv += t->w[i] * t->x[i] * v;
		xm += t->w[i] * t->x[i] * m;
	}
	det = vv * mm - vm * vm;
	if (affine && det > 1e-9 * vv * mm) {
		d = lmi_search_fit_f16((float)((xv * mm - xm * vm) / det));
		dmin = lmi_search_fit_f16((float)((xm * vv - xv * vm) / det));
	} else if (vv > 0) {
		d = lmi_search_fit_f16((float)(xv / vv));
	}
	if (affine && (d < 0 || dmin < 0))
		return false;
	if (d == t->b.d && dmin == t->b.dmin)
		return false;
	t->b.d = d;
	t->b.dmin = dmin;
	return true;
}

/* Improves integers and scales alternately; wide applies to the first round of integers. */
static void improve(struct trial *t, bool affine, bool wide, double *best,
		    struct lmi_search_superblock *out)
{
	for (int round = 0; round < N_ROUNDS; round++) {
		improve_groups(t, affine, wide && round == 0);
		if (total(t) < *best) {
			*best = total(t);
			*out = t->b;
		} else if (round > 1) {
			return;
		}
		if (!improve_scales(t, affine))
			return;
	}
}

static int clamp(int v, int lo, int hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Sets the integers of the groups for block scales d and dmin. */
static void start(struct trial *t, float d, float dmin, const float *a, const float *b)
{
	const struct lmi_search_superblock_shape *k = t->k;

	t->b.d = lmi_search_fit_f16(d);
	t->b.dmin = lmi_search_fit_f16(dmin);
	for (int g = 0; g < t->n_groups; g++) {
		float s = t->b.d != 0 ? a[g] / t->b.d : 0, m = t->b.dmin > 0 ? b[g] / t->b.dmin : 0;

		t->b.s[g] = (int16_t)lmi_search_fit_round(s, k->s_lo, k->s_hi);
		t->b.m[g] = (int16_t)clamp(lmi_search_fit_round(m, 0, k->s_hi), 0, k->s_hi);
	}
}

void lmi_search_superblock_affine(const struct lmi_search_superblock_shape *k, const float *x,
				  const float *w, struct lmi_search_superblock *out)
{
	struct trial t = {.k = k, .x = x, .w = w, .n_groups = LMI_SEARCH_SUPERBLOCK / k->group};
	int n_starts = lmi_search_fit_all_equal(x, LMI_SEARCH_SUPERBLOCK) ? N_FLAT : 4;
	float a[MAX_GROUPS], b[MAX_GROUPS], top_a, top_b;
	double best = INFINITY;

	for (int g = 0; g < t.n_groups; g++)
		lmi_search_fit_affine_f32(x + g * k->group, w + g * k->group, (size_t)k->group,
					  k->q_hi, &a[g], &b[g]);
	top_a = lmi_search_fit_peak(a, t.n_groups);
	top_b = lmi_search_fit_peak(b, t.n_groups);
	for (int i = 0; i < n_starts; i++) {
		float top = (float)k->s_hi * (1 - 0.32f * (float)i / (float)n_starts);

		start(&t, top_a / top, top_b / top, a, b);
		improve(&t, true, false, &best, out);
	}
}

void lmi_search_superblock_scale(const struct lmi_search_superblock_shape *k, const float *x,
				 const float *w, struct lmi_search_superblock *out)
{
	struct trial t = {.k = k, .x = x, .w = w, .n_groups = LMI_SEARCH_SUPERBLOCK / k->group};
	int n_starts = lmi_search_fit_all_equal(x, LMI_SEARCH_SUPERBLOCK) ? N_FLAT : 3;
	float a[MAX_GROUPS], b[MAX_GROUPS] = {0}, top;
	double best = INFINITY;
	int8_t q[32];

	for (int g = 0; g < t.n_groups; g++) {
		const float *gx = x + g * k->group, *gw = w + g * k->group;

		a[g] = k->book ? lmi_search_fit_book(gx, gw, (size_t)k->group, k->book, q)
			       : lmi_search_fit_scale(gx, gw, (size_t)k->group, k->q_lo, k->q_hi,
						      q);
	}
	top = lmi_search_fit_peak(a, t.n_groups);
	for (int end = 0; end < 2; end++) {
		for (int i = 0; i < n_starts; i++) {
			float s = (float)(end ? k->s_hi : k->s_lo) *
				  (1 - 0.18f * (float)i / (float)n_starts);

			start(&t, top / s, 0, a, b);
			improve(&t, false, false, &best, out);
		}
	}
	/* With few codes, nearly equal values can be represented by many products s * q. */
	if (k->q_hi - k->q_lo < 8 && !k->book) {
		t.b = *out;
		improve(&t, false, true, &best, out);
	}
}
