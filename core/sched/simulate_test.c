/* SPDX-License-Identifier: MIT
 *
 * The simulation: times that can be computed by hand, the same run twice, and what the scheduler's
 * policy is for: a client with few requests beside one with many, streams beside long prompts. */
#include <stdio.h>
#include <string.h>

#include "core/sched/simulate.h"
#include "core/sched/simulate_fixture.h"
#include "tests/lmd_check.h"

#define MS 1000000ull
#define N  1000

/* What a run has given. */
struct log {
	uint32_t n_token[N];
	uint64_t first_ns[N], worst_ns[N], sum; /* worst: longest time between tokens */
};

static void take(void *arg, uint32_t request, uint32_t n, uint64_t ns)
{
	struct log *l = arg;

	ck_assert_uint_eq(n, ++l->n_token[request]);
	l->sum = (l->sum ^ ns) * 0x9e3779b97f4a7c15u + request;
	if (n == 1)
		l->first_ns[request] = ns;
	else if (ns > l->worst_ns[request])
		l->worst_ns[request] = ns;
}

/* Times between tokens of the requests from `from` on. */
struct between {
	uint32_t from, n;
	uint64_t ns[20000];
};

static void take_between(void *arg, uint32_t request, uint32_t n, uint64_t ns)
{
	struct between *b = arg;

	if (request < b->from || n == 1)
		return;
	ck_assert_uint_lt(b->n, LMD_LEN(b->ns));
	b->ns[b->n++] = ns;
}

static struct lmi_sched_sim_opts some_opts(const struct lmi_sched_sim_request *r, uint32_t n)
{
	return (struct lmi_sched_sim_opts){.request = r,
					   .n_request = n,
					   .n_seq = 32,
					   .n_batch = 512,
					   .n_ctx = 8192,
					   .page_tokens = 32,
					   .n_page = 8192,
					   .fixed_ns = 10 * MS,
					   .row_ns = 0.5 * MS};
}

static struct lmi_sched_sim_totals run(const struct lmi_sched_sim_opts *o, struct log *l)
{
	struct lmi_sched_sim_totals t;
	struct lmd_error err;

