/* SPDX-License-Identifier: MIT
 *
 * sched.h - decides which sequences compute which rows in the next step: a pure state machine.
 *
 * It knows sequences, rows and pages, but no tensors, clocks or devices, and of tokens only whether
 * they are equal. Inputs: submit (a
 * sequence of so many rows), grow (one more row is known: a token was sampled), remove (finished or
 * cancelled), commit (a step has run, or has failed). Output: the next step, a list of parts.
 *
 * Several steps may be pending: planned and not yet committed. The device runs them in the order in
 * which they were planned, and they are committed in that order. A sequence is part of more than one
 * pending step if it has more known rows: the next chunk of a prompt, or the row of a token that a
 * pending step chooses on the device, which counts as known before anybody knows the token.
 *
 * Order: sequences that lack a single row come first, so that a long prompt never stalls the
 * others; if clients have different numbers of them, those of a client with many may take turns
 * (client_slowdown_percent). The rest of the budget goes to chunks of prompts, then to waiting sequences. Clients share
 * it by rows, weighted by class (fair.h); sequences of one client come in order of arrival. While a sequence generates, a step has at most so many rows of prompts that, by the times
 * measured so far, it takes no longer than the sequence may wait; but a page of a prompt at least,
 * so that prompts get on. A waiting sequence may overtake others of another plan, which cannot share its step,
 * while there is room for both. When pages run out, the sequence that arrived last is preempted: it
 * gives its pages back and waits again at its old place. A sequence that is part of a pending step
 * is not preempted, and none is preempted so that a sequence gets ahead of its own pending step. No
 * sequence fails for lack of pages, and the oldest always makes progress.
 *
 * All calls must come from one thread; nothing is allocated after create. */
#ifndef LLAMAD_CORE_SCHED_SCHED_H
#define LLAMAD_CORE_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/kv.h"
#include "llamad/status.h"

#define LMI_SCHED_NO_SEQ UINT32_MAX

enum lmi_sched_class {
	LMI_SCHED_NORMAL = 0,
	LMI_SCHED_INTERACTIVE = 1,
	LMI_SCHED_BATCH = 2
};
#define LMI_SCHED_N_CLASS 3

struct lmi_sched_opts {
	struct lmi_kv *kv; /* must outlive the scheduler, which alone changes it */
	uint32_t n_max;	   /* maximum number of sequences, including waiting ones */
	uint32_t n_batch;  /* rows per step, at least the number of sequences of the kv */
	uint32_t n_out;	   /* output rows per step, at least the number of sequences of the kv */
	uint32_t n_step;   /* maximum number of pending steps, at most LMI_KV_MAX_STEP; 0 counts as
			    * 1 */
	/* How long a generating sequence of each class may wait for a step because of the prompts of
	 * others, in ns; 0: any time. */
	uint64_t target_ns[LMI_SCHED_N_CLASS];
	/* How much longer a step of the clients that generate with the fewest sequences may take because
	 * others generate with more, in percent; the sequences of those then take turns, with at least
	 * as many in a step. 0: any time. */
	uint32_t client_slowdown_percent;
};

enum lmi_sched_out {
	LMI_SCHED_OUT_LAST = 0, /* output the last known row, and all drafts and the row before */
	LMI_SCHED_OUT_ALL = 1,  /* output every row, once */
	LMI_SCHED_OUT_NONE = 2  /* output no rows, only results per sequence */
};

/* Rows [first, end) of a sequence that see each other. */
struct lmi_sched_span {
	uint32_t first, end;
};

struct lmi_sched_seq {
	uint32_t n_known; /* rows, >= 1 */
	uint32_t n_limit; /* maximum number of rows, at least n_known */
	enum lmi_sched_class class;
	uint64_t client; /* whom it serves; see fair.h */
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
	/* Prefix caching: the tokens of the known rows; may be read until the sequence is removed.
	 * Rows that are in memory already are not computed, as far as they are not output, and if an
	 * active sequence is about to compute more of them, this one waits for those. What the
	 * sequence computes can be found by later ones of the same identity. NULL: neither. */
	const lmd_token *tokens;
	struct lmi_kv_identity identity;
	uint32_t n_own; /* rows from this one on are neither taken from others nor found; 0: all rows are
			 * shared */
	/* [n_span] ascending, disjoint, of known rows: what is not in memory of one is computed in one
	 * step, beside a row of every other sequence. May be read until the sequence is removed. */
	const struct lmi_sched_span *spans;
	uint32_t n_span;
};

