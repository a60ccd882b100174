/* SPDX-License-Identifier: MIT
 *
 * sched_fixture.h - for tests: a scheduler with too little memory, and a player of the engine's part
 * that submits, samples, cancels, rejects drafts and lets steps fail. */
#ifndef LLAMAD_CORE_SCHED_SCHED_FIXTURE_H
#define LLAMAD_CORE_SCHED_SCHED_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/sched/sched.h"
#include "tests/lmd_check.h"

#define N_MAX	40
#define N_SEQ	6
#define N_BATCH 32
#define N_OUT	20

/* ck_assert reports every passed check to its parent process; there are millions here. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)

#define N_CTX	160
#define N_PAGE	18
#define PT	16
#define DEPTH	 3 /* pending steps */
#define NO_DRAFT UINT32_MAX

/* The test's record of a sequence. */
struct client {
	bool used, cancelled, held;
	struct lmi_sched_seq o;
	uint32_t n_known, draft_from;
	uint32_t n_pending, n_void; /* pending parts; those that do not count */
	uint32_t planned;	    /* rows in memory and in pending parts, if there are any */
	uint32_t out_done, out_planned; /* the first row that has not been output */
	lmd_token *token; /* [N_CTX] with prefix caching */
};

struct flight {
	uint32_t n_part;
	struct lmi_sched_part part[N_SEQ];
	int32_t row[N_SEQ][N_BATCH]; /* physical rows of the first group */
	const struct lmi_sched_part *given; /* the scheduler's own */
};

struct fixture {
	struct lmi_kv *kv;
	struct lmi_sched *s;
	uint32_t depth, n_flight; /* at most; now, oldest first: */
	struct flight flight[DEPTH];
	struct client c[N_MAX];
	bool cached;
	lmd_token text[6][N_CTX];
	lmd_token token[N_MAX + 1][N_CTX]; /* those of clients; the first is -1: free */
	uint32_t row[N_PAGE * PT]; /* the first group in memory: the hash of the tokens so far */
	uint64_t rnd, n_born, n_finished, n_cancelled, n_failed, n_mixed, n_marked, n_encoded,
		n_ahead, n_chained, n_void, n_held, n_dropped, n_rejected, n_accepted, n_truncated,
		n_rewritten;
};

/* Returns a random number below n. */
uint32_t fixture_below(struct fixture *w, uint32_t n);
uint32_t fixture_max2(uint32_t a, uint32_t b);

#define FIXTURE_N_GROUP 4
/* With the first n_group of full, window, state and cross; models with cross have no prefix
 * caching. depth: pending steps at most; 0 counts as 1. */
void fixture_init_groups(struct fixture *w, uint64_t seed, uint32_t depth, uint32_t n_group);
/* With all groups and one pending step. */
void fixture_init(struct fixture *w, uint64_t seed);
void fixture_fini(struct fixture *w);
void fixture_expect_all_free(const struct fixture *w);

/* Returns some sequence that was not cancelled, or LMI_SCHED_NO_SEQ. */
uint32_t fixture_any_client(struct fixture *w);
/* Submits a random sequence, if there is room. */
void fixture_submit(struct fixture *w);
/* A sequence was removed: nobody may read its tokens. */
void fixture_free_tokens(struct client *c);

/* ---- sched_fixture_check.c ---- */

/* A step was planned: forgets the drafts for which the scheduler found no room. */
void fixture_drop_drafts(struct fixture *w);
/* Checks a step that was planned, part by part. */
void fixture_check_step(struct fixture *w, const struct lmi_sched_step *step,
		      const struct lmi_sched_limit *limit);
/* Checks that the rows that a part continues are those of its tokens, and writes its own. */
void fixture_check_rows(struct fixture *w, const struct lmi_sched_part *p, int32_t *row);
/* The oldest step has failed: nobody may use its rows. */
void fixture_lose_rows(struct fixture *w, const struct flight *f);
void fixture_copy_rows(struct fixture *w);

#endif /* LLAMAD_CORE_SCHED_SCHED_FIXTURE_H */
