/* SPDX-License-Identifier: MIT
 *
 * pool_check.h - checks the operations on pools, for backends with any kind of memory. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_POOL_CHECK_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_POOL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/backend.h"

/* The sizes of a pool that its operations must stay within. */
struct host_mem_pool_shape {
	bool state;           /* slots instead of pages */
	uint32_t n_unit;      /* pages or slots */
	uint32_t page_tokens; /* of pages */
	uint32_t n_seq, n_index;
	uint64_t row_bytes;   /* of pages: one row of all caches in canonical form */
	uint64_t slot_bytes;  /* of slots: a slot in canonical form */
};

/* Checks one operation: that its kind is known and applies to pages or slots, its units, its rows,
 * the entries of the page table and the pages that they name, and the size of the host's memory.
 * Errors are LMD_INVALID, or LMD_UNSUPPORTED for an unknown kind. */
enum lmd_status host_mem_pool_check(const struct host_mem_pool_shape *s,
				    const struct lmd_pool_op *op, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_POOL_CHECK_H */
