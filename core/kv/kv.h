/* SPDX-License-Identifier: MIT
 *
 * kv.h - the KV memory of all sequences of one model, over all of its groups.
 *
 * A sequence has a seq slot (its row in the page tables) and a length in tokens.  One step
 * consists of: reserve memory for the next n tokens in every group (all or nothing); run;
 * commit; fork new sequences; trim, which frees what no later row can see.
 *
 * A sequence may have several pending steps, that is, reservations that have not been committed.
 * They are committed in the order in which they were made.  The device must run them in this order
 * as well, and the copies and page table changes of one before those of the next.  If fewer rows of
 * a step count than were reserved, its later pending steps are void: they continue rows that do not
 * count.
 *
 * Pure bookkeeping: no device and no clock.  Not thread-safe.  Allocates only in create. */
#ifndef LLAMAD_CORE_KV_KV_H
#define LLAMAD_CORE_KV_KV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/interval.h"
#include "core/kv/page_pool.h"
#include "core/kv/prefix_tree.h"
#include "core/kv/slots.h"
#include "llamad/plan.h"
#include "llamad/status.h"

struct lmi_kv_opts {
	const struct lmd_group *groups; /* [n_group], copied */
	uint32_t n_group;		/* at most LMD_MAX_GROUP */
	uint32_t page_tokens;
	uint32_t n_seq;			/* maximum number of open sequences */
	uint32_t n_ctx;			/* maximum tokens of one sequence */
	uint32_t n_cross;		/* maximum rows of one sequence in CROSS groups */
	uint32_t n_page[LMD_MAX_GROUP]; /* for PAGED and CROSS groups */
	uint32_t n_slot[LMD_MAX_GROUP]; /* for STATE groups */
	bool cache_prefixes;   /* keep what sequences computed until its memory is needed */
	uint64_t hash_key[2]; /* random; for cache_prefixes */
};

struct lmi_kv;

/* Returns LMD_NOMEM, or LMD_INVALID if a size is out of range. */
enum lmd_status lmi_kv_create(struct lmi_kv **out, const struct lmi_kv_opts *opts,
			      struct lmd_error *err);
void lmi_kv_destroy(struct lmi_kv *kv);

/* Pages that one sequence of n tokens needs at most in group g if it computes at most n_step
 * tokens per step (groups with a window free pages as they go). */
uint32_t lmi_kv_pages_for(const struct lmd_group *g, uint32_t page_tokens, uint32_t n,
			  uint32_t n_step);
/* Number of logical pages in a page-table row of group g. */
uint32_t lmi_kv_n_logical_pages(const struct lmd_group *g, uint32_t page_tokens, uint32_t n_ctx,
				uint32_t n_cross);

/* Returns a seq slot, or LMI_KV_NO_PAGE if all are in use. */
uint32_t lmi_kv_open(struct lmi_kv *kv);
/* Frees the seq slot and all memory of the sequence. */
void lmi_kv_close(struct lmi_kv *kv, uint32_t seq);
uint32_t lmi_kv_page_tokens(const struct lmi_kv *kv);
uint32_t lmi_kv_len(const struct lmi_kv *kv, uint32_t seq);
uint32_t lmi_kv_n_free_seq(const struct lmi_kv *kv);

/* Would an empty sequence get memory for n tokens, computed in steps of n_step? */
bool lmi_kv_fits(const struct lmi_kv *kv, uint32_t n, uint32_t n_step);
/* As lmi_kv_fits, but as if no other sequence held any memory. */
bool lmi_kv_fits_alone(const struct lmi_kv *kv, uint32_t n, uint32_t n_step);

/* Reserves memory for n more tokens in every group, all or nothing.  marks: also keep the states
 * after so many of these tokens (ascending, each 1 to n - 1), so that a fork can start there and
 * fewer tokens can be committed.  Returns false if the sequence would exceed n_ctx, if it has
 * LMI_KV_MAX_STEP pending steps or more than LMI_KV_MAX_MARK marks, or if memory is short.  Must not
 * be called while the sequence has void steps. */
bool lmi_kv_reserve(struct lmi_kv *kv, uint32_t seq, uint32_t n, const uint32_t *marks,
		    uint32_t n_mark);
