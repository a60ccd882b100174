/* SPDX-License-Identifier: MIT
 *
 * The times of steps: what is learned from measurements, and that steps keep to their bound. Time is
 * simulated: a device whose steps take a time that depends on their rows and on the rows before. */
#include <stdio.h>

#include "core/sched/cost.h"
#include "core/sched/sched.h"
#include "tests/lmd_check.h"

#define MS 1000000u

/* ---- estimates ---- */

static uint64_t straight(uint32_t n_row)
{
	return 2 * MS + (uint64_t)n_row * 100000;
}

START_TEST(a_straight_line_is_found)
{
	struct lmi_sched_cost c = {0};
	uint64_t rnd = lmd_seed("costs", 3);

	ck_assert(lmi_sched_cost_of(&c, 7) <= 0);
	ck_assert_uint_eq(lmi_sched_cost_rows(&c, 1, 512), 512);
	for (int i = 0; i < 400; i++) {
		uint32_t n = 1 + (uint32_t)(lmd_rand(&rnd) % 512);

		lmi_sched_cost_add(&c, n, straight(n));
	}
	for (uint32_t n = 32; n <= 512; n *= 2) {
		double of = lmi_sched_cost_of(&c, n) / (double)straight(n);
		uint32_t rows = lmi_sched_cost_rows(&c, straight(n), 512);

		ck_assert_msg(of > 0.8 && of < 1.25, "%u rows: %f of the time", n, of);
		ck_assert_msg(rows >= n * 3 / 4 && rows <= n * 5 / 4, "%u rows for %u", rows, n);
	}
}
END_TEST

/* Estimates never fall with the number of rows, whatever was measured. */
START_TEST(estimates_are_in_order)
{
	uint64_t rnd = lmd_seed("order of costs", 4);

	for (int k = 0; k < 200; k++) {
		struct lmi_sched_cost c = {0};

		for (int i = 0; i < 30; i++)
			lmi_sched_cost_add(&c, 1 + (uint32_t)(lmd_rand(&rnd) % 600),
					   lmd_rand(&rnd) % (100 * MS));
		for (uint32_t n = 1; n < 600; n++)
			if (lmi_sched_cost_of(&c, n) > lmi_sched_cost_of(&c, n + 1) * 1.0000001)
				ck_abort_msg("walk %d: %u rows", k, n);
	}
}
END_TEST

/* One slow step does not stop large steps for ever. */
START_TEST(a_wrong_estimate_is_corrected)
{
	struct lmi_sched_cost c = {0};

	for (uint32_t n = 1; n <= 512; n *= 2)
		lmi_sched_cost_add(&c, n, 50 * straight(n));
	ck_assert_uint_lt(lmi_sched_cost_rows(&c, straight(400), 512), 16);
	for (int i = 0; i < 200; i++) {
		uint32_t n = lmi_sched_cost_rows(&c, straight(400), 512);

		n = n < 16 ? 16 : n;
		lmi_sched_cost_add(&c, n, straight(n));
	}
	ck_assert_uint_gt(lmi_sched_cost_rows(&c, straight(400), 512), 300);
}
END_TEST

/* ---- steps ---- */

struct sim {
	struct lmi_kv *kv;
	struct lmi_sched *s;
	uint64_t now_ns, slow; /* slow: factor of the device's time */
	uint64_t worst_ns;     /* longest step with a bound */
	uint32_t n_bounded, n_prompt_rows; /* in steps with a bound */
};

static const struct lmd_group group = {
	.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};

static void sim_init(struct sim *m, uint64_t normal_ns, uint64_t interactive_ns)
{
	struct lmi_kv_opts k = {.groups = &group,
				.n_group = 1,
				.page_tokens = 32,
				.n_seq = 16,
				.n_ctx = 16384,
				.n_page = {2048}};
	struct lmi_sched_opts o = {.n_max = 64,
				   .n_batch = 512,
				   .n_out = 64,
				   .target_ns = {normal_ns, interactive_ns, 0}};

	*m = (struct sim){.slow = 1};
	ck_assert_int_eq(lmi_kv_create(&m->kv, &k, NULL), LMD_OK);
	o.kv = m->kv;
	ck_assert_int_eq(lmi_sched_create(&m->s, &o, NULL), LMD_OK);
}

static void sim_fini(struct sim *m)
{
	lmi_sched_destroy(m->s);
	lmi_kv_destroy(m->kv);
}

static uint32_t submit(struct sim *m, uint32_t n_known, enum lmi_sched_class class)
{
	struct lmi_sched_seq o = {.n_known = n_known,
				  .n_limit = n_known + 4000,
				  .class = class,
				  .share = LMI_SCHED_NO_SEQ};
	uint32_t seq;

	ck_assert_int_eq(lmi_sched_submit(m->s, &o, &seq, NULL), LMD_OK);
	return seq;
}

