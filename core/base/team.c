/* SPDX-License-Identifier: MIT
 *
 * A thread team. Two words coordinate everything:
 *
 *   job   counts jobs.  run() stores fn and arg, sets `left`, and increments it (release); a
 *         helper that sees a new number (acquire) reads fn and arg and works.  There are two of
 *         them, so that helpers who have no part in small jobs sleep on.
 *   left  helpers still at work.  Each decrements it (release); run() returns when it reads 0
 *         (acquire).
 *
 * A barrier inside a job works in the same way with `arrived`, a count, and `phase`, the number of
 * barriers passed: the last part to arrive resets the count and increments the number.
 *
 * All words except `arrived` are futexes. A thread that is about to sleep first increments a
 * counter, and the kernel then compares the word once more; the other side changes the word first
 * and then reads the counter. These accesses are sequentially consistent, so at least one side sees
 * the other and no wakeup is lost. A late wakeup is harmless, since sleepers compare again. */
#include "core/base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpu.h"
#include "core/base/cpu_set.h"
#include "core/base/thread.h"

#define LINE 64

struct helper {
	struct lmd_team *team;
	pthread_t thread;
	uint32_t part;
};

/* Where helpers wait for jobs. */
struct gate {
	_Alignas(LINE) _Atomic uint32_t job;
	_Atomic uint32_t n_asleep; /* helpers asleep on `job`, or about to sleep */
};

struct lmd_team {
	uint32_t n, n_few;
	uint32_t n_now; /* parts of a job; written between jobs */
	uint32_t n_started;
	uint32_t spin_ns, barrier_ns;
	bool stop;      /* written before the last increment of `job` */
	lmd_part_fn fn; /* written by run() between jobs */
	void *arg;
	struct helper *helpers;   /* [n - 1] */
	struct lmi_cpu_set *cpus; /* [n], or NULL */
	bool measures;		  /* written between jobs */
	uint64_t part_ns;	  /* struct lmi_team_times; written by run() */
	/* the thread that is bound as part 0, and where it could run before; 0: none is */
	int32_t bound;
	struct lmi_cpu_set before;
	struct lmi_cpu_set unbound; /* where the creator may run when no team binds it */

