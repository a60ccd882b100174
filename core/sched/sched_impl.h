/* SPDX-License-Identifier: MIT
 *
 * sched_impl.h - the scheduler's state, shared by sched.c (sequences, ends of steps),
 * next_step.c (what the next step consists of), mark.c (which states it keeps), share.c (rows of
 * other sequences) and spread.c (how many sequences of a client generate). */
#ifndef LLAMAD_CORE_SCHED_SCHED_IMPL_H
#define LLAMAD_CORE_SCHED_SCHED_IMPL_H

#include "core/sched/cost.h"
#include "core/sched/fair.h"
#include "core/sched/sched.h"

#define LMI_SCHED_NO_DRAFT UINT32_MAX
#define LMI_SCHED_NO_STOP  UINT32_MAX

enum lmi_sched_state { LMI_SCHED_FREE, LMI_SCHED_WAITING, LMI_SCHED_ACTIVE };

struct lmi_sched_rec {
	struct lmi_sched_seq o;
	enum lmi_sched_state state;
	uint32_t n_step; /* pending steps that it is part of */
	uint32_t n_void; /* those of them that do not count */
	bool grown; /* it generates: a row was added */
	bool held; /* its last known row must wait; see lmi_sched_hold */
	bool restarts; /* a step failed; starts again after its pending steps */
	bool removed; /* removed while part of a step; freed after its pending steps */
	bool encoded; /* or a pending step does that */
	uint64_t arrival;   /* unique */
	uint32_t account;
	uint64_t tried; /* the last step for which a chunk of it was tried, or that it sits out */
	uint32_t number; /* among the generating ones of its account; spread.c */
	uint64_t parent_arrival; /* arrival of the parent; 0 = none */
	uint32_t n_done;    /* rows in memory */
	uint32_t n_planned; /* rows in memory and in pending steps */
	uint32_t draft_from; /* known rows from this one on are drafts, or
			      * LMI_SCHED_NO_DRAFT */
	uint32_t n_emitted; /* rows below this one have been output, or never will be */
	uint32_t stop; /* rows from this one on are not computed yet; LMI_SCHED_NO_STOP: none */
	uint32_t kv_seq;
	uint32_t n_shared; /* rows that it did not compute when it first started */
	uint32_t n_match; /* tokens that the prefix cache knew then */
	bool started;	   /* at least once */
	uint32_t next, prev;
};

struct lmi_sched_list {
	uint32_t head, tail, n;
};

struct lmi_sched_pending {
	struct lmi_sched_part *part; /* [kv sequences] */
	uint32_t n_part;
};

struct lmi_sched {
	struct lmi_kv *kv;
	uint32_t n_max, n_batch, n_out;
	uint32_t last_plan;
	uint64_t n_arrived;
	struct lmi_sched_rec *rec; /* [n_max] */
	struct lmi_sched_list waiting, active;
	struct lmi_sched_pending step[LMI_KV_MAX_STEP]; /* a ring: the oldest is step[first] */
	uint32_t n_step, first, n_pending;
	uint64_t target_ns[LMI_SCHED_N_CLASS];
	uint32_t client_slowdown_percent;
	uint32_t n_spread; /* steps until those of the clients with the fewest sequences are measured */
	struct lmi_sched_cost cost;
	struct lmi_sched_fair fair;
	uint64_t round; /* number of the step that is being planned */
	bool starved; /* a sequence lacks memory that newer sequences in pending steps hold */
	struct lmi_sched_stats stats;
};

/* The whole priority policy. */
static inline bool lmi_sched_comes_before(const struct lmi_sched_rec *a,
					  const struct lmi_sched_rec *b)
{
	return a->arrival < b->arrival;
}

/* Makes a waiting sequence active, with this seq slot of the KV memory. */
void lmi_sched_activate(struct lmi_sched *s, uint32_t i, uint32_t kv_seq);
/* Counts a start of a sequence that has n rows already. */
void lmi_sched_count_start(struct lmi_sched *s, struct lmi_sched_rec *r, uint32_t n);
/* Preempts a sequence: frees its memory and puts it back into the queue. */
void lmi_sched_restart(struct lmi_sched *s, uint32_t i);
/* Returns the parent whose rows a waiting sequence may still share; NULL if it no longer can. */
const struct lmi_sched_rec *lmi_sched_parent_of(const struct lmi_sched *s,
						struct lmi_sched_rec *r);
/* Starts waiting sequences whose parent has computed the rows that they share. */
void lmi_sched_start_shared(struct lmi_sched *s);

/* Does a sequence wait for rows of another one, not for memory? */
bool lmi_sched_waits_for_rows(const struct lmi_sched *s, struct lmi_sched_rec *r);
/* Lets a sequence share up to `most` rows that an active one has or is about to compute, if they are
 * more than those found in memory. Returns false if there are none. */
bool lmi_sched_follow(struct lmi_sched *s, struct lmi_sched_rec *r, uint32_t found, uint32_t most);

/* ---- mark.c ---- */

/* Sets the marks of a part: the rows after which drafts can be rejected and, with `all`, those from which
 * waiting or later sequences may start, as far as there is room. */
void lmi_sched_mark(struct lmi_sched *s, const struct lmi_sched_rec *r, struct lmi_sched_part *p,
		    bool all);
/* Does a waiting sequence want to start after exactly the planned rows? Then the next step must wait
 * for the fork, because it may overwrite the state. */
bool lmi_sched_must_fork_first(struct lmi_sched *s, const struct lmi_sched_rec *p);

/* ---- span.c ---- */

/* Can every span be computed in a step? */
enum lmd_status lmi_sched_check_spans(const struct lmi_sched_seq *o, uint32_t most,
				      struct lmd_error *err);
/* Returns how many of the next rows of a sequence are computed in a step if n of them may be, or at most
 * `most` in order not to cut a span; 0: its next rows have to wait for more room. */
uint32_t lmi_sched_uncut(const struct lmi_sched_rec *r, uint32_t n, uint32_t most);
/* Is its next row part of a span? */
bool lmi_sched_is_in_span(const struct lmi_sched_rec *r);

/* Are there known rows that may be computed now? */
bool lmi_sched_has_work(const struct lmi_sched_rec *r);
/* Sets `tried` of the generating sequences that sit out the step of this plan, because their client has
 * enough others; see lmi_sched_opts.client_slowdown_percent. */
void lmi_sched_spread(struct lmi_sched *s, uint32_t plan);

#endif /* LLAMAD_CORE_SCHED_SCHED_IMPL_H */