struct lmi_sched_part {
	uint32_t seq;	   /* as returned by submit */
	uint32_t kv_seq;   /* its seq slot in the kv */
	uint32_t first, n; /* its rows [first, first + n) */
	uint32_t n_out;	   /* the last n_out rows are output */
	uint32_t n_mark;   /* keep the states after so many rows as well: */
	uint32_t mark[LMI_KV_MAX_MARK]; /* ascending, less than n */
	bool encode;
	uint32_t n_kept;   /* set by commit: how many of its rows count. 0: the step failed, or the
			    * sequence was removed, or the part continues rows that do not count */
};

struct lmi_sched_step {
	uint32_t plan;
	uint32_t n_row, n_out;
	uint32_t n_part;
	const struct lmi_sched_part *parts; /* valid until n_step more steps are planned */
	/* how long it may take, because generating sequences wait while it computes the prompts of
	 * others; 0: any time */
	uint64_t bound_ns;
};

/* Limits of one step, so that the sequences fill several steps; 0 = none. */
struct lmi_sched_limit {
	uint32_t n_part; /* parts */
	uint32_t n_row;	 /* rows, but a part that cannot be split may exceed it */
};

struct lmi_sched;

enum lmd_status lmi_sched_create(struct lmi_sched **out, const struct lmi_sched_opts *opts,
				 struct lmd_error *err);
void lmi_sched_destroy(struct lmi_sched *s);

/* LMD_INVALID: the sequence could never run; the message has the numbers. LMD_BUSY: the table is
 * full. */
enum lmd_status lmi_sched_submit(struct lmi_sched *s, const struct lmi_sched_seq *opts,
				 uint32_t *seq, struct lmd_error *err);
/* Adds one known row, maybe while the step that chooses its token is pending; if that step does not
 * count, the sequence must be removed, or the row taken back. Returns false at the limit. */
bool lmi_sched_grow(struct lmi_sched *s, uint32_t seq);
/* Takes the last known row back, because the step that would have chosen its token did not count. Call
 * once for each such step, after it was committed. */
void lmi_sched_take_back(struct lmi_sched *s, uint32_t seq);
/* Adds n known rows that may be rejected when their step is committed: drafts. Returns false if they
 * exceed the limit or LMI_KV_MAX_MARK, or if the sequence has drafts already. They are computed in one
 * step, together with the row before them; those for which the step has no room or no memory are
 * forgotten. The others become ordinary rows when the step is committed. */
bool lmi_sched_grow_drafts(struct lmi_sched *s, uint32_t seq, uint32_t n);
/* While a sequence is held, its last known row is not computed: what follows from its results is not
 * ready. */
void lmi_sched_hold(struct lmi_sched *s, uint32_t seq, bool held);
bool lmi_sched_is_held(const struct lmi_sched *s, uint32_t seq);
/* Returns the plan of a sequence. */
uint32_t lmi_sched_plan(const struct lmi_sched *s, uint32_t seq);
/* Lets a sequence stop before row `at`, a multiple of the rows of a page and at least its n_own, as if no later
 * row were known. UINT32_MAX: it goes on. A stop before rows that it has has no effect. */
void lmi_sched_stop(struct lmi_sched *s, uint32_t seq, uint32_t at);
/* Is it active, with all rows before its stop in memory and no pending step? */
bool lmi_sched_is_at_stop(const struct lmi_sched *s, uint32_t seq);
/* Takes memory for n more rows of a sequence at its stop, a multiple of the rows of a page and fewer than are
 * known, which the caller writes. Returns false if memory is short. Each true must be followed by
 * lmi_sched_put_rows before the next step is planned. */
bool lmi_sched_take_rows(struct lmi_sched *s, uint32_t seq, uint32_t n);
/* The rows were written and count as shared ones, or (false) they were not. The stop moves behind them. */
void lmi_sched_put_rows(struct lmi_sched *s, uint32_t seq, bool written);
/* Shortens a sequence to its first n >= 1 known rows. If their memory is no longer complete, they
 * are computed again. Must not be called while it is part of a pending step. */
