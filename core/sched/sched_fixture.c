/* SPDX-License-Identifier: MIT
 *
 * A scheduler with too little memory, and random sequences for it; see sched_fixture.h. */
#include <string.h>

#include "core/sched/sched_fixture.h"

uint32_t fixture_below(struct fixture *w, uint32_t n)
{
	return (uint32_t)(lmd_rand(&w->rnd) % n);
}

uint32_t fixture_max2(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static const struct lmd_group groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 24, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
	{.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1},
};

void fixture_init_groups(struct fixture *w, uint64_t seed, uint32_t depth, uint32_t n_group)
{
	struct lmi_kv_opts k = {.groups = groups,
				.n_group = n_group,
				.page_tokens = PT,
				.n_seq = N_SEQ,
				.n_ctx = N_CTX,
				.n_cross = 32,
				.cache_prefixes = true,
				.n_page = {14, N_PAGE, 0, 6},
				.n_slot = {0, 0, N_SEQ + 6, 0}};
	struct lmi_sched_opts o = {.n_max = N_MAX,
				   .n_batch = N_BATCH,
				   .n_out = N_OUT,
				   .n_step = depth,
				   .target_ns = {20, 10, 0},
				   .client_slowdown_percent = 20};

	memset(w, 0, sizeof(*w));
	w->rnd = seed;
	w->depth = depth;
	w->cached = n_group < LMD_LEN(groups);
	memset(w->token, -1, sizeof(w->token));
	ck_assert_int_eq(lmi_kv_create(&w->kv, &k, NULL), LMD_OK);
	o.kv = w->kv;
	ck_assert_int_eq(lmi_sched_create(&w->s, &o, NULL), LMD_OK);
}

void fixture_init(struct fixture *w, uint64_t seed)
{
	fixture_init_groups(w, seed, 0, LMD_LEN(groups));
}

void fixture_fini(struct fixture *w)
{
	lmi_sched_destroy(w->s);
	lmi_kv_destroy(w->kv);
}

void fixture_expect_all_free(const struct fixture *w)
{
	struct lmi_kv_stats k;

	lmi_kv_stats(w->kv, &k);
	ck_assert_uint_eq(k.n_seq_free, k.n_seq);
	for (uint32_t g = 0; g < LMD_LEN(groups); g++)
		ck_assert_uint_eq(k.n_free[g], k.n_page[g]);
}

uint32_t fixture_any_client(struct fixture *w)
{
	uint32_t i = fixture_below(w, N_MAX);

	for (uint32_t k = 0; k < N_MAX; k++, i = (i + 1) % N_MAX)
		if (w->c[i].used && !w->c[i].cancelled)
			return i;
	return LMI_SCHED_NO_SEQ;
}

/* ---- prefix caching ---- */

static void random_tokens(struct fixture *w, lmd_token *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)fixture_below(w, 2);
}

/* Gives a sequence tokens that begin like those of others. */
static void choose_tokens(struct fixture *w, struct lmi_sched_seq *o)
{
	lmd_token *text = w->text[fixture_below(w, LMD_LEN(w->text))], *v = w->token[0];
	uint32_t n = fixture_below(w, N_CTX);

	while (*v >= 0)
		v += N_CTX;
	if (!fixture_below(w, 3))
		random_tokens(w, text + n, N_CTX - n);
	memcpy(v, text, N_CTX * sizeof(*v));
	o->tokens = v;
	o->identity.tenant = fixture_below(w, 2);
	o->share = LMI_SCHED_NO_SEQ;
}

/* A sequence was removed: nobody may read its tokens. */
void fixture_free_tokens(struct client *c)
{
	for (uint32_t i = 0; c->token && i < N_CTX; i++)
		c->token[i] = -1;
	c->token = NULL;
}

/* ---- sequences ---- */

void fixture_submit(struct fixture *w)
{
	struct lmi_sched_seq o = {.n_known = 1 + fixture_below(w, fixture_below(w, 2) ? 12 : 90),
				  .plan = fixture_below(w, 8) ? 0 : 1 + fixture_below(w, 2),
				  .out = fixture_below(w, 4) ? LMI_SCHED_OUT_LAST : LMI_SCHED_OUT_ALL,
				  .class = (enum lmi_sched_class)fixture_below(w, 3),
				  .client = fixture_below(w, 4),
				  .share = LMI_SCHED_NO_SEQ};
	struct lmd_error err;
	uint32_t i;
	enum lmd_status st;

	o.n_limit = o.n_known + fixture_below(w, 60);
	if (!fixture_below(w, 10))
		o.max_chunk = 1 + fixture_below(w, 3), o.chunk_from = fixture_below(w, 12);
	if (!fixture_below(w, 10) && o.n_known <= N_OUT && !o.max_chunk) {
		o.whole = true;
		o.n_limit = o.n_known;
	}
	if (!fixture_below(w, 8) && !w->cached) {
		o.n_encode = 1 + fixture_below(w, 30);
		o.encode_plan = 5;
	}
	if (!fixture_below(w, 3) && !o.n_encode) {
		o.share = o.whole ? LMI_SCHED_NO_SEQ : fixture_any_client(w);
		if (o.share != LMI_SCHED_NO_SEQ && !w->c[o.share].o.n_encode) {
			const struct client *p = &w->c[o.share];

			o.share_rows = 1 + fixture_below(w, p->n_known);
			if (o.n_known <= o.share_rows)
				o.n_known = o.share_rows + 1 + fixture_below(w, 5);
			if (o.n_limit < o.n_known)
				o.n_limit = o.n_known;
		} else {
			o.share = LMI_SCHED_NO_SEQ;
		}
	}
	if (!fixture_below(w, 6))
		o.out_from = fixture_below(w, o.n_known);
	if (o.n_limit > N_CTX)
		return;
	if (w->cached && fixture_below(w, 6))
		choose_tokens(w, &o);
	st = lmi_sched_submit(w->s, &o, &i, &err);
	if (st == LMD_BUSY) {
		struct client none = {.token = NULL};

		for (uint32_t k = 0; o.tokens && k <= N_MAX; k++)
			if (w->token[k] == o.tokens)
				none.token = w->token[k];
		fixture_free_tokens(&none);
		return;
	}
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	MUST(!w->c[i].used);
	w->n_born++;
	w->c[i] = (struct client){
		.used = true, .o = o, .n_known = o.n_known, .draft_from = NO_DRAFT};
	for (uint32_t k = 0; o.tokens && k <= N_MAX; k++)
		if (w->token[k] == o.tokens)
			w->c[i].token = w->token[k];
	w->c[i].out_done = o.share == LMI_SCHED_NO_SEQ ? 0 : o.share_rows;
	if (o.out_from > w->c[i].out_done)
		w->c[i].out_done = o.out_from;
}
