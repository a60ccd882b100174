/* SPDX-License-Identifier: MIT
 *
 * patterns.h - the regular expressions of lmi_quantize_rule. */
#ifndef LLAMAD_CORE_QUANTIZE_PATTERNS_H
#define LLAMAD_CORE_QUANTIZE_PATTERNS_H

#include "core/quantize/quantize.h"

struct lmi_patterns;

/* The rules are borrowed.  LMD_INVALID: one is no expression; names it and the place. */
enum lmd_status lmi_patterns_create(struct lmi_patterns **out,
				    const struct lmi_quantize_rule *rules, uint32_t n,
				    struct lmd_error *err);
void lmi_patterns_destroy(struct lmi_patterns *p); /* NULL allowed */

/* The type of the first rule whose pattern is found in the name; *type stays as it is when none
 * is.  LMD_INVALID: a pattern takes too many steps. */
enum lmd_status lmi_patterns_find(struct lmi_patterns *p, const char *name, int32_t *type,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_PATTERNS_H */
