/* SPDX-License-Identifier: MIT
 *
 * SIMD search for blocks with one scale, sixteen side by side. */
#include <string.h>

#include "core/base/bytes.h"
#include "core/quant/fit.h"
#include "core/quant/lanefit_impl.h"

#define ALIGNED _Alignas(64)
#define N	32 /* values in a block */
#define N_UNCUT 6  /* number of candidates that do not clip the greatest value */

/* Bitwise select: a where the bits of `which` are set, otherwise b. */
static inline float choose(uint32_t which, float a, float b)
{
	return lmi_bits_f32((lmi_f32_bits(a) & which) | (lmi_f32_bits(b) & ~which));
}

/* Keeps the better of two f16 scales in each lane. */
static void better_of(float *restrict d, float *restrict err, const float *restrict d2,
		      const float *restrict err2)
{
	for (int l = 0; l < LMI_LANES; l++) { /* branch-free, because a branch would be
					       * unpredictable */
		uint32_t less = err2[l] < err[l] ? UINT32_MAX : 0;

		d[l] = choose(less, d2[l], d[l]);
		err[l] = choose(less, err2[l], err[l]);
	}
}

/* Rounds the scales d2 to f16 and takes them in the lanes where they leave a smaller error. */
static void try_scales(const struct lmi_lanes *v, const struct lmi_levels *l,
		       const struct lmi_batch *b, float *d2, float *d, float *err)
{
	ALIGNED float err2[LMI_LANES];

	v->round(d2);
	v->err(b, l, d2, err2);
	better_of(d, err, d2, err2);
}

/* Computes the best scales for the codes that the scales d give; 0 if all codes are 0. */
static void least_squares(const struct lmi_lanes *v, const struct lmi_levels *l,
			  const struct lmi_batch *b, const float *d, float *best)
{
	ALIGNED float xv[LMI_LANES], vv[LMI_LANES];

	v->sums(b, l, d, xv, vv);
	for (int i = 0; i < LMI_LANES; i++) {
		float q = xv[i] / (vv[i] > 0 ? vv[i] : 1);

		best[i] = vv[i] > 0 ? q : 0;
	}
}

/* Computes the plain scales, which put the greatest value on the lowest code, and their errors. */
static void plain(const struct lmi_lanes *v, const struct lmi_levels *l,
		  const struct lmi_batch *b, float *d, float *err)
{
	v->peaks(b, 1 / l->lo, d);
	v->round(d);
	v->err(b, l, d, err);
}

/* Takes the better of the two scales that put the greatest value on an outer code, moved halfway to
 * the least-squares scale of its codes.  The full way would clip the greatest values: models answer
 * better halfway than at either end (docs/formats.md). */
static void quick_single(const struct lmi_lanes *v, const struct lmi_levels *l,
			 const struct lmi_batch *b, float *d)
{
	ALIGNED float err[LMI_LANES], d2[LMI_LANES];

	plain(v, l, b, d, err);
	v->peaks(b, 1 / l->hi, d2);
	try_scales(v, l, b, d2, d, err);
	least_squares(v, l, b, d, d2);
	for (int i = 0; i < LMI_LANES; i++)
		d2[i] = 0.5f * (d[i] + d2[i]);
	try_scales(v, l, b, d2, d, err);
}

/* Number of scales that are tried at each end.  With a codebook, whose outer values lie far apart,
 * the least squared error often clips the greatest value of a block.  Models answer better if it is
 * not clipped: SmolLM2's IQ4_XS, most of which is IQ4_NL, has KL divergences of 0.153 and 0.144
 * with N_UNCUT, and 0.171 and 0.152 without, on two texts.  With an importance matrix, the weights
 * decide what may be clipped. */
static int n_fan(const struct lmi_levels *l, const struct lmi_batch *b)
{
	return l->is_book && !b->weighted ? N_UNCUT : LMI_FIT_FAN;
}

/* Takes the best candidate at both ends, then solves by least squares.  The plain scale is one of
 * the candidates and wins if no other is better. */
static void search_single(const struct lmi_lanes *v, const struct lmi_levels *l,
			  const struct lmi_batch *b, float *d)
{
	ALIGNED float err[LMI_LANES], d2[LMI_LANES];
	const float end[2] = {l->lo, l->hi};
	float step[2] = {-1, 1};

	if (l->is_book) {
		step[0] = -l->step[0];
		step[1] = l->step[14];
	}
	plain(v, l, b, d, err);
	v->fan(b, l, end, step, -1, n_fan(l, b), d2);
	try_scales(v, l, b, d2, d, err);
	least_squares(v, l, b, d, d2);
	try_scales(v, l, b, d2, d, err);
}

void lmi_lanefit_single(const struct lmi_lanes *lanes, int lo, int hi, const int8_t *book,
			const float *src, const float *importance, int n, float *d, int8_t *q)
{
	const struct lmi_lanes *v = lanes ? lanes : lmi_lanes_all()[0];
	const struct lmi_kshape k = {.q_lo = lo, .q_hi = hi, .book = book};
	ALIGNED float scale[LMI_LANES], ordinary[LMI_LANES];
	ALIGNED const float none[LMI_LANES] = {0};
	const struct lmi_levels l = lmi_lanefit_levels(&k);
	/* q4_0 is the type that users choose for fast quantisation */
	bool quick = !importance && !book && hi - lo < 16;
	float x[N], w[LMI_LANES * N];
	int8_t codes[LMI_LANES * N];
	struct lmi_batch b;

	lmi_lanefit_load(v, &b, src, NULL, n, N);
	v->ordinary(&b, ordinary);
	for (int i = 0; i < n;) {
		int run = 0;

		while (i + run < n && ordinary[i + run] > 0)
			run++;
		if (!run) {
			lmi_fit_load(src, importance, (size_t)i * N, x, w, N);
			d[i] = book ? lmi_fit_book(x, w, N, book, q + i * N)
				    : lmi_fit_scale(x, w, N, lo, hi, q + i * N);
			i++;
			continue;
		}
		for (int j = 0; importance && j < run; j++)
			lmi_fit_weights(importance + (i + j) * N, w + j * N, N);
		if (importance || run < n) /* otherwise they are already loaded */
			lmi_lanefit_load(v, &b, src + i * N, importance ? w : NULL, run, N);
		if (quick)
			quick_single(v, &l, &b, scale);
		else
			search_single(v, &l, &b, scale);
		memcpy(d + i, scale, (size_t)run * sizeof(*d));
		v->codes(&b, &l, scale, none, run < LMI_LANES ? codes : q);
		if (run < LMI_LANES)
			memcpy(q + i * N, codes, (size_t)run * N);
		i += run;
	}
}
