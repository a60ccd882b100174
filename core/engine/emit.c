/* SPDX-License-Identifier: MIT
 *
 * Queues events for the reader. */
#include "core/engine/engine_impl.h"

struct lmi_engine_event *lmi_engine_event_emit_id(struct lmi_engine *e, uint64_t id,
						  enum lmi_engine_event_kind kind)
{
	struct lmi_engine_event *ev;

	if (e->pushed) /* the previous event is complete now */
		lmi_engine_event_ring_push(&e->events);
	ev = lmi_engine_event_ring_next(&e->events);
	ev->id = id;
	ev->kind = kind;
	e->pushed = true;
	e->urgent |= kind != LMI_ENGINE_EV_TOKEN && kind != LMI_ENGINE_EV_TEXT &&
		     kind != LMI_ENGINE_EV_LOGPROBS;
	return ev;
}

struct lmi_engine_event *lmi_engine_event_emit(struct lmi_engine *e, const struct lmi_engine_job *s,
					       enum lmi_engine_event_kind kind)
{
	return lmi_engine_event_emit_id(e, s->id, kind);
}

uint32_t lmi_engine_event_emit_room(const struct lmi_engine *e)
{
	return e->events_per_seq * (e->inst->n_seq * (e->n_pending + 1) + e->n_draft) +
	       atomic_load(&e->n_live) + 1;
}

/* Returns true if the reader has deferred its wakeup. It is woken anyway if the queue is half full,
 * or so full that no step can run. */
static bool wakeup_is_deferred(const struct lmi_engine *e)
{
	const struct lmd_host *host = e->inst->host;
	uint64_t until = atomic_load(&e->defer_wakeups_until_ns);
	uint32_t room = lmi_engine_event_ring_room(&e->events);

	return until && !e->urgent && room >= e->events.size / 2 &&
	       room >= lmi_engine_event_emit_room(e) && host->now_ns(host->ctx) < until;
}

void lmi_engine_event_emit_flush(struct lmi_engine *e)
{
	if (!e->pushed)
		return;
	lmi_engine_event_ring_push(&e->events);
	if (!wakeup_is_deferred(e))
		lmi_engine_event_ring_wake(&e->events);
	e->pushed = e->urgent = false;
}
