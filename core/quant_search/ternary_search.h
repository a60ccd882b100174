/* SPDX-License-Identifier: MIT
 *
 * ternary_search.h - search for ternary types: one scale per row and values -d, 0, d. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_TERNARY_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_TERNARY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the d >= 0 with which n values rounded to -d, 0, d have the least error; half: d is an
 * f16 value.  Rows that are already ternary are reproduced exactly if d can be stored. */
float lmi_search_ternary(const float *src, const float *importance, size_t n, bool half);

/* Returns 0, 1, 2 for the nearest of -d, 0, d. */
int lmi_search_ternary_code(float x, float d);

#endif /* LLAMAD_CORE_QUANT_SEARCH_TERNARY_SEARCH_H */