/* Reserves memory for n rows in every CROSS group; call at most once per sequence. */
bool lmi_kv_reserve_cross(struct lmi_kv *kv, uint32_t seq, uint32_t n);
uint32_t lmi_kv_cross(const struct lmi_kv *kv, uint32_t seq);

/* Ends the oldest pending step.  n: how many of its tokens count.  It is
 * - the reserved number if the step wrote its tokens and all of them count;
 * - less if the others are rejected; a model with STATE groups must have a mark after n tokens.
 *   Their memory is freed when no step of the sequence is pending any more;
 * - 0 if the step failed before it wrote any token.
 * Unless all count, the later pending steps of the sequence are void; each is committed with 0.  In
 * a model with STATE groups, void steps may have overwritten the state after a step that failed:
 * then the sequence must be closed. */
void lmi_kv_commit(struct lmi_kv *kv, uint32_t seq, uint32_t n);
/* Returns the number of pending steps of a sequence, and whether they are void. */
uint32_t lmi_kv_n_pending(const struct lmi_kv *kv, uint32_t seq);
bool lmi_kv_is_void(const struct lmi_kv *kv, uint32_t seq);
/* Can a fork start after the first `at` tokens, that is, are they committed, and are the rows of
 * its windows and a state still present?  Always true for the current length of a sequence without
 * pending steps, and for the marks of committed steps until lmi_kv_trim. */
bool lmi_kv_can_fork(const struct lmi_kv *kv, uint32_t from, uint32_t at);
/* Opens a sequence that shares the first `at` tokens of `from`.  Returns its seq slot, or
 * LMI_KV_NO_PAGE if none is free.  lmi_kv_can_fork must hold. */
uint32_t lmi_kv_fork(struct lmi_kv *kv, uint32_t from, uint32_t at);
/* Shortens a sequence without pending steps to its first `at` tokens.  Returns false, and changes
 * nothing, unless lmi_kv_can_fork holds. */
bool lmi_kv_truncate(struct lmi_kv *kv, uint32_t seq, uint32_t at);
/* Drops the marks of committed steps and frees pages that no future row can see. */
void lmi_kv_trim(struct lmi_kv *kv, uint32_t seq);

/* ---- prefix caching ----
 *
 * Pages and states of sequences that have ended stay findable by their tokens until their memory is
 * needed; those of open sequences can be found as well. A model whose rows depend on more than the
 * tokens before them never finds anything (groups that are not causal or have a ratio, CROSS,
 * BATCH). */

/* A state is kept where a step ends after a multiple of so many tokens. */
#define LMI_KV_STATE_TOKENS 512u

/* The longest prefix that a new sequence can start with. Valid until the next change. */
struct lmi_kv_prefix {
	struct lmi_kv_identity id;
	uint32_t n;    /* tokens; 0: nothing was found */
	uint32_t node; /* that of the last whole page, or the root */
	uint32_t tail; /* that of a part of a page after it, or LMI_KV_NO_NODE */
	uint32_t n_match; /* tokens that are the same in the tree, though their rows may be missing */
};
/* Looks up at most the first n tokens. */
void lmi_kv_find_prefix(const struct lmi_kv *kv, const struct lmi_kv_identity *id,
			const lmd_token *tokens, uint32_t n, struct lmi_kv_prefix *out);
/* As lmi_kv_fits, for a sequence that starts with a prefix. */
bool lmi_kv_fits_after(const struct lmi_kv *kv, const struct lmi_kv_prefix *prefix, uint32_t n,
		       uint32_t n_step);
/* Opens a sequence that starts with a prefix, which may be empty, and whose rows can be remembered
 * under its identity. Returns its seq slot, or LMI_KV_NO_PAGE if none is free. */
uint32_t lmi_kv_open_prefix(struct lmi_kv *kv, const struct lmi_kv_prefix *prefix);
/* Makes the committed rows of a sequence findable: whole pages, and the states of marks and
 * after multiples of LMI_KV_STATE_TOKENS at their ends. ends: also the rest of the last page, and the state after the last row. tokens: as many as
 * the sequence is long. Does nothing for a sequence that was opened without an identity. */
void lmi_kv_remember(struct lmi_kv *kv, uint32_t seq, const lmd_token *tokens, bool ends);
/* As lmi_kv_remember without `ends`, but only whole pages of the first n tokens: what comes after them
 * depends on more than the tokens. */
