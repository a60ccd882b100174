/* SPDX-License-Identifier: MIT
 *
 * Queues and events.  Work waits in a list until an event after it is waited for; with a seed, every
 * call of the host may also do some of it.  The mode that completes at once does it at once. */
#include <stdio.h>
#include <string.h>

#include "emu.h"

struct lmd_queue {
	struct lmd_queue *next;
	struct emu_work *first, **end;
	struct lmd_error failed; /* first failure since the last recorded event; status LMD_OK */
};

enum event_state { UNUSED, PENDING, FIRED };
struct lmd_event {
	enum event_state state;
	struct emu_dev *dev; /* whose queue it is on */
	struct lmd_queue *q;
	struct lmd_error result;
};

enum lmd_status emu_alive(struct emu_dev *dev, struct lmd_error *err)
{
	if (!dev->lost)
		return LMD_OK;
	if (dev->set.fault == EMU_FAULT_LOST) {
		dev->lost = false;
		dev->n_step = 0;
	}
	return lmd_fail(err, LMD_DEVICE, "emu: the device was lost at step %u, as set by LLAMAD_EMU",
			dev->set.lose_step);
}

static void set_result(struct lmd_error *to, enum lmd_status st, const char *text)
{
	to->status = st;
	(void)snprintf(to->text, sizeof(to->text), "%s", st == LMD_OK ? "" : text);
}

static void run_first(struct emu_dev *dev, struct lmd_queue *q);

/* Does the work of its queue until the event has fired.  The memory stays accessible meanwhile. */
static void run_to(struct lmd_event *e)
{
	struct emu_dev *dev = e->dev;

	if (e->state != PENDING)
		return;
	emu_enter(&dev->mem);
	while (e->state == PENDING && e->q && e->q->first)
		run_first(dev, e->q);
	emu_leave(&dev->mem);
}

static void fire(struct lmd_event *e, enum lmd_status st, const char *text)
{
	set_result(&e->result, st, text);
	e->state = FIRED;
	e->q = NULL;
}

/* Does a piece of work of a queue. */
static enum lmd_status run_work(struct emu_dev *dev, struct emu_work *w, struct lmd_error *err)
{
	enum lmd_status st;

	if (w->kind == EMU_PLAN && w->plan->group)
		return emu_group_run(w->plan->group, w, err);
	emu_enter(&dev->mem);
	st = emu_work_run(dev, w, err);
	emu_leave(&dev->mem);
	return st;
}

static void run_first(struct emu_dev *dev, struct lmd_queue *q)
{
	struct emu_work *w = q->first;
	struct lmd_error err = {.text = ""};
	enum lmd_status st = LMD_OK;

	q->first = w->next;
	if (!q->first)
		q->end = &q->first;
	if (w->kind == EMU_WAIT) {
		if (dev->set.fault != EMU_FAULT_NO_WAIT)
			run_to(w->event);
	} else if (w->kind == EMU_RECORD) {
		dev->ran_plan = false;
		fire(w->event, q->failed.status, q->failed.text);
		set_result(&q->failed, LMD_OK, "");
	} else {
		st = run_work(dev, w, &err);
		if (st != LMD_OK && q->failed.status == LMD_OK)
			set_result(&q->failed, st, err.text);
		if (w->event)
			fire(w->event, st, err.text);
	}
	emu_work_free(dev, w);
}

