/* SPDX-License-Identifier: MIT
 *
 * Clients share the rows of steps: accounts, and what one client with many sequences costs another
 * one with few, counted in rows. */
#include <stdio.h>
#include <string.h>

#include "core/sched/fair.h"
#include "core/sched/sched.h"
#include "tests/lmd_check.h"

START_TEST(a_newcomer_has_no_claims)
{
	struct lmi_sched_account v[4] = {{0}};
	struct lmi_sched_fair f = {v, 4};
	uint32_t a = lmi_sched_fair_enter(&f, 1, LMI_SCHED_NORMAL), b;

	lmi_sched_fair_charge(&f, a, 1000, false);
	b = lmi_sched_fair_enter(&f, 2, LMI_SCHED_NORMAL);
	ck_assert_uint_ne(a, b);
	ck_assert(!lmi_sched_fair_less(&f, b, a) && !lmi_sched_fair_less(&f, a, b));
	lmi_sched_fair_charge(&f, b, 1, false);
	ck_assert(lmi_sched_fair_less(&f, a, b));
	/* a client that comes back keeps its count, unless the others have more */
	lmi_sched_fair_leave(&f, b);
	ck_assert_uint_eq(lmi_sched_fair_enter(&f, 2, LMI_SCHED_NORMAL), b);
	ck_assert(lmi_sched_fair_less(&f, a, b));
	/* classes have accounts of their own */
	ck_assert_uint_ne(lmi_sched_fair_enter(&f, 2, LMI_SCHED_BATCH), b);
}
END_TEST

START_TEST(classes_and_tokens_have_prices)
{
	static const struct {
		enum lmi_sched_class class;
		bool generates;
		uint64_t price;
	} cases[] = {{LMI_SCHED_INTERACTIVE, false, 1}, {LMI_SCHED_NORMAL, false, 2},
		     {LMI_SCHED_BATCH, false, 8},	{LMI_SCHED_NORMAL, true, 4},
		     {LMI_SCHED_BATCH, true, 16}};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_sched_account v[1] = {{0}};
		struct lmi_sched_fair f = {v, 1};
		uint32_t a = lmi_sched_fair_enter(&f, 7, cases[i].class);

		lmi_sched_fair_charge(&f, a, 3, cases[i].generates);
		ck_assert_uint_eq(v[a].served, 3 * cases[i].price);
	}
}
END_TEST

/* ---- clients of a scheduler ---- */

#define N_BATCH 256
#define N_SEQ	1000

static const struct lmd_group group = {
	.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};

struct sim {
	struct lmi_kv *kv;
	struct lmi_sched *s;
	uint64_t rows_of[4]; /* computed, by client */
	uint64_t rnd;
};

static uint32_t client_of_seq[2 * N_SEQ], n_left[2 * N_SEQ];

static void sim_init(struct sim *m, const char *name, uint32_t n_page, uint32_t n_batch)
{
	struct lmi_kv_opts k = {.groups = &group,
				.n_group = 1,
				.page_tokens = 32,
				.n_seq = n_batch < N_SEQ ? n_batch : N_SEQ,
				.n_ctx = 4096,
				.n_page = {n_page}};
	struct lmi_sched_opts o = {.n_max = 2 * N_SEQ, .n_batch = n_batch, .n_out = n_batch};

	*m = (struct sim){.rnd = lmd_seed(name, 21)};
	ck_assert_int_eq(lmi_kv_create(&m->kv, &k, NULL), LMD_OK);
	o.kv = m->kv;
	ck_assert_int_eq(lmi_sched_create(&m->s, &o, NULL), LMD_OK);
}

static void sim_fini(struct sim *m)
{
	lmi_sched_destroy(m->s);
	lmi_kv_destroy(m->kv);
}

static uint32_t submit(struct sim *m, uint32_t client, uint32_t n_known, uint32_t n_more)
{
	struct lmi_sched_seq o = {.n_known = n_known,
				  .n_limit = n_known + n_more,
				  .client = client,
				  .share = LMI_SCHED_NO_SEQ};
	uint32_t seq;

	ck_assert_int_eq(lmi_sched_submit(m->s, &o, &seq, NULL), LMD_OK);
	client_of_seq[seq] = client;
	n_left[seq] = n_more;
	return seq;
}

