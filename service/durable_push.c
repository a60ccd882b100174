/* SPDX-License-Identifier: MIT
 *
 * Durable streams with a subscriber, after a restart. */
#include "service/durable_push.h"

#include <string.h>

#include "core/base/alloc.h"
#include "service/durable.h"
#include "service/generate.h"
#include "service/service_state.h"

void lmi_service_durable_each(struct lmi_service *svc,
			      void (*fn)(void *arg, const struct lmi_svc_durable_note *n), void *arg)
{
	for (struct lmi_svc_durable *d = svc->durables; d; d = d->next) {
		struct lmi_svc_durable_note n = {.owner = &d->principal,
						 .seed = d->seed,
						 .was_read = d->was_read,
						 .note = {d->note, d->n_note}};

		if (!d->note || !d->stream)
			continue;
		memcpy(n.id.b, d->stream->id, sizeof(n.id.b));
		fn(arg, &n);
	}
}

void lmi_service_durable_forget_notes(struct lmi_service *svc)
{
	for (struct lmi_svc_durable *d = svc->durables; d; d = d->next) {
		lmi_free(d->note);
		d->note = NULL;
		d->n_note = 0;
	}
}

static struct lmi_svc_stream *find(struct lmi_service *svc, const struct lmi_svc_principal *owner,
				   const struct lmi_wire_id *id, struct lmd_error *err)
{
	struct lmi_svc_stream *s;

	return lmi_svc_stream_find(&s, &svc->streams, owner, id->b, false, err) == LMD_OK ? s : NULL;
}

void lmi_service_durable_push(struct lmi_service *svc, uint64_t now,
			      const struct lmi_svc_principal *owner, const struct lmi_wire_id *id,
			      struct lmi_svc_push *p)
{
	struct lmd_error err = {0};
	struct lmi_svc_stream *s = find(svc, owner, id, &err);

	if (s && (s->push || s->out.first > 1))
		(void)lmd_fail(&err, LMD_NOTFOUND, "id: somebody else has read this stream");
	svc->now = now;
	*p = (struct lmi_svc_push){.ops = p->ops,
				   .arg = p->arg,
				   .hold_ms = p->hold_ms,
				   .max = (uint32_t)svc->limits.items,
				   .active = true,
				   .begun = true};
	if (err.status != LMD_OK) {
		p->active = false;
		p->ops->end(p->arg, NULL, &err, 0);
		return;
	}
	p->stream = s;
	s->push = p;
	lmi_svc_stream_pump(svc, s, now);
	lmi_svc_generate_defer_wakeups(svc, now);
}

void lmi_service_durable_set_read(struct lmi_service *svc, uint64_t now,
				  const struct lmi_svc_principal *owner,
				  const struct lmi_wire_id *id)
{
	struct lmi_svc_stream *s = find(svc, owner, id, NULL);

	svc->now = now;
	if (!s || !s->durable || !s->out.ended)
		return;
	s->read_out = true;
	s->touched_ns = now;
	lmi_svc_durable_set_read(s->durable);
}

void lmi_service_durable_cancel(struct lmi_service *svc, uint64_t now,
				const struct lmi_svc_principal *owner, const struct lmi_wire_id *id)
{
	struct lmi_svc_stream *s = find(svc, owner, id, NULL);

	svc->now = now;
	if (!s)
		return;
	s->cancelled = true;
	lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_ASKED);
}
