/* SPDX-License-Identifier: MIT
 *
 * kv.h - the memory of all sequences of one model: its groups together.
 *
 * A sequence has a seq slot (its row in the page tables) and a length in tokens.  One step
 * is: reserve room for the next n tokens in every group, or get nothing; run; commit; let
 * forks start; settle, which gives back what no later row can see.
 *
 * Pure: no device, no clock, one thread at a time, nothing allocated after create. */
#ifndef LLAMAD_CORE_KV_KV_H
#define LLAMAD_CORE_KV_KV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/interval.h"
#include "core/kv/page_pool.h"
#include "llamad/plan.h"
#include "llamad/status.h"

struct lmi_kv_opts {
	const struct lmd_group *groups; /* [n_group], copied */
	uint32_t n_group;		/* at most LMD_MAX_GROUP */
	uint32_t page_tokens;
	uint32_t n_seq;			/* sequences at a time */
	uint32_t n_ctx;			/* tokens of one sequence */
	uint32_t n_cross;		/* rows of one sequence in CROSS groups */
	uint32_t n_page[LMD_MAX_GROUP]; /* PAGED, CROSS */
	uint32_t n_slot[LMD_MAX_GROUP]; /* STATE */
};

struct lmi_kv;

/* LMD_NOMEM, LMD_INVALID (sizes). */
enum lmd_status lmi_kv_create(struct lmi_kv **out, const struct lmi_kv_opts *opts,
			      struct lmd_error *err);
void lmi_kv_destroy(struct lmi_kv *kv);

/* Pages that one sequence of n tokens takes in group g when it computes at most n_step of
 * them in a step (windows give pages back on the way). */
uint32_t lmi_kv_pages_for(const struct lmd_group *g, uint32_t page_tokens, uint32_t n,
			  uint32_t n_step);
/* Logical pages of a table row of group g. */
uint32_t lmi_kv_n_index(const struct lmd_group *g, uint32_t page_tokens, uint32_t n_ctx,
			uint32_t n_cross);

/* A seq slot, or LMI_NO_PAGE when all are taken. */
uint32_t lmi_kv_open(struct lmi_kv *kv);
/* Gives back everything the sequence has. */
void lmi_kv_close(struct lmi_kv *kv, uint32_t seq);
uint32_t lmi_kv_len(const struct lmi_kv *kv, uint32_t seq);
uint32_t lmi_kv_n_free_seq(const struct lmi_kv *kv);

/* Would a sequence that has nothing yet get memory for n tokens, in steps of n_step? */
bool lmi_kv_fits(const struct lmi_kv *kv, uint32_t n, uint32_t n_step);
/* The same if nobody else had anything. */
bool lmi_kv_could_fit(const struct lmi_kv *kv, uint32_t n, uint32_t n_step);

/* Room for n more tokens in every group, all or nothing.  mark: also keep the state after
 * the first `mark` tokens of these (0 = no; less than n), so that a fork can start there.
 * n beyond n_ctx is refused. */
bool lmi_kv_reserve(struct lmi_kv *kv, uint32_t seq, uint32_t n, uint32_t mark);
/* Room for n rows in every CROSS group, once per sequence. */
bool lmi_kv_reserve_cross(struct lmi_kv *kv, uint32_t seq, uint32_t n);
uint32_t lmi_kv_cross(const struct lmi_kv *kv, uint32_t seq);

/* The step ran and wrote n tokens (as reserved), or failed before it wrote any: n = 0. */
void lmi_kv_commit(struct lmi_kv *kv, uint32_t seq, uint32_t n);
/* Is everything that a sequence of `at` tokens needs there: rows in its windows, and a state?
 * True for the length itself and the mark of the last step, until settle. */
bool lmi_kv_can_fork(const struct lmi_kv *kv, uint32_t from, uint32_t at);
/* A new sequence with the first `at` tokens of `from`; LMI_NO_PAGE without a free seq slot.
 * can_fork must hold, and `from` has no reservation. */
uint32_t lmi_kv_fork(struct lmi_kv *kv, uint32_t from, uint32_t at);
/* Drops the mark, and pages that no row from the length on can see. */
void lmi_kv_settle(struct lmi_kv *kv, uint32_t seq);

/* What the step block wants to know.  Group kinds as their names say. */
struct lmi_interval lmi_kv_interval(const struct lmi_kv *kv, uint32_t g, uint32_t row, uint32_t n);
/* PAGED: where the row of token `pos` goes, or -1 where no block ends.  CROSS: row `pos`. */
int32_t lmi_kv_row(const struct lmi_kv *kv, uint32_t g, uint32_t seq, uint32_t pos);
int32_t lmi_kv_state_in(const struct lmi_kv *kv, uint32_t g, uint32_t seq); /* -1: zeros */
int32_t lmi_kv_state_out(const struct lmi_kv *kv, uint32_t g,
			 uint32_t seq); /* after the last row */
int32_t lmi_kv_state_mark(const struct lmi_kv *kv, uint32_t g, uint32_t seq); /* -1: no mark */

/* Page table changes of a sequence in a group since the last call. */
uint32_t lmi_kv_changes(struct lmi_kv *kv, uint32_t g, uint32_t seq, struct lmd_page_set *out,
			uint32_t cap);
/* Most changes that one step can have in a group. */
uint32_t lmi_kv_max_changes(const struct lmi_kv *kv);

/* Pages to be copied before the step runs; the list is emptied by the call.  At most one for
 * each sequence and group. */
struct lmi_kv_copy {
	uint32_t group, src, dst;
};
uint32_t lmi_kv_copies(struct lmi_kv *kv, const struct lmi_kv_copy **out);

struct lmi_kv_stats {
	uint32_t n_seq, n_seq_free;
	uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP]; /* pages or slots */
};
void lmi_kv_stats(const struct lmi_kv *kv, struct lmi_kv_stats *out);

/* All invariants, for tests. */
bool lmi_kv_check(const struct lmi_kv *kv);

#endif /* LLAMAD_CORE_KV_KV_H */
