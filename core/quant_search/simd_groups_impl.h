/* SPDX-License-Identifier: MIT
 *
 * The loops of simd_groups.h for any vector width.  Each variant includes this file once and
 * defines
 *
 *     LANES_NAME			the struct lmi_search_simd_groups_ops
 *     V, VF			number of lanes in a vector, and its type; + - * / work on it
 *     v_set(f)			f in all lanes
 *     v_load(p) v_store(p, v)	aligned
 *     v_max(a, b) v_min(a, b)	a > b ? a : b and a < b ? a : b
 *     v_over(a, b, x, y)		a > b ? x : y
 *     v_f16(v)			v, of magnitude at most 65504, rounded to the nearest f16
 *
 *     transpose			see simd_groups.h
 *     transpose_codes		the inverse, narrowed to int8_t
 *
 * All functions here are static; functions with a parameter `weighted` are inlined with a
 * constant. */
#include "core/quant_search/simd_groups.h"

#define LMI_SEARCH_INLINE static inline __attribute__((always_inline))
#define LMI_SEARCH_MAGIC                                                                           \
	0x1.8p23f /* adding and subtracting it rounds to an integer, ties to even */
#define LMI_SEARCH_TINY 1e-30f

LMI_SEARCH_INLINE VF lmi_search_v_nearest(VF v, VF lo, VF hi)
{
	v = v_max(v, lo);
	v = v_min(v, hi);
	return (v + v_set(LMI_SEARCH_MAGIC)) - v_set(LMI_SEARCH_MAGIC);
}

/* Returns the value of the code nearest to v. */
LMI_SEARCH_INLINE VF lmi_search_v_value(const struct lmi_search_levels *l, VF v, bool book)
{
	VF out;

	if (!book)
		return lmi_search_v_nearest(v, v_set(l->lo), v_set(l->hi));
	out = v_set(l->value0);
	for (int i = 0; i < 15; i++)
		out = out + v_over(v, v_set(l->mid[i]), v_set(l->step[i]), v_set(0));
	return out;
}

/* Returns 1 / v, or 0 if v is 0. */
LMI_SEARCH_INLINE VF lmi_search_v_inverse(VF v)
{
	VF size = v_max(v, v_set(0) - v);

	return v_over(size, v_set(LMI_SEARCH_TINY), v_set(1) / v, v_set(0));
}

LMI_SEARCH_INLINE void lmi_search_do_best_candidates(const struct lmi_search_simd_batch *b,
						     const struct lmi_search_levels *l,
						     const float end[2], const float step[2],
						     float first, int n_cand, float *scale,
						     bool weighted, bool book)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF peak = v_set(0), size = v_set(0), best = v_set(0), d = v_set(0), inv;

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]), a = v_max(x, v_set(0) - x);

			peak = v_over(a, size, x, peak);
			size = v_max(a, size);
		}
		inv = lmi_search_v_inverse(peak);
		for (int k = 0; k < 2 * n_cand; k++) {
			float out = end[k & 1] + step[k & 1] * (first + 0.2f * (float)(k >> 1));
			VF m = inv * v_set(out), xv = v_set(0), vv = v_set(0), gain, best_of;

			for (int i = 0; i < b->n; i++) {
				VF x = v_load(&b->x[i][at]), v = lmi_search_v_value(l, x * m, book),
				   wv = v;

				if (weighted)
					wv = v_load(&b->w[i][at]) * v;
				xv = xv + x * wv;
				vv = vv + v * wv;
			}
			vv = v_max(vv, v_set(LMI_SEARCH_TINY));
			best_of = xv / vv;
			gain = xv * best_of;
			d = v_over(gain, best, best_of, d);
			best = v_max(gain, best);
		}
		v_store(scale + at, d);
	}
}

static void are_ordinary(const struct lmi_search_simd_batch *b, float *yes)
{
	const VF zero = v_set(0), one = v_set(1);

	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF least = v_load(&b->x[0][at]), most = least, size = zero, present = zero;
		VF small = zero, is;

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]), a = v_max(x, zero - x);

			least = v_min(x, least);
			most = v_max(x, most);
			size = v_max(a, size);
			present = present + v_over(a, zero, one, zero);
			small = small +
				v_over(v_set(LMI_SEARCH_SIMD_MAX_PEAK), a, one, zero); /* not NaN */
		}
		is = v_over(most, least, one, zero);
		is = v_over(size, v_set(LMI_SEARCH_SIMD_MIN_PEAK), is, zero);
		is = v_over(present, v_set(LMI_SEARCH_SIMD_MIN_NONZERO - 1), is, zero);
		v_store(yes + at, v_over(small, v_set((float)b->n - 1), is, zero));
	}
}

