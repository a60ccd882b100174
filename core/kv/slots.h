/* SPDX-License-Identifier: MIT
 *
 * slots.h - assigns slots for the recurrent state of each sequence, in one state group.
 *
 * A sequence reads its state from slot `cur` (none: zeros), and a step stores the state after
 * its last row in `next`.  The two are the same slot unless another sequence shares `cur`; then
 * the step writes to a new slot, so that a fork needs no copy.  A step may also store the state
 * after one of its inner rows in `mark`; a fork at that row starts from it.
 *
 * A slot that a step no longer needs is freed when the step is done, not while it is planned,
 * so that within one step no slot is read by one sequence and written by another. */
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

/* Number of free slots that a step of `seq` needs, with or without a mark. */
uint32_t lmi_slots_need(const struct lmi_slots *t, uint32_t seq, bool mark);
/* Sets next and mark; the pool must have lmi_slots_need() slots free. */
void lmi_slots_plan(struct lmi_slots *t, uint32_t seq, bool mark);
/* Call after the step ran: next becomes cur.  The mark stays. */
void lmi_slots_commit(struct lmi_slots *t, uint32_t seq);
/* Call if the step did not run, or when its mark is no longer needed: frees next (unless it is
 * cur) and mark. */
void lmi_slots_settle(struct lmi_slots *t, uint32_t seq);
/* Makes `to`, which must be empty, start from the mark of `from` if `mark`, else from its cur. */
void lmi_slots_fork(struct lmi_slots *t, uint32_t from, uint32_t to, bool mark);
void lmi_slots_clear(struct lmi_slots *t, uint32_t seq);

bool lmi_slots_check(const struct lmi_slots *t);

#endif /* LLAMAD_CORE_KV_SLOTS_H */
