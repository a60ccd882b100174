/* SPDX-License-Identifier: MIT
 *
 * tritfit.h - the search behind types with one scale for a row and values -d, 0, d. */
#ifndef LLAMAD_CORE_QUANT_TRITFIT_H
#define LLAMAD_CORE_QUANT_TRITFIT_H

#include <stdbool.h>
#include <stddef.h>

/* The d, not negative, with which n values rounded to -d, 0, d have the least error; half: it is an
 * f16 value.  Rows that are ternary already come back exactly where d can be stored. */
float lmi_tritfit(const float *src, const float *importance, size_t n, bool half);

/* 0, 1, 2 for the nearest of -d, 0, d. */
int lmi_trit(float x, float d);

#endif /* LLAMAD_CORE_QUANT_TRITFIT_H */
