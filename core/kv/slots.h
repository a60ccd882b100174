/* SPDX-License-Identifier: MIT
 *
 * slots.h - where the recurrent state of each sequence lies, in one state group.
 *
 * A sequence reads the slot `cur` (none: zeros) and a step stores the state after its last
 * row into `next`.  They are the same slot unless somebody else has `cur` too: then the step
 * writes a fresh one, so a fork costs no copy.  A step may also store the state after one
 * row in its middle into `mark`, from which a fork at that row starts.
 *
 * Slots that a step stops using are given back when it is done, never while it is being
 * planned: no slot is read by one sequence and written by another in the same step. */
#ifndef LLAMAD_CORE_KV_SLOTS_H
#define LLAMAD_CORE_KV_SLOTS_H

#include "core/kv/page_pool.h"

struct lmi_slot_set {
	uint32_t cur, next, mark; /* LMI_NO_PAGE: none */
};

struct lmi_slots {
	struct lmi_page_pool pool;
	uint32_t n_seq;
	struct lmi_slot_set *seq; /* [n_seq] */
};

enum lmd_status lmi_slots_init(struct lmi_slots *t, uint32_t n_slot, uint32_t n_seq);
void lmi_slots_fini(struct lmi_slots *t);

/* Slots to take for a step of `seq`, with or without a mark. */
uint32_t lmi_slots_need(const struct lmi_slots *t, uint32_t seq, bool mark);
/* Sets next and mark; the pool has enough. */
void lmi_slots_plan(struct lmi_slots *t, uint32_t seq, bool mark);
/* The step ran: next becomes cur.  The mark stays. */
void lmi_slots_commit(struct lmi_slots *t, uint32_t seq);
/* The step did not run, or its mark is no longer wanted: gives next (if not cur) and mark back. */
void lmi_slots_settle(struct lmi_slots *t, uint32_t seq);
/* `to`, which is empty, starts from the mark of `from`, or from its cur. */
void lmi_slots_fork(struct lmi_slots *t, uint32_t from, uint32_t to, bool mark);
void lmi_slots_clear(struct lmi_slots *t, uint32_t seq);

bool lmi_slots_check(const struct lmi_slots *t);

#endif /* LLAMAD_CORE_KV_SLOTS_H */
