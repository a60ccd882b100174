/* SPDX-License-Identifier: MIT
 *
 * Mailboxes and jobs: nothing is lost, and everything arrives in order and on the right thread.
 * Also run under the thread sanitizer. */
#include "core/base/jobs.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"
#include "tests/lmd_check.h"

/* ---- mailbox ---- */

#define N_POSTER 4
#define N_EACH	 5000

struct letter {
	struct lmi_mailbox_message m;
	uint32_t poster, number;
};

static uint32_t n_seen[N_POSTER], n_wrong;

static void receive(struct lmi_mailbox_message *m)
{
	struct letter *l = (struct letter *)((char *)m - offsetof(struct letter, m));

	n_wrong += l->number != n_seen[l->poster]++;
}

struct poster {
	struct lmi_mailbox *mb;
	struct letter *letters;
	uint32_t id;
};

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (uint32_t i = 0; i < N_EACH; i++) {
		p->letters[i] = (struct letter){{receive, NULL}, p->id, i};
		lmi_mailbox_post(p->mb, &p->letters[i].m);
	}
	return NULL;
}

/* Waits until the fd is readable; a lost wakeup makes the test time out. */
static uint32_t wait_and_drain(struct lmi_mailbox *mb)
{
	struct pollfd p = {.fd = lmi_mailbox_fd(mb), .events = POLLIN};

	(void)poll(&p, 1, -1);
	return lmi_mailbox_drain(mb);
}

START_TEST(many_threads_post)
{
	static struct letter letters[N_POSTER][N_EACH];
	struct poster p[N_POSTER];
	pthread_t t[N_POSTER];
	struct lmi_mailbox mb;
	uint64_t allocs;
	uint32_t n = 0;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	for (uint32_t i = 0; i < N_POSTER; i++) {
		p[i] = (struct poster){&mb, letters[i], i};
		ck_assert_int_eq(pthread_create(&t[i], NULL, post_all, &p[i]), 0);
	}
	allocs = lmi_alloc_thread_count();
	while (n < N_POSTER * N_EACH)
		n += wait_and_drain(&mb);
	for (uint32_t i = 0; i < N_POSTER; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(n, N_POSTER * N_EACH);
	ck_assert_uint_eq(n_wrong, 0);
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 0);
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	lmi_mailbox_fini(&mb);
}
END_TEST

static struct lmi_mailbox *box;
static uint32_t n_again;

static void once_more(struct lmi_mailbox_message *m)
{
	if (++n_again < 3)
		lmi_mailbox_post(box, m);
}

/* A message posted during a delivery arrives with the next drain, so that a loop makes progress. */
START_TEST(posting_while_delivering)
{
	struct lmi_mailbox_message m = {.deliver = once_more};
	struct lmi_mailbox mb;

	box = &mb;
	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	lmi_mailbox_post(&mb, &m);
	for (uint32_t i = 1; i <= 3; i++) {
		ck_assert_uint_eq(wait_and_drain(&mb), 1);
		ck_assert_uint_eq(n_again, i);
	}
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 0);
	lmi_mailbox_fini(&mb);
}
END_TEST

/* ---- jobs ---- */

struct task {
	struct lmi_job job;
	pthread_t owner;
	uint32_t number, n_run, n_done;
	bool wrong_thread;
};

static uint32_t n_done;
static _Atomic uint32_t n_begun;

static void task_run(void *arg)
{
	struct task *t = arg;

	t->n_run++;
	t->wrong_thread = pthread_equal(pthread_self(), t->owner);
	atomic_fetch_add(&n_begun, 1);
}

static void task_done(void *arg)
{
	struct task *t = arg;

	t->n_done += t->n_run;
	t->wrong_thread |= !pthread_equal(pthread_self(), t->owner);
	t->number = n_done++;
}

static struct task make_task(void)
{
	return (struct task){.owner = pthread_self()};
}

static void arm(struct task *t)
{
	*t = make_task();
	t->job.run = task_run;
	t->job.done = task_done;
	t->job.arg = t;
}

static const uint32_t thread_counts[] = {1, 2, 5};

