/* SPDX-License-Identifier: MIT
 *
 * Pending requests and their jobs. */
#include "service/call.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/service_state.h"

enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, struct lmi_svc_request *a,
				    struct lmd_error *err)
{
	static const struct lmi_svc_account places = {.n_call = 1};
	struct lmi_service *svc = a->svc;
	struct lmi_svc_call *c;
	enum lmd_status st = lmi_svc_user_admit_call(svc, &a->principal, 0, err);

	if (st == LMD_OK)
		st = lmi_svc_request_copy(a, err);
	if (st == LMD_OK)
		st = lmi_svc_user_admit_call(svc, &a->principal, a->bytes.n, err);
	if (st != LMD_OK)
		return st;
	c = lmi_alloc(1, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	st = lmi_svc_request_keep(&c->request, a, &places, err);
	if (st != LMD_OK) {
		lmi_free(c);
		return st;
	}
	c->next = svc->calls;
	if (c->next)
		c->next->prev = c;
	svc->calls = c;
	*out = c;
	return LMD_OK;
}

static void unlink_wait(struct lmi_svc_call *c)
{
	struct lmi_svc_call **p;

	if (!c->repeats)
		return;
	for (p = &c->repeats->waiters; *p != c; p = &(*p)->next_wait)
		;
	*p = c->next_wait;
	c->repeats = NULL;
}

void lmi_svc_call_destroy(struct lmi_svc_call *c)
{
	struct lmi_service *svc = c->request.svc;

	unlink_wait(c);
	*(c->prev ? &c->prev->next : &svc->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->loaded)
		lmi_svc_loaded_model_unref(c->loaded, svc->now);
	lmi_svc_request_fini(&c->request);
	lmi_free(c);
}

static void job_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	uint64_t from = lmi_clock_thread_ns();

	c->run(c);
	c->request.work_ns = lmi_clock_thread_ns() - from;
}

static void charge_work(const struct lmi_svc_call *c)
{
	const struct lmi_svc_used used = {.work_ns = c->request.work_ns};

	lmi_svc_user_charge_work(c->request.svc, &c->request.principal, used.work_ns);
	if (c->loaded && used.work_ns)
		lmi_svc_usage_add(c->request.svc, &c->request.principal,
				  lmi_svc_model_record_name(c->loaded->record), &used);
}

static void job_done(void *arg)
{
	struct lmi_svc_call *c = arg;

	if (c->job.jobs == c->request.svc->o.work)
		charge_work(c);
	c->request.svc->n_job--;
	c->submitted = false;
	if (lmi_cancel_is_set(&c->job.cancel) && c->err.status == LMD_OK)
		c->err.status = lmd_fail(&c->err, LMD_CANCELLED, "the request was cancelled");
	c->done(c);
}

enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err)
{
	enum lmd_status st;

	c->run = run;
	c->request.work_ns = 0;
	c->job = (struct lmi_job){.run = job_run, .done = job_done, .arg = c};
	st = lmi_jobs_submit(jobs, &c->job, err);
	c->submitted = st == LMD_OK;
	if (st == LMD_OK)
		c->request.svc->n_job++;
	return st;
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
	if (!c->request.key)
		lmi_svc_request_fail(&c->request, &err, 0);
	lmi_svc_call_cancel(c);
	if (c->repeats) /* a repetition has no job */
		lmi_svc_call_destroy(c);
}
