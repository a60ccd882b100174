/* SPDX-License-Identifier: MIT
 *
 * call.h - a pending request with a job: an op that replies later and has no stream. */
#ifndef LLAMAD_SERVICE_CALL_H
#define LLAMAD_SERVICE_CALL_H

#include "core/base/jobs.h"
#include "service/model.h"
#include "service/names.h"
#include "service/request.h"

struct lmi_svc_call {
	struct lmi_svc_request request; /* kept */
	struct lmi_svc_call *prev, *next;
	struct lmi_svc_idempotency_key
		*repeats; /* a repetition waits for the reply to this one; otherwise NULL */
	struct lmi_svc_call *next_wait;
	struct lmi_job job;
	void (*run)(void *arg); /* of the job */
	bool submitted; /* the job is not done */
	struct lmd_error err; /* error of the job; status LMD_OK: it succeeded */
	struct lmi_svc_lookup lookup;
	struct lmi_svc_load_waiter load_waiter;
	struct lmi_svc_loaded_model *loaded; /* the model it uses */
	bool drops; /* the job is cancelled when the client leaves or the service stops */
	void *data;                       /* data of the op, in the arena */
	/* Cancels what the op does outside the job queue; `done` or an end follows.  NULL: nothing. */
	void (*cancel)(struct lmi_svc_call *c);
	void (*done)(struct lmi_svc_call *c); /* called after the job: replies, then destroys c */
};

/* Keeps the request.  Returns LMD_NOMEM, or LMD_BUSY if there are too many pending requests. */
enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, struct lmi_svc_request *a,
				    struct lmd_error *err);
/* Destroys a call without a pending or running job.  Does not reply. */
void lmi_svc_call_destroy(struct lmi_svc_call *c);
/* Runs `run` in a job queue, then c->done on the loop's thread; on failure neither. */
enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err);
/* Cancels the job, if there is one and c->drops is set, and calls c->cancel; the error is then
 * LMD_CANCELLED. */
void lmi_svc_call_cancel(struct lmi_svc_call *c);
/* Answers with an error because the connection has ended, and cancels the job.  A call with an
 * idempotency key is answered when its job is done, for its repetitions. */
void lmi_svc_call_drop(struct lmi_svc_call *c);

#endif /* LLAMAD_SERVICE_CALL_H */