	struct gate few, rest; /* of parts below n_few, and of the others */
	_Alignas(LINE) _Atomic uint32_t left;
	_Atomic uint32_t caller_asleep;
	_Alignas(LINE) _Atomic uint32_t arrived;
	_Alignas(LINE) _Atomic uint32_t phase;
	_Atomic uint32_t n_waiting; /* parts asleep on `phase`, or about to sleep */
	_Atomic uint64_t wait_ns;   /* struct lmi_team_times */
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Spins until the word differs from `value` (with `until`: until it equals it). Returns false when
 * `ns` have passed. */
static bool spin(uint32_t ns, _Atomic uint32_t *word, uint32_t value, bool until)
{
	uint64_t end = ns ? now_ns() + ns : 0;

	do {
		for (int i = 0; i < 64; i++) {
			if ((atomic_load_explicit(word, memory_order_acquire) == value) == until)
				return true;
			if (!ns)
				return false;
			relax();
		}
	} while (now_ns() < end);
	return false;
}

/* Waits for a job after number `seen` and returns its number. */
static uint32_t next_job(const struct lmd_team *t, struct gate *g, uint32_t seen)
{
	if (!spin(t->spin_ns, &g->job, seen, false)) {
		atomic_fetch_add(&g->n_asleep, 1);
		while (atomic_load(&g->job) == seen)
			futex_wait(&g->job, seen);
		atomic_fetch_sub(&g->n_asleep, 1);
	}
	return atomic_load_explicit(&g->job, memory_order_acquire);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;
	struct lmd_team *t = h->team;

	lmi_thread_begin("team", LMI_THREAD_PROMPT);
	/* a team that is not bound works */
	(void)lmi_cpu_set_bind(t->cpus ? &t->cpus[h->part] : &t->unbound);
	for (uint32_t job = 0;;) {
		job = next_job(t, h->part < t->n_few ? &t->few : &t->rest, job);
		if (t->stop)
			return NULL;
		t->fn(t->arg, h->part, t->n_now);
		if (atomic_fetch_sub(&t->left, 1) == 1 && atomic_load(&t->caller_asleep))
			futex_wake(&t->left, 1);
	}
}

static void post_job(struct gate *g)
{
	atomic_fetch_add(&g->job, 1);
	if (atomic_load(&g->n_asleep))
		futex_wake(&g->job, INT32_MAX);
}

/* Binds the calling thread as part 0. */
static void bind_caller(struct lmd_team *t)
{
	int32_t thread = (int32_t)syscall(SYS_gettid);

	if (thread == t->bound)
		return;
	t->before = lmi_cpu_set_unbound();
	t->bound = lmi_cpu_set_bind(&t->cpus[0]) ? thread : 0;
}

static void wait_for_parts(struct lmd_team *t)
{
	uint32_t left;

	if (spin(t->spin_ns, &t->left, 0, true))
		return;
	atomic_store(&t->caller_asleep, 1);
	while ((left = atomic_load(&t->left)) != 0)
		futex_wait(&t->left, left);
	atomic_store(&t->caller_asleep, 0);
}

static void run_job(struct lmd_team *t, lmd_part_fn fn, void *arg)
{
	uint64_t t0;

	t->fn = fn;
	t->arg = arg;
	atomic_store(&t->left, t->n_now - 1);
	post_job(&t->few);
	if (t->n_now > t->n_few)
		post_job(&t->rest);
	fn(arg, 0, t->n_now);
	t0 = t->measures ? now_ns() : 0;
	wait_for_parts(t);
	if (t->measures)
		atomic_fetch_add(&t->wait_ns, now_ns() - t0);
}

void lmi_team_run(struct lmd_team *t, lmd_part_fn fn, void *arg)
{
	uint64_t t0 = t && t->measures ? now_ns() : 0;

	if (t && t->cpus)
		bind_caller(t);
	if (!t || t->n_now == 1)
		fn(arg, 0, 1);
	else
		run_job(t, fn, arg);
	if (t && t->measures)
		t->part_ns += (now_ns() - t0) * t->n_now;
}

void lmi_team_measure(struct lmd_team *t)
{
	if (!t)
		return;
	t->measures = true;
	t->part_ns = 0;
	atomic_store(&t->wait_ns, 0);
}

struct lmi_team_times lmi_team_times(const struct lmd_team *t)
{
	return t ? (struct lmi_team_times){t->part_ns, atomic_load(&t->wait_ns)}
		 : (struct lmi_team_times){0, 0};
}

static void wait_at_barrier(struct lmd_team *t, uint32_t phase)
{
	if (spin(t->barrier_ns, &t->phase, phase, false))
		return;
	atomic_fetch_add(&t->n_waiting, 1);
	while (atomic_load(&t->phase) == phase)
		futex_wait(&t->phase, phase);
	atomic_fetch_sub(&t->n_waiting, 1);
}

void lmi_team_barrier(struct lmd_team *t)
{
	uint32_t phase;
	uint64_t t0;

	if (!t || t->n_now == 1)
		return;
	/* cannot change before this part has arrived */
	phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
	if (atomic_fetch_add(&t->arrived, 1) + 1 == t->n_now) {
		atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
		atomic_fetch_add(&t->phase, 1);
		if (atomic_load(&t->n_waiting))
			futex_wake(&t->phase, INT32_MAX);
		return;
	}
	t0 = t->measures ? now_ns() : 0;
	wait_at_barrier(t, phase);
	if (t->measures)
		atomic_fetch_add(&t->wait_ns, now_ns() - t0);
}

uint32_t lmi_team_size(const struct lmd_team *t)
{
	return t ? t->n_now : 1;
}

void lmi_team_use_few(struct lmd_team *t, bool few)
{
	if (t)
		t->n_now = few ? t->n_few : t->n;
}

/* Lets the calling thread run again where it could before it was part 0.  Another team may have done that
 * already, or bound it first. */
static void release_caller(const struct lmd_team *t)
{
	struct lmi_cpu_set now;

	if (!t->bound || t->bound != (int32_t)syscall(SYS_gettid))
		return;
	now = lmi_cpu_set_allowed();
	if (lmi_cpu_set_equal(&now, &t->cpus[0]))
		(void)lmi_cpu_set_bind(&t->before);
}

void lmi_team_destroy(struct lmd_team *t)
{
	if (!t)
		return;
	t->stop = true;
	post_job(&t->few);
	post_job(&t->rest);
	for (uint32_t i = 0; i < t->n_started; i++)
		pthread_join(t->helpers[i].thread, NULL);
	release_caller(t);
	lmi_free(t->helpers);
	lmi_free(t->cpus);
	lmi_free(t);
}

/* Returns the number of processors that the threads can run on. */
static uint32_t n_processor(const struct lmi_team_opts *opts)
{
	struct lmi_cpu_set all = opts->cpus ? (struct lmi_cpu_set){{0}} : lmi_cpu_set_unbound();
	uint32_t n;

	for (uint32_t i = 0; opts->cpus && i < opts->n; i++)
		all = lmi_cpu_set_or(&all, &opts->cpus[i]);
	n = lmi_cpu_set_count(&all);
	return n ? n : lmi_cpu_count();
}

static enum lmd_status allocate(struct lmd_team *t, const struct lmi_team_opts *opts)
{
	t->helpers = lmi_alloc(t->n, sizeof(*t->helpers));
	t->cpus = opts->cpus ? lmi_alloc(t->n, sizeof(*t->cpus)) : NULL;
	if (!t->helpers || (opts->cpus && !t->cpus))
		return LMD_NOMEM;
	for (uint32_t i = 0; t->cpus && i < t->n; i++)
		t->cpus[i] = opts->cpus[i];
	return LMD_OK;
}

/* Returns 0 or an errno. */
static int start_helpers(struct lmd_team *t)
{
	sigset_t all, old;
	int rc = 0;

	/* signals to the process are for the threads that expect them */
	sigfillset(&all);
	/* faults belong to the thread: if blocked, they would kill the process without a handler */
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uint32_t i = 0; i + 1 < t->n && !rc; i++) {
		struct helper *h = &t->helpers[i];

		h->team = t;
		h->part = i + 1;
		rc = pthread_create(&h->thread, NULL, helper_main, h);
		t->n_started += !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

enum lmd_status lmi_team_create(struct lmd_team **out, const struct lmi_team_opts *opts,
				struct lmd_error *err)
{
	struct lmd_team *t;
	int rc;

	if (opts->n < 1 || opts->n > LMI_TEAM_MAX || opts->n_few > opts->n)
		return lmd_fail(err, LMD_INVALID, "threads: %u is outside 1..%u",
				opts->n_few > opts->n ? opts->n_few : opts->n,
				opts->n_few > opts->n ? opts->n : LMI_TEAM_MAX);
	t = lmi_alloc(1, sizeof(*t));
	if (!t)
		return lmd_fail(err, LMD_NOMEM, "threads: no memory for a team of %u", opts->n);
	t->unbound = lmi_cpu_set_unbound();
	t->n = t->n_now = opts->n;
	t->n_few = opts->n_few ? opts->n_few : opts->n;
	t->spin_ns = opts->spin_ns == UINT32_MAX ? LMI_TEAM_SPIN_DEFAULT : opts->spin_ns;
	if (t->n > n_processor(opts))
		t->spin_ns = 0;
	t->barrier_ns = !t->spin_ns        ? 0
			: opts->barrier_ns ? opts->barrier_ns
					   : LMI_TEAM_BARRIER_DEFAULT;
	if (allocate(t, opts) != LMD_OK) {
		lmi_team_destroy(t);
		return lmd_fail(err, LMD_NOMEM, "threads: no memory for a team of %u", opts->n);
	}
	rc = start_helpers(t);
	if (rc) {
		(void)lmd_fail(err, LMD_NOMEM, "threads: number %u of %u: %s", t->n_started + 1,
			       opts->n, strerror(rc));
		lmi_team_destroy(t);
		return LMD_NOMEM;
	}
	*out = t;
	return LMD_OK;
}
