/* SPDX-License-Identifier: MIT
 *
 * SIMD search for blocks with one scale, sixteen side by side. */
#include <string.h>

#include "core/base/bytes.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/simd_search_impl.h"

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
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++) { /* branch-free, because a branch would be
					       * unpredictable */
		uint32_t less = err2[l] < err[l] ? UINT32_MAX : 0;

		d[l] = choose(less, d2[l], d[l]);
		err[l] = choose(less, err2[l], err[l]);
	}
}

/* Rounds the scales d2 to f16 and takes them in the lanes where they leave a smaller error. */
static void try_scales(const struct lmi_search_simd_groups_ops *v,
		       const struct lmi_search_levels *l, const struct lmi_search_simd_batch *b,
		       float *d2, float *d, float *err)
{
	ALIGNED float err2[LMI_SEARCH_SIMD_GROUPS];

	v->round(d2);
	v->err(b, l, d2, err2);
	better_of(d, err, d2, err2);
}

/* Computes the best scales for the codes that the scales d give; 0 if all codes are 0. */
static void least_squares(const struct lmi_search_simd_groups_ops *v,
			  const struct lmi_search_levels *l, const struct lmi_search_simd_batch *b,
			  const float *d, float *best)
{
	ALIGNED float xv[LMI_SEARCH_SIMD_GROUPS], vv[LMI_SEARCH_SIMD_GROUPS];

	v->sums(b, l, d, xv, vv);
	for (int i = 0; i < LMI_SEARCH_SIMD_GROUPS; i++) {
		float q = xv[i] / (vv[i] > 0 ? vv[i] : 1);

		best[i] = vv[i] > 0 ? q : 0;
	}
}

/* Computes the plain scales, which put the greatest value on the lowest code, and their errors. */
static void plain(const struct lmi_search_simd_groups_ops *v, const struct lmi_search_levels *l,
		  const struct lmi_search_simd_batch *b, float *d, float *err)
{
	v->peaks(b, 1 / l->lo, d);
	v->round(d);
	v->err(b, l, d, err);
}

/* Takes the better of the two scales that put the greatest value on an outer code, moved halfway to
 * the least-squares scale of its codes.  The full way would clip the greatest values: models answer
 * better halfway than at either end (docs/formats.md). */
static void quick_single(const struct lmi_search_simd_groups_ops *v,
			 const struct lmi_search_levels *l, const struct lmi_search_simd_batch *b,
			 float *d)
{
	ALIGNED float err[LMI_SEARCH_SIMD_GROUPS], d2[LMI_SEARCH_SIMD_GROUPS];

	plain(v, l, b, d, err);
	v->peaks(b, 1 / l->hi, d2);
	try_scales(v, l, b, d2, d, err);
	least_squares(v, l, b, d, d2);
	for (int i = 0; i < LMI_SEARCH_SIMD_GROUPS; i++)
		d2[i] = 0.5f * (d[i] + d2[i]);
	try_scales(v, l, b, d2, d, err);
}

/* Number of scales that are tried at each end.  With a codebook, whose outer values lie far apart,
 * the least squared error often clips the greatest value of a block.  Models answer better if it is
 * not clipped: SmolLM2's IQ4_XS, most of which is IQ4_NL, has KL divergences of 0.153 and 0.144
 * with N_UNCUT, and 0.171 and 0.152 without, on two texts.  With an importance matrix, the weights
 * decide what may be clipped. */
static int n_cand(const struct lmi_search_levels *l, const struct lmi_search_simd_batch *b)
{
	return l->is_book && !b->weighted ? N_UNCUT : LMI_SEARCH_FIT_CANDIDATES;
}

/* Takes the best candidate at both ends, then solves by least squares.  The plain scale is one of
 * the candidates and wins if no other is better. */
static void search_single(const struct lmi_search_simd_groups_ops *v,
			  const struct lmi_search_levels *l, const struct lmi_search_simd_batch *b,
			  float *d)
{
	ALIGNED float err[LMI_SEARCH_SIMD_GROUPS], d2[LMI_SEARCH_SIMD_GROUPS];
	const float end[2] = {l->lo, l->hi};
	float step[2] = {-1, 1};

	if (l->is_book) {
		step[0] = -l->step[0];
		step[1] = l->step[14];
	}
	plain(v, l, b, d, err);
	v->best_candidates(b, l, end, step, -1, n_cand(l, b), d2);
	try_scales(v, l, b, d2, d, err);
	least_squares(v, l, b, d, d2);
	try_scales(v, l, b, d2, d, err);
}

void lmi_search_simd_single(const struct lmi_search_simd_groups_ops *lanes, int lo, int hi,
			    const int8_t *book, const float *src, const float *importance, int n,
			    float *d, int8_t *q)
{
	const struct lmi_search_simd_groups_ops *v =
		lanes ? lanes : lmi_search_simd_groups_variants()[0];
	const struct lmi_search_superblock_shape k = {.q_lo = lo, .q_hi = hi, .book = book};
	ALIGNED float scale[LMI_SEARCH_SIMD_GROUPS], ordinary[LMI_SEARCH_SIMD_GROUPS];
	ALIGNED const float none[LMI_SEARCH_SIMD_GROUPS] = {0};
	const struct lmi_search_levels l = lmi_search_simd_levels(&k);
	/* q4_0 is the type that users choose for fast quantisation */
	bool quick = !importance && !book && hi - lo < 16;
	float x[N], w[LMI_SEARCH_SIMD_GROUPS * N];
	int8_t codes[LMI_SEARCH_SIMD_GROUPS * N];
	struct lmi_search_simd_batch b;

	lmi_search_simd_load(v, &b, src, NULL, n, N);
	v->are_ordinary(&b, ordinary);
	for (int i = 0; i < n;) {
		int run = 0;

		while (i + run < n && ordinary[i + run] > 0)
			run++;
		if (!run) {
			lmi_search_fit_load(src, importance, (size_t)i * N, x, w, N);
			d[i] = book ? lmi_search_fit_book(x, w, N, book, q + i * N)
				    : lmi_search_fit_scale(x, w, N, lo, hi, q + i * N);
			i++;
			continue;
		}
		for (int j = 0; importance && j < run; j++)
			lmi_search_fit_weights(importance + (i + j) * N, w + j * N, N);
		if (importance || run < n) /* otherwise they are already loaded */
			lmi_search_simd_load(v, &b, src + i * N, importance ? w : NULL, run, N);
		if (quick)
			quick_single(v, &l, &b, scale);
		else
			search_single(v, &l, &b, scale);
		memcpy(d + i, scale, (size_t)run * sizeof(*d));
		v->codes(&b, &l, scale, none, run < LMI_SEARCH_SIMD_GROUPS ? codes : q);
		if (run < LMI_SEARCH_SIMD_GROUPS)
			memcpy(q + i * N, codes, (size_t)run * N);
		i += run;
	}
}
