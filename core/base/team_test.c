/* SPDX-License-Identifier: MIT
 *
 * Every part runs exactly once per job, in the order of jobs, and sees everything written before.
 * Also run under the thread sanitizer. */
#include "core/base/team.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cpu_set.h"
#include "tests/lmd_check.h"

#define N_JOB 2000

struct job {
	uint32_t number;   /* written by the caller between jobs */
	uint32_t seen[64]; /* part i writes seen[i] */
	_Atomic uint32_t n_run;
	uint32_t n_part;
};

static void work(void *arg, uint32_t part, uint32_t n_part)
{
	struct job *j = arg;

	j->seen[part] = j->number;
	if (part == 0)
		j->n_part = n_part;
	atomic_fetch_add_explicit(&j->n_run, 1, memory_order_relaxed);
}

static const struct {
	uint32_t n, spin_ns;
	bool bound; /* each part to one processor */
	uint32_t n_few;
} teams[] = {
	{1, UINT32_MAX, false, 0}, {2, UINT32_MAX, false, 1}, {2, 0, true, 0},
	{3, 0, false, 2},          {4, 1000, false, 1},       {17, UINT32_MAX, true, 5},
};

static void open_team(struct lmd_team **t, int i, uint32_t barrier_ns)
{
	const struct lmi_cpu_place place = {.strict = teams[i].bound};
	struct lmi_cpu_set *cpus;
	struct lmd_error err = {0};
	struct lmi_team_opts o = {.n = teams[i].n,
				  .spin_ns = teams[i].spin_ns,
				  .barrier_ns = barrier_ns,
				  .n_few = teams[i].n_few};

	ck_assert_msg(lmi_cpu_place(&cpus, &o.n, &place, o.n, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert(!cpus == !teams[i].bound);
	o.cpus = cpus;
	ck_assert_msg(lmi_team_create(t, &o, &err) == LMD_OK, "%s", err.text);
	lmi_free(cpus);
}

START_TEST(every_part_once)
{
	struct lmd_team *t = NULL;
	struct job j = {0};
	uint64_t allocs;

	open_team(&t, _i, 0);
	ck_assert_uint_eq(lmi_team_size(t), teams[_i].n);
	allocs = lmi_alloc_thread_count();
	for (j.number = 1; j.number <= N_JOB; j.number++) {
		bool few = j.number / 3 % 2;
		uint32_t n = few && teams[_i].n_few ? teams[_i].n_few : teams[_i].n;

		lmi_team_use_few(t, few);
		ck_assert_uint_eq(lmi_team_size(t), n);
		atomic_store(&j.n_run, 0);
		lmi_team_run(t, work, &j);
		ck_assert_uint_eq(atomic_load(&j.n_run), n);
		ck_assert_uint_eq(j.n_part, n);
		for (uint32_t i = 0; i < n; i++)
			ck_assert_uint_eq(j.seen[i], j.number);
	}
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	lmi_team_destroy(t);
}
END_TEST

/* Each part writes its number, waits, and adds up what all parts wrote. */
struct phased {
	struct lmd_team *team;
	uint32_t wrote[64], wrong;
};

static void phases(void *arg, uint32_t part, uint32_t n_part)
{
	struct phased *p = arg;

	for (uint32_t i = 1; i <= N_JOB; i++) {
		p->wrote[part] = i * (part + 1);
		lmi_team_barrier(p->team);
		for (uint32_t j = 0; j < n_part; j++) {
			if (p->wrote[j] != i * (j + 1))
				__atomic_fetch_add(&p->wrong, 1, __ATOMIC_RELAXED);
		}
		lmi_team_barrier(p->team);
	}
}

START_TEST(barriers_separate_phases)
{
	struct phased p = {0};
	struct lmi_team_times times;

	open_team(&p.team, _i, _i % 2 ? 300 : 0);
	ck_assert_uint_eq(lmi_team_times(p.team).part_ns, 0);
	lmi_team_measure(p.team);
	for (int i = 0; i < 4; i++) {
		lmi_team_use_few(p.team, i % 2);
		lmi_team_run(p.team, phases, &p);
	}
	ck_assert_uint_eq(p.wrong, 0);
	times = lmi_team_times(p.team);
	ck_assert_uint_gt(times.part_ns, 0);
	ck_assert_uint_le(times.wait_ns, times.part_ns);
	ck_assert(!times.wait_ns == (teams[_i].n == 1));
	lmi_team_destroy(p.team);
}
END_TEST

START_TEST(no_team_is_one_part)
{
	struct job j = {.number = 5};

	lmi_team_run(NULL, work, &j);
	lmi_team_barrier(NULL);
	ck_assert_uint_eq(atomic_load(&j.n_run), 1);
	ck_assert_uint_eq(j.seen[0], 5);
	ck_assert_uint_eq(lmi_team_size(NULL), 1);
	lmi_team_destroy(NULL);
}
END_TEST

START_TEST(unused_team)
{
	for (uint32_t n = 1; n <= 9; n++) {
		struct lmi_team_opts o = {.n = n, .spin_ns = UINT32_MAX};
		struct lmd_team *t = NULL;

		ck_assert_int_eq(lmi_team_create(&t, &o, NULL), LMD_OK);
		lmi_team_destroy(t);
	}
}
END_TEST

START_TEST(bad_sizes)
{
	static const uint32_t bad[] = {0, LMI_TEAM_MAX + 1, UINT32_MAX};

	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_team_opts o = {.n = bad[i]};
		struct lmd_error err = {0};
		struct lmd_team *t = NULL;

		ck_assert_int_eq(lmi_team_create(&t, &o, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "outside 1..1024"));
	}
	{
		struct lmi_team_opts o = {.n = 3, .n_few = 4};
		struct lmd_error err = {0};
		struct lmd_team *t = NULL;

		ck_assert_int_eq(lmi_team_create(&t, &o, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "4 is outside 1..3"));
	}
}
END_TEST

static void where(void *arg, uint32_t part, uint32_t n_part)
{
	struct lmi_cpu_set *seen = arg;

	(void)n_part;
	seen[part] = lmi_cpu_set_allowed();
}

/* All parts run where they should, also that of the caller, who is free again after its teams, in whatever
 * order they end. */
START_TEST(bound_to_processors)
{
	const struct lmi_cpu_place place = {.strict = true};
	const struct lmi_cpu_set before = lmi_cpu_set_allowed();
	struct lmi_team_opts o = {.n = 5};
	struct lmi_cpu_set seen[5], *cpus, now;
	struct lmd_team *t[2];

	ck_assert_int_eq(lmi_cpu_place(&cpus, &o.n, &place, 5, NULL, NULL), LMD_OK);
	o.cpus = cpus;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(lmi_team_create(&t[i], &o, NULL), LMD_OK);
	for (int i = 0; i < 4; i++)
		lmi_team_run(t[i / 2], where, seen);
	for (int i = 0; i < 5; i++) {
		ck_assert(lmi_cpu_set_equal(&seen[i], &cpus[i]));
		ck_assert_uint_eq(lmi_cpu_set_count(&seen[i]), 1);
	}
	lmi_team_destroy(t[_i]);
	lmi_team_destroy(t[!_i]);
	now = lmi_cpu_set_allowed();
	ck_assert(lmi_cpu_set_equal(&now, &before));
	lmi_free(cpus);
}
END_TEST

/* Threads of a team without processors of its own run anywhere, even if a bound thread creates it. */
START_TEST(created_by_a_bound_thread)
{
	const struct lmi_cpu_place place = {.strict = true};
	const struct lmi_cpu_set all = lmi_cpu_set_allowed();
	struct lmi_team_opts o = {.n = 1};
	struct lmi_cpu_set seen[3], *cpus;
	struct lmd_team *bound, *other;

	ck_assert_int_eq(lmi_cpu_place(&cpus, &o.n, &place, 1, NULL, NULL), LMD_OK);
	o.cpus = cpus;
	ck_assert_int_eq(lmi_team_create(&bound, &o, NULL), LMD_OK);
	lmi_team_run(bound, where, seen);
	o = (struct lmi_team_opts){.n = 3};
	ck_assert_int_eq(lmi_team_create(&other, &o, NULL), LMD_OK);
	lmi_team_run(other, where, seen);
	ck_assert(lmi_cpu_set_equal(&seen[0], &cpus[0]));
	for (int i = 1; i < 3; i++)
		ck_assert(lmi_cpu_set_equal(&seen[i], &all));
	lmi_team_destroy(other);
	lmi_team_destroy(bound);
	lmi_free(cpus);
}
END_TEST

START_TEST(no_memory)
{
	const struct lmi_cpu_set cpus[3] = {{{1}}, {{1}}, {{1}}};
	struct lmi_team_opts o = {.n = 3, .cpus = cpus};
	struct lmi_alloc_stats before, after;

	lmi_alloc_stats(&before);
	for (uint64_t nth = 1; nth <= 3; nth++) {
		struct lmd_team *t = NULL;

		lmi_alloc_fail_nth(nth, false);
		ck_assert_int_eq(lmi_team_create(&t, &o, NULL), LMD_NOMEM);
		ck_assert(lmi_alloc_did_fail());
		lmi_alloc_fail_nth(0, false);
		ck_assert_ptr_null(t);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("team");
	TCase *t = tcase_create("team");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_part_once, 0, (int)LMD_LEN(teams));
	tcase_add_loop_test(t, barriers_separate_phases, 0, (int)LMD_LEN(teams));
	tcase_add_test(t, no_team_is_one_part);
	tcase_add_test(t, unused_team);
	tcase_add_test(t, bad_sizes);
	tcase_add_loop_test(t, bound_to_processors, 0, 2);
	tcase_add_test(t, created_by_a_bound_thread);
	tcase_add_test(t, no_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
