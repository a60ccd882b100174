/* SPDX-License-Identifier: MIT
 *
 * The latest events, and op events.  The ring is allocated with the first event; if that fails, the event
 * is lost. */
#include "service/event_ring.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/call.h"
#include "service/generate_work.h"
#include "service/ops.h"
#include "service/quota.h"
#include "service/service_state.h"
#include "service/usage.h"

struct event {
	uint64_t n;
	int64_t at_ms;
	enum lmi_wire_event_kind kind;
	bool has_owner;
	struct lmi_svc_owner owner;
	struct lmi_wire_id id;
	uint32_t position, n_prompt, n_out;
	char model[LMI_SVC_NAME_BYTES + 1], principal[LMI_SVC_USAGE_PRINCIPAL], text[160];
};

struct waiter {
	struct waiter *next;
	struct lmi_svc_call *call;
	uint64_t until_ns;
	bool dropped;
};

struct lmi_svc_event_ring {
	uint64_t last; /* number of the latest event */
	struct waiter *waiters;
	struct event v[LMI_SVC_EVENTS]; /* event n at n modulo their number */
};

/* ---- writing ---- */

static struct event *add(struct lmi_service *svc, enum lmi_wire_event_kind kind, const char *model)
{
	struct event *e;

	if (!svc->event_ring)
		svc->event_ring = lmi_alloc(1, sizeof(*svc->event_ring));
	if (!svc->event_ring)
		return NULL;
	e = &svc->event_ring->v[++svc->event_ring->last % LMI_SVC_EVENTS];
	*e = (struct event){.n = svc->event_ring->last, .kind = kind};
	if (svc->hooks.wall_ns)
		e->at_ms = svc->hooks.wall_ns(svc->hooks.arg) / 1000000;
	(void)snprintf(e->model, sizeof(e->model), "%s", model);
	return e;
}

void lmi_svc_event_ring_model(struct lmi_service *svc, enum lmi_wire_event_kind kind,
			      const char *model, const char *text)
{
	struct event *e = add(svc, kind, model);

	if (e && text)
		(void)snprintf(e->text, sizeof(e->text), "%.*s", (int)sizeof(e->text) - 1, text);
}

static void put_end(struct event *e, const struct lmi_svc_end *end)
{
	const char *text = "";

	switch (end->kind) {
	case LMI_SVC_END_DONE:
		text = lmi_wire_word(&lmi_wire_words_finish, (int)end->why);
		break;
	case LMI_SVC_END_ERROR:
		text = end->error.text;
		break;
	case LMI_SVC_END_CANCELLED:
		text = lmi_wire_word(&lmi_wire_words_cancel_reason, (int)end->why);
		break;
	}
	(void)snprintf(e->text, sizeof(e->text), "%.*s", (int)sizeof(e->text) - 1, text);
	e->n_prompt = end->n_prompt;
	e->n_out = end->n_out;
}

void lmi_svc_event_ring_generation(const struct lmi_svc_generation *g,
				   enum lmi_wire_event_kind kind, const struct lmi_svc_end *end)
{
	struct lmi_service *svc = g->request.svc;
	const struct lmd_str *name = &lmi_svc_gen_request(g)->model;
	char model[LMI_SVC_NAME_BYTES + 1];
	struct event *e;

	(void)snprintf(model, sizeof(model), "%.*s", (int)name->len, name->ptr);
	e = add(svc, kind, model);
	if (!e)
		return;
	e->has_owner = true;
	e->owner = lmi_svc_owner_of(&g->request.principal);
	lmi_svc_usage_principal(e->principal, &g->request.principal);
	memcpy(e->id.b, g->stream_id, sizeof(e->id.b));
	if (kind == LMI_WIRE_EVENT_KIND_START)
		e->n_prompt = (uint32_t)g->tokens.n;
	if (end)
		put_end(e, end);
	for (const struct lmi_svc_generation *o = svc->queue;
	     o && o != g && kind == LMI_WIRE_EVENT_KIND_QUEUE; o = o->queue_next)
		e->position++;
}

/* ---- reading ---- */

static bool may_see(const struct lmi_service *svc, const struct lmi_svc_principal *p,
		    const struct event *e)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(p);

	if (p->role == LMI_SVC_ROLE_ADMIN)
		return true;
	return e->has_owner ? lmi_svc_owner_same(&owner, &e->owner)
			    : lmi_svc_quota_allows(svc, p, e->model, NULL);
}

/* What is said of a model may have the names of other models and files. */
static void fill(struct lmi_wire_server_event *out, const struct lmi_svc_principal *p,
		 const struct event *e)
{
	bool has_text = e->has_owner || p->role == LMI_SVC_ROLE_ADMIN;

	*out = (struct lmi_wire_server_event){.n = (int64_t)e->n,
					      .at_ms = e->at_ms,
					      .kind = e->kind,
					      .model = lmi_svc_str(e->model),
					      .principal = lmi_svc_str(e->principal),
					      .has_id = e->has_owner,
					      .id = e->id,
					      .position = e->position,
					      .n_prompt = e->n_prompt,
					      .n_out = e->n_out,
					      .text = lmi_svc_str(has_text ? e->text : "")};
}