static void peaks(const struct lmi_search_simd_batch *b, float f, float *out)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF peak = v_set(0), size = v_set(0);

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]), a = v_max(x, v_set(0) - x);

			peak = v_over(a, size, x, peak);
			size = v_max(a, size);
		}
		v_store(out + at, peak * v_set(f));
	}
}

static void round_f16(float *v)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF x = v_min(v_max(v_load(v + at), v_set(-65504)), v_set(65504));

		v_store(v + at, v_f16(x));
	}
}

static void best_candidates(const struct lmi_search_simd_batch *b,
			    const struct lmi_search_levels *l, const float end[2],
			    const float step[2], float first, int n_cand, float *scale)
{
	if (l->is_book && b->weighted)
		lmi_search_do_best_candidates(b, l, end, step, first, n_cand, scale, true, true);
	else if (l->is_book)
		lmi_search_do_best_candidates(b, l, end, step, first, n_cand, scale, false, true);
	else if (b->weighted)
		lmi_search_do_best_candidates(b, l, end, step, first, n_cand, scale, true, false);
	else
		lmi_search_do_best_candidates(b, l, end, step, first, n_cand, scale, false, false);
}

LMI_SEARCH_INLINE void lmi_search_do_err(const struct lmi_search_simd_batch *b,
					 const struct lmi_search_levels *l, const float *scale,
					 float *err, bool weighted, bool book)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF d = v_load(scale + at), inv = lmi_search_v_inverse(d), sum = v_set(0);

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]),
			   e = x - d * lmi_search_v_value(l, x * inv, book), we = e;

			if (weighted)
				we = v_load(&b->w[i][at]) * e;
			sum = sum + we * e;
		}
		v_store(err + at, sum);
	}
}

static void err_scale(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		      const float *scale, float *err)
{
	if (l->is_book && b->weighted)
		lmi_search_do_err(b, l, scale, err, true, true);
	else if (l->is_book)
		lmi_search_do_err(b, l, scale, err, false, true);
	else if (b->weighted)
		lmi_search_do_err(b, l, scale, err, true, false);
	else
		lmi_search_do_err(b, l, scale, err, false, false);
}

LMI_SEARCH_INLINE void lmi_search_do_sums(const struct lmi_search_simd_batch *b,
					  const struct lmi_search_levels *l, const float *scale,
					  float *xv, float *vv, bool book)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF inv = lmi_search_v_inverse(v_load(scale + at)), sx = v_set(0), sv = v_set(0);

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]), v = lmi_search_v_value(l, x * inv, book),
			   wv = v;

			if (b->weighted)
				wv = v_load(&b->w[i][at]) * v;
			sx = sx + x * wv;
			sv = sv + v * wv;
		}
		v_store(xv + at, sx);
		v_store(vv + at, sv);
	}
}

static void sums(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		 const float *scale, float *xv, float *vv)
{
	if (l->is_book)
		lmi_search_do_sums(b, l, scale, xv, vv, true);
	else
		lmi_search_do_sums(b, l, scale, xv, vv, false);
}

static void codes(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		  const float *scale, const float *off, int8_t *q)
{
	_Alignas(64) float transposed[LMI_SEARCH_SIMD_VALUES][LMI_SEARCH_SIMD_GROUPS];

	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF inv = lmi_search_v_inverse(v_load(scale + at)), o = v_load(off + at);

		for (int i = 0; i < b->n; i++) {
			VF v = (v_load(&b->x[i][at]) + o) * inv, out = v_set(0);

			if (!l->is_book)
				out = lmi_search_v_nearest(v, v_set(l->lo), v_set(l->hi));
			else
				for (int k = 0; k < 15; k++)
					out = out + v_over(v, v_set(l->mid[k]), v_set(1), v_set(0));
			v_store(&transposed[i][at], out);
		}
	}
	transpose_codes(transposed, b->n, q);
}