void lmi_kv_remember_first(struct lmi_kv *kv, uint32_t seq, const lmd_token *tokens, uint32_t n);
/* Pins what can be found of the whole pages of these tokens: until the given time its memory is taken
 * only if nothing else is free. owner: whose share of memory it takes; most: pages that he may pin
 * in all. A pin that exists is extended and stays his who made it. Returns how many tokens are
 * pinned now, from the first one on. */
uint32_t lmi_kv_pin(struct lmi_kv *kv, const struct lmi_kv_identity *id, const lmd_token *tokens,
		    uint32_t n, uint64_t owner, uint64_t until, uint32_t most);
/* Ends the pins whose time is over. */
void lmi_kv_unpin(struct lmi_kv *kv, uint64_t now);
/* Returns for how many pages of tokens there is memory in all. */
uint32_t lmi_kv_capacity(const struct lmi_kv *kv);
/* Does a sequence have a mark after `at` tokens, or will it have one when its pending steps are
 * committed? */
bool lmi_kv_has_mark(const struct lmi_kv *kv, uint32_t seq, uint32_t at);
/* Returns how many states can be kept without evicting others; UINT32_MAX: the model has none. */
uint32_t lmi_kv_n_spare_states(const struct lmi_kv *kv);

/* ---- parts of prefixes: to store them elsewhere and to bring them back ----
 *
 * What a row after a prefix sees: for each group the pages of its window, or the state after the last
 * token. The list depends only on the groups and the number of tokens: groups ascending, in each of
 * them pages ascending. */

struct lmi_kv_part {
	uint32_t group;
	uint32_t page;	/* page or slot */
	uint32_t index; /* of the logical page; that of the last token for a state */
	uint32_t n_row; /* rows of the page that belong to the prefix; 0: a state */
	bool is_known;	/* lmi_kv_take_parts: it is in memory already, and is not written to */
};

/* Returns the number of parts of a prefix of n tokens. UINT32_MAX: this model has no prefixes. */
uint32_t lmi_kv_n_parts(const struct lmi_kv *kv, uint32_t n);
/* The parts without their pages, out[lmi_kv_n_parts(n)]. */
void lmi_kv_list_parts(const struct lmi_kv *kv, uint32_t n, struct lmi_kv_part *out);
/* Finds the parts of a prefix that was found, out[lmi_kv_n_parts(p->n)], and keeps them from being
 * taken or changed until lmi_kv_give_parts. */
void lmi_kv_hold_parts(struct lmi_kv *kv, const struct lmi_kv_prefix *p, struct lmi_kv_part *out);
/* Takes memory for the parts of a prefix that will be brought back. *node: what keeps its place in the
 * tree. LMD_BUSY: memory is short; the message has the numbers. */
enum lmd_status lmi_kv_take_parts(struct lmi_kv *kv, const struct lmi_kv_identity *id,
				  const lmd_token *tokens, uint32_t n, struct lmi_kv_part *out,
				  uint32_t *node, struct lmd_error *err);
/* The parts of lmi_kv_take_parts have been written: they can be found from now on. */
void lmi_kv_name_parts(struct lmi_kv *kv, const struct lmi_kv_part *parts, uint32_t n,
		       uint32_t node);
/* Gives parts back, and the node of lmi_kv_take_parts; LMI_KV_NO_NODE: there is none. */
void lmi_kv_give_parts(struct lmi_kv *kv, const struct lmi_kv_part *parts, uint32_t n,
		       uint32_t node);

/* ---- passages: rows of the same tokens at another place ----
 *
 * Behind an edited part, a text is often the same as before, but its rows follow other tokens and have other
 * positions. A passage names rows in the tree whose tokens equal those of whole pages of a new text. They can
 * stand in for the rows of the new text after the keys have been moved to their new positions; that is an
 * approximation, because in all layers but the first one they have seen the part before the edit. */

struct lmi_kv_passage {
	uint32_t at;   /* first token in the new text, a multiple of page_tokens */
	uint32_t n;    /* tokens, a multiple of page_tokens */
	uint32_t from; /* position of its first token where it was computed */
	uint32_t node; /* that of its last token, or one after it: `n` may be lowered */
};
/* Do rows see all rows before them, without states, so that passages can be moved? */
bool lmi_kv_has_passages(const struct lmi_kv *kv);
/* Keeps an index of the tree's pages for lmi_kv_find_passage from now on. Returns false if passages cannot be
 * moved, or without memory. */
