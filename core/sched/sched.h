/* SPDX-License-Identifier: MIT
 *
 * sched.h - decides which sequences compute which rows in the next step: a pure state machine.
 *
 * It knows sequences, rows and pages, but no tokens, tensors, clocks or devices. Inputs: submit (a
 * sequence of so many rows), grow (one more row is known: a token was sampled), remove (finished or
 * cancelled), done (the step has run or has failed). Output: the next step, a list of parts.
 *
 * Order: sequences that lack a single row come first, so that a long prompt never stalls the
 * others. The rest of the budget goes to chunks of prompts, then to waiting sequences in order of
 * arrival. A waiting sequence may overtake others of another plan, which cannot share its step,
 * while there is room for both. When pages run out, the sequence that arrived last is preempted: it
 * gives its pages back and waits again at its old place. No sequence fails for lack of pages, and
 * the oldest always makes progress.
 *
 * All calls must come from one thread; nothing is allocated after create. */
#ifndef LLAMAD_CORE_SCHED_SCHED_H
#define LLAMAD_CORE_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/kv.h"
#include "llamad/status.h"

#define LMI_SCHED_NO_SEQ UINT32_MAX

struct lmi_sched_opts {
	struct lmi_kv *kv; /* must outlive the scheduler, which alone changes it */
	uint32_t n_max;	   /* maximum number of sequences, including waiting ones */
	uint32_t n_batch;  /* rows per step, at least the number of sequences of the kv */
	uint32_t n_out;	   /* output rows per step, at least the number of sequences of the kv */
};

enum lmi_sched_out {
	LMI_SCHED_OUT_LAST = 0, /* output the last known row */
	LMI_SCHED_OUT_ALL = 1,  /* output every row, once */
	LMI_SCHED_OUT_NONE = 2  /* output no rows, only results per sequence */
};

struct lmi_sched_seq {
	uint32_t n_known; /* rows, >= 1 */
	uint32_t n_limit; /* maximum number of rows, at least n_known */
	uint32_t plan;	  /* only sequences of one plan share a step; numbered by the caller */
	enum lmi_sched_out out;
	uint32_t out_from;  /* ALL: rows below this one are not output */
	uint32_t max_chunk; /* maximum rows of a part; 0 = no limit */
	uint32_t chunk_from; /* max_chunk holds for parts from this row on */
	bool whole;	    /* all rows in one step (attention looks ahead); the sequence cannot
			     * grow */
	/* Before its rows, the sequence runs n_encode rows of another plan in one step, into the
	 * CROSS groups. */
	uint32_t n_encode, encode_plan;
	/* The first share_rows rows (less than n_known) equal those of the sequence `share`. They
	 * are copied from its memory if they are there when this sequence could start; otherwise
	 * they are computed. Either way they are not output. LMI_SCHED_NO_SEQ: no sharing. */
	uint32_t share, share_rows;
};

struct lmi_sched_part {
	uint32_t seq;	   /* as returned by submit */
	uint32_t kv_seq;   /* its seq slot in the kv */
	uint32_t first, n; /* its rows [first, first + n) */
	uint32_t n_out;	   /* the last n_out rows are output */
	uint32_t mark;	   /* keep the state after this many rows as well; 0 = no */
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

/* LMD_INVALID: the sequence could never run; the message has the numbers. LMD_BUSY: the table is
 * full. */
enum lmd_status lmi_sched_submit(struct lmi_sched *s, const struct lmi_sched_seq *opts,
				 uint32_t *seq, struct lmd_error *err);
/* Adds one known row. Returns false at the limit. */
bool lmi_sched_grow(struct lmi_sched *s, uint32_t seq);
/* Retains a sequence: nothing more of it is computed, and its computed rows stay for others to
 * share. Returns false if it has none. Must not be called while it is part of a step. */
bool lmi_sched_retain(struct lmi_sched *s, uint32_t seq);
/* Ends a sequence and frees its memory, at once or after the step that it is part of. The number
 * may be reused afterwards. */
void lmi_sched_remove(struct lmi_sched *s, uint32_t seq);

/* Plans the next step; returns false if no sequence has anything to compute. Each true must be
 * followed by done. */
bool lmi_sched_next(struct lmi_sched *s, struct lmi_sched_step *out);
/* Ends the step. If it did not run, its sequences start again from their first row. */
void lmi_sched_done(struct lmi_sched *s, bool ran);

struct lmi_sched_stats {
	uint32_t n_waiting, n_active;
	uint64_t n_step, n_row, n_preempted, n_shared_rows;
};
void lmi_sched_stats(const struct lmi_sched *s, struct lmi_sched_stats *out);
/* Returns how many rows of a sequence are computed (0 while it waits). */
uint32_t lmi_sched_n_done(const struct lmi_sched *s, uint32_t seq);

bool lmi_sched_check(const struct lmi_sched *s);

#endif /* LLAMAD_CORE_SCHED_SCHED_H */
