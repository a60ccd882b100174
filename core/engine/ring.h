/* SPDX-License-Identifier: MIT
 *
 * ring.h - the two queues of an engine.
 *
 * Events: one writer (the engine's thread), one reader, no lock.  Commands: any writer, one
 * reader; writers hold a short lock, the reader takes it only when something is there.  Both
 * are bounded and wake their reader through an eventfd. */
#ifndef LLAMAD_CORE_ENGINE_RING_H
#define LLAMAD_CORE_ENGINE_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/command.h"
#include "core/engine/session.h"

/* ---- events ---- */

struct lmi_event_ring {
	struct lmi_event *v;   /* [size] */
	uint32_t size;	       /* power of two */
	_Atomic uint32_t head; /* next to read; the reader's */
	_Atomic uint32_t tail; /* next to write; the writer's */
	int fd;		       /* eventfd: readable after something was written */
	_Atomic bool blocked;  /* the writer waits for room */
};

enum lmd_status lmi_event_ring_init(struct lmi_event_ring *r, uint32_t n, struct lmd_error *err);
void lmi_event_ring_fini(struct lmi_event_ring *r);
uint32_t lmi_event_ring_room(const struct lmi_event_ring *r);
/* The next event to be filled; there is room. */
struct lmi_event *lmi_event_ring_next(struct lmi_event_ring *r);
/* Makes it readable; wake: tells the reader. */
void lmi_event_ring_push(struct lmi_event_ring *r);
void lmi_event_ring_wake(struct lmi_event_ring *r);
bool lmi_event_ring_pop(struct lmi_event_ring *r, struct lmi_event *out);

/* ---- commands ---- */

struct lmi_order {
	struct lmi_session *start; /* or NULL: */
	uint64_t cancel;
};

struct lmi_order_ring {
	struct lmi_order *v; /* [size] */
	uint32_t size, head;
	_Atomic uint32_t n;
	bool shut;
	pthread_mutex_t lock;
	int fd; /* eventfd: readable after something was written */
};

enum lmd_status lmi_order_ring_init(struct lmi_order_ring *r, uint32_t n, struct lmd_error *err);
/* Destroys sessions that nobody took. */
void lmi_order_ring_fini(struct lmi_order_ring *r);
/* False when it is full or shut. */
bool lmi_order_ring_push(struct lmi_order_ring *r, const struct lmi_order *o);
bool lmi_order_ring_pop(struct lmi_order_ring *r, struct lmi_order *out);
/* From now on nothing can be pushed; false when something is there still. */
bool lmi_order_ring_shut(struct lmi_order_ring *r);
/* Wakes the reader without an order. */
void lmi_order_ring_wake(struct lmi_order_ring *r);

/* Waits until an eventfd is readable, and empties it; false after timeout_ms (-1: never) or
 * a signal. */
bool lmi_eventfd_wait(int fd, int timeout_ms);

#endif /* LLAMAD_CORE_ENGINE_RING_H */
