/* SPDX-License-Identifier: MIT
 *
 * Two tenants of the prefix cache: one asks for what the other has just asked, or for something new. The
 * rows that are computed are the same, and the processor time tells no difference beyond noise: a rank
 * test of many probes in random order. As a check of the test, a probe of the same tenant is told apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

#define N_PROMPT 90u
#define N_PROBE	 400u /* half of them of what the other tenant has */

struct probe {
	bool known; /* the victim has asked for it */
	uint64_t ns, n_row;
};

static struct story_env env;

static uint64_t rows_of(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	lmi_engine_stats(e, &st);
	return st.n_row;
}

static struct probe ask(struct lmi_engine *e, const lmd_token *v, uint64_t tenant)
{
	struct lmi_engine_generate cmd = story_command(1, v, N_PROMPT, 1);
	uint64_t from = lmi_clock_thread_ns(), n_row = rows_of(e);

	cmd.tenant = tenant;
	(void)story_generate(e, &cmd);
	return (struct probe){.ns = lmi_clock_thread_ns() - from, .n_row = rows_of(e) - n_row};
}

static int by_time(const void *a, const void *b)
{
	const struct probe *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The statistic of the rank test of Mann and Whitney: normal with deviation 1 if times do not depend
 * on `known`. Sorts the probes. */
static double z_of(struct probe *p)
{
	double n_known = 0, n_other, ranks = 0, mean, deviation;

	qsort(p, N_PROBE, sizeof(*p), by_time);
	for (uint32_t i = 0; i < N_PROBE; i++) {
		n_known += p[i].known;
		ranks += p[i].known ? i + 1.0 : 0;
	}
	n_other = N_PROBE - n_known;
	mean = n_known * (N_PROBE + 1.0) / 2;
	deviation = sqrt(n_known * n_other * (N_PROBE + 1.0) / 12);
	return (ranks - mean) / deviation;
}

/* The victim is tenant 1. */
static double probe_all(struct lmi_engine *e, uint64_t tenant, uint64_t *rnd, uint64_t n_row[2])
{
	static struct probe p[N_PROBE];
	lmd_token secret[N_PROMPT], other[N_PROMPT];

	for (uint32_t i = 0; i < N_PROBE; i++) {
		bool known = lmd_rand(rnd) % 2;

		story_random_tokens(secret, N_PROMPT, rnd);
		story_random_tokens(other, N_PROMPT, rnd);
		(void)ask(e, secret, 1);
		p[i] = ask(e, known ? secret : other, tenant);
		p[i].known = known;
		n_row[known] = p[i].n_row > n_row[known] ? p[i].n_row : n_row[known];
		/* the first tokens may be those of an earlier probe */
		if (tenant != 1)
			ck_assert_uint_ge(p[i].n_row, N_PROMPT - 4);
	}
	return z_of(p);
}

START_TEST(a_probe_tells_nothing)
{
	struct lmi_engine_opts o;
	struct lmi_engine *e;
	uint64_t rnd, rows[2] = {0}, own_rows[2] = {0};
	double z, own;

	story_env_init(&env, "tenant timing");
	rnd = env.seed;
	o = story_opts(&env, 2);
	o.inst.kv_tokens = 1024;
	e = story_engine(&o);
	own = probe_all(e, 1, &rnd, own_rows);
	z = probe_all(e, 2, &rnd, rows);
	printf("%u probes: z = %.2f between tenants (%u and %u rows), %.2f within one (%u and %u)\n",
	       N_PROBE, z, (unsigned)rows[0], (unsigned)rows[1], own, (unsigned)own_rows[0],
	       (unsigned)own_rows[1]);
	ck_assert_uint_eq(own_rows[0], N_PROMPT);
	ck_assert_uint_eq(own_rows[1], 1);
	ck_assert_msg(own < -10, "the test sees no difference where there is one");
	/* once in 3 million runs by chance */
	ck_assert_msg(fabs(z) < 5, "known prompts take other times: z = %.2f", z);
	lmi_engine_fini(e);
	story_env_fini(&env);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("timing of tenants");
	TCase *t = tcase_create("timing of tenants");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, a_probe_tells_nothing);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
