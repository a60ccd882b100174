/* SPDX-License-Identifier: MIT
 *
 * kv_fixture.h - a model of the KV memory without pages, and a simulated device: each sequence has a list of tags,
 * one per token, and a row that is read through the device's page table must have the expected tag. The
 * device (its tables, rows and states) consists of arrays that are updated only with what a step block would
 * pass to a real device. It runs up to three steps late. */
#ifndef LLAMAD_CORE_KV_KV_FIXTURE_H
#define LLAMAD_CORE_KV_KV_FIXTURE_H

#include "core/kv/kv.h"
#include "tests/lmd_check.h"

#define PT	16
#define N_SEQ	9
#define N_CTX	120
#define N_CROSS 40
#define N_PAGE	40
#define N_STEP	24

#define N_GROUP_MAX 7
#define G_CROSS 5

/* The groups of the model: of all kinds, or those whose prefixes can be found. */
extern const struct lmd_group *kv_fixture_groups;
extern uint32_t kv_fixture_n_group;
extern uint32_t kv_fixture_g_state; /* the group of states; kv_fixture_n_group: none */

/* ck_assert reports every passed check to its parent process; there are millions here. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)
#define DEPTH 3 /* steps in flight */
#define LOST  UINT32_MAX /* what rows and states are that do not count */

/* The model's view of a sequence. */
struct model_seq {
	bool open;
	uint32_t id;	  /* unique */
	uint32_t len, end; /* tokens committed, and planned */
	uint32_t n_pending, n_void; /* pending steps; those that do not count */
	uint32_t cross;
	uint32_t tag[N_CTX];
	uint32_t cross_tag;
	lmd_token token[N_CTX]; /* only with prefix caching */
};

/* What a step block tells the device about one sequence. */
struct part {
	uint32_t s, id, first, n, cross;
	uint32_t n_mark, mark[3];
	int32_t row[LMD_MAX_GROUP][N_STEP];
	int32_t in, out, mark_slot[3];
	uint32_t tag[N_STEP];
	uint32_t cross_tag;
	int32_t cross_row[N_CROSS]; /* written before the step if cross_tag */
};

struct flight {
	bool has_run, failed;
	uint32_t n_part, n_copy, n_set[LMD_MAX_GROUP];
	struct part part[N_SEQ];
	struct lmi_kv_copy copy[N_SEQ * LMD_MAX_GROUP];
	struct lmd_page_set set[LMD_MAX_GROUP][N_SEQ * N_CTX];
};

struct world {
	struct lmi_kv *kv;
	struct model_seq seq[N_SEQ];
	uint32_t depth, n_flight; /* at most; now, oldest first: */
	struct flight flight[DEPTH];
	uint32_t table[N_GROUP_MAX][N_SEQ][N_CTX]; /* the device's page tables */
	uint32_t row[N_GROUP_MAX][N_PAGE * PT];
	uint32_t state[64];
	uint32_t next_tag, next_id;
	bool cached; /* prefix caching: tags are hashes of the tokens up to theirs */
	lmd_token text[8][N_CTX];
	struct lmi_kv_identity who[2];
	uint64_t now, n_pinned;
	uint32_t n_open, n_hit, n_tail;
	uint64_t n_hit_tokens;
	uint64_t rnd;
	uint32_t n_refused, n_copied, n_forked, n_marked, n_failed, n_closed, n_void, n_partial,
		n_truncated, n_deep;
};

uint32_t kv_fixture_below(struct world *w, uint32_t n);
/* Makes tokens of few kinds, so that sequences have parts in common. */
void kv_fixture_random_tokens(struct world *w, lmd_token *v, uint32_t n);
/* Returns the hash of the tokens up to token i of a sequence. */
uint32_t kv_fixture_tag_of(const struct model_seq *m, uint32_t i);
/* cached: with prefix caching, and groups that have prefixes; states: one of them has states. */
void kv_fixture_init(struct world *w, uint64_t seed, uint32_t depth, bool cached, bool states);
uint32_t kv_fixture_ratio(uint32_t g);
bool kv_fixture_is_paged(uint32_t g);
bool kv_fixture_has_states(void);
/* Runs a step; steps run in order. */
void kv_fixture_run(struct world *w, struct flight *f);

#endif /* LLAMAD_CORE_KV_KV_FIXTURE_H */
