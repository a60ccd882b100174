/* SPDX-License-Identifier: MIT
 *
 * outputs.h - copies values out of a running step: to the outputs that the caller bound, and to
 * the observer of each op's values.  Outputs that are not bound are skipped. */
#ifndef LLAMAD_BACKEND_COMMON_OUTPUTS_H
#define LLAMAD_BACKEND_COMMON_OUTPUTS_H

#include "backend/common/host_mem.h"

/* LMD_INVALID if a bound output is too small for the live rows.  who: name of the backend. */
enum lmd_status host_mem_check_outputs(const struct host_mem_run *r, const struct lmd_binding *out,
				       uint32_t n_out, const char *who, struct lmd_error *err);

/* Copies the live rows of a value to `to`, whose rows are row_bytes apart. */
void host_mem_copy_rows(const struct host_mem_run *r, uint32_t value, char *to, uint64_t row_bytes);

/* Copies the bound outputs, except those that were computed in place. */
void host_mem_copy_outputs(const struct host_mem_run *r, const struct lmd_binding *out,
			   uint32_t n_out);

/* Number of elements of the largest value in the step, at least 1. */
size_t host_mem_max_value_elems(const struct host_mem_run *r);

/* Passes each value that op number i of the plan has written to fn, once, with its rows packed into
 * `rows` [host_mem_max_value_elems].  Returns false as soon as fn does. */
bool host_mem_observe(const struct host_mem_run *r, uint32_t i, float *rows, lmd_observe_fn fn,
		      void *arg);

#endif /* LLAMAD_BACKEND_COMMON_OUTPUTS_H */
