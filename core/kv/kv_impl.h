/* SPDX-License-Identifier: MIT
 *
 * kv_impl.h - the state of the KV memory, shared by kv.c (which changes it) and kv_query.c (which
 * reads it). */
#ifndef LLAMAD_CORE_KV_KV_IMPL_H
#define LLAMAD_CORE_KV_KV_IMPL_H

#include <assert.h>

#include "core/kv/kv.h"
#include "core/kv/page_table.h"
#include "core/kv/slots.h"

struct lmi_kv_seq {
	bool open;
	bool is_void;	   /* the pending steps continue rows that do not count */
	uint32_t len;	   /* tokens committed */
	uint32_t n_step;   /* pending steps, oldest first: */
	uint32_t reserved[LMI_KV_MAX_STEP]; /* their tokens */
	uint32_t marks[LMI_KV_MAX_STEP];    /* number of their marks */
	uint32_t n_mark;   /* all marks, ascending; those of the pending steps come last: */
	uint32_t mark[LMI_KV_MAX_MARK]; /* their positions */
	uint32_t cross;	   /* rows in CROSS groups */
	uint32_t node;	   /* of its last page that can be found, a root, or LMI_KV_NO_NODE */
	uint32_t n_named;  /* tokens up to the end of that page */
};

struct lmi_kv_group {
	struct lmd_group desc;
	struct lmi_kv_page_table pages;
	struct lmi_kv_slots slots;
};

struct lmi_kv {
	uint32_t n_group, n_seq, n_ctx, n_cross, page_tokens;
	struct lmi_kv_group group[LMD_MAX_GROUP];
	struct lmi_kv_seq *seq; /* [n_seq] */
	uint32_t n_free_seq;
	struct lmi_kv_copy *copy; /* [n_seq * n_group] */
	uint32_t n_copy;
	struct lmi_kv_prefix_tree tree; /* without nodes: no prefix caching */
	bool has_states;
};

static inline uint32_t lmi_kv_ratio_of(const struct lmd_group *g)
{
	return g->ratio > 1 ? g->ratio : 1;
}

/* Number of rows in the group of a sequence of n tokens. */
static inline uint32_t lmi_kv_rows_of(const struct lmd_group *g, uint32_t n)
{
	return n / lmi_kv_ratio_of(g);
}

static inline bool lmi_kv_is_paged(const struct lmd_group *g)
{
	return g->kind == LMD_GROUP_PAGED;
}

static inline struct lmi_kv_seq *lmi_kv_seq_of(const struct lmi_kv *kv, uint32_t seq)
{
	assert(seq < kv->n_seq && kv->seq[seq].open);
	return &kv->seq[seq];
}

/* Tokens including those of the pending steps. */
static inline uint32_t lmi_kv_end_of(const struct lmi_kv_seq *s)
{
	uint32_t end = s->len;

	for (uint32_t i = 0; i < s->n_step; i++)
		end += s->reserved[i];
	return end;
}

/* ---- prefix.c ---- */

/* Creates the tree if prefixes are cached and the model allows it. */
enum lmd_status lmi_kv_prefix_init(struct lmi_kv *kv, const struct lmi_kv_opts *opts);
/* A sequence forks or is shortened to its first `at` tokens: sets what it has of the tree. */
void lmi_kv_prefix_fork(struct lmi_kv *kv, uint32_t from, uint32_t to, uint32_t at);
void lmi_kv_prefix_truncate(struct lmi_kv *kv, uint32_t seq, uint32_t at);
/* Drops a sequence's reference to its node. */
void lmi_kv_prefix_leave(struct lmi_kv *kv, uint32_t seq);
/* Returns the first row whose page a sequence that starts after n tokens needs; n: none. */
uint32_t lmi_kv_first_needed(const struct lmi_kv *kv, const struct lmd_group *g, uint32_t n);
/* Returns the child with exactly these tokens, a new one if need be; LMI_KV_NO_NODE: there is no
 * room for it. */
uint32_t lmi_kv_get_child(struct lmi_kv *kv, uint32_t parent, const lmd_token *tokens, uint32_t n);
/* Returns the mark at a position; n_mark: there is none. */
uint32_t lmi_kv_mark_at(const struct lmi_kv_seq *s, uint32_t at);

#endif /* LLAMAD_CORE_KV_KV_IMPL_H */
