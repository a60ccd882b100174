/* SPDX-License-Identifier: MIT
 *
 * tensor_patterns.h - matches the regular expressions of lmi_quantize_rule. */
#ifndef LLAMAD_CORE_QUANTIZE_TENSOR_PATTERNS_H
#define LLAMAD_CORE_QUANTIZE_TENSOR_PATTERNS_H

#include "core/quantize/quantize.h"

struct lmi_quantize_patterns;

/* The rules are borrowed.  Returns LMD_INVALID if one is not a valid expression; the error names it
 * and the position. */
enum lmd_status lmi_quantize_patterns_create(struct lmi_quantize_patterns **out,
					     const struct lmi_quantize_rule *rules, uint32_t n,
					     struct lmd_error *err);
void lmi_quantize_patterns_destroy(struct lmi_quantize_patterns *p); /* NULL allowed */

/* Sets *type to the type of the first rule whose pattern occurs in the name; leaves it unchanged if
 * there is none.  Returns LMD_INVALID if a match takes too many steps. */
enum lmd_status lmi_quantize_patterns_find(struct lmi_quantize_patterns *p, const char *name,
					   int32_t *type, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_TENSOR_PATTERNS_H */
