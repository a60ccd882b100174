/* SPDX-License-Identifier: MIT
 *
 * Delivers the output of a stream to its subscriber.
 *
 * The subscriber is attached when the stream is created, so that it can be cancelled before the
 * request is answered.  While it is attached, nobody else reads the stream, and the stream has no
 * lease.  Items are dropped as soon as they were taken. */
#include "service/push.h"

#include "core/base/clock.h"
#include "proto/proto.h"
#include "service/generate.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/stream.h"
#include "service/stream_writer.h"

#define ITEMS_MAX 32u /* in one call */

static void detach(struct lmi_svc_push *p)
{
	if (p->stream)
		p->stream->push = NULL;
	p->stream = NULL;
	p->active = false;
}

static void on_reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct lmi_svc_push *p = arg;

	if (!p->active)
		return;
	if (!reply) {
		detach(p);
		p->ops->end(p->arg, NULL, err, retry_ms);
		return;
	}
	p->begun = true;
	if (p->ops->begun)
		p->ops->begun(p->arg, reply);
}

void lmi_service_push(struct lmi_service *svc, uint64_t now,
		      const struct lmi_svc_principal *principal,
		      const struct lmi_wire_request *req, struct lmi_svc_push *p)
{
	struct lmi_wire_request copy = *req;
	struct lmi_svc_request a = {.svc = svc,
					.now = now,
					.principal = *principal,
					.req = &copy,
					.reply = on_reply,
					.arg = p,
					.push = p};
	uint64_t hold = p->hold_ms < svc->limits.hold_max ? p->hold_ms : svc->limits.hold_max;
	struct lmd_error err;

	*p = (struct lmi_svc_push){.ops = p->ops,
				   .arg = p->arg,
				   .hold_ms = p->hold_ms,
				   .note = p->note,
				   .n_note = p->n_note,
				   .hold_ns = hold * LMI_NS_PER_MS,
				   .max = (uint32_t)svc->limits.items,
				   .active = true};
	if (req->op != LMI_WIRE_OP_GENERATE) {
		(void)lmd_fail(&err, LMD_UNSUPPORTED, "only the items of op generate are pushed");
		on_reply(p, NULL, &err, 0);
		return;
	}
	copy.rid = lmi_svc_str("push"); /* required, but never looked up */
	lmi_svc_dispatch(&a);
}

/* Delivers the final item and lets go of the stream, whose lease ends at once; a durable one stays until
 * the subscriber says that its end was passed on. */
static void deliver_end(struct lmi_svc_stream *s, uint64_t now)
{
	struct lmi_svc_push *p = s->push;
	struct lmi_wire_item item;

	lmi_svc_stream_fill_items(&item, NULL, s, lmi_svc_output_last(&s->out), 1);
	s->read_out = !s->durable;
	if (!s->durable)
		s->lease_ns = 0;
	s->touched_ns = now;
	detach(p);
	p->ops->end(p->arg, &item, NULL, 0);
}

void lmi_svc_push_deliver(struct lmi_svc_stream *s, uint64_t now)
{
	struct lmi_wire_token_logprob room[ITEMS_MAX * LMI_SVC_ITEM_LOGPROBS_MAX];
	struct lmi_wire_item items[ITEMS_MAX];
	struct lmi_svc_push *p = s->push;

	if (lmi_svc_stream_push_due(s) > now)
		return;
	while (!p->paused && p->after < s->out.last) {
		uint64_t n = s->out.last - p->after;

		n = n < ITEMS_MAX ? n : ITEMS_MAX;
		lmi_svc_stream_fill_items(items, room, s, p->after + 1, (uint32_t)n);
		p->after += n;
		lmi_svc_output_set_sent(&s->out, p->after);
		p->paused = !p->ops->items(p->arg, items, (uint32_t)n);
	}
	lmi_svc_output_drop(&s->out, p->after);
	if (!p->paused && s->out.ended)
		deliver_end(s, now);
}

void lmi_svc_push_fail(struct lmi_svc_stream *s, const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_push *p = s->push;

	if (!p)
		return;
	detach(p);
	p->ops->end(p->arg, NULL, err, retry_ms);
}

void lmi_svc_push_drop(struct lmi_svc_stream *s)
{
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "the connection was closed");
	lmi_svc_push_fail(s, &err, 0);
}

void lmi_service_push_resume(struct lmi_service *svc, uint64_t now, struct lmi_svc_push *p)
{
	if (!p->active || !p->paused)
		return;
	p->paused = false;
	svc->now = now;
	lmi_svc_stream_pump(svc, p->stream, now);
	lmi_svc_generate_defer_wakeups(svc, now);
}

void lmi_service_push_stop(struct lmi_service *svc, uint64_t now, struct lmi_svc_push *p)
{
	struct lmi_svc_stream *s = p->stream;

	if (!p->active)
		return;
	detach(p);
	svc->now = now;
	if (s)
		lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_GONE);
	lmi_svc_generate_pump(svc, now);
}
