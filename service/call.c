/* SPDX-License-Identifier: MIT
 *
 * Pending requests: their jobs and their replies. */
#include "service/call.h"

#include "core/base/alloc.h"
#include "service/idempotency.h"
#include "service/service_state.h"
#include "service/user.h"

enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, const struct lmi_svc_request_ctx *a,
				    struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_call *c;
	enum lmd_status st;

	st = lmi_svc_user_admit_call(svc, a->principal, 0, err);
	if (st != LMD_OK)
		return st;
	c = lmi_alloc(1, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	st = lmi_svc_copy_init(&c->copy, a->req, err);
	if (st == LMD_OK) {
		c->arena = lmi_arena_create(0);
		if (!c->arena)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	if (st == LMD_OK)
		st = lmi_svc_user_admit_call(svc, a->principal, c->copy.bytes.n, err);
	if (st == LMD_OK) {
		c->user = lmi_svc_user_ref(svc, a->principal);
		if (!c->user)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	if (st != LMD_OK) {
		lmi_svc_copy_fini(&c->copy);
		lmi_arena_destroy(c->arena);
		lmi_free(c);
		return st;
	}
	c->svc = svc;
	c->reply = a->reply;
	c->arg = a->arg;
	c->principal = *a->principal;
	c->next = svc->calls;
	if (c->next)
		c->next->prev = c;
	svc->calls = c;
	c->held = (struct lmi_svc_account){.n_call = 1, .bytes = c->copy.bytes.n};
	lmi_svc_user_hold(svc, c->user, &c->held);
	*out = c;
	return LMD_OK;
}

static void unlink_wait(struct lmi_svc_call *c)
{
	struct lmi_svc_call **p;

	if (!c->idempotency_key)
		return;
	for (p = &c->idempotency_key->waiters; *p != c; p = &(*p)->next_wait)
		;
	*p = c->next_wait;
	c->idempotency_key = NULL;
}

void lmi_svc_call_destroy(struct lmi_svc_call *c)
{
	struct lmi_service *svc = c->svc;

	unlink_wait(c);
	*(c->prev ? &c->prev->next : &svc->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	lmi_svc_user_release(svc, c->user, &c->held);
	lmi_svc_user_unref(svc, c->user);
	if (c->loaded)
		lmi_svc_loaded_model_unref(c->loaded, svc->now);
	lmi_svc_copy_fini(&c->copy);
	lmi_arena_destroy(c->arena);
	lmi_free(c);
}

static void job_done(void *arg)
{
	struct lmi_svc_call *c = arg;

	c->svc->n_job--;
	c->submitted = false;
	if (lmi_cancel_is_set(&c->job.cancel) && c->err.status == LMD_OK)
		c->err.status = lmd_fail(&c->err, LMD_CANCELLED, "the request was cancelled");
	c->done(c);
}

enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err)
{
	enum lmd_status st;

	c->job = (struct lmi_job){.run = run, .done = job_done, .arg = c};
	st = lmi_jobs_submit(jobs, &c->job, err);
	c->submitted = st == LMD_OK;
	if (st == LMD_OK)
		c->svc->n_job++;
	return st;
}

void lmi_svc_call_reply(struct lmi_svc_call *c, const struct lmi_wire_reply *reply)
{
	lmi_svc_reply_fn fn = c->reply;

	c->reply = NULL;
	if (fn)
		fn(c->arg, reply, NULL, 0);
}

void lmi_svc_call_fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms)
{
	lmi_svc_reply_fn fn = c->reply;

	c->reply = NULL;
	if (!fn)
		return;
	c->svc->count.n_refused++;
	fn(c->arg, NULL, err, retry_ms);
}

void lmi_svc_call_cancel(struct lmi_svc_call *c)
{
	if (c->submitted && c->drops)
		lmi_jobs_cancel(&c->job);
	if (c->cancel)
		c->cancel(c);
}

void lmi_svc_call_drop(struct lmi_svc_call *c)
{
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "the connection was closed");
	lmi_svc_call_fail(c, &err, 0);
	lmi_svc_call_cancel(c);
	if (c->idempotency_key) /* a repetition has no job */
		lmi_svc_call_destroy(c);
}
