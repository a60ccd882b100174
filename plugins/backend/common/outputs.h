/* SPDX-License-Identifier: MIT
 *
 * outputs.h - values on their way out of a running step: to the outputs that the caller bound, and
 * to whoever looks at the values of each op.  What nobody bound is left out. */
#ifndef LLAMAD_BACKEND_COMMON_OUTPUTS_H
#define LLAMAD_BACKEND_COMMON_OUTPUTS_H

#include "backend/common/hm.h"

/* LMD_INVALID unless the bound outputs have room for the live rows.  who: the backend. */
enum lmd_status hm_check_outputs(const struct hm_run *r, const struct lmd_binding *out,
				 uint32_t n_out, const char *who, struct lmd_error *err);

/* The live rows of a value; `to`: rows at a distance of row_bytes. */
void hm_copy_rows(const struct hm_run *r, uint32_t value, char *to, uint64_t row_bytes);

/* The bound outputs but for those that lie where they are bound. */
void hm_copy_outputs(const struct hm_run *r, const struct lmd_binding *out, uint32_t n_out);

/* Numbers that the largest value of the step has, at least 1. */
size_t hm_most_numbers(const struct hm_run *r);

/* Shows each value that op number i of the plan has written, once, as rows without gaps in `rows`,
 * [hm_most_numbers].  False as soon as fn says so. */
bool hm_show(const struct hm_run *r, uint32_t i, float *rows, lmd_observe_fn fn, void *arg);

#endif /* LLAMAD_BACKEND_COMMON_OUTPUTS_H */
