/* SPDX-License-Identifier: MIT
 *
 * temp.h - divides logits by a temperature; for temp and temp_ext. */
#ifndef LLAMAD_SAMPLER_TEMP_H
#define LLAMAD_SAMPLER_TEMP_H

#include "common.h"

/* Divides all logits by t.  If t <= 0, all but the first of the largest logits become -inf. */
void sampler_cands_temp(struct lmd_cands *c, float t);

#endif /* LLAMAD_SAMPLER_TEMP_H */
