/* SPDX-License-Identifier: MIT
 *
 * More requests than the scheduler can serve, in simulated time (S8): the capacity is measured with requests
 * that all wait at the start; then once, twice and three times as many arrive, at random times, as it serves in that
 * time. Those beyond the bound of the queue are refused. At twice and three times the capacity at least 90 % of its
 * tokens a second belong to answers within their goal. Class batch, which the others overtake, has no goal, but
 * its wait is bounded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/sched/simulate.h"
#include "core/sched/simulate_fixture.h"
#include "tests/lmd_check.h"

#define MS	 1000000ull
#define N	 2400
#define N_SEQ	 32		    /* the daemon's default for max_running, ... */
#define N_MAX	 (N_SEQ + 128)	    /* ... its queue, ... */
#define GOAL_NS	 (30000 * MS)	    /* ... and its first_token_ms, but not for class batch */
#define WAIT	 5		    /* the longest wait, in times that serving a full queue takes */
#define SPREAD	 4		    /* the longest prompt and answer, in means */
#define N_PROMPT 200		    /* means */
#define N_OUT	 100

static struct lmi_sched_sim_request requests[N];

struct log {
	uint32_t n_token[N];
	uint64_t first_ns[N];
};

static void take(void *arg, uint32_t request, uint32_t n, uint64_t ns)
{
	struct log *l = arg;

	ck_assert_uint_eq(n, ++l->n_token[request]);
	if (n == 1)
		l->first_ns[request] = ns;
}

static double uniform(uint64_t *rnd)
{
	return ((double)(lmd_rand(rnd) >> 11) + 1) / 9007199254740992.0;
}

/* Returns a length with this mean: uniform up to twice the mean, and one in ten SPREAD means. */
static uint32_t length(uint64_t *rnd, uint32_t mean)
{
	return lmd_rand(rnd) % 10 == 0 ? SPREAD * mean : 1 + (uint32_t)(lmd_rand(rnd) % (2 * mean));
}

/* Makes n requests of eight clients in all classes; per_s: how many arrive in a second, 0: all at once. */
static void make_requests(uint64_t seed, uint32_t n, double per_s)
{
	double at_ns = 0;

	for (uint32_t i = 0; i < n; i++) {
		requests[i] = (struct lmi_sched_sim_request){
			.at_ns = (uint64_t)at_ns,
			.client = lmd_rand(&seed) % 8,
			.class = (enum lmi_sched_class)(lmd_rand(&seed) % LMI_SCHED_N_CLASS),
			.n_prompt = length(&seed, N_PROMPT),
			.n_out = length(&seed, N_OUT)};
		if (per_s > 0)
			at_ns -= log(uniform(&seed)) / per_s * 1e9;
	}
}

struct result {
	double answers, tokens; /* a second, of answers within the goal */
	uint32_t n_good, n_late, n_refused;
	uint64_t p95_ns, worst_ns; /* first token of those that were not refused */
	uint64_t n_preempted;
};

static struct result run(uint32_t n, uint32_t n_max, uint32_t n_page, uint64_t goal_ns)
{
	struct lmi_sched_sim_opts o = {.request = requests,
				       .n_request = n,
				       .n_seq = N_SEQ,
				       .n_max = n_max,
				       .n_batch = 512,
				       .n_ctx = 2048,
				       .page_tokens = 32,
				       .n_page = n_page,
				       .fixed_ns = 10 * MS,
				       .row_ns = 0.5 * MS,
				       .target_ns = {100 * MS, 100 * MS, 0}};
	static struct log l;
	static uint64_t first[N];
	struct lmi_sched_sim_totals t;
	struct result r = {0};
	struct lmd_error err;
	uint32_t n_answer = 0;
	uint64_t n_token = 0;

	memset(&l, 0, sizeof(l));
	ck_assert_msg(lmi_sched_simulate(&o, take, &l, &t, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < n; i++) {
		if (!l.n_token[i])
			continue;
		ck_assert_uint_eq(l.n_token[i], requests[i].n_out);
		first[n_answer++] = l.first_ns[i];
		if (requests[i].class != LMI_SCHED_BATCH && l.first_ns[i] > goal_ns)
			continue;
		r.n_good++;
		n_token += l.n_token[i];
	}
	/* each request has one end: all its tokens, or a refusal */
	ck_assert_uint_eq(n_answer + t.n_refused, n);
	r.p95_ns = sim_p95(first, n_answer);
	r.worst_ns = first[n_answer - 1];
	r.n_late = n_answer - r.n_good;
	r.n_refused = t.n_refused;
	r.n_preempted = t.stats.n_preempted;
	r.answers = r.n_good / ((double)t.end_ns / 1e9);
	r.tokens = (double)n_token / ((double)t.end_ns / 1e9);
	return r;
}

/* n_page: with few, sequences are preempted while others wait. */
static void overload(uint64_t seed, uint32_t n_page, bool preempts)
{
	struct result at, r;

	make_requests(seed, N / 3, 0);
	at = run(N / 3, 0, n_page, UINT64_MAX);
	ck_assert_uint_eq(at.n_refused, 0);
	printf("capacity: %.2f answers, %.1f tokens a second\n", at.answers, at.tokens);
	for (uint32_t load = 1; load <= 3; load++) {
		make_requests(seed + load, N / 3 * load, load * at.answers);
		r = run(N / 3 * load, N_MAX, n_page, GOAL_NS);
		printf("%ux: %.2f answers, %.1f tokens a second in time; %u late, %u refused; first token: p95 "
		       "%.1f s, at most %.1f s; %llu preempted\n",
		       load, r.answers, r.tokens, r.n_late, r.n_refused, (double)r.p95_ns / 1e9,
		       (double)r.worst_ns / 1e9, (unsigned long long)r.n_preempted);
		/* at 1x the device is idle while the first ones arrive */
		ck_assert_double_ge(r.tokens, (load == 1 ? 0.8 : 0.9) * at.tokens);
		ck_assert_double_le((double)r.worst_ns / 1e9, WAIT * N_MAX / at.answers);
	}
	/* two of three are refused, but for those that the queue holds at the end */
	ck_assert_uint_ge(r.n_refused, N / 3 * 2 - N_MAX - N / 3 / 10);
	ck_assert_uint_eq(r.n_preempted > 0, preempts);
}

START_TEST(goodput_at_three_times_capacity)
{
	overload(lmd_seed("overload", 51), N_SEQ * 2048 / 32, false);
}
END_TEST

START_TEST(goodput_with_little_memory)
{
	overload(lmd_seed("overload with little memory", 53), 200, true);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("overload");
	TCase *t = tcase_create("overload");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, goodput_at_three_times_capacity);
	tcase_add_test(t, goodput_with_little_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