/* Returns the next number of the device's sequence (splitmix64). */
static uint64_t draw(struct emu_dev *dev)
{
	uint64_t z = dev->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Can it be done?  The plan of a rank waits for those of the others. */
static bool is_ready(const struct emu_work *w)
{
	return w && (w->kind != EMU_PLAN || !w->plan->group ||
		     emu_group_is_ready(w->plan->group, w->run));
}

/* Does as much work as the settings want to be done at this moment. */
static void progress(struct emu_dev *dev)
{
	for (struct lmd_queue *q = dev->queues; q; q = q->next) {
		while (is_ready(q->first) &&
		       (!dev->set.late || (dev->set.seed && draw(dev) % 4 == 0)))
			run_first(dev, q);
	}
}

struct emu_work *emu_find_run(const struct emu_dev *dev, const struct emu_group *g, uint64_t run)
{
	for (const struct lmd_queue *q = dev->queues; q; q = q->next)
		for (struct emu_work *w = q->first; w; w = w->next)
			if (w->kind == EMU_PLAN && w->plan->group == g && w->run == run)
				return w;
	return NULL;
}

void emu_run_until(struct emu_dev *dev, const struct emu_work *w)
{
	for (struct lmd_queue *q = dev->queues; q; q = q->next) {
		const struct emu_work *at = q->first;

		while (at && at != w)
			at = at->next;
		while (at && q->first != w)
			run_first(dev, q);
	}
}

void emu_drain(struct emu_dev *dev)
{
	for (struct lmd_queue *q = dev->queues; q; q = q->next) {
		while (q->first)
			run_first(dev, q);
	}
}

enum lmd_status emu_submit(struct emu_dev *dev, struct lmd_queue *q, const struct emu_work *given,
			   struct lmd_error *err)
{
	struct emu_work *w, now = *given;
	enum lmd_status st = emu_alive(dev, err);

	if (st != LMD_OK)
		emu_drain(dev); /* no event can be recorded to wait for what was accepted before */
	if (st == LMD_OK && !q) {
		emu_enter(&dev->mem);
		st = emu_work_run(dev, &now, err);
		emu_leave(&dev->mem);
		return st;
	}
	if (st == LMD_OK && given->event && given->kind != EMU_WAIT && given->event->state == PENDING)
		st = lmd_fail(err, LMD_INVALID, "emu: the event is in use");
	if (st == LMD_OK && given->kind == EMU_RECORD && dev->set.fault == EMU_FAULT_EARLY_EVENT) {
		fire(given->event, LMD_OK, "");
		return LMD_OK;
	}
	w = st == LMD_OK ? emu_work_copy(dev, given) : NULL;
	if (!w)
		return st == LMD_OK ? lmd_fail(err, LMD_NOMEM, "emu: no memory for work") : st;
	if (w->event && w->kind != EMU_WAIT)
		*w->event = (struct lmd_event){.state = PENDING, .dev = dev, .q = q};
	*q->end = w;
	q->end = &w->next;
	progress(dev);
	return LMD_OK;
}

enum lmd_status emu_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err)
{
	struct emu_dev *dev = state;
	struct lmd_queue *q = dev->host->alloc(dev->host->ctx, sizeof(*q));

	(void)priority;
	if (!q)
		return lmd_fail(err, LMD_NOMEM, "emu: no memory for a queue");
	q->end = &q->first;
	q->next = dev->queues;
	dev->queues = q;
	*out = q;
	return LMD_OK;
}

void emu_queue_destroy(void *state, struct lmd_queue *q)
{
	struct emu_dev *dev = state;
	struct lmd_queue **at = &dev->queues;

	if (!q)
		return;
	while (q->first)
		run_first(dev, q);
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	dev->host->free(dev->host->ctx, q);
}

enum lmd_status emu_event_create(void *state, struct lmd_event **out, struct lmd_error *err)
{
	struct emu_dev *dev = state;

	*out = dev->host->alloc(dev->host->ctx, sizeof(**out));
	return *out ? LMD_OK : lmd_fail(err, LMD_NOMEM, "emu: no memory for an event");
}

void emu_event_destroy(void *state, struct lmd_event *e)
{
	struct emu_dev *dev = state;

	if (e)
		run_to(e);
	dev->host->free(dev->host->ctx, e);
}

enum lmd_status emu_event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				 struct lmd_error *err)
{
	return emu_submit(state, q, &(struct emu_work){.kind = EMU_RECORD, .event = e}, err);
}

enum lmd_status emu_event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
			       struct lmd_error *err)
{
	const struct emu_dev *dev = state;

	progress(state);
	if (e->state == UNUSED && dev->set.fault != EMU_FAULT_UNUSED_EVENT)
		return lmd_fail(err, LMD_INVALID, "emu: the event was never used");
	if (e->state == PENDING && !timeout_ns) {
		if (dev->set.fault == EMU_FAULT_TIMEOUT)
			fire(e, LMD_OK, "");
		return LMD_TIMEOUT;
	}
	run_to(e);
	return e->result.status == LMD_OK ? LMD_OK
					  : lmd_fail(err, e->result.status, "%s", e->result.text);
}

enum lmd_status emu_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
				     struct lmd_error *err)
{
	return emu_submit(state, q, &(struct emu_work){.kind = EMU_WAIT, .event = e}, err);
}
