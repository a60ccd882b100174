/* SPDX-License-Identifier: MIT
 *
 * Tests of thread.h: what the kernel says of the calling thread. */
#include "core/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lmd_check.h"

struct found {
	const char *name;
	int policy; /* that the thread has before */
	enum lmi_thread_kind kinds[2]; /* set one after the other */
	char got[16];
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline_ns, period_ns;
	} a;
};

static void *begin(void *arg)
{
	struct found *f = arg;
	const struct sched_param param = {0};

	ck_assert_int_eq(sched_setscheduler(0, f->policy, &param), 0);
	lmi_thread_begin(f->name, f->kinds[0]);
	lmi_thread_begin(NULL, f->kinds[1]);
	(void)pthread_getname_np(pthread_self(), f->got, sizeof(f->got));
	(void)syscall(SYS_sched_getattr, 0, &f->a, sizeof(f->a), 0);
	return NULL;
}

static struct found look_with(int policy, enum lmi_thread_kind first, enum lmi_thread_kind second)
{
	struct found f = {.name = "a name", .policy = policy, .kinds = {first, second}};
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, begin, &f), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_str_eq(f.got, "a name");
	return f;
}

static struct found look(enum lmi_thread_kind first, enum lmi_thread_kind second)
{
	return look_with(SCHED_OTHER, first, second);
}

START_TEST(kinds)
{
	int mine = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
	struct found f = look(LMI_THREAD_ORDINARY, LMI_THREAD_PROMPT);
	uint64_t usual;

	ck_assert_uint_eq(f.a.policy, SCHED_OTHER);
	ck_assert_int_eq(f.a.nice, mine);
	usual = look(LMI_THREAD_ORDINARY, LMI_THREAD_ORDINARY).a.slice_ns;
	if (usual) { /* the kernel has slices of threads */
		ck_assert_uint_eq(f.a.slice_ns, LMI_THREAD_PROMPT_SLICE_NS);
		f = look(LMI_THREAD_PROMPT, LMI_THREAD_ORDINARY);
		ck_assert_uint_eq(f.a.slice_ns, usual);
	}
	f = look(LMI_THREAD_ORDINARY, LMI_THREAD_BACKGROUND);
	ck_assert_uint_eq(f.a.policy, SCHED_BATCH);
	ck_assert_int_eq(f.a.nice, mine + LMI_THREAD_BACKGROUND_NICE < 19
					   ? mine + LMI_THREAD_BACKGROUND_NICE
					   : 19);
	if (usual)
		ck_assert_uint_eq(f.a.slice_ns, LMI_THREAD_BACKGROUND_SLICE_NS);
	/* no other thread */
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)), mine);
}
END_TEST

/* The administrator may choose a policy for the daemon: `chrt --idle`, CPUSchedulingPolicy=batch. */
START_TEST(other_policies_stay)
{
	int mine = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
	struct found f = look_with(SCHED_BATCH, LMI_THREAD_ORDINARY, LMI_THREAD_PROMPT);

	ck_assert_uint_eq(f.a.policy, SCHED_BATCH);
	ck_assert_uint_ne(f.a.slice_ns, LMI_THREAD_PROMPT_SLICE_NS);
	f = look_with(SCHED_IDLE, LMI_THREAD_PROMPT, LMI_THREAD_BACKGROUND);
	ck_assert_uint_eq(f.a.policy, SCHED_IDLE);
	ck_assert_int_eq(f.a.nice, mine);
}
END_TEST

/* A team that a background thread creates does not compete with other threads either. */
START_TEST(a_background_thread_stays_one)
{
	struct found f = look(LMI_THREAD_BACKGROUND, LMI_THREAD_PROMPT);

	ck_assert_uint_eq(f.a.policy, SCHED_BATCH);
	ck_assert_uint_ne(f.a.slice_ns, LMI_THREAD_PROMPT_SLICE_NS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("thread");
	TCase *t = tcase_create("thread");

	tcase_add_test(t, kinds);
	tcase_add_test(t, other_policies_stay);
	tcase_add_test(t, a_background_thread_stays_one);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
