/* SPDX-License-Identifier: MIT
 *
 * Every part runs exactly once per job, in the order of jobs, and sees everything written before.
 * Also run under the thread sanitizer. */
#include "core/base/team.h"

#include <stdatomic.h>

#include "core/base/alloc.h"
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
	bool pin;
} teams[] = {
	{1, UINT32_MAX, false}, {2, UINT32_MAX, false}, {2, 0, true},
	{3, 0, false},          {4, 1000, false},       {17, UINT32_MAX, true},
};

START_TEST(every_part_once)
{
	struct lmi_team_opts o = {teams[_i].n, teams[_i].spin_ns, teams[_i].pin, 0};
	struct lmd_error err = {0};
	struct lmd_team *t = NULL;
	struct job j = {0};
	uint64_t allocs;

	ck_assert_msg(lmi_team_create(&t, &o, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_team_size(t), o.n);
	allocs = lmi_alloc_thread_count();
	for (j.number = 1; j.number <= N_JOB; j.number++) {
		atomic_store(&j.n_run, 0);
		lmi_team_run(t, work, &j);
		ck_assert_uint_eq(atomic_load(&j.n_run), o.n);
		ck_assert_uint_eq(j.n_part, o.n);
		for (uint32_t i = 0; i < o.n; i++)
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
	struct lmi_team_opts o = {teams[_i].n, teams[_i].spin_ns, teams[_i].pin, _i % 2 ? 300 : 0};
	struct phased p = {0};

	ck_assert_int_eq(lmi_team_create(&p.team, &o, NULL), LMD_OK);
	for (int i = 0; i < 3; i++)
		lmi_team_run(p.team, phases, &p);
	ck_assert_uint_eq(p.wrong, 0);
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
		struct lmi_team_opts o = {n, UINT32_MAX, false, 0};
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
		struct lmi_team_opts o = {bad[i], 0, false, 0};
		struct lmd_error err = {0};
		struct lmd_team *t = NULL;

		ck_assert_int_eq(lmi_team_create(&t, &o, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "outside 1..1024"));
	}
}
END_TEST

START_TEST(no_memory)
{
	struct lmi_team_opts o = {3, 0, false, 0};
	struct lmi_alloc_stats before, after;

	lmi_alloc_stats(&before);
	for (uint64_t nth = 1; nth <= 2; nth++) {
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
	tcase_add_test(t, no_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
