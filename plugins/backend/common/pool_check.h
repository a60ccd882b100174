/* SPDX-License-Identifier: MIT
 *
 * pool_check.h - the sizes of pools, and checks of the operations on them, for backends with any kind of
 * memory. */
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
	uint32_t n_seq, n_index; /* sequence slots, and entries of each in the page table */
	uint64_t row_bytes;   /* of pages: one row of all caches in canonical form */
	uint64_t slot_bytes;  /* of slots: a slot in canonical form */
};

/* Takes the numbers of units, rows and sequences from the description of a pool. LMD_INVALID: the pool
 * would be empty. */
enum lmd_status host_mem_pool_shape_init(struct host_mem_pool_shape *s, const struct lmd_pool_desc *d,
					 struct lmd_error *err);
/* Adds a cache, or a half of one: bytes of a row in canonical form, and rows of a page or slot. */
void host_mem_pool_shape_add(struct host_mem_pool_shape *s, uint64_t row_bytes, uint32_t n_row);

/* Checks one operation: that its kind is known and applies to pages or slots, its units, its rows,
 * the entries of the page table and the pages that they name, and the size of the host's memory.
 * Errors are LMD_INVALID, or LMD_UNSUPPORTED for an unknown kind. */
enum lmd_status host_mem_pool_check(const struct host_mem_pool_shape *s,
				    const struct lmd_pool_op *op, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_POOL_CHECK_H */
