/* SPDX-License-Identifier: MIT
 *
 * step.h - the beginning of a step: its rows are counted, and its indices compared with the memory
 * behind them.  What is wrong is LMD_INVALID; the sentence names field, place, value and bound. */
#ifndef LLAMAD_BACKEND_COMMON_STEP_H
#define LLAMAD_BACKEND_COMMON_STEP_H

#include "backend/common/hm.h"

/* "step: field[at] is value, bound bound". */
enum lmd_status hm_bad_index(struct lmd_error *err, const char *field, uint32_t at, int64_t value,
			     int64_t bound);
/* Are all of v[0..n) at least lo and below hi?  v may be NULL for n = 0 alone. */
enum lmd_status hm_in_range(struct lmd_error *err, const char *field, const int32_t *v, uint32_t n,
			    int64_t lo, int64_t hi);

/* Fills r->rows; none has more rows than the plan takes.  Of the offsets of an X space the last one
 * alone is looked at. */
enum lmd_status hm_count_rows(struct hm_run *r, struct lmd_error *err);

/* Inputs have rows that are wide enough, and, those that are `needed` [n_input], all rows of their
 * space; NULL: all are. */
enum lmd_status hm_check_inputs(const struct hm_run *r, const bool *needed, struct lmd_error *err);

#endif /* LLAMAD_BACKEND_COMMON_STEP_H */
