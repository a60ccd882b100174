/* SPDX-License-Identifier: MIT
 *
 * step.h - checks at the start of a step: counts its rows and compares its indices with the sizes
 * of the memory that they select from.  Errors are LMD_INVALID; the message names the field, the
 * position, the value and the bound. */
#ifndef LLAMAD_BACKEND_COMMON_STEP_H
#define LLAMAD_BACKEND_COMMON_STEP_H

#include "backend/common/host_mem.h"

/* Fails with "step: FIELD[AT] is VALUE, bound BOUND". */
enum lmd_status host_mem_bad_index(struct lmd_error *err, const char *field, uint32_t at,
				   int64_t value, int64_t bound);
/* Checks that each of v[0..n) is at least lo and less than hi.  v may be NULL only if n is 0. */
enum lmd_status host_mem_in_range(struct lmd_error *err, const char *field, const int32_t *v,
				  uint32_t n, int64_t lo, int64_t hi);

/* Fills r->rows; LMD_INVALID if a space has more rows than the plan allows.  Only the last offset
 * of an X space is checked. */
enum lmd_status host_mem_count_rows(struct host_mem_run *r, struct lmd_error *err);

/* Checks that the rows of each input are wide enough, and that each input in `needed` [n_input] has
 * all rows of its space.  needed NULL = all inputs. */
enum lmd_status host_mem_check_inputs(const struct host_mem_run *r, const bool *needed,
				      struct lmd_error *err);

#endif /* LLAMAD_BACKEND_COMMON_STEP_H */