/* Runs a step; sequences that have ended are replaced by equal ones. Returns whether `watched` was
 * part of it with an output. */
static bool run(struct sim *m, uint32_t watched)
{
	struct lmi_sched_part parts[N_SEQ];
	struct lmi_sched_step st;
	bool found = false;

	ck_assert(lmi_sched_next(m->s, NULL, &st));
	memcpy(parts, st.parts, st.n_part * sizeof(*parts));
	lmi_sched_commit(m->s, true, NULL);
	for (uint32_t k = 0; k < st.n_part; k++) {
		uint32_t seq = parts[k].seq, client = client_of_seq[seq];

		m->rows_of[client] += parts[k].n;
		if (!parts[k].n_out)
			continue;
		found |= seq == watched;
		if (n_left[seq]-- && lmi_sched_grow(m->s, seq))
			continue;
		lmi_sched_remove(m->s, seq);
		if (seq != watched)
			(void)submit(m, client, 100 + (uint32_t)(lmd_rand(&m->rnd) % 800),
				     (uint32_t)(lmd_rand(&m->rnd) % 30));
	}
	return found;
}

/* One client with 900 sequences: the only one of another client has its first token after as many
 * steps as its prompt needs, and one more. In order of arrival it would wait for 900 prompts, which
 * is thousands of steps; and then it is part of every step. */
START_TEST(nine_hundred_delay_one_by_little)
{
	struct sim m;
	uint32_t seq, n = 0;

	sim_init(&m, "fair 900", 40000, 1024);
	for (int i = 0; i < 900; i++)
		(void)submit(&m, 1, 100 + (uint32_t)(lmd_rand(&m.rnd) % 1900), 400);
	for (int i = 0; i < 50; i++)
		(void)run(&m, UINT32_MAX);
	for (int k = 0; k < 20; k++) {
		seq = submit(&m, 2, 300, 20);
		for (n = 1; !run(&m, seq); n++)
			ck_assert_uint_lt(n, 100);
		ck_assert_msg(n <= 3, "first token after %u steps", n);
		while (n_left[seq] + 1)
			ck_assert(run(&m, seq));
	}
	printf("first token after %u steps\n", n);
	sim_fini(&m);
}
END_TEST

/* Too little memory, and three clients that always have something to compute, one of them with 90% of
 * the sequences: nobody starves, and the two small ones get what they ask for. */
START_TEST(shares_with_too_little_memory)
{
	struct lmi_sched_stats st;
	struct sim m;

	sim_init(&m, "fair memory", 300, N_BATCH);
	for (int i = 0; i < 180; i++)
		(void)submit(&m, 1, 200, 30);
	for (int i = 0; i < 10; i++)
		for (uint32_t c = 2; c <= 3; c++)
			(void)submit(&m, c, 200, 30);
	for (int i = 0; i < 2000; i++) {
		(void)run(&m, UINT32_MAX);
		ck_assert(i % 100 || lmi_sched_check(m.s));
	}
	lmi_sched_stats(m.s, &st);
	printf("rows: %llu, %llu, %llu; %llu preempted\n", (unsigned long long)m.rows_of[1],
	       (unsigned long long)m.rows_of[2], (unsigned long long)m.rows_of[3],
	       (unsigned long long)st.n_preempted);
	for (uint32_t c = 1; c <= 3; c++)
		ck_assert_uint_ge(m.rows_of[c] * 5, m.rows_of[1] + m.rows_of[2] + m.rows_of[3]);
	sim_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fair");
	TCase *t = tcase_create("fair");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_newcomer_has_no_claims);
	tcase_add_test(t, classes_and_tokens_have_prices);
	tcase_add_test(t, nine_hundred_delay_one_by_little);
	tcase_add_test(t, shares_with_too_little_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
