/* SPDX-License-Identifier: MIT
 *
 * lanes.h - the inner loops of the encoders, sixteen groups of values side by side.
 *
 * An encoder tries many scales on a group of 16 or 32 values.  Here a group has a lane of its
 * own: the loops run over the values, and each step does the same with all lanes, which is what
 * vector registers are for.  No sum crosses lanes and there is no fused multiply-add, so every
 * variant gives the same bits as the plain one (lanes_c.c), which is their oracle. */
#ifndef LLAMAD_CORE_QUANT_LANES_H
#define LLAMAD_CORE_QUANT_LANES_H

#include <stdbool.h>
#include <stdint.h>

#define LMI_LANES	 16
#define LMI_LANES_VALUES 32 /* of a group, at most */

/* What values of a group are fit for these loops: see lanefit.h. */
#define LMI_LANES_LEAST	  1e-12f /* greatest magnitude */
#define LMI_LANES_MOST	  1e12f
#define LMI_LANES_PRESENT 8 /* values that are not 0: few are met exactly by fit.c, kfit.c */

/* What codes stand for: whole numbers lo..hi, or the values of a book. */
struct lmi_levels {
	bool is_book;
	float lo, hi;
	float value0, mid[15], step[15]; /* a book: value 0, and where and by how much it grows */
};

struct lmi_batch {
	_Alignas(64) float x[LMI_LANES_VALUES][LMI_LANES];
	_Alignas(64) float w[LMI_LANES_VALUES][LMI_LANES]; /* only when `weighted` */
	int n; /* values of a group */
	bool weighted;
};

typedef float lmi_lane_floats[LMI_LANES];

/* Every array has a number for each lane and is 64-byte aligned.  A scale of 0 maps every value
 * to code 0 (or the code nearest to value 0 of a book). */
struct lmi_lanes {
	const char *name;
	/* to[i][l] = from[l][i] for groups of n (16 or 32) values; lanes from n_group on get the
	 * first group, so that they hold numbers.  Any alignment of `from`. */
	void (*turn)(const float *from, int n_group, int n, float (*to)[LMI_LANES]);
	/* 1 for a lane whose values differ, are numbers within +-LMI_LANES_MOST, have a magnitude
	 * of at least LMI_LANES_LEAST among them, and LMI_LANES_PRESENT that are not 0; else 0. */
	void (*ordinary)(const struct lmi_batch *b, float *yes);
	/* The value of greatest magnitude times f. */
	void (*peaks)(const struct lmi_batch *b, float f, float *out);
	/* Each to the nearest f16, cut to the finite range. */
	void (*round)(float *v);
	/* The scale that suits best of those that put the greatest value near end[0], end[1]:
	 * end + step * (first + 0.2 * i), i = 0 .. n_fan - 1, each improved by least squares. */
	void (*fan)(const struct lmi_batch *b, const struct lmi_levels *l, const float end[2],
		    const float step[2], float first, int n_fan, float *scale);
	/* Sum of w (x - scale * value)^2 with the nearest codes. */
	void (*err)(const struct lmi_batch *b, const struct lmi_levels *l, const float *scale,
		    float *err);
	/* Sums of w x value and w value^2 with the nearest codes. */
	void (*sums)(const struct lmi_batch *b, const struct lmi_levels *l, const float *scale,
		     float *xv, float *vv);
	/* Codes, [LMI_LANES][n]; x + off is what is coded. */
	void (*codes)(const struct lmi_batch *b, const struct lmi_levels *l, const float *scale,
		      const float *off, int8_t *q);
	/* x ~ a q - b, q in 0..hi, a and b >= 0: the best of n_fan ranges. */
	void (*slopes)(const struct lmi_batch *b, float hi, int n_fan, float *a, float *m);
	/* Sum of w (x - (scale q - off))^2, q in 0..hi. */
	void (*err_affine)(const struct lmi_batch *b, float hi, const float *scale,
			   const float *off, float *err);
	/* Sums of w q, w q^2, w x q, q in 0..hi. */
	void (*sums_affine)(const struct lmi_batch *b, float hi, const float *scale,
			    const float *off, float *q, float *qq, float *xq);
};

extern const struct lmi_lanes lmi_lanes_c, lmi_lanes_avx2, lmi_lanes_avx512;

/* Those that this processor can run, best first, ended by NULL; at least lmi_lanes_c. */
const struct lmi_lanes *const *lmi_lanes_all(void);

#endif /* LLAMAD_CORE_QUANT_LANES_H */