void lmi_sched_truncate(struct lmi_sched *s, uint32_t seq, uint32_t n);
/* Gives a sequence other rows: the first n_same stay as they are, and from now on n_known >= 1 are
 * known, at most its limit. Their tokens may have changed. Must not be called while it is part of a
 * pending step. */
void lmi_sched_rewrite(struct lmi_sched *s, uint32_t seq, uint32_t n_same, uint32_t n_known);
/* Ends a sequence and frees its memory, at once or after the last pending step that it is part of.
 * The number may be reused afterwards. */
void lmi_sched_remove(struct lmi_sched *s, uint32_t seq);

/* Plans the next step; returns false if no sequence has anything to compute now, or if the maximum
 * number of steps is pending. Each true must be followed by commit. limit: may be NULL. */
bool lmi_sched_next(struct lmi_sched *s, const struct lmi_sched_limit *limit,
		    struct lmi_sched_step *out);
/* Ends the oldest pending step. If it did not run, its sequences start again from their first row.
 * kept: how many rows of each part count, 1 to n, but no fewer than those that are not drafts; NULL:
 * all. Known rows after those are forgotten, and later pending parts of the sequence do not count.
 * Sets n_kept of the parts. */
void lmi_sched_commit(struct lmi_sched *s, bool ran, const uint32_t *kept);
/* Tells how long a step of n_row rows took, from which the number of rows is derived that keeps to a
 * bound. bound_ns: that of the step; steps that took longer are counted. */
void lmi_sched_measure(struct lmi_sched *s, uint32_t n_row, uint64_t bound_ns, uint64_t ns);
/* Returns the number of pending steps. */
uint32_t lmi_sched_n_pending(const struct lmi_sched *s);

struct lmi_sched_stats {
	uint32_t n_waiting, n_active;
	uint64_t n_step, n_row, n_preempted, n_shared_rows;
	uint64_t n_bounded, n_over_bound; /* measured steps with a bound; those that took longer */
	uint64_t n_started, n_hit; /* sequences with tokens that started; those that shared rows */
};
void lmi_sched_stats(const struct lmi_sched *s, struct lmi_sched_stats *out);
/* Returns how many rows of a sequence were not computed when it first started, because they were in
 * memory. */
uint32_t lmi_sched_n_shared(const struct lmi_sched *s, uint32_t seq);
/* Returns how many of its first tokens were those of sequences in the prefix cache when it first
 * started, even if their rows were no longer in memory. A last row that is output was not looked
 * at. */
uint32_t lmi_sched_n_match(const struct lmi_sched *s, uint32_t seq);
/* Pins what was computed of the first n tokens of a sequence that uses the prefix cache; see
 * lmi_kv_pin. */
uint32_t lmi_sched_pin(struct lmi_sched *s, uint32_t seq, uint32_t n, uint64_t owner,
		       uint64_t until, uint32_t most);
/* Ends the pins whose time is over. */
void lmi_sched_unpin(struct lmi_sched *s, uint64_t now);
/* Returns the number of known rows, with drafts. */
uint32_t lmi_sched_n_known(const struct lmi_sched *s, uint32_t seq);
/* Does part k of the oldest pending step count if the step ran? See lmi_sched_part.n_kept. */
bool lmi_sched_counts(const struct lmi_sched *s, uint32_t k);
/* Estimates how long a step of n_row rows takes, in ns. Returns 0 if no step of about that size has
 * been measured. */
double lmi_sched_step_ns(const struct lmi_sched *s, uint32_t n_row);
/* The same, but if none of about that size was measured, the least that steps of other sizes allow it to take; 0: none
 * was measured. */
double lmi_sched_step_least_ns(const struct lmi_sched *s, uint32_t n_row);
/* Returns how many rows of a sequence are computed and committed (0 while it waits). */
uint32_t lmi_sched_n_done(const struct lmi_sched *s, uint32_t seq);

/* Returns its seq slot in the kv, or LMI_KV_NO_PAGE while it waits. */
uint32_t lmi_sched_kv_seq(const struct lmi_sched *s, uint32_t seq);

bool lmi_sched_check(const struct lmi_sched *s);

#endif /* LLAMAD_CORE_SCHED_SCHED_H */
