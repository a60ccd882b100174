/* SPDX-License-Identifier: MIT
 *
 * A list with a mutex and a condition variable; no lock is held while a job runs. */
#include "core/base/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"

struct lmi_jobs {
	struct lmi_mailbox *mailbox;
	const char *name;
	uint32_t n_max, n_thread;
	bool background;
	pthread_t *threads; /* [n_thread] */

	pthread_mutex_t lock;
	pthread_cond_t filled;
	/* guarded by the lock */
	struct lmi_job *first, **end;
	uint32_t n_waiting;
	bool closed;
};

static void deliver(struct lmi_mailbox_message *m)
{
	struct lmi_job *job = (struct lmi_job *)((char *)m - offsetof(struct lmi_job, message));

	job->done(job->arg);
}

/* Removes a waiting job; called with the lock held. */
static void remove_waiting(struct lmi_jobs *j, struct lmi_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	else
		j->end = job->link;
	job->link = NULL;
	j->n_waiting--;
}

/* Takes the oldest job; called with the lock held. */
static struct lmi_job *take(struct lmi_jobs *j)
{
	struct lmi_job *job = j->first;

	if (job)
		remove_waiting(j, job);
	return job;
}

static void run(struct lmi_jobs *j, struct lmi_job *job)
{
	struct lmi_cancel *previous = lmi_cancel_attach(&job->cancel);

	job->run(job->arg);
	(void)lmi_cancel_attach(previous);
	lmi_mailbox_post(j->mailbox, &job->message);
}

static void *worker(void *arg)
{
	struct lmi_jobs *j = arg;

	lmi_thread_begin(j->name, j->background ? LMI_THREAD_BACKGROUND : LMI_THREAD_ORDINARY);
	for (;;) {
		struct lmi_job *job;

		(void)pthread_mutex_lock(&j->lock);
		while (!j->first && !j->closed)
			(void)pthread_cond_wait(&j->filled, &j->lock);
		job = take(j);
		(void)pthread_mutex_unlock(&j->lock);
		if (!job)
			return NULL; /* closed and empty */
		run(j, job);
	}
}

static enum lmd_status start(struct lmi_jobs *j, uint32_t n, struct lmd_error *err)
{
	sigset_t all, old;
	int rc = 0;

	if (!n)
		return LMD_OK;
	j->threads = lmi_alloc(n, sizeof(*j->threads));
	if (!j->threads)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %u threads", j->name, n);
	/* signals to the process are handled by the loop; faults belong to the thread */
	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS);
	(void)sigdelset(&all, SIGSEGV);
	(void)sigdelset(&all, SIGFPE);
	(void)sigdelset(&all, SIGILL);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	while (j->n_thread < n && !rc) {
		rc = pthread_create(&j->threads[j->n_thread], NULL, worker, j);
		j->n_thread += !rc;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* EAGAIN: there is no room for its stack, or the user has too many threads */
	return rc ? lmd_fail(err, LMD_NOMEM, "%s: thread %u of %u: %s%s", j->name, j->n_thread + 1, n,
			     strerror(rc), rc == EAGAIN ? " (ulimit -v, ulimit -u)" : "")
		  : LMD_OK;
}

enum lmd_status lmi_jobs_create(struct lmi_jobs **out, const struct lmi_jobs_opts *o,
				struct lmd_error *err)
{
	struct lmi_jobs *j;
	enum lmd_status st;

	if (o->n_thread > LMI_JOBS_THREADS_MAX)
		return lmd_fail(err, LMD_INVALID, "%s: %u threads exceed the limit of %d", o->name,
				o->n_thread, LMI_JOBS_THREADS_MAX);
	j = lmi_alloc(1, sizeof(*j));
	if (!j)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory", o->name);
	j->mailbox = o->mailbox;
	j->name = o->name;
	j->n_max = o->n_max;
	j->background = o->background;
	j->end = &j->first;
	/* default attributes: cannot fail */
	(void)pthread_mutex_init(&j->lock, NULL);
	(void)pthread_cond_init(&j->filled, NULL);
	st = start(j, o->n_thread, err);
	if (st != LMD_OK) {
		lmi_jobs_destroy(j);
		return st;
	}
	*out = j;
	return LMD_OK;
}

void lmi_jobs_destroy(struct lmi_jobs *j)
{
	if (!j)
		return;
	lmi_jobs_stop(j);
	(void)pthread_cond_destroy(&j->filled);
	(void)pthread_mutex_destroy(&j->lock);
	lmi_free(j->threads);
	lmi_free(j);
}

enum lmd_status lmi_jobs_submit(struct lmi_jobs *j, struct lmi_job *job, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	job->message.deliver = deliver;
	job->next = NULL;
	job->link = NULL;
	job->jobs = j;
	job->cancel = (struct lmi_cancel){false};
	(void)pthread_mutex_lock(&j->lock);
	if (j->closed)
		st = LMD_CANCELLED;
	else if (j->n_waiting >= j->n_max)
		st = LMD_BUSY;
	if (st == LMD_OK) {
		job->link = j->end;
		*j->end = job;
		j->end = &job->next;
		j->n_waiting++;
	}
	(void)pthread_mutex_unlock(&j->lock);
	if (st == LMD_OK) /* without the lock, which the woken thread takes at once */
		(void)pthread_cond_signal(&j->filled);
	if (st == LMD_CANCELLED)
		return lmd_fail(err, st, "%s: the queue is closed", j->name);
	return st == LMD_OK ? st
			    : lmd_fail(err, st, "%s: the queue is full with %u waiting jobs; try "
						"again later",
				       j->name, j->n_max);
}

void lmi_jobs_cancel(struct lmi_job *job)
{
	struct lmi_jobs *j = job->jobs;
	bool waits;

	(void)pthread_mutex_lock(&j->lock);
	waits = job->link != NULL;
	if (waits)
		remove_waiting(j, job);
	(void)pthread_mutex_unlock(&j->lock);
	lmi_cancel_set(&job->cancel);
	if (waits)
		lmi_mailbox_post(j->mailbox, &job->message);
}

void lmi_jobs_close(struct lmi_jobs *j)
{
	(void)pthread_mutex_lock(&j->lock);
	j->closed = true;
	(void)pthread_cond_broadcast(&j->filled);
	(void)pthread_mutex_unlock(&j->lock);
}

void lmi_jobs_stop(struct lmi_jobs *j)
{
	lmi_jobs_close(j);
	for (uint32_t i = 0; i < j->n_thread; i++)
		(void)pthread_join(j->threads[i], NULL);
	j->n_thread = 0;
	while (lmi_jobs_run_one(j))
		;
}

bool lmi_jobs_run_one(struct lmi_jobs *j)
{
	struct lmi_job *job;

	if (j->n_thread) /* a queue with threads runs its jobs only there */
		return false;
	(void)pthread_mutex_lock(&j->lock);
	job = take(j);
	(void)pthread_mutex_unlock(&j->lock);
	if (job)
		run(j, job);
	return job != NULL;
}
