/* SPDX-License-Identifier: MIT
 *
 * lanefit_impl.h - shared by lanefit.c (blocks of groups) and lanefit_single.c (blocks with one
 * scale). */
#ifndef LLAMAD_CORE_QUANT_LANEFIT_IMPL_H
#define LLAMAD_CORE_QUANT_LANEFIT_IMPL_H

#include "core/quant/lanefit.h"

/* Loads up to LMI_LANES groups, transposed into lanes; w: their weights, or NULL. */
void lmi_lanefit_load(const struct lmi_lanes *v, struct lmi_batch *b, const float *src,
		      const float *w, int n_group, int group);

struct lmi_levels lmi_lanefit_levels(const struct lmi_kshape *k);

#endif /* LLAMAD_CORE_QUANT_LANEFIT_IMPL_H */
