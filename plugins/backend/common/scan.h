/* SPDX-License-Identifier: MIT
 *
 * scan.h - the parts of SCAN (llamad/op.h) around its formulas: which columns a head reads, and
 * where its state lies.  Decoding and encoding of the state are left to the backend. */
#ifndef LLAMAD_BACKEND_COMMON_SCAN_H
#define LLAMAD_BACKEND_COMMON_SCAN_H

#include "backend/common/cplan.h"
#include "backend/common/view.h"

#define HM_SCAN_IN LMD_SCAN_MAX_IN

struct hm_scan {
	const struct hm_run *r;
	const struct lmd_op_scan *op;
	const struct hm_cache *cache;
	const struct lmd_pool *pool; /* that holds the cache */
	const float *w[2];           /* flattened, or NULL */
	struct hm_view in[HM_SCAN_IN], y;
	uint32_t dk, dv;
	float *s;                /* [dk*dv] state of the current head */
	float *tmp[HM_SCAN_IN];  /* [max(dk, dv)] for each input that is not contiguous */
	float *out, *d;          /* y of a row [dv]; [max(dk, dv)] for the formulas */
	uint32_t head, key_head; /* current */
};

/* Adds the scratch that one part needs. */
void hm_scan_need(uint64_t *bytes, const struct lmd_op_scan *op);
struct hm_scan hm_scan_take(char **cursor, const struct hm_run *r, const struct hm_cplan *p,
			    const struct lmd_op_scan *op);

/* Makes `head` the current head. */
void hm_scan_turn(struct hm_scan *s, uint32_t head);

/* Number of gates of a head: 1 or dk. */
uint32_t hm_scan_gates(const struct lmd_op_scan *op);

/* Points in[i] at what the current head reads of a row, for each input that the kind of scan
 * has. */
void hm_scan_gather(const struct hm_scan *s, uint32_t row, const float *in[HM_SCAN_IN]);

/* Writes the current head's columns of a row of y. */
void hm_scan_put(const struct hm_scan *s, uint32_t row);

/* State slots: hm_scan_from is read before a sequence's rows, hm_scan_to is written after a row.
 * Negative = none. */
static inline int32_t hm_scan_from(const struct hm_scan *s, uint32_t seq)
{
	return s->r->step->group[s->cache->desc.group].state_in[seq];
}

static inline int32_t hm_scan_to(const struct hm_scan *s, uint32_t row)
{
	return s->r->step->group[s->cache->desc.group].state_out[row];
}

#endif /* LLAMAD_BACKEND_COMMON_SCAN_H */
