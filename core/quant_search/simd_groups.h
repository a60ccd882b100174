/* SPDX-License-Identifier: MIT
 *
 * simd_groups.h - the inner loops of the encoders, for sixteen groups of values side by side.
 *
 * An encoder tries many scales on a group of 16 or 32 values.  Here every group has its own SIMD
 * lane: the loops run over the values, and each step does the same operation in all lanes.  No sum
 * crosses lanes and there is no fused multiply-add, so every variant gives the same bits as the
 * portable one (simd_groups_c.c), which is their oracle. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_SIMD_GROUPS_H
#define LLAMAD_CORE_QUANT_SEARCH_SIMD_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#define LMI_SEARCH_SIMD_GROUPS 16
#define LMI_SEARCH_SIMD_VALUES 32 /* maximum values in a group */

/* Bounds on the values of a group that these loops can handle: see simd_search.h. */
#define LMI_SEARCH_SIMD_MIN_PEAK 1e-12f /* lower bound of the greatest magnitude */
#define LMI_SEARCH_SIMD_MAX_PEAK 1e12f
#define LMI_SEARCH_SIMD_MIN_NONZERO                                                                \
	8 /* minimum number of non-zero values: fewer can be fitted exactly by
			     * scale_search.c and superblock_search.c */

/* Values of the codes: integers lo..hi, or the values of a codebook. */
struct lmi_search_levels {
	bool is_book;
	float lo, hi;
	float value0, mid[15], step[15]; /* codebook: first value, the midpoints, and the step to
					  * the next value at each */
};

struct lmi_search_simd_batch {
	_Alignas(64) float x[LMI_SEARCH_SIMD_VALUES][LMI_SEARCH_SIMD_GROUPS];
	_Alignas(64) float w[LMI_SEARCH_SIMD_VALUES]
			    [LMI_SEARCH_SIMD_GROUPS]; /* only if `weighted` */
	int n; /* values in a group */
	bool weighted;
};

typedef float lmi_search_simd_floats[LMI_SEARCH_SIMD_GROUPS];

/* Every array has one number per lane and is 64-byte aligned.  A scale of 0 maps every value to
 * code 0 (or to the code whose codebook value is nearest to 0). */
struct lmi_search_simd_groups_ops {
	const char *name;
	/* Transposes: to[i][l] = from[l][i] for groups of n (16 or 32) values.  Lanes from n_group
	 * on get a copy of the first group, so that they hold valid numbers.  `from` needs no
	 * alignment. */
	void (*transpose)(const float *from, int n_group, int n,
			  float (*to)[LMI_SEARCH_SIMD_GROUPS]);
	/* Sets 1 for each lane whose values differ, are all within +-LMI_SEARCH_SIMD_MAX_PEAK,
	 * include a magnitude of at least LMI_SEARCH_SIMD_MIN_PEAK, and include at least
	 * LMI_SEARCH_SIMD_MIN_NONZERO non-zero values; otherwise 0. */
	void (*are_ordinary)(const struct lmi_search_simd_batch *b, float *yes);
	/* The value of greatest magnitude times f. */
	void (*peaks)(const struct lmi_search_simd_batch *b, float f, float *out);
	/* Rounds each value to the nearest f16, clipped to the finite range. */
	void (*round)(float *v);
	/* Finds the best scale among candidates that put the greatest value near end[0] or end[1],
	 * at end + step * (first + 0.2 * i), i = 0 .. n_cand - 1; each candidate is improved by
	 * least squares. */
	void (*best_candidates)(const struct lmi_search_simd_batch *b,
				const struct lmi_search_levels *l, const float end[2],
				const float step[2], float first, int n_cand, float *scale);
	/* Sum of w (x - scale * value)^2 with the nearest codes. */
	void (*err)(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		    const float *scale, float *err);
	/* Sums of w x value and w value^2 with the nearest codes. */
	void (*sums)(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		     const float *scale, float *xv, float *vv);
	/* Codes of x + off, [LMI_SEARCH_SIMD_GROUPS][n]. */
	void (*codes)(const struct lmi_search_simd_batch *b, const struct lmi_search_levels *l,
		      const float *scale, const float *off, int8_t *q);
	/* Fits x ~ a q - b, q in 0..hi, a and b >= 0: the best of n_cand ranges. */
	void (*slopes)(const struct lmi_search_simd_batch *b, float hi, int n_cand, float *a,
		       float *m);
	/* Sum of w (x - (scale q - off))^2, q in 0..hi. */
	void (*err_affine)(const struct lmi_search_simd_batch *b, float hi, const float *scale,
			   const float *off, float *err);
	/* Sums of w q, w q^2, w x q, q in 0..hi. */
	void (*sums_affine)(const struct lmi_search_simd_batch *b, float hi, const float *scale,
			    const float *off, float *q, float *qq, float *xq);
};

extern const struct lmi_search_simd_groups_ops lmi_search_simd_c, lmi_search_simd_avx2,
	lmi_search_simd_avx512;

/* Returns the variants that this processor can run, best first, terminated by NULL; contains at
 * least lmi_search_simd_c. */
const struct lmi_search_simd_groups_ops *const *lmi_search_simd_groups_variants(void);

#endif /* LLAMAD_CORE_QUANT_SEARCH_SIMD_GROUPS_H */
