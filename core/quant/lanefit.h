/* SPDX-License-Identifier: MIT
 *
 * lanefit.h - SIMD versions of the searches of fit.h and kfit.h for ordinary values, many groups at
 * a time.
 *
 * A block is "ordinary" if its values differ, their greatest magnitude is within 1e-12..1e12, and
 * the other values are large enough beside it for single precision.  All other blocks go to fit.c
 * and kfit.c, which handle them exactly but are slower.  All variants of lanes.h give identical
 * bits. */
#ifndef LLAMAD_CORE_QUANT_LANEFIT_H
#define LLAMAD_CORE_QUANT_LANEFIT_H

#include <stddef.h>

#include "core/quant/kfit.h"
#include "core/quant/lanes.h"

/* Number of blocks of 256 values that are fitted together. */
#define LMI_LANEFIT_BLOCKS 2

/* lmi_kfit_scale for n (1..LMI_LANEFIT_BLOCKS) blocks of 256 values; src may contain any values.
 * importance: [n * 256], or NULL.  lanes: one of lmi_lanes_all; NULL: the best one. */
void lmi_lanefit_scale(const struct lmi_lanes *lanes, const struct lmi_kshape *k, const float *src,
		       const float *importance, int n, struct lmi_kblock *out);

/* lmi_kfit_affine for n blocks; parameters as in lmi_lanefit_scale. */
void lmi_lanefit_affine(const struct lmi_lanes *lanes, const struct lmi_kshape *k,
			const float *src, const float *importance, int n, struct lmi_kblock *out);

/* Encodes n values, a multiple of 256.  fit is one of the two functions above; pack writes a fitted
 * block. */
typedef void (*lmi_lanefit_fn)(const struct lmi_lanes *lanes, const struct lmi_kshape *k,
			       const float *src, const float *importance, int n,
			       struct lmi_kblock *out);
void lmi_lanefit_encode(lmi_lanefit_fn fit, const struct lmi_kshape *shape, const float *src,
			const float *importance, size_t n, void *dst, size_t block_bytes,
			void (*pack)(void *dst, const struct lmi_kblock *k));

/* lmi_fit_scale, or with a book lmi_fit_book, for n (1..LMI_LANES) blocks of 32 values with one f16
 * scale each.  Writes d [n] and q [n][32]. */
void lmi_lanefit_single(const struct lmi_lanes *lanes, int lo, int hi, const int8_t *book,
			const float *src, const float *importance, int n, float *d, int8_t *q);

#endif /* LLAMAD_CORE_QUANT_LANEFIT_H */
