/* SPDX-License-Identifier: MIT
 *
 * The ops next, cancel, pause, unpause and streams. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/durable.h"
#include "service/ops.h"
#include "service/output.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/stream.h"
#include "service/stream_writer.h"
#include "service/user.h"

/* Fails waiting readers with an older cursor than `after`, since the items they need will be
 * dropped.  Such a reader is an older request of the same client. */
static void fail_older(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t after)
{
	struct lmi_svc_waiting_reader **at = &s->readers;

	while (*at) {
		struct lmi_svc_waiting_reader *p = *at;
		struct lmd_error err;

		if (p->after >= after) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		svc->streams.n_reader--;
		(void)lmd_fail(&err, LMD_CANCELLED, "a later request acknowledged item %llu",
			       (unsigned long long)after);
		p->reply(p->arg, NULL, &err, 0);
		lmi_free(p);
	}
}

enum lmd_status lmi_svc_do_next(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_wire_req_next *q = &a->req->u.next;
	struct lmi_service *svc = a->svc;
	const struct lmi_service_limits *l = &svc->limits;
	uint64_t wait = q->has_wait_ms ? (uint64_t)q->wait_ms : l->wait_default;
	uint64_t hold = q->has_hold_ms ? (uint64_t)q->hold_ms : l->hold_default;
	uint64_t after = (uint64_t)q->after;
	struct lmi_svc_stream *s;
	struct lmi_svc_waiting_reader *p;
	enum lmd_status st =
		lmi_svc_stream_find(&s, &svc->streams, &a->principal, q->id.b, false, err);

	if (st == LMD_OK)
		st = lmi_svc_output_check(&s->out, after, err);
	if (st == LMD_OK && s->push)
		st = lmd_fail(err, LMD_INVALID, "id: the items of this stream are sent to another client");
	if (st == LMD_OK && s->durable && s->durable->suspended) {
		*retry_ms = LMI_SVC_DURABLE_RETRY_MS;
		st = lmd_fail(err, LMD_BUSY, LMI_SVC_DURABLE_SUSPENDED);
	}
	if (st != LMD_OK)
		return st;
	st = lmi_svc_user_admit_reader(svc, &a->principal, err);
	if (st != LMD_OK) {
		*retry_ms = lmi_svc_retry_ms(svc);
		return st;
	}
	p = lmi_alloc(1, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	wait = wait < l->wait_max ? wait : l->wait_max;
	hold = hold < l->hold_max ? hold : l->hold_max;
	*p = (struct lmi_svc_waiting_reader){
		.v = a->req->v,
		.conn = a->principal.conn,
		.after = after,
		.hold_ns = hold * LMI_NS_PER_MS,
		.until_ns = a->now + wait * LMI_NS_PER_MS,
		.max = (uint32_t)((uint64_t)q->max < l->items ? (uint64_t)q->max : l->items),
		.reply = a->reply,
		.arg = a->arg,
		.n_rid = (uint32_t)(a->req->rid.len < sizeof(p->rid) ? a->req->rid.len
								     : sizeof(p->rid))};
	if (p->n_rid)
		memcpy(p->rid, a->req->rid.ptr, p->n_rid);
	s->conn = a->principal.conn;
	s->touched_ns = a->now;
	fail_older(svc, s, after);
	lmi_svc_output_drop(&s->out, after);
	lmi_svc_stream_add_reader(&svc->streams, s, p);
	lmi_svc_stream_pump(svc, s, a->now);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_cancel(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_stream *s;
	struct lmi_wire_reply r;
	enum lmd_status st =
		lmi_svc_stream_find(&s, &svc->streams, &a->principal, a->req->u.cancel.id.b,
				    a->principal.role == LMI_SVC_ROLE_ADMIN, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	r.u.cancel.ended = s->out.ended;
	s->cancelled = true;
	if (s->writer)
		s->writer->cancel(s->writer, a->now, LMI_WIRE_CANCEL_REASON_ASKED);
	else
		lmi_svc_stream_give_up(svc, s, a->now, LMI_WIRE_CANCEL_REASON_ASKED);
	return lmi_svc_reply_send(a, &r);
}

/* ---- pause, unpause ---- */

static enum lmd_status pause_stream(struct lmi_svc_request *a, const uint8_t *id, bool paused,
				    bool *was_paused, uint64_t *left_ms, struct lmd_error *err)
{
	struct lmi_svc_stream *s;
	enum lmd_status st = lmi_svc_stream_find(&s, &a->svc->streams, &a->principal, id,
						 a->principal.role == LMI_SVC_ROLE_ADMIN, err);

	if (st != LMD_OK)
		return st;
	if (!s->writer)
		return lmd_fail(err, LMD_INVALID, "the stream has ended");
	if (!s->writer->pause)
		return lmd_fail(err, LMD_UNSUPPORTED, "only generations can be paused");
	return s->writer->pause(s->writer, a->now, paused, was_paused, left_ms, err);
}

enum lmd_status lmi_svc_do_pause(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	uint64_t left_ms = 0;
	bool was_paused;
	struct lmi_wire_reply r;
	enum lmd_status st =
		pause_stream(a, a->req->u.pause.id.b, true, &was_paused, &left_ms, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	r.u.pause.left_ms = (int64_t)left_ms;
	return lmi_svc_reply_send(a, &r);
}

enum lmd_status lmi_svc_do_unpause(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	uint64_t left_ms;
	bool was_paused = false;
	struct lmi_wire_reply r;
	enum lmd_status st =
		pause_stream(a, a->req->u.unpause.id.b, false, &was_paused, &left_ms, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	r.u.unpause.was_paused = was_paused;
	return lmi_svc_reply_send(a, &r);
}

/* ---- streams ---- */

static void fill_stream(struct lmi_wire_stream *out, const struct lmi_svc_stream *s, uint64_t now)
{
	*out = (struct lmi_wire_stream){.kind = (enum lmi_wire_stream_kind)s->kind,
					.model = lmi_svc_str(s->model),
					.state = s->out.ended ? LMI_WIRE_STREAM_STATE_ENDED
						 : s->writer && s->writer->runs(s->writer)
							 ? LMI_WIRE_STREAM_STATE_RUNNING
							 : LMI_WIRE_STREAM_STATE_WAITING,
					.rid = lmi_svc_str(s->rid),
					.last = (int64_t)lmi_svc_output_last(&s->out),
					.age_ms = (int64_t)((now - s->created_ns) / LMI_NS_PER_MS),
					.lease_ms = (int64_t)(s->lease_ns / LMI_NS_PER_MS),
					.paused = s->writer && s->writer->pause &&
						  s->writer->is_paused(s->writer)};
	memcpy(out->id.b, s->id, sizeof(out->id.b));
}

enum lmd_status lmi_svc_do_streams(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(&a->principal);
	bool all = a->principal.role == LMI_SVC_ROLE_ADMIN;
	const struct lmi_svc_streams *t = &a->svc->streams;
	struct lmi_wire_stream *v = lmi_alloc(t->n + 1, sizeof(*v));
	struct lmi_wire_reply r;
	uint32_t n = 0;

	(void)retry_ms;
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u streams", t->n);
	for (const struct lmi_svc_stream *s = t->first; s && n < LMI_WIRE_LIMIT_ROWS; s = s->next)
		if (!s->given_up && (all || lmi_svc_owner_same(&s->owner, &owner)))
			fill_stream(&v[n++], s, a->now);
	lmi_wire_reply_init(&r, a->req);
	r.u.streams.streams = v;
	r.u.streams.n_streams = n;
	(void)lmi_svc_reply_send(a, &r);
	lmi_free(v);
	return LMD_OK;
}
