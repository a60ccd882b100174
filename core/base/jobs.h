/* SPDX-License-Identifier: MIT
 *
 * jobs.h - work that would hold up a loop, done elsewhere.
 *
 * A bounded queue and some threads.  A job is a member of a larger object: `run` is called on
 * one of the threads, then `done` on the thread that owns the mailbox, when that drains it.
 * Jobs begin in the order in which they were submitted; with one thread they also end in it.
 * Submitting allocates nothing. */
#ifndef LLAMAD_CORE_BASE_JOBS_H
#define LLAMAD_CORE_BASE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mailbox.h"

#define LMI_JOBS_THREADS_MAX 64

struct lmi_job {
	void (*run)(void *arg);	 /* a thread of the queue */
	void (*done)(void *arg); /* the mailbox's owner; may submit or free the job */
	void *arg;
	/* the queue's */
	struct lmi_message message;
	struct lmi_job *next;
	struct lmi_jobs *jobs;
};

struct lmi_jobs_opts {
	struct lmi_mailbox *mailbox; /* outlives the queue */
	const char *name;	     /* of the threads and in refusals, at most 15 bytes; lives as
				      * long as the queue */
	uint32_t n_thread;	     /* 0: jobs run in lmi_jobs_turn alone, for tests */
	uint32_t n_max;		     /* jobs that wait; >= 1 */
};

struct lmi_jobs;

enum lmd_status lmi_jobs_create(struct lmi_jobs **out, const struct lmi_jobs_opts *opts,
				struct lmd_error *err);
/* Stops if needed and frees.  Jobs that ended lie in the mailbox, which the owner drains
 * before.  NULL allowed. */
void lmi_jobs_destroy(struct lmi_jobs *j);

/* The job is the queue's until `done` is called.  LMD_BUSY: n_max wait; LMD_CANCELLED: the
 * queue is closed; neither is called then.  Any thread. */
enum lmd_status lmi_jobs_submit(struct lmi_jobs *j, struct lmi_job *job, struct lmd_error *err);
/* Jobs that were submitted and are not done: waiting, running, or in the mailbox.  Any
 * thread. */
uint32_t lmi_jobs_pending(const struct lmi_jobs *j);

/* No new jobs; idempotent; any thread. */
void lmi_jobs_close(struct lmi_jobs *j);
/* Waits until every job has run and the threads are gone; the mailbox has them all. */
void lmi_jobs_stop(struct lmi_jobs *j);

/* Without threads: runs the oldest job here; false when none waits, or there are threads. */
bool lmi_jobs_turn(struct lmi_jobs *j);

#endif /* LLAMAD_CORE_BASE_JOBS_H */
