/* SPDX-License-Identifier: MIT
 *
 * Queues are streams of the driver, events its events. */
#include <time.h>

#include "gpu.h"

/* Runs of a device group, whose results the devices write down. */
struct note {
	const struct lmd_devgroup *group; /* NULL: there are none */
	uint32_t rank;
	uint64_t first, last;
};

struct lmd_queue {
	gpu_stream stream;
	struct note note; /* since the last event */
};

struct lmd_event {
	gpu_mark mark;
	bool used;
	struct note note;        /* until they are known, */
	struct lmd_error result; /* and then */
};

enum { NON_BLOCKING = 1 };

gpu_stream gpu_queue_stream(struct gpu_dev *dev, struct lmd_queue *q)
{
	return q ? q->stream : dev->stream;
}

enum lmd_status gpu_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct lmd_queue *q;
	enum lmd_status st = gpu_enter(dev, err);

	if (st != LMD_OK)
		return st;
	q = dev->host->alloc(dev->host->ctx, sizeof(*q));
	if (!q)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a queue", dev->vendor->name);
	st = gpu_check(dev, dev->drv->stream_create(&q->stream, NON_BLOCKING, -priority),
		       "a stream", err);
	if (st != LMD_OK) {
		dev->host->free(dev->host->ctx, q);
		return st;
	}
	*out = q;
	return LMD_OK;
}

void gpu_queue_destroy(void *state, struct lmd_queue *q)
{
	struct gpu_dev *dev = state;

	if (!q)
		return;
	(void)gpu_enter(dev, NULL);
	(void)dev->drv->stream_sync(q->stream);
	(void)dev->drv->stream_destroy(q->stream);
	dev->host->free(dev->host->ctx, q);
}

enum lmd_status gpu_event_create(void *state, struct lmd_event **out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct lmd_event *e;
	enum lmd_status st = gpu_enter(dev, err);

	if (st != LMD_OK)
		return st;
	e = dev->host->alloc(dev->host->ctx, sizeof(*e));
	if (!e)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for an event", dev->vendor->name);
	st = gpu_check(dev, dev->drv->mark_create(&e->mark, GPU_MARK_BLOCKING | GPU_MARK_NO_TIMING),
		       "an event", err);
	if (st != LMD_OK) {
		dev->host->free(dev->host->ctx, e);
		return st;
	}
	*out = e;
	return LMD_OK;
}

void gpu_event_destroy(void *state, struct lmd_event *e)
{
	struct gpu_dev *dev = state;

	if (!e)
		return;
	(void)gpu_enter(dev, NULL);
	(void)dev->drv->mark_destroy(e->mark);
	dev->host->free(dev->host->ctx, e);
}

enum lmd_status gpu_event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				 struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	enum lmd_status st = gpu_enter(dev, err);

	if (st == LMD_OK)
		st = gpu_check(dev, dev->drv->mark_record(e->mark, gpu_queue_stream(dev, q)),
			       "recording an event", err);
	if (st == LMD_OK) {
		e->used = true;
		e->result = (struct lmd_error){0};
		e->note = q ? q->note : (struct note){0};
		if (q)
			q->note = (struct note){0};
	}
	return st;
}

void gpu_queue_note(struct lmd_queue *q, const struct lmd_devgroup *g, uint32_t rank, uint64_t turn)
{
	uint64_t first = q->note.group == g ? q->note.first : turn;

	q->note = (struct note){.group = g, .rank = rank, .first = first, .last = turn};
}

/* The first failure of the runs before an event that has fired. */
static enum lmd_status result_of(struct lmd_event *e, struct lmd_error *err)
{
	const struct note n = e->note;

	e->note = (struct note){0}; /* the group may be gone when somebody waits again */
	for (uint64_t t = n.first; n.group && t <= n.last && e->result.status == LMD_OK; t++)
		(void)gpu_devgroup_result(n.group, n.rank, t, &e->result);
	return e->result.status == LMD_OK ? LMD_OK
					  : lmd_fail(err, e->result.status, "%s", e->result.text);
}

enum lmd_status gpu_queue_done(struct gpu_dev *dev, struct lmd_queue *q, struct lmd_event *done,
			       struct lmd_error *err)
{
	if (!q)
		return gpu_check(dev, dev->drv->stream_sync(dev->stream), "the work", err);
	return done ? gpu_event_record(dev, q, done, err) : LMD_OK;
}

/* Asks again and again: the driver has no wait with a limit. */
static int wait_until(struct gpu_dev *dev, struct lmd_event *e, uint64_t timeout_ns)
{
	const struct lmd_host *h = dev->host;
	uint64_t start = h->now_ns(h->ctx);
	int code;

	while ((code = dev->drv->mark_query(e->mark)) == GPU_CODE_NOT_READY &&
	       h->now_ns(h->ctx) - start < timeout_ns)
		(void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	return code;
}

enum lmd_status gpu_event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
			       struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	enum lmd_status st = gpu_enter(dev, err);
	int code;

	if (st != LMD_OK)
		return st;
	if (!e->used)
		return lmd_fail(err, LMD_INVALID, "%s: the event was never used",
				dev->vendor->name);
	code = timeout_ns == UINT64_MAX ? dev->drv->mark_sync(e->mark)
					: wait_until(dev, e, timeout_ns);
	if (code == GPU_CODE_NOT_READY)
		return LMD_TIMEOUT;
	st = gpu_check(dev, code, "the work", err);
	return st == LMD_OK ? result_of(e, err) : st;
}

enum lmd_status gpu_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
				     struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	enum lmd_status st = gpu_enter(dev, err);

	return st == LMD_OK ? gpu_check(dev, dev->drv->stream_wait(q->stream, e->mark, 0),
					"waiting for an event", err)
			    : st;
}
