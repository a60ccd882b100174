/* SPDX-License-Identifier: MIT
 *
 * lanefit.h - the searches of fit.h and kfit.h for ordinary values, many groups at a time.
 *
 * "Ordinary": the values of each block differ, their greatest magnitude is within 1e-12..1e12, and
 * it is not so much greater than the others that single precision would not see them.  What is
 * not ordinary goes through fit.c and kfit.c, which are exact about such things and slower.  The
 * variant of the lanes makes no difference to any bit. */
#ifndef LLAMAD_CORE_QUANT_LANEFIT_H
#define LLAMAD_CORE_QUANT_LANEFIT_H

#include <stddef.h>

#include "core/quant/kfit.h"
#include "core/quant/lanes.h"

/* How many blocks of 256 are fitted together. */
#define LMI_LANEFIT_BLOCKS 2

/* n (1..LMI_LANEFIT_BLOCKS) blocks of 256 values, as lmi_kfit_scale; src may hold anything.
 * importance: [n * 256], or NULL.  lanes: one of lmi_lanes_all, NULL: the best. */
void lmi_lanefit_scale(const struct lmi_lanes *lanes, const struct lmi_kshape *k, const float *src,
		       const float *importance, int n, struct lmi_kblock *out);

/* As lmi_kfit_affine. */
void lmi_lanefit_affine(const struct lmi_lanes *lanes, const struct lmi_kshape *k,
			const float *src, const float *importance, int n, struct lmi_kblock *out);

/* Encodes n values, a multiple of 256: fit is one of the two above, pack writes a fitted block. */
typedef void (*lmi_lanefit_fn)(const struct lmi_lanes *lanes, const struct lmi_kshape *k,
			       const float *src, const float *importance, int n,
			       struct lmi_kblock *out);
void lmi_lanefit_encode(lmi_lanefit_fn fit, const struct lmi_kshape *shape, const float *src,
			const float *importance, size_t n, void *dst, size_t block_bytes,
			void (*pack)(void *dst, const struct lmi_kblock *k));

/* n (1..LMI_LANES) blocks of 32 values with a scale each, an f16 value: as lmi_fit_scale, or with
 * a book lmi_fit_book.  d [n]; q [n][32]. */
void lmi_lanefit_single(const struct lmi_lanes *lanes, int lo, int hi, const int8_t *book,
			const float *src, const float *importance, int n, float *d, int8_t *q);

#endif /* LLAMAD_CORE_QUANT_LANEFIT_H */