LMI_SEARCH_INLINE void lmi_search_do_slopes(const struct lmi_search_simd_batch *b, float hi,
					    int n_cand, float *a, float *m, bool weighted)
{
	const VF zero = v_set(0);

	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF min = zero, max = v_load(&b->x[0][at]), sw = v_set((float)b->n), sx = zero;
		VF best = v_set(-__builtin_inff()), best_a = zero, best_m = zero, range;

		if (weighted)
			sw = zero;
		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]), wx = x;

			min = v_min(x, min);
			max = v_max(x, max);
			if (weighted) {
				wx = v_load(&b->w[i][at]) * x;
				sw = sw + v_load(&b->w[i][at]);
			}
			sx = sx + wx;
		}
		range = max - min;
		for (int k = 0; k < n_cand; k++) {
			float top = hi + (-1 + 0.2f * (float)k);
			VF inv = lmi_search_v_inverse(range) * v_set(top > 1 ? top : 1);
			VF sq = zero, sqq = zero, sxq = zero, det, d, o, gain;

			for (int i = 0; i < b->n; i++) {
				VF x = v_load(&b->x[i][at]);
				VF v = lmi_search_v_nearest((x - min) * inv, zero, v_set(hi)),
				   wv = v;

				if (weighted)
					wv = v_load(&b->w[i][at]) * v;
				sq = sq + wv;
				sqq = sqq + v * wv;
				sxq = sxq + x * wv;
			}
			det = sw * sqq - sq * sq;
			d = v_max((sw * sxq - sx * sq) * lmi_search_v_inverse(det), zero);
			d = v_over(det, zero, d, zero);
			o = (sx - d * sq) / sw;
			/* a minimum above 0 is not allowed: fit the slope alone */
			d = v_over(o, zero, v_max(sxq * lmi_search_v_inverse(sqq), zero), d);
			o = v_min(o, zero);
			/* sum of w x^2 minus the error */
			gain = v_set(2) * (d * sxq + o * sx) -
			       (d * d * sqq + v_set(2) * d * o * sq + o * o * sw);
			best_a = v_over(gain, best, d, best_a);
			best_m = v_over(gain, best, zero - o, best_m);
			best = v_max(gain, best);
		}
		v_store(a + at, best_a);
		v_store(m + at, best_m);
	}
}

static void slopes(const struct lmi_search_simd_batch *b, float hi, int n_cand, float *a, float *m)
{
	if (b->weighted)
		lmi_search_do_slopes(b, hi, n_cand, a, m, true);
	else
		lmi_search_do_slopes(b, hi, n_cand, a, m, false);
}

LMI_SEARCH_INLINE void lmi_search_do_err_affine(const struct lmi_search_simd_batch *b, float hi,
						const float *scale, const float *off, float *err,
						bool weighted)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF d = v_load(scale + at), o = v_load(off + at), inv = lmi_search_v_inverse(d),
		   sum = v_set(0);

		for (int i = 0; i < b->n; i++) {
			VF y = v_load(&b->x[i][at]) + o;
			VF e = y - d * lmi_search_v_nearest(y * inv, v_set(0), v_set(hi)), we = e;

			if (weighted)
				we = v_load(&b->w[i][at]) * e;
			sum = sum + we * e;
		}
		v_store(err + at, sum);
	}
}

static void err_affine(const struct lmi_search_simd_batch *b, float hi, const float *scale,
		       const float *off, float *err)
{
	if (b->weighted)
		lmi_search_do_err_affine(b, hi, scale, off, err, true);
	else
		lmi_search_do_err_affine(b, hi, scale, off, err, false);
}

static void sums_affine(const struct lmi_search_simd_batch *b, float hi, const float *scale,
			const float *off, float *q, float *qq, float *xq)
{
	for (int at = 0; at < LMI_SEARCH_SIMD_GROUPS; at += V) {
		VF inv = lmi_search_v_inverse(v_load(scale + at)), o = v_load(off + at);
		VF sq = v_set(0), sqq = sq, sxq = sq;

		for (int i = 0; i < b->n; i++) {
			VF x = v_load(&b->x[i][at]);
			VF v = lmi_search_v_nearest((x + o) * inv, v_set(0), v_set(hi)), wv = v;

			if (b->weighted)
				wv = v_load(&b->w[i][at]) * v;
			sq = sq + wv;
			sqq = sqq + v * wv;
			sxq = sxq + x * wv;
		}
		v_store(q + at, sq);
		v_store(qq + at, sqq);
		v_store(xq + at, sxq);
	}
}

const struct lmi_search_simd_groups_ops LANES_NAME = {
	.name = LANES_TEXT,
	.transpose = transpose,
	.are_ordinary = are_ordinary,
	.peaks = peaks,
	.round = round_f16,
	.best_candidates = best_candidates,
	.err = err_scale,
	.sums = sums,
	.codes = codes,
	.slopes = slopes,
	.err_affine = err_affine,
	.sums_affine = sums_affine,
};