bool lmi_kv_index_passages(struct lmi_kv *kv);
/* Finds the first passage of at least `least` tokens (and a page) that begins at token `from` or later, among the
 * first n tokens of a text. Returns false if there is none, if the text repeats itself so often that looking
 * for one was given up, or without an index. Valid until the next change. */
bool lmi_kv_find_passage(const struct lmi_kv *kv, const struct lmi_kv_identity *id,
		       const lmd_token *tokens, uint32_t n, uint32_t from, uint32_t least,
		       struct lmi_kv_passage *out);
/* Returns the page of a group with the row of position `pos` of the place where a passage was computed. */
uint32_t lmi_kv_passage_page(const struct lmi_kv *kv, const struct lmi_kv_passage *c, uint32_t g,
			   uint32_t pos);
/* Keep the pages of a passage from being taken, and end that. */
void lmi_kv_hold_passage(struct lmi_kv *kv, const struct lmi_kv_passage *c);
void lmi_kv_let_go_passage(struct lmi_kv *kv, const struct lmi_kv_passage *c);

/* Queries for building the step block.  Each applies only to the group kind that it names.  Those of
 * states refer to the newest pending step of the sequence. */
struct lmi_kv_span lmi_kv_interval(const struct lmi_kv *kv, uint32_t g, uint32_t row, uint32_t n);
/* PAGED: physical row of token `pos`, or -1 if no block ends there.  CROSS: that of row `pos`. */
int32_t lmi_kv_row(const struct lmi_kv *kv, uint32_t g, uint32_t seq, uint32_t pos);
int32_t lmi_kv_state_in(const struct lmi_kv *kv, uint32_t g, uint32_t seq); /* -1: zeros */
int32_t lmi_kv_state_out(const struct lmi_kv *kv, uint32_t g,
			 uint32_t seq); /* after the last row */
int32_t lmi_kv_state_mark(const struct lmi_kv *kv, uint32_t g, uint32_t seq,
			  uint32_t i); /* i-th mark of the step; -1: it has no such mark */

/* A run of page table entries of a sequence: index, number and pages, which are valid until the next
 * reservation. */
struct lmi_kv_run {
	uint32_t index, n;
	const uint32_t *pages;
};
/* Returns the number of page table entries of a sequence in group g that have not been reported by
 * lmi_kv_changes or lmi_kv_take_run. */
uint32_t lmi_kv_n_changes(const struct lmi_kv *kv, uint32_t g, uint32_t seq);
/* Returns these entries and counts them as reported. */
struct lmi_kv_run lmi_kv_take_run(struct lmi_kv *kv, uint32_t g, uint32_t seq);
/* Returns an upper bound on the changes of one group in a step of n_row rows, if no sequence has
 * just got the pages of another one or lost a step. */
uint32_t lmi_kv_usual_changes(const struct lmi_kv *kv, uint32_t n_row);
/* Stores the page table changes of a sequence in group g since the last call in `out`.  `cap` must
 * not be less than their number.  Returns the number stored. */
uint32_t lmi_kv_changes(struct lmi_kv *kv, uint32_t g, uint32_t seq, struct lmd_page_set *out,
			uint32_t cap);
/* Maximum number of changes in one group in one step. */
uint32_t lmi_kv_max_changes(const struct lmi_kv *kv);

/* Pages to copy before the step runs.  The call empties the list, which has at most one entry for
 * each sequence and group; *out stays valid until the next reservation. */
struct lmi_kv_copy {
	uint32_t group, src, dst;
};
uint32_t lmi_kv_copies(struct lmi_kv *kv, const struct lmi_kv_copy **out);

struct lmi_kv_stats {
	uint32_t n_seq, n_seq_free;
	uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP]; /* pages or slots */
	uint32_t n_cached[LMD_MAX_GROUP];	/* free ones that can be found by their tokens */
	uint64_t n_evicted;			/* that could be found until they were taken */
	uint32_t n_pinned; /* pages of tokens that are pinned, in whatever groups */
};
void lmi_kv_stats(const struct lmi_kv *kv, struct lmi_kv_stats *out);

/* Checks all invariants; for tests. */
bool lmi_kv_check(const struct lmi_kv *kv);

#endif /* LLAMAD_CORE_KV_KV_H */