	memset(l, 0, sizeof(*l));
	ck_assert_msg(lmi_sched_simulate(o, take, l, &t, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < o->n_request; i++)
		ck_assert_uint_eq(l->n_token[i], o->request[i].n_out);
	return t;
}

START_TEST(times_by_hand)
{
	/* the prompt of 600 tokens takes two steps; the second request arrives much later */
	static const struct lmi_sched_sim_request r[] = {
		{.at_ns = 5 * MS, .n_prompt = 600, .n_out = 3},
		{.at_ns = 10000 * MS, .n_prompt = 2, .n_out = 1},
	};
	struct lmi_sched_sim_opts o = some_opts(r, 2);
	static struct log l;
	struct lmi_sched_sim_totals t;

	o.host_ns = MS;
	t = run(&o, &l);
	ck_assert_uint_eq(l.first_ns[0], (10 + 256 + 1 + 10 + 44) * MS);
	ck_assert_uint_eq(l.worst_ns[0], (1 + 10) * MS + MS / 2);
	ck_assert_uint_eq(l.first_ns[1], 11 * MS);
	ck_assert_uint_eq(t.end_ns, 10011 * MS);
	ck_assert_uint_eq(t.busy_ns, (266 + 54 + 21 + 11) * MS);
	ck_assert_uint_eq(t.stats.n_row, 604);
	/* from the start to 5 ms, and from the end of the first request on, to the second */
	ck_assert_uint_eq(t.empty_ns, 10000 * MS - (266 + 54 + 21 + 4) * MS);
}
END_TEST

START_TEST(what_does_not_fit_is_named)
{
	static const struct lmi_sched_sim_request r[] = {{.n_prompt = 9000, .n_out = 1}};
	struct lmi_sched_sim_opts o = some_opts(r, 1);
	struct lmi_sched_sim_totals t;
	static struct log l;
	struct lmd_error err;

	ck_assert_int_eq(lmi_sched_simulate(&o, take, &l, &t, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "request 1"));
	o.n_request = 0;
	ck_assert_int_eq(lmi_sched_simulate(&o, take, &l, &t, &err), LMD_INVALID);
}
END_TEST

static struct lmi_sched_sim_request requests[N];

/* 500 requests of one client at once, and 20 of another one, one every 2 s. */
static uint32_t one_with_many(uint64_t *rnd)
{
	uint32_t n = 0;

	for (; n < 500; n++)
		requests[n] = (struct lmi_sched_sim_request){
			.client = 1,
			.n_prompt = 100 + (uint32_t)(lmd_rand(rnd) % 400),
			.n_out = 20 + (uint32_t)(lmd_rand(rnd) % 80)};
	for (uint32_t i = 0; i < 20; i++)
		requests[n++] = (struct lmi_sched_sim_request){
			.at_ns = (1 + 2 * i) * 1000 * MS, .client = 2, .n_prompt = 200, .n_out = 10};
	return n;
}

/* The first token of the client with few requests comes in a tenth of the time that it takes in order
 * of arrival, and the other one hardly loses. */
START_TEST(few_beside_many)
{
	uint64_t rnd = lmd_seed("simulation of clients", 31), worst[2] = {0, 0};
	struct lmi_sched_sim_opts o = some_opts(requests, one_with_many(&rnd));
	struct lmi_sched_sim_totals t[2];
	static struct log l;

	for (int fair = 0; fair < 2; fair++) {
		o.in_order = !fair;
		t[fair] = run(&o, &l);
		for (uint32_t i = 500; i < o.n_request; i++)
			worst[fair] = l.first_ns[i] > worst[fair] ? l.first_ns[i] : worst[fair];
	}
	printf("slowest first token: %llu ms in order, %llu ms fair\n",
	       (unsigned long long)(worst[0] / MS), (unsigned long long)(worst[1] / MS));
	ck_assert_uint_lt(worst[1] * 10, worst[0]);
	ck_assert_uint_lt(t[1].end_ns, t[0].end_ns * 21 / 20);
}
END_TEST

/* Returns the 95th percentile of the times between tokens of the requests from `from` on. */
static uint64_t p95(const struct lmi_sched_sim_opts *o, uint32_t from)
{
	static struct between b;
	struct lmi_sched_sim_totals t;
	struct lmd_error err;

	b.from = from;
	b.n = 0;
	ck_assert_msg(lmi_sched_simulate(o, take_between, &b, &t, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_gt(b.n, 1000);
	return sim_p95(b.ns, b.n);
}

/* A client with 900 sessions beside one with 10, and the latter alone, with step times of a large GPU:
 * an 8B model of 16 bits whose weights are read in 4 ms, and contexts of about 1000 tokens whose keys
 * and values are read in 27 us each. */
START_TEST(many_sessions_beside_few)
{
	uint64_t alone, beside[2];
	struct lmi_sched_sim_opts o;
	uint32_t n = 0;

	for (; n < 900; n++)
		requests[n] = (struct lmi_sched_sim_request){
			.client = 1, .n_prompt = 900, .n_out = 1500};
	for (uint32_t i = 0; i < 10; i++)
		requests[n++] = (struct lmi_sched_sim_request){
			.at_ns = 40000 * MS, .client = 2, .n_prompt = 900, .n_out = 200};
	o = some_opts(requests + 900, 10);
	o.n_seq = 1000;
	o.n_batch = 2048;
	o.n_page = 96 * 1024;
	o.fixed_ns = 4 * MS;
	o.row_ns = 0.001 * MS;
	o.pair_ns = 27;
	o.target_ns[LMI_SCHED_NORMAL] = 200 * MS;
	alone = p95(&o, 0);
	o.request = requests;
	o.n_request = n;
	for (int i = 0; i < 2; i++) {
		o.client_slowdown_percent = i ? 20 : 0;
		beside[i] = p95(&o, 900);
	}
	printf("between tokens, p95: %.1f ms alone, %.1f ms beside 900, with a bound %.1f ms\n",
	       (double)alone / MS, (double)beside[0] / MS, (double)beside[1] / MS);
	ck_assert_uint_gt(beside[0], 3 * alone);
	ck_assert_uint_le(beside[1] * 100, alone * 120);
}
END_TEST

/* Streams beside long prompts: the longest time between tokens keeps to the target. */
START_TEST(streams_beside_prompts)
{
	static struct log l;
	uint64_t worst[2] = {0, 0};
	struct lmi_sched_sim_opts o;
	uint32_t n = 0;

	for (; n < 4; n++)
		requests[n] = (struct lmi_sched_sim_request){
			.client = n, .n_prompt = 50, .n_out = 600};
	for (uint32_t i = 0; i < 5; i++)
		requests[n++] = (struct lmi_sched_sim_request){.at_ns = (2 + 3 * i) * 1000 * MS,
							       .client = 9,
							       .n_prompt = 4000,
							       .n_out = 2};
	o = some_opts(requests, n);
	for (int bounded = 0; bounded < 2; bounded++) {
		o.target_ns[LMI_SCHED_NORMAL] = bounded ? 100 * MS : 0;
		(void)run(&o, &l);
		for (uint32_t i = 0; i < 4; i++)
			worst[bounded] = l.worst_ns[i] > worst[bounded] ? l.worst_ns[i]
									: worst[bounded];
	}
	printf("longest time between tokens: %llu ms, with a target of 100 ms %llu ms\n",
	       (unsigned long long)(worst[0] / MS), (unsigned long long)(worst[1] / MS));
	ck_assert_uint_gt(worst[0], 250 * MS);
	ck_assert_uint_le(worst[1], 110 * MS);
}
END_TEST

/* Random requests with too little memory all end, and the same ones give the same times again. */
START_TEST(the_same_run_twice)
{
	uint64_t rnd = lmd_seed("simulation", 33), at = 0;
	struct lmi_sched_sim_opts o = some_opts(requests, 300);
	static struct log a, b;

	for (uint32_t i = 0; i < 300; i++) {
		at += lmd_rand(&rnd) % (400 * MS);
		requests[i] = (struct lmi_sched_sim_request){
			.at_ns = at,
			.client = lmd_rand(&rnd) % 5,
			.class = (enum lmi_sched_class)(lmd_rand(&rnd) % 3),
			.n_prompt = 1 + (uint32_t)(lmd_rand(&rnd) % 2000),
			.n_out = 1 + (uint32_t)(lmd_rand(&rnd) % 300)};
	}
	o.n_page = 120;
	o.n_ctx = 2400;
	o.target_ns[0] = o.target_ns[1] = 50 * MS;
	ck_assert_uint_gt(run(&o, &a).stats.n_preempted, 0);
	(void)run(&o, &b);
	ck_assert_uint_eq(a.sum, b.sum);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("simulate");
	TCase *t = tcase_create("simulate");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, times_by_hand);
	tcase_add_test(t, what_does_not_fit_is_named);
	tcase_add_test(t, few_beside_many);
	tcase_add_test(t, many_sessions_beside_few);
	tcase_add_test(t, streams_beside_prompts);
	tcase_add_test(t, the_same_run_twice);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
