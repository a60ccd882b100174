/* SPDX-License-Identifier: MIT
 *
 * Threads that find the next tokens of constrained generations; see mask_workers.h. */
#include "core/engine/mask_workers.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "core/base/cpu_set.h"
#include "core/base/thread.h"

void lmi_engine_mask_workers_init(struct lmi_engine_mask_workers *w, uint32_t n_max,
				  void (*wake)(void *arg), void *arg)
{
	pthread_condattr_t attr;

	*w = (struct lmi_engine_mask_workers){.wake = wake, .wake_arg = arg};
	w->n_max = n_max < LMI_ENGINE_MASK_WORKERS_MAX ? n_max : LMI_ENGINE_MASK_WORKERS_MAX;
	(void)pthread_mutex_init(&w->lock, NULL); /* these can fail only because of attributes */
	(void)pthread_cond_init(&w->work, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->finished, &attr);
	(void)pthread_condattr_destroy(&attr);
}

void lmi_engine_mask_workers_fini(struct lmi_engine_mask_workers *w)
{
	assert(!w->n_thread && !w->n_pending);
	(void)pthread_cond_destroy(&w->finished);
	(void)pthread_cond_destroy(&w->work);
	(void)pthread_mutex_destroy(&w->lock);
}

/* ---- workers ---- */

/* Takes the job with the largest share of time left out of the queue; the earliest of several. */
static struct lmi_engine_mask_job *next_job(struct lmi_engine_mask_workers *w)
{
	struct lmi_engine_mask_job **best = &w->queued, *job;

	for (struct lmi_engine_mask_job **at = &w->queued; *at; at = &(*at)->next)
		if ((*at)->share > (*best)->share)
			best = at;
	job = *best;
	*best = job->next;
	job->next = NULL;
	return job;
}

static void append(struct lmi_engine_mask_job **list, struct lmi_engine_mask_job *job)
{
	while (*list)
		list = &(*list)->next;
	*list = job;
}

static void run(struct lmi_engine_mask_workers *w, struct lmi_engine_mask_job *job)
{
	job->state = LMI_ENGINE_MASK_RUNNING;
	(void)pthread_mutex_unlock(&w->lock);
	if (w->hook)
		w->hook(w->hook_arg);
	job->run(job);
	(void)pthread_mutex_lock(&w->lock);
	job->state = LMI_ENGINE_MASK_DONE;
	append(&w->done, job);
	(void)pthread_cond_signal(&w->finished);
	w->wake(w->wake_arg);
}

static void *work(void *arg)
{
	struct lmi_engine_mask_workers *w = arg;

	lmi_thread_begin("mask", LMI_THREAD_ORDINARY);
	(void)lmi_cpu_set_bind(&w->cpus); /* the engine's thread may have one processor */
	(void)pthread_mutex_lock(&w->lock);
	while (!w->stops) {
		if (w->queued)
			run(w, next_job(w));
		else
			(void)pthread_cond_wait(&w->work, &w->lock);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Workers leave signals to the threads that handle them. */
static void start_threads(struct lmi_engine_mask_workers *w)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS);
	(void)sigdelset(&all, SIGSEGV);
	(void)sigdelset(&all, SIGFPE);
	(void)sigdelset(&all, SIGILL);
	w->cpus = lmi_cpu_set_unbound();
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	while (w->n_thread < w->n_max &&
	       !pthread_create(&w->thread[w->n_thread], NULL, work, w))
		w->n_thread++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->n_max = w->n_thread; /* no second attempt */
}

void lmi_engine_mask_workers_stop(struct lmi_engine_mask_workers *w)
{
	(void)pthread_mutex_lock(&w->lock);
	w->stops = true;
	(void)pthread_cond_broadcast(&w->work);
	(void)pthread_mutex_unlock(&w->lock);
	for (uint32_t i = 0; i < w->n_thread; i++)
		(void)pthread_join(w->thread[i], NULL);
	w->n_thread = w->n_max = 0;
	while (w->queued) {
		struct lmi_engine_mask_job *job = next_job(w);

		job->state = LMI_ENGINE_MASK_DONE;
		append(&w->done, job);
	}
}

/* ---- the engine's thread ---- */

bool lmi_engine_mask_workers_submit(struct lmi_engine_mask_workers *w,
				    struct lmi_engine_mask_job *job)
{
	assert(!job->submitted);
	if (w->n_max && !w->n_thread)
		start_threads(w);
	if (!w->n_thread)
		return false;
	job->state = LMI_ENGINE_MASK_QUEUED;
	job->next = NULL;
	job->submitted = true;
	job->abandoned = false;
	w->n_pending++;
	(void)pthread_mutex_lock(&w->lock);
	append(&w->queued, job);
	(void)pthread_cond_signal(&w->work);
	(void)pthread_mutex_unlock(&w->lock);
	return true;
}

static void take_out(struct lmi_engine_mask_job **list, const struct lmi_engine_mask_job *job)
{
	while (*list && *list != job)
		list = &(*list)->next;
	if (*list)
		*list = job->next;
}

bool lmi_engine_mask_workers_abandon(struct lmi_engine_mask_workers *w,
				     struct lmi_engine_mask_job *job)
{
	bool idle;

	(void)pthread_mutex_lock(&w->lock);
	job->abandoned = true;
	if (job->state == LMI_ENGINE_MASK_QUEUED || job->state == LMI_ENGINE_MASK_DONE) {
		take_out(&w->queued, job);
		take_out(&w->done, job);
		job->state = LMI_ENGINE_MASK_IDLE;
		job->submitted = false;
		w->n_pending--;
	}
	idle = job->state == LMI_ENGINE_MASK_IDLE;
	(void)pthread_mutex_unlock(&w->lock);
	return idle;
}

/* Waits until a job is done or the time is over. */
static void wait_for_one(struct lmi_engine_mask_workers *w, uint64_t wait_ns)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	wait_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(wait_ns / 1000000000u);
	until.tv_nsec = (long)(wait_ns % 1000000000u);
	while (!w->done && !pthread_cond_timedwait(&w->finished, &w->lock, &until))
		;
}

struct lmi_engine_mask_job *lmi_engine_mask_workers_collect(struct lmi_engine_mask_workers *w,
							    uint64_t wait_ns)
{
	struct lmi_engine_mask_job *job;

	if (!w->n_pending)
		return NULL;
	(void)pthread_mutex_lock(&w->lock);
	if (!w->done && wait_ns)
		wait_for_one(w, wait_ns);
	job = w->done;
	if (job) {
		w->done = job->next;
		job->state = LMI_ENGINE_MASK_IDLE;
		job->submitted = false;
		w->n_pending--;
	}
	(void)pthread_mutex_unlock(&w->lock);
	return job;
}
