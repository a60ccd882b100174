/* SPDX-License-Identifier: MIT
 *
 * The life of streams, and the replies to their readers. */
#include "service/stream_writer.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/durable.h"
#include "service/logprobs.h"
#include "service/push.h"
#include "service/service_state.h"

/* How many times the streams of a user an administrator may have. */
#define ADMIN_TIMES 4

/* ---- replies to readers ---- */

static void fill_end(struct lmi_wire_item *out, const struct lmi_svc_output *o)
{
	const struct lmi_svc_end *end = &o->end;

	switch (end->kind) {
	case LMI_SVC_END_DONE:
		out->kind = LMI_WIRE_ITEM_DONE;
		out->u.done.finish = (enum lmi_wire_finish)end->why;
		out->u.done.n_prompt = end->n_prompt;
		out->u.done.n_out = end->n_out;
		out->u.done.n_forced = end->n_forced;
		out->u.done.n_cached = end->n_cached;
		out->u.done.n_drafted = end->n_drafted;
		out->u.done.n_accepted = end->n_accepted;
		out->u.done.n_reasoning = end->n_reasoning;
		out->u.done.n_shift = end->n_shift;
		out->u.done.prefix_broke_at = end->broke_at;
		out->u.done.n_pinned = end->n_pinned;
		out->u.done.n_saved = end->n_saved;
		out->u.done.has_session_error = end->error.status != LMD_OK;
		out->u.done.session_error =
			lmi_svc_str(end->error.status == LMD_OK ? "" : end->error.text);
		out->u.done.prompt_ns = (int64_t)end->prompt_ns;
		out->u.done.out_ns = (int64_t)end->out_ns;
		out->u.done.settings = o->settings;
		out->u.done.n_settings = o->n_settings;
		return;
	case LMI_SVC_END_ERROR:
		out->kind = LMI_WIRE_ITEM_ERROR;
		out->u.error.code = end->error.status;
		out->u.error.text = lmi_svc_str(end->error.text);
		return;
	case LMI_SVC_END_CANCELLED:
		out->kind = LMI_WIRE_ITEM_CANCELLED;
		out->u.cancelled.reason = (enum lmi_wire_cancel_reason)end->why;
		return;
	}
}

static void fill_item(struct lmi_wire_item *out, struct lmi_wire_token_logprob *room,
		      const struct lmi_svc_stream *s, uint64_t number)
{
	const struct lmi_svc_output *o = &s->out;
	const char *text;
	const struct lmi_svc_item *item = lmi_svc_output_item(o, number, &text);

	*out = (struct lmi_wire_item){.n = (int64_t)number};
	if (item->n_logprobs)
		lmi_svc_logprobs_unpack(room, item->n_logprobs, lmi_svc_output_logprobs(o, item));
	switch (item->kind) {
	case LMI_SVC_ITEM_TOKEN:
		out->kind = LMI_WIRE_ITEM_TOKEN;
		out->u.token.token = item->token;
		out->u.token.text = (struct lmd_str){.ptr = text ? text : "", .len = item->n_text};
		out->u.token.logprobs = room;
		out->u.token.n_logprobs = item->n_logprobs;
		return;
	case LMI_SVC_ITEM_PROMPT_TOKEN:
		out->kind = LMI_WIRE_ITEM_PROMPT_TOKEN;
		out->u.prompt_token.token = item->token;
		out->u.prompt_token.text =
			(struct lmd_str){.ptr = text ? text : "", .len = item->n_text};
		out->u.prompt_token.logprobs = room;
		out->u.prompt_token.n_logprobs = item->n_logprobs;
		return;
	case LMI_SVC_ITEM_TEXT:
		out->kind = LMI_WIRE_ITEM_TEXT;
		out->u.text.text = (struct lmd_str){.ptr = text ? text : "", .len = item->n_text};
		return;
	case LMI_SVC_ITEM_REASONING:
		out->kind = LMI_WIRE_ITEM_REASONING;
		out->u.reasoning.text = (struct lmd_str){.ptr = text, .len = item->n_text};
		return;
	case LMI_SVC_ITEM_CALL:
		out->kind = LMI_WIRE_ITEM_CALL;
		out->u.call.call = item->call;
		out->u.call.name = (struct lmd_str){.ptr = text, .len = item->n_name};
		out->u.call.id = (struct lmd_str){.ptr = text + item->n_name,
						  .len = item->n_text - item->n_name};
		return;
	case LMI_SVC_ITEM_ARGUMENTS:
		out->kind = LMI_WIRE_ITEM_ARGUMENTS;
		out->u.arguments.call = item->call;
		out->u.arguments.text = (struct lmd_str){.ptr = text, .len = item->n_text};
		return;
	case LMI_SVC_ITEM_CALL_END:
		out->kind = LMI_WIRE_ITEM_CALL_END;
		out->u.call_end.call = item->call;
		out->u.call_end.complete = item->complete;
		return;
	case LMI_SVC_ITEM_PROGRESS:
		out->kind = LMI_WIRE_ITEM_PROGRESS;
		out->u.progress.phase = (enum lmi_wire_phase)item->phase;
		out->u.progress.done = (int64_t)item->done;
		out->u.progress.total = (int64_t)item->total;
		return;
	case LMI_SVC_ITEM_END:
		fill_end(out, o);
		return;
	}
}

