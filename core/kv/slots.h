/* SPDX-License-Identifier: MIT
 *
 * slots.h - assigns slots for the recurrent state of each sequence, in one state group.
 *
 * A sequence has the state after its committed rows in slot `cur` (none: zeros), and for each of its
 * steps that have not been committed, oldest first, the slot in which that step stores the state
 * after its last row. A step reads the slot of the step before it. It writes to the slot that it
 * reads unless another sequence shares it, or the prefix tree names it and another slot is free;
 * then it writes to a new slot, so that a fork needs no copy. A step may also store the states after some of its inner rows in slots of their own, the
 * marks; a fork can start there, and the sequence itself can continue there if later rows of the
 * step are rejected.
 *
 * A slot that a step no longer needs is freed when the step is done, not while it is planned,
 * so that no slot is read by one sequence and written by another before that. */
#ifndef LLAMAD_CORE_KV_SLOTS_H
#define LLAMAD_CORE_KV_SLOTS_H

#include "core/kv/page_pool.h"

/* Maximum number of pending steps and of marks of one sequence. */
#define LMI_KV_MAX_STEP 4
#define LMI_KV_MAX_MARK 16

struct lmi_kv_slot_set {
	uint32_t cur;	/* LMI_KV_NO_PAGE: none */
	uint32_t n_step, n_mark;
	uint32_t next[LMI_KV_MAX_STEP];
	uint32_t mark[LMI_KV_MAX_MARK]; /* in order of their rows */
};

struct lmi_kv_slots {
	struct lmi_kv_page_pool pool;
	uint32_t n_seq;
	struct lmi_kv_slot_set *seq; /* [n_seq] */
};

enum lmd_status lmi_kv_slots_init(struct lmi_kv_slots *t, uint32_t n_slot, uint32_t n_seq);
void lmi_kv_slots_fini(struct lmi_kv_slots *t);

/* Number of free slots that one more step of `seq` with n_mark marks needs. */
uint32_t lmi_kv_slots_need(const struct lmi_kv_slots *t, uint32_t seq, uint32_t n_mark);
/* Adds a pending step; the pool must have lmi_kv_slots_need() slots free. */
void lmi_kv_slots_plan(struct lmi_kv_slots *t, uint32_t seq, uint32_t n_mark);
/* Ends the oldest step, which wrote all its rows: its slot becomes cur. Marks stay. */
void lmi_kv_slots_commit(struct lmi_kv_slots *t, uint32_t seq);
/* Ends the oldest step, of which only the rows up to mark i count: that slot becomes cur, and the
 * mark is removed. The states of later pending steps are then useless. */
void lmi_kv_slots_commit_mark(struct lmi_kv_slots *t, uint32_t seq, uint32_t i);
/* Ends the oldest step, which does not count. */
void lmi_kv_slots_cancel(struct lmi_kv_slots *t, uint32_t seq);
/* Makes mark i cur and removes it. There must be no pending step. */
void lmi_kv_slots_rewind(struct lmi_kv_slots *t, uint32_t seq, uint32_t i);
/* Removes marks [from, to). */
void lmi_kv_slots_drop_marks(struct lmi_kv_slots *t, uint32_t seq, uint32_t from, uint32_t to);
/* Makes `to`, which must be empty, start from this slot of another sequence, its cur or a mark. */
void lmi_kv_slots_fork(struct lmi_kv_slots *t, uint32_t slot, uint32_t to);
void lmi_kv_slots_clear(struct lmi_kv_slots *t, uint32_t seq);

/* The slots that the newest pending step reads and writes; without one, both are cur. */
uint32_t lmi_kv_slots_in(const struct lmi_kv_slots *t, uint32_t seq);
uint32_t lmi_kv_slots_out(const struct lmi_kv_slots *t, uint32_t seq);

bool lmi_kv_slots_check(const struct lmi_kv_slots *t);

#endif /* LLAMAD_CORE_KV_SLOTS_H */
