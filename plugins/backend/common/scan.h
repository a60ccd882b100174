/* SPDX-License-Identifier: MIT
 *
 * scan.h - the parts of SCAN (llamad/op.h) around its formulas: which columns a head reads, and
 * where its state lies.  Decoding and encoding of the state are left to the backend. */
#ifndef LLAMAD_BACKEND_COMMON_SCAN_H
#define LLAMAD_BACKEND_COMMON_SCAN_H

#include "backend/common/compiled_plan.h"
#include "backend/common/view.h"

#define HOST_MEM_SCAN_IN LMD_SCAN_MAX_IN

struct host_mem_scan {
	const struct host_mem_run *r;
	const struct lmd_op_scan *op;
	const struct host_mem_cache *cache;
	const struct lmd_pool *pool; /* that holds the cache */
	const float *w[2];           /* flattened, or NULL */
	struct host_mem_view in[HOST_MEM_SCAN_IN], y;
	uint32_t dk, dv;
	float *s;                /* [dk*dv] state of the current head */
	float *tmp[HOST_MEM_SCAN_IN]; /* [max(dk, dv)] for each input that is not contiguous */
	float *out, *d;          /* y of a row [dv]; [max(dk, dv)] for the formulas */
	uint32_t head, key_head; /* current */
};

/* Adds the scratch that one part needs. */
void host_mem_scan_need(uint64_t *bytes, const struct lmd_op_scan *op);
struct host_mem_scan host_mem_scan_take(char **cursor, const struct host_mem_run *r,
					const struct host_mem_compiled_plan *p,
					const struct lmd_op_scan *op);

/* Makes `head` the current head. */
void host_mem_scan_set_head(struct host_mem_scan *s, uint32_t head);

/* Number of gates of a head: 1 or dk. */
uint32_t host_mem_scan_gates(const struct lmd_op_scan *op);

/* Points in[i] at what the current head reads of a row, for each input that the kind of scan
 * has. */
void host_mem_scan_gather(const struct host_mem_scan *s, uint32_t row,
			  const float *in[HOST_MEM_SCAN_IN]);

/* Writes the current head's columns of a row of y. */
void host_mem_scan_put(const struct host_mem_scan *s, uint32_t row);

/* State slots: host_mem_scan_slot_in is read before a sequence's rows, host_mem_scan_slot_out is
 * written after a row. Negative = none. */
static inline int32_t host_mem_scan_slot_in(const struct host_mem_scan *s, uint32_t seq)
{
	return s->r->step->group[s->cache->desc.group].state_in[seq];
}

static inline int32_t host_mem_scan_slot_out(const struct host_mem_scan *s, uint32_t row)
{
	return s->r->step->group[s->cache->desc.group].state_out[row];
}

#endif /* LLAMAD_BACKEND_COMMON_SCAN_H */
