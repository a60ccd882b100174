/* SPDX-License-Identifier: MIT
 *
 * call.h - a pending request: an op that replies later. */
#ifndef LLAMAD_SERVICE_CALL_H
#define LLAMAD_SERVICE_CALL_H

#include "core/base/arena.h"
#include "core/base/jobs.h"
#include "service/model.h"
#include "service/names.h"
#include "service/request.h"
#include "service/service.h"
#include "service/user.h"

/* A pending request with a job. */
struct lmi_svc_call {
	struct lmi_service *svc;
	struct lmi_svc_call *prev, *next;
	lmi_svc_reply_fn reply; /* NULL: answered, or the connection has ended */
	void *arg;
	struct lmi_svc_principal principal;
	struct lmi_svc_user *user;
	struct lmi_svc_account held; /* what it adds to the user's account */
	struct lmi_svc_copy copy;
	struct lmi_svc_idempotency_key
		*idempotency_key; /* a repetition waits for the reply to this one; otherwise NULL */
	struct lmi_svc_call *next_wait;
	struct lmd_arena *arena; /* for the results of the job */
	struct lmi_job job;
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

/* Returns LMD_NOMEM, or LMD_BUSY if there are too many pending requests. */
enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, const struct lmi_svc_request_ctx *a,
				    struct lmd_error *err);
/* Destroys a call without a pending or running job. */
void lmi_svc_call_destroy(struct lmi_svc_call *c);
/* Runs `run` in a job queue, then c->done on the loop's thread; on failure neither. */
enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err);
/* Send a reply or an error, unless the connection has ended. */
void lmi_svc_call_reply(struct lmi_svc_call *c, const struct lmi_wire_reply *reply);
void lmi_svc_call_fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms);
/* Cancels the job, if there is one and c->drops is set, and calls c->cancel; the error is then
 * LMD_CANCELLED. */
void lmi_svc_call_cancel(struct lmi_svc_call *c);
/* Answers with an error because the connection has ended, and cancels the job. */
void lmi_svc_call_drop(struct lmi_svc_call *c);

#endif /* LLAMAD_SERVICE_CALL_H */