START_TEST(every_job_once)
{
	static struct task tasks[2000];
	struct lmi_jobs_opts o = {.name = "test", .n_thread = thread_counts[_i], .n_max = 64};
	struct lmi_mailbox mb;
	struct lmi_jobs *j;
	struct lmd_error err;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	ck_assert_int_eq(lmi_jobs_create(&j, &o, &err), LMD_OK);
	for (uint32_t i = 0; i < LMD_LEN(tasks); i++) {
		arm(&tasks[i]);
		while (lmi_jobs_submit(j, &tasks[i].job, &err) == LMD_BUSY)
			(void)wait_and_drain(&mb);
	}
	while (n_done < LMD_LEN(tasks))
		(void)wait_and_drain(&mb);
	for (uint32_t i = 0; i < LMD_LEN(tasks); i++) {
		ck_assert_uint_eq(tasks[i].n_done, 1);
		ck_assert(!tasks[i].wrong_thread);
		if (o.n_thread == 1)
			ck_assert_uint_eq(tasks[i].number, i);
	}
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
}
END_TEST

START_TEST(bounds_and_close)
{
	struct lmi_jobs_opts o = {.name = "test", .n_max = 2};
	struct task t[4];
	struct lmi_mailbox mb;
	struct lmi_jobs *j;
	struct lmd_error err;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	ck_assert_int_eq(lmi_jobs_create(&j, &o, &err), LMD_OK);
	for (int i = 0; i < 4; i++)
		arm(&t[i]);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[0].job, &err), LMD_OK);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[1].job, &err), LMD_OK);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[2].job, &err), LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "test: the queue is full with 2"));
	/* without threads nothing runs by itself, and `done` arrives through the mailbox */
	ck_assert_uint_eq(t[0].n_run, 0);
	ck_assert(lmi_jobs_run_one(j));
	ck_assert_uint_eq(t[0].n_run, 1);
	ck_assert_uint_eq(t[0].n_done, 0);
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 1);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[2].job, &err), LMD_OK);
	lmi_jobs_close(j);
	lmi_jobs_close(j);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[3].job, &err), LMD_CANCELLED);
	lmi_jobs_stop(j); /* accepted jobs still run */
	ck_assert(!lmi_jobs_run_one(j));
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 2);
	ck_assert_uint_eq(t[1].n_done + t[2].n_done, 2);
	ck_assert_uint_eq(t[3].n_run, 0);
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
}
END_TEST

/* Stopping a queue with threads runs all waiting jobs before it returns. */
START_TEST(stop_runs_what_waits)
{
	static struct task t[200];
	struct lmi_jobs_opts o = {.name = "test", .n_thread = 3, .n_max = 200};
	struct lmi_mailbox mb;
	struct lmi_jobs *j;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_OK);
	for (uint32_t i = 0; i < LMD_LEN(t); i++) {
		arm(&t[i]);
		ck_assert_int_eq(lmi_jobs_submit(j, &t[i].job, NULL), LMD_OK);
	}
	lmi_jobs_stop(j);
	ck_assert_uint_eq(atomic_load(&n_begun), LMD_LEN(t));
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), LMD_LEN(t));
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
}
END_TEST

/* A cancelled job is dropped if it waits, and sees its cancel word if it runs; it is done in any
 * case, and its place is free at once. */
START_TEST(cancelled_jobs)
{
	struct lmi_jobs_opts o = {.name = "test", .n_max = 3};
	struct task t[4];
	struct lmi_mailbox mb;
	struct lmi_jobs *j;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_OK);
	for (int i = 0; i < 4; i++)
		arm(&t[i]);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lmi_jobs_submit(j, &t[i].job, NULL), LMD_OK);
	lmi_jobs_cancel(&t[2].job); /* the last, then one in the middle */
	lmi_jobs_cancel(&t[1].job);
	ck_assert_int_eq(lmi_jobs_submit(j, &t[3].job, NULL), LMD_OK);
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 2);
	ck_assert(lmi_jobs_run_one(j));
	lmi_jobs_cancel(&t[0].job); /* has run, is not done: nothing happens twice */
	ck_assert(lmi_jobs_run_one(j));
	ck_assert(!lmi_jobs_run_one(j));
	ck_assert_uint_eq(lmi_mailbox_drain(&mb), 2);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(t[i].n_run, i == 0 || i == 3);
		ck_assert_uint_eq(t[i].n_done, t[i].n_run);
		ck_assert_int_eq(lmi_cancel_is_set(&t[i].job.cancel), i != 3);
	}
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
}
END_TEST

