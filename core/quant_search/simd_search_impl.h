/* SPDX-License-Identifier: MIT
 *
 * simd_search_impl.h - shared by simd_search.c (blocks of groups) and simd_search_single.c (blocks
 * with one scale). */
#ifndef LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_IMPL_H
#define LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_IMPL_H

#include "core/quant_search/simd_search.h"

/* Loads up to LMI_SEARCH_SIMD_GROUPS groups, transposed into lanes; w: their weights, or NULL. */
void lmi_search_simd_load(const struct lmi_search_simd_groups_ops *v,
			  struct lmi_search_simd_batch *b, const float *src, const float *w,
			  int n_group, int group);

struct lmi_search_levels lmi_search_simd_levels(const struct lmi_search_superblock_shape *k);

#endif /* LLAMAD_CORE_QUANT_SEARCH_SIMD_SEARCH_IMPL_H */
