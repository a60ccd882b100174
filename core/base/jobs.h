/* SPDX-License-Identifier: MIT
 *
 * jobs.h - moves work that would block a loop to other threads.
 *
 * A bounded queue with threads. A job is a member of a larger object: `run` is called on one of the
 * threads, then `done` on the thread that owns the mailbox, when it drains the mailbox. Jobs start
 * in the order of submission; with one thread they also end in that order. Submitting does not
 * allocate.
 *
 * A job can be cancelled at any time: a waiting one is dropped from the queue, a running one is cut
 * off through its cancel word (cancel.h), which is attached to its thread. `done` is called in any
 * case. */
#ifndef LLAMAD_CORE_BASE_JOBS_H
#define LLAMAD_CORE_BASE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cancel.h"
#include "core/base/mailbox.h"

#define LMI_JOBS_THREADS_MAX 64

struct lmi_job {
	void (*run)(void *arg);	 /* called on a thread of the queue */
	void (*done)(void *arg); /* called by the mailbox's owner; may submit or free the job */
	void *arg;
	/* Set by lmi_jobs_cancel. If the job was still waiting, `run` has not been called. */
	struct lmi_cancel cancel;
	/* private to the queue */
	struct lmi_mailbox_message message;
	struct lmi_job *next, **link; /* link: what points to it while it waits, or NULL */
	struct lmi_jobs *jobs;
};

struct lmi_jobs_opts {
	struct lmi_mailbox *mailbox; /* must outlive the queue */
	const char *name;	     /* of the threads and in error messages, at most 15 bytes; must
				      * live as long as the queue */
	uint32_t n_thread;           /* 0: jobs run only in lmi_jobs_run_one, for tests */
	uint32_t n_max;		     /* most jobs that may wait; >= 1 */
	bool background; /* threads of kind LMI_THREAD_BACKGROUND (thread.h), otherwise ordinary ones */
};

struct lmi_jobs;

enum lmd_status lmi_jobs_create(struct lmi_jobs **out, const struct lmi_jobs_opts *opts,
				struct lmd_error *err);
/* Stops the queue if needed and frees it. The owner must first drain the mailbox, which holds the
 * jobs that have ended. j may be NULL. */
void lmi_jobs_destroy(struct lmi_jobs *j);

/* The queue owns the job until `done` is called. LMD_BUSY: n_max jobs are waiting; LMD_CANCELLED:
 * the queue is closed. On error neither function is called. Any thread. */
enum lmd_status lmi_jobs_submit(struct lmi_jobs *j, struct lmi_job *job, struct lmd_error *err);

/* Cancels a job that was submitted and is not done: drops it if it waits, and sets its cancel word.
 * Only on the thread that owns the mailbox. */
void lmi_jobs_cancel(struct lmi_job *job);

/* Stops accepting jobs. Idempotent; any thread. */
void lmi_jobs_close(struct lmi_jobs *j);
/* Waits until every job has run and the threads have ended; all jobs are then in the mailbox. */
void lmi_jobs_stop(struct lmi_jobs *j);

/* In a queue without threads, runs the oldest job. Returns false if none waits or if the queue has
 * threads. */
bool lmi_jobs_run_one(struct lmi_jobs *j);

#endif /* LLAMAD_CORE_BASE_JOBS_H */
