/* SPDX-License-Identifier: MIT
 *
 * simd_search.h - SIMD versions of the searches of scale_search.h and superblock_search.h for
 * ordinary values, many groups at a time.
 *
 * A block is "ordinary" if its values differ, their greatest magnitude is within 1e-12..1e12, and
 * the other values are large enough beside it for single precision.  All other blocks go to
 * scale_search.c and superblock_search.c, which handle them exactly but are slower.  All variants
 * of simd_groups.h give identical bits. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_H

#include <stddef.h>

#include "core/quant_search/superblock_search.h"
#include "core/quant_search/simd_groups.h"

/* Number of blocks of 256 values that are fitted together. */
#define LMI_SEARCH_SIMD_BLOCKS 2

/* lmi_search_superblock_scale for n (1..LMI_SEARCH_SIMD_BLOCKS) blocks of 256 values; src may
 * contain any values.
 * importance: [n * 256], or NULL.  lanes: one of lmi_search_simd_groups_variants; NULL: the best
 * one. */
void lmi_search_simd_scale(const struct lmi_search_simd_groups_ops *lanes,
			   const struct lmi_search_superblock_shape *k, const float *src,
			   const float *importance, int n, struct lmi_search_superblock *out);

/* lmi_search_superblock_affine for n blocks; parameters as in lmi_search_simd_scale. */
void lmi_search_simd_affine(const struct lmi_search_simd_groups_ops *lanes,
			    const struct lmi_search_superblock_shape *k, const float *src,
			    const float *importance, int n, struct lmi_search_superblock *out);

/* Encodes n values, a multiple of 256.  fit is one of the two functions above; pack writes a fitted
 * block. */
typedef void (*lmi_search_simd_fn)(const struct lmi_search_simd_groups_ops *lanes,
				   const struct lmi_search_superblock_shape *k, const float *src,
				   const float *importance, int n,
				   struct lmi_search_superblock *out);
void lmi_search_simd_encode(lmi_search_simd_fn fit, const struct lmi_search_superblock_shape *shape,
			    const float *src, const float *importance, size_t n, void *dst,
			    size_t block_bytes,
			    void (*pack)(void *dst, const struct lmi_search_superblock *k));

/* lmi_search_fit_scale, or with a book lmi_search_fit_book, for n (1..LMI_SEARCH_SIMD_GROUPS)
 * blocks of 32 values with one f16 scale each.  Writes d [n] and q [n][32]. */
void lmi_search_simd_single(const struct lmi_search_simd_groups_ops *lanes, int lo, int hi,
			    const int8_t *book, const float *src, const float *importance, int n,
			    float *d, int8_t *q);

#endif /* LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_H */