struct endless {
	struct lmi_job job;
	_Atomic bool runs;
	bool cut, is_done;
};

static void work_on(void *arg)
{
	struct endless *e = arg;

	atomic_store(&e->runs, true);
	while (lmi_cancel_step(1))
		;
	e->cut = true;
}

static void end_work(void *arg)
{
	((struct endless *)arg)->is_done = true;
}

START_TEST(running_job_is_cut_off)
{
	struct lmi_jobs_opts o = {.name = "test", .n_thread = 1, .n_max = 1};
	struct endless e = {.job = {.run = work_on, .done = end_work}};
	struct lmi_mailbox mb;
	struct lmi_jobs *j;

	e.job.arg = &e;
	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jobs_submit(j, &e.job, NULL), LMD_OK);
	while (!atomic_load(&e.runs))
		;
	lmi_jobs_cancel(&e.job);
	(void)wait_and_drain(&mb);
	ck_assert(e.cut && e.is_done);
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
}
END_TEST

START_TEST(no_memory)
{
	struct lmi_jobs_opts o = {.name = "test", .n_thread = 2, .n_max = 1};
	struct lmi_alloc_stats before, after;
	struct lmi_mailbox mb;

	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	o.mailbox = &mb;
	lmi_alloc_stats(&before);
	for (uint64_t nth = 1; nth <= 2; nth++) {
		struct lmi_jobs *j = NULL;

		lmi_alloc_fail_nth(nth, false);
		ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_NOMEM);
		ck_assert(lmi_alloc_did_fail());
		lmi_alloc_fail_nth(0, false);
	}
	o.n_thread = 65;
	ck_assert_int_eq(lmi_jobs_create(&(struct lmi_jobs *){NULL}, &o, NULL), LMD_INVALID);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
	lmi_mailbox_fini(&mb);
	lmi_jobs_destroy(NULL);
}
END_TEST

/* ---- priority ---- */

struct priority {
	struct lmi_job job;
	int policy, nice;
};

static void read_priority(void *arg)
{
	struct priority *p = arg;
	struct sched_param param;

	ck_assert_int_eq(pthread_getschedparam(pthread_self(), &p->policy, &param), 0);
	p->nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

static void priority_read(void *arg)
{
	(void)arg;
}

/* Returns the priority of a queue's thread. */
static struct priority priority_of(bool background)
{
	struct lmi_mailbox mb;
	struct lmi_jobs_opts o = {.mailbox = &mb,
				  .name = "test",
				  .n_thread = 1,
				  .n_max = 1,
				  .background = background};
	struct priority p = {.job = {.run = read_priority, .done = priority_read}};
	struct lmi_jobs *j = NULL;

	p.job.arg = &p;
	ck_assert_int_eq(lmi_mailbox_init(&mb, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jobs_create(&j, &o, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jobs_submit(j, &p.job, NULL), LMD_OK);
	lmi_jobs_stop(j);
	lmi_mailbox_drain(&mb);
	lmi_jobs_destroy(j);
	lmi_mailbox_fini(&mb);
	return p;
}

START_TEST(background_threads_have_low_priority)
{
	int mine = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
	struct priority p = priority_of(false);

	ck_assert_int_eq(p.nice, mine);
	p = priority_of(true);
	ck_assert_int_eq(p.policy, SCHED_BATCH);
	ck_assert_int_eq(p.nice, mine + LMI_THREAD_BACKGROUND_NICE < 19 ? mine + LMI_THREAD_BACKGROUND_NICE : 19);
	/* only the queue's threads */
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)), mine);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jobs");
	TCase *t = tcase_create("jobs");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, many_threads_post);
	tcase_add_test(t, posting_while_delivering);
	tcase_add_loop_test(t, every_job_once, 0, (int)LMD_LEN(thread_counts));
	tcase_add_test(t, bounds_and_close);
	tcase_add_test(t, stop_runs_what_waits);
	tcase_add_test(t, cancelled_jobs);
	tcase_add_test(t, running_job_is_cut_off);
	tcase_add_test(t, no_memory);
	tcase_add_test(t, background_threads_have_low_priority);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
