/* SPDX-License-Identifier: MIT
 *
 * sched.h - who computes what in the next step: a pure state machine.
 *
 * It knows sequences, rows and pages; no tokens, tensors, clocks or devices.  What goes in:
 * submit (a sequence of so many rows), grow (one more row is known: a token was sampled),
 * remove (finished or cancelled), done (the step ran or did not).  What comes out: the next
 * step, a list of parts.
 *
 * Order.  Rows of sequences that lack a single row come first, so that a long prompt never
 * stops the others; what is left of the budget goes to prompts in chunks, then to sequences
 * that wait, in order of arrival; one that waits may overtake others of another plan, which cannot
 * share its step, while there is room for both.  When pages run out, the sequence that arrived last gives
 * its own back and waits at its place again: nobody fails, and the oldest always gets on.
 *
 * All calls by one thread; nothing is allocated after create. */
#ifndef LLAMAD_CORE_SCHED_SCHED_H
#define LLAMAD_CORE_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/kv.h"
#include "llamad/status.h"

#define LMI_NO_SEQ UINT32_MAX

struct lmi_sched_opts {
	struct lmi_kv *kv; /* outlives the scheduler, which alone changes it */
	uint32_t n_max;	   /* sequences known at a time, waiting ones too */
	uint32_t n_batch;  /* rows of a step, at least the kv's sequences */
	uint32_t n_out;	   /* rows of a step that leave, likewise */
};

enum lmi_sched_out {
	LMI_OUT_LAST = 0, /* the last known row leaves */
	LMI_OUT_ALL = 1,  /* every row leaves, once */
	LMI_OUT_NONE = 2  /* none: per sequence results */
};

struct lmi_sched_seq {
	uint32_t n_known; /* rows, >= 1 */
	uint32_t n_limit; /* rows it may grow to, at least n_known */
	uint32_t plan;	  /* only sequences of one plan share a step; the caller's numbers */
	enum lmi_sched_out out;
	uint32_t out_from;  /* ALL: rows below this one do not leave */
	uint32_t max_chunk; /* rows of a part at most; 0 = no bound */
	bool whole;	    /* all rows in one step (attention looks ahead): it cannot grow */
	/* Before its rows it runs n_encode rows of another plan, whole, into the CROSS groups. */
	uint32_t n_encode, encode_plan;
	/* The first share_rows rows (less than n_known) are those of the sequence `share`, and
	 * are taken from its memory if they are there when it gets that far; else they are
	 * computed.  Either way they do not leave.  LMI_NO_SEQ: none. */
	uint32_t share, share_rows;
};

struct lmi_sched_part {
	uint32_t seq;	   /* as submit returned it */
	uint32_t kv_seq;   /* its seq slot */
	uint32_t first, n; /* its rows [first, first + n) */
	uint32_t n_out;	   /* the last n_out of these leave */
	uint32_t mark;	   /* state is also kept after this many rows; 0 = no */
	bool encode;
};

struct lmi_sched_step {
	uint32_t plan;
	uint32_t n_row, n_out;
	uint32_t n_part;
	const struct lmi_sched_part *parts;
};

struct lmi_sched;

enum lmd_status lmi_sched_create(struct lmi_sched **out, const struct lmi_sched_opts *opts,
				 struct lmd_error *err);
void lmi_sched_destroy(struct lmi_sched *s);

/* LMD_INVALID: could never run, with the numbers; LMD_BUSY: the table is full. */
enum lmd_status lmi_sched_submit(struct lmi_sched *s, const struct lmi_sched_seq *opts,
				 uint32_t *seq, struct lmd_error *err);
/* One more row is known.  False at the limit. */
bool lmi_sched_grow(struct lmi_sched *s, uint32_t seq);
/* Nothing more of it is to be computed; what is stays, for others to share.  False when there is
 * nothing.  Not while it is part of a step. */
bool lmi_sched_rest(struct lmi_sched *s, uint32_t seq);
/* Ends a sequence and frees its memory: at once, or after the step that it is in.  The
 * number may be used again afterwards. */
void lmi_sched_remove(struct lmi_sched *s, uint32_t seq);

/* The next step; false when nobody has anything to compute.  Each true is followed by done. */
bool lmi_sched_next(struct lmi_sched *s, struct lmi_sched_step *out);
/* The step ran; or it did not, and its sequences start again from their first row. */
void lmi_sched_done(struct lmi_sched *s, bool ran);

struct lmi_sched_stats {
	uint32_t n_waiting, n_active;
	uint64_t n_step, n_row, n_preempted, n_shared_rows;
};
void lmi_sched_stats(const struct lmi_sched *s, struct lmi_sched_stats *out);
/* Rows of a sequence that are computed (0 while it waits). */
uint32_t lmi_sched_n_done(const struct lmi_sched *s, uint32_t seq);

bool lmi_sched_check(const struct lmi_sched *s);

#endif /* LLAMAD_CORE_SCHED_SCHED_H */
