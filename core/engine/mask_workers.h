/* SPDX-License-Identifier: MIT
 *
 * mask_workers.h - threads that find the next tokens of constrained generations, beside the steps of
 * the engine.
 *
 * A job belongs to the engine's thread until it is submitted, then to a worker, and to the engine's
 * thread again once it has been collected. Workers take the job first whose grammar has used least
 * of its share of time, so that a slow grammar delays the others little. The threads are started
 * with the first job.
 *
 * submit, abandon and collect: engine's thread only. */
#ifndef LLAMAD_CORE_ENGINE_MASK_WORKERS_H
#define LLAMAD_CORE_ENGINE_MASK_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/cpu_set.h"

#define LMI_ENGINE_MASK_WORKERS_MAX 8

enum lmi_engine_mask_job_state {
	LMI_ENGINE_MASK_IDLE, /* the job belongs to the engine's thread */
	LMI_ENGINE_MASK_QUEUED,
	LMI_ENGINE_MASK_RUNNING,
	LMI_ENGINE_MASK_DONE /* not collected yet */
};

struct lmi_engine_mask_job {
	struct lmi_engine_mask_job *next;
	enum lmi_engine_mask_job_state state; /* under the lock */
	uint64_t share; /* of time that its grammar has left */
	bool submitted; /* and not collected; engine's thread */
	bool abandoned;
	void (*run)(struct lmi_engine_mask_job *job);
};

struct lmi_engine_mask_workers {
	pthread_mutex_t lock;
	pthread_cond_t work, finished;
	struct lmi_engine_mask_job *queued, *done;
	pthread_t thread[LMI_ENGINE_MASK_WORKERS_MAX];
	uint32_t n_max, n_thread;
	struct lmi_cpu_set cpus; /* where the threads run */
	uint32_t n_pending; /* submitted and not collected; engine's thread */
	bool stops;
	void (*wake)(void *arg); /* called by a worker after each job */
	void *wake_arg;
	void (*hook)(void *arg); /* for tests: called by a worker before each job; may be NULL */
	void *hook_arg;
};

/* n_max: number of threads, at most LMI_ENGINE_MASK_WORKERS_MAX; 0: submit always returns false. */
void lmi_engine_mask_workers_init(struct lmi_engine_mask_workers *w, uint32_t n_max,
				  void (*wake)(void *arg), void *arg);
/* Waits for the running jobs. Jobs that are still queued are done without having run: collect
 * returns them. */
void lmi_engine_mask_workers_stop(struct lmi_engine_mask_workers *w);
void lmi_engine_mask_workers_fini(struct lmi_engine_mask_workers *w);

/* Hands a job over. Returns false if there are no threads: the caller runs it. */
bool lmi_engine_mask_workers_submit(struct lmi_engine_mask_workers *w,
				    struct lmi_engine_mask_job *job);
/* Gives up a job. Returns true if it is idle now; otherwise a worker has it, and collect returns it
 * with `abandoned` set. */
bool lmi_engine_mask_workers_abandon(struct lmi_engine_mask_workers *w,
				     struct lmi_engine_mask_job *job);
/* Returns a finished job, which is idle again, or NULL. wait_ns: waits at most so long for one, if
 * any is pending. */
struct lmi_engine_mask_job *lmi_engine_mask_workers_collect(struct lmi_engine_mask_workers *w,
							    uint64_t wait_ns);

#endif /* LLAMAD_CORE_ENGINE_MASK_WORKERS_H */