/* Runs a step, and lets all sequences go on that have computed their rows. */
static void run(struct sim *m)
{
	struct lmi_sched_step st;
	uint64_t ns = 2 * MS;
	uint32_t n_prompt = 0;

	ck_assert(lmi_sched_next(m->s, NULL, &st));
	for (uint32_t k = 0; k < st.n_part; k++) {
		const struct lmi_sched_part *p = &st.parts[k];

		ns += p->n * 50000ull + (uint64_t)p->n * p->first * 8;
		n_prompt += p->n > 1 ? p->n : 0;
	}
	ns *= m->slow;
	m->now_ns += ns;
	lmi_sched_commit(m->s, true, NULL);
	lmi_sched_measure(m->s, st.n_row, st.bound_ns, ns);
	for (uint32_t k = 0; k < st.n_part; k++)
		if (st.parts[k].n_out)
			ck_assert(lmi_sched_grow(m->s, st.parts[k].seq));
	if (!st.bound_ns)
		return;
	m->n_bounded++;
	m->n_prompt_rows += n_prompt;
	m->worst_ns = ns > m->worst_ns ? ns : m->worst_ns;
}

/* Streams decode while long prompts arrive: no step takes much longer than the streams may wait. */
START_TEST(a_prompt_keeps_to_the_bound)
{
	static const enum lmi_sched_class classes[] = {LMI_SCHED_NORMAL, LMI_SCHED_INTERACTIVE};
	static const uint64_t bound[] = {20 * MS, 10 * MS};

	for (size_t i = 0; i < LMD_LEN(classes); i++) {
		struct lmi_sched_stats st;
		struct sim m;
		uint32_t p;

		sim_init(&m, bound[0], bound[1]);
		(void)submit(&m, 300, classes[i]);
		(void)submit(&m, 1000, LMI_SCHED_BATCH);
		for (int k = 0; k < 20; k++)
			run(&m);
		m.worst_ns = m.n_bounded = m.n_prompt_rows = 0;
		p = submit(&m, 12000, LMI_SCHED_BATCH);
		while (lmi_sched_n_done(m.s, p) < 12000)
			run(&m);
		printf("bound %llu us: worst %llu us, %u steps, %u rows a step\n",
		       (unsigned long long)bound[i] / 1000, (unsigned long long)m.worst_ns / 1000,
		       m.n_bounded, m.n_prompt_rows / m.n_bounded);
		ck_assert_uint_lt(m.worst_ns, bound[i] * 5 / 4);
		/* the bound is used: on average a step takes at least half of it */
		ck_assert_uint_gt(12000 * 50000ull + 12000ull * 6000 * 8 +
					  m.n_bounded * (2ull * MS),
				  m.n_bounded * bound[i] / 2);
		lmi_sched_stats(m.s, &st);
		ck_assert_uint_ge(st.n_bounded, m.n_bounded);
		ck_assert_uint_gt(st.n_bounded, 20);
		ck_assert_uint_lt(st.n_over_bound, st.n_bounded / 2);
		sim_fini(&m);
	}
}
END_TEST

/* Without a target, or if nothing generates, steps are full. */
START_TEST(without_a_bound_steps_are_full)
{
	struct lmi_sched_step st;
	struct sim m;

	sim_init(&m, 0, 10 * MS);
	(void)submit(&m, 8000, LMI_SCHED_INTERACTIVE);
	run(&m);
	ck_assert(lmi_sched_next(m.s, NULL, &st));
	ck_assert_uint_eq(st.n_row, 512);
	ck_assert_uint_eq(st.bound_ns, 0);
	lmi_sched_commit(m.s, true, NULL);
	sim_fini(&m);
	sim_init(&m, 0, 10 * MS);
	(void)submit(&m, 20, LMI_SCHED_NORMAL);
	run(&m);
	(void)submit(&m, 8000, LMI_SCHED_INTERACTIVE);
	ck_assert(lmi_sched_next(m.s, NULL, &st));
	ck_assert_uint_eq(st.n_row, 512);
	ck_assert_uint_eq(st.bound_ns, 0);
	lmi_sched_commit(m.s, true, NULL);
	sim_fini(&m);
}
END_TEST

/* A bound that no step can keep: prompts get on nevertheless, a page at a time. */
START_TEST(an_impossible_bound_starves_no_prompt)
{
	struct lmi_sched_stats st;
	struct sim m;
	uint32_t p, n = 0;

	sim_init(&m, 1, 1);
	(void)submit(&m, 20, LMI_SCHED_NORMAL);
	for (int k = 0; k < 5; k++)
		run(&m);
	p = submit(&m, 3200, LMI_SCHED_BATCH);
	for (; lmi_sched_n_done(m.s, p) < 3200; n++)
		run(&m);
	ck_assert_uint_eq(n, 100);
	lmi_sched_stats(m.s, &st);
	ck_assert_uint_eq(st.n_over_bound, 100);
	sim_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cost");
	TCase *t = tcase_create("cost");

	tcase_add_test(t, a_straight_line_is_found);
	tcase_add_test(t, estimates_are_in_order);
	tcase_add_test(t, a_wrong_estimate_is_corrected);
	tcase_add_test(t, a_prompt_keeps_to_the_bound);
	tcase_add_test(t, without_a_bound_steps_are_full);
	tcase_add_test(t, an_impossible_bound_starves_no_prompt);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