void lmi_svc_stream_fill_items(struct lmi_wire_item *out, struct lmi_wire_token_logprob *room,
			       const struct lmi_svc_stream *s, uint64_t number, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fill_item(&out[i], room, s, number + i);
		room += lmi_svc_stream_n_logprobs(s, number + i, 1);
	}
}

uint32_t lmi_svc_stream_n_logprobs(const struct lmi_svc_stream *s, uint64_t number, uint32_t n)
{
	uint32_t sum = 0;
	const char *text;

	for (uint32_t i = 0; i < n; i++)
		sum += lmi_svc_output_item(&s->out, number + i, &text)->n_logprobs;
	return sum;
}

/* Returns how many items fit into one reply, at least one. */
static uint32_t count(const struct lmi_svc_output *o, uint64_t after, uint32_t max)
{
	uint32_t n = lmi_svc_output_count(o, after, max);
	uint64_t bytes = 0;
	const char *text;

	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_svc_item *item = lmi_svc_output_item(o, after + 1 + i, &text);

		bytes += item->n_text + 2 * item->logprobs_bytes; /* keys are longer than heads */
		if (i && bytes > LMI_WIRE_LIMIT_REPLY_TEXT_BYTES)
			return i;
	}
	return n;
}

/* Sends the reply to a reader and frees it. */
static void answer(struct lmi_svc_stream *s, struct lmi_svc_waiting_reader *own_p, uint64_t now)
{
	struct lmi_svc_waiting_reader *p = own_p;
	uint32_t n = count(&s->out, p->after, p->max);
	uint32_t n_logprobs = lmi_svc_stream_n_logprobs(s, p->after + 1, n);
	struct lmi_wire_item *items = n ? lmi_alloc(n, sizeof(*items)) : NULL;
	struct lmi_wire_token_logprob *room =
		n_logprobs ? lmi_alloc(n_logprobs, sizeof(*room)) : NULL;
	uint64_t last = p->after + n;
	struct lmi_wire_request head = {.v = p->v, .op = LMI_WIRE_OP_NEXT};
	struct lmi_wire_reply r;
	struct lmd_error err;

	s->touched_ns = now;
	if ((n && !items) || (n_logprobs && !room)) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for %u items", n);
		p->reply(p->arg, NULL, &err, 0);
		goto out;
	}
	head.rid = (struct lmd_str){.ptr = p->rid, .len = p->n_rid};
	lmi_wire_reply_init(&r, &head);
	memcpy(r.u.next.id.b, s->id, sizeof(r.u.next.id.b));
	lmi_svc_stream_fill_items(items, room, s, p->after + 1, n);
	r.u.next.items = items;
	r.u.next.n_items = n;
	r.u.next.last = (int64_t)last;
	r.u.next.end = s->out.ended && last == lmi_svc_output_last(&s->out);
	lmi_svc_output_set_sent(&s->out, last);
	s->read_out |= r.u.next.end;
	if (s->durable && r.u.next.end)
		lmi_svc_durable_set_read(s->durable);
	p->reply(p->arg, &r, NULL, 0);
out:
	lmi_free(items);
	lmi_free(room);
	lmi_free(p);
}

void lmi_svc_stream_pump(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now)
{
	struct lmi_svc_waiting_reader *p;

	while ((p = lmi_svc_stream_take_due_reader(&svc->streams, s, now)))
		answer(s, p, now);
	lmi_svc_push_deliver(s, now);
}

/* ---- the life of a stream ---- */