/* Sends the events after the cursor.  Returns false, without an answer, if there are none and `waits` is
 * set. */
static bool answer(struct lmi_svc_request *a, bool waits)
{
	const struct lmi_wire_req_events *q = &a->req->u.events;
	const struct lmi_svc_event_ring *ring = a->svc->event_ring;
	uint64_t last = ring ? ring->last : 0, after = (uint64_t)q->after, at;
	uint64_t first = last > LMI_SVC_EVENTS ? last - LMI_SVC_EVENTS + 1 : 1;
	struct lmi_wire_server_event *v;
	struct lmi_wire_reply r;
	struct lmd_error err;
	uint32_t n = 0, max = q->max < LMI_SVC_EVENTS ? (uint32_t)q->max : LMI_SVC_EVENTS;

	v = lmi_alloc(max, sizeof(*v));
	if (!v) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for %u events", max);
		lmi_svc_request_fail(a, &err, 0);
		return true;
	}
	lmi_wire_reply_init(&r, a->req);
	at = after + 1 < first ? first : after + 1;
	r.u.events.lost = (int64_t)(at - after - 1);
	for (; at <= last && n < max; at++)
		if (may_see(a->svc, &a->principal, &ring->v[at % LMI_SVC_EVENTS]))
			fill(&v[n++], &a->principal, &ring->v[at % LMI_SVC_EVENTS]);
	r.u.events.events = v;
	r.u.events.n_events = n;
	r.u.events.last = (int64_t)(at - 1);
	waits = waits && !n && !r.u.events.lost;
	if (!waits)
		lmi_svc_request_reply(a, &r);
	lmi_free(v);
	return !waits;
}

static void cancel(struct lmi_svc_call *c)
{
	struct waiter *w = c->data;

	w->dropped = true;
}

enum lmd_status lmi_svc_do_events(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_wire_req_events *q = &a->req->u.events;
	struct lmi_service *svc = a->svc;
	uint64_t last = svc->event_ring ? svc->event_ring->last : 0;
	struct lmi_svc_call *c;
	struct waiter *w;
	enum lmd_status st;

	(void)retry_ms;
	if ((uint64_t)q->after > last)
		return lmd_fail(err, LMD_INVALID,
				"after: %lld, but there are %llu events since the server was started: "
				"begin at 0",
				(long long)q->after, (unsigned long long)last);
	if (answer(a, q->wait_ms > 0))
		return LMD_OK;
	if (!svc->event_ring)
		svc->event_ring = lmi_alloc(1, sizeof(*svc->event_ring));
	if (!svc->event_ring)
		return lmd_fail(err, LMD_NOMEM, "no memory for events");
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	w = lmi_arena_alloc(c->request.arena, sizeof(*w), 8);
	if (!w) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	*w = (struct waiter){.next = svc->event_ring->waiters,
			     .call = c,
			     .until_ns = a->now + (uint64_t)c->request.message.u.events.wait_ms *
							  LMI_NS_PER_MS};
	c->data = w;
	c->cancel = cancel;
	svc->event_ring->waiters = w;
	return LMD_OK;
}

static bool is_over(struct waiter *w, uint64_t now)
{
	struct lmi_svc_request *a = &w->call->request;
	struct lmd_error err;

	if (w->dropped) {
		(void)lmd_fail(&err, LMD_CANCELLED, "cancelled");
		lmi_svc_request_fail(a, &err, 0);
		return true;
	}
	return answer(a, now < w->until_ns);
}

void lmi_svc_event_ring_tick(struct lmi_service *svc, uint64_t now)
{
	struct waiter **p = svc->event_ring ? &svc->event_ring->waiters : NULL;

	while (p && *p) {
		struct waiter *w = *p;

		if (!is_over(w, now)) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		lmi_svc_call_destroy(w->call);
	}
}

uint64_t lmi_svc_event_ring_deadline(const struct lmi_service *svc)
{
	uint64_t when = UINT64_MAX;

	for (const struct waiter *w = svc->event_ring ? svc->event_ring->waiters : NULL; w;
	     w = w->next) {
		if (w->dropped)
			return svc->now;
		when = w->until_ns < when ? w->until_ns : when;
	}
	return when;
}

uint32_t lmi_svc_event_ring_n_waiting(const struct lmi_service *svc)
{
	uint32_t n = 0;

	for (const struct waiter *w = svc->event_ring ? svc->event_ring->waiters : NULL; w; w = w->next)
		n++;
	return n;
}

void lmi_svc_event_ring_fini(struct lmi_service *svc)
{
	lmi_free(svc->event_ring);
	svc->event_ring = NULL;
}
