/* SPDX-License-Identifier: MIT
 *
 * scan.h - SCAN (llamad/op.h) but for its formulas and for what decodes and encodes a state: which
 * columns a head reads, and where its state lies. */
#ifndef LLAMAD_BACKEND_COMMON_SCAN_H
#define LLAMAD_BACKEND_COMMON_SCAN_H

#include "backend/common/cplan.h"
#include "backend/common/view.h"

#define HM_SCAN_IN LMD_SCAN_MAX_IN

struct hm_scan {
	const struct hm_run *r;
	const struct lmd_op_scan *op;
	const struct hm_cache *cache;
	const struct lmd_pool *pool; /* of the cache */
	const float *w[2];           /* flat, or NULL */
	struct hm_view in[HM_SCAN_IN], y;
	uint32_t dk, dv;
	float *s;                /* [dk*dv] the state of the head at hand */
	float *tmp[HM_SCAN_IN];  /* [max(dk, dv)] what of in[] is not in one piece */
	float *out, *d;          /* y of a row [dv]; [max(dk, dv)] for the formulas */
	uint32_t head, key_head; /* at hand */
};

/* Scratch of a part. */
void hm_scan_need(uint64_t *bytes, const struct lmd_op_scan *op);
struct hm_scan hm_scan_take(char **cursor, const struct hm_run *r, const struct hm_cplan *p,
			    const struct lmd_op_scan *op);

/* Goes on to a head. */
void hm_scan_turn(struct hm_scan *s, uint32_t head);

/* Gates of a head: 1 or dk. */
uint32_t hm_scan_gates(const struct lmd_op_scan *op);

/* What the head reads of a row: in[i] for each input that the kind has. */
void hm_scan_gather(const struct hm_scan *s, uint32_t row, const float *in[HM_SCAN_IN]);

/* Writes the head's columns of a row of y. */
void hm_scan_put(const struct hm_scan *s, uint32_t row);

/* Slots of a state before a sequence's rows, and behind a row; negative: none. */
static inline int32_t hm_scan_from(const struct hm_scan *s, uint32_t seq)
{
	return s->r->step->group[s->cache->desc.group].state_in[seq];
}

static inline int32_t hm_scan_to(const struct hm_scan *s, uint32_t row)
{
	return s->r->step->group[s->cache->desc.group].state_out[row];
}

#endif /* LLAMAD_BACKEND_COMMON_SCAN_H */