struct lmi_svc_end lmi_svc_end_of(uint32_t reason)
{
	if (reason == LMI_SVC_CANCEL_SHUTDOWN)
		return (struct lmi_svc_end){.kind = LMI_SVC_END_DONE,
					    .why = LMI_WIRE_FINISH_SHUTDOWN};
	return (struct lmi_svc_end){.kind = LMI_SVC_END_CANCELLED, .why = reason};
}

static const struct lmi_svc_account one_stream = {.n_stream = 1};

void lmi_svc_stream_drop(struct lmi_service *svc, struct lmi_svc_stream *s)
{
	if (s->user) {
		lmi_svc_user_release(svc, s->user, &one_stream);
		lmi_svc_user_unref(s->user);
	}
	if (s->durable)
		lmi_svc_durable_drop(s);
	lmi_svc_stream_destroy(&svc->streams, s);
}

/* Returns the oldest stream of the owner whose end was read or need not be, or NULL. */
static struct lmi_svc_stream *find_done(const struct lmi_service *svc,
					const struct lmi_svc_owner *owner)
{
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (lmi_svc_owner_same(&s->owner, owner) && !s->readers && !s->push &&
		    (s->read_out || (s->cancelled && !s->writer)))
			return s;
	return NULL;
}

enum lmd_status lmi_svc_stream_admit(struct lmi_service *svc,
				     const struct lmi_svc_principal *principal,
				     struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	uint32_t n = lmi_svc_user_n_stream(svc, principal);
	uint64_t most = svc->limits.streams * (principal->role == LMI_SVC_ROLE_ADMIN ? ADMIN_TIMES : 1);
	struct lmi_svc_stream *done;

	if (n < most)
		return LMD_OK;
	done = find_done(svc, &owner);
	if (done) {
		lmi_svc_stream_drop(svc, done);
		return LMD_OK;
	}
	return lmd_fail(err, LMD_BUSY,
			"too many streams: you have %u, the maximum is %llu: read one to its end "
			"or cancel one",
			n, (unsigned long long)most);
}

enum lmd_status lmi_svc_stream_begin(struct lmi_svc_request *a,
				     struct lmi_svc_stream_writer *w, uint32_t kind,
				     const struct lmd_str *model, uint64_t lease_ms,
				     struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_stream *s;
	enum lmd_status st =
		lmi_svc_stream_create(&s, &svc->streams, &a->principal, kind, a->now,
				      lease_ms * LMI_NS_PER_MS, svc->limits.stream_bytes, err);

	if (st != LMD_OK)
		return st;
	s->user = lmi_svc_user_ref(svc, &a->principal);
	if (!s->user) {
		lmi_svc_stream_drop(svc, s);
		return lmd_fail(err, LMD_NOMEM, "no memory for a user");
	}
	lmi_svc_user_hold(svc, s->user, &one_stream);
	(void)snprintf(s->model, sizeof(s->model), "%.*s", (int)model->len, model->ptr);
	(void)snprintf(s->rid, sizeof(s->rid), "%.*s", (int)a->req->rid.len, a->req->rid.ptr);
	s->writer = w;
	s->push = a->push;
	if (s->push)
		s->push->stream = s;
	w->stream = s;
	return LMD_OK;
}

void lmi_svc_stream_end(struct lmi_service *svc, struct lmi_svc_stream_writer *w, uint64_t now,
			const struct lmi_svc_end *end)
{
	struct lmi_svc_stream *s = w->stream;

	if (!s)
		return;
	if (s->durable && w != &s->durable->writer && lmi_svc_durable_end(s->durable, now, end))
		return;
	w->stream = NULL;
	s->writer = NULL;
	lmi_svc_output_end(&s->out, now, end);
	/* restart the lease, so that a reader has time to fetch the end */
	s->touched_ns = now;
	if (s->given_up)
		lmi_svc_stream_drop(svc, s);
	else
		lmi_svc_stream_pump(svc, s, now);
}

void lmi_svc_stream_give_up(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now,
			    uint32_t reason)
{
	struct lmi_svc_waiting_reader *p;

	s->given_up = true;
	while ((p = lmi_svc_stream_remove_reader(&svc->streams, s, 0)))
		lmi_svc_waiting_reader_drop(p);
	lmi_svc_push_drop(s);
	if (s->writer)
		s->writer->cancel(s->writer, now, reason);
	else
		lmi_svc_stream_drop(svc, s);
}
