/* SPDX-License-Identifier: MIT
 *
 * ring.h - the two queues of an engine.
 *
 * Events: one writer (the engine's thread), one reader, no lock. Commands: any number of writers,
 * one reader; writers hold a lock briefly, and the reader takes it only if something is queued.
 * Both queues are bounded and wake their reader through an eventfd. */
#ifndef LLAMAD_CORE_ENGINE_RING_H
#define LLAMAD_CORE_ENGINE_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/command.h"
#include "core/engine/engine_job.h"

/* ---- events ---- */

struct lmi_engine_event_ring {
	struct lmi_engine_event *v; /* [size] */
	uint32_t size;	       /* power of two */
	_Atomic uint32_t head; /* next to read; written by the reader */
	_Atomic uint32_t tail; /* next to write; written by the writer */
	int fd;		       /* eventfd: readable after something was written */
	_Atomic bool blocked;  /* the writer waits for space */
};

enum lmd_status lmi_engine_event_ring_init(struct lmi_engine_event_ring *r, uint32_t n,
					   struct lmd_error *err);
void lmi_engine_event_ring_fini(struct lmi_engine_event_ring *r);
uint32_t lmi_engine_event_ring_room(const struct lmi_engine_event_ring *r);
/* Returns the next event to fill; there must be room. */
struct lmi_engine_event *lmi_engine_event_ring_next(struct lmi_engine_event_ring *r);
/* push makes the event readable; wake signals the reader. */
void lmi_engine_event_ring_push(struct lmi_engine_event_ring *r);
void lmi_engine_event_ring_wake(struct lmi_engine_event_ring *r);
bool lmi_engine_event_ring_pop(struct lmi_engine_event_ring *r, struct lmi_engine_event *out);

/* ---- commands ---- */

struct lmi_engine_transfer;
struct lmi_engine_adapter_binding;

struct lmi_engine_command {
	struct lmi_engine_job *start; /* or NULL: transfer, binding, or one of the others */
	struct lmi_engine_transfer *transfer;
	struct lmi_engine_adapter_binding *binding;
	uint64_t cancel, pause, resume; /* id; 0: not this */
};

struct lmi_engine_command_queue {
	struct lmi_engine_command *v; /* [size] */
	uint32_t size, head;
	_Atomic uint32_t n;
	bool shut;
	pthread_mutex_t lock;
	int fd; /* eventfd: readable after something was written */
};

enum lmd_status lmi_engine_command_queue_init(struct lmi_engine_command_queue *r, uint32_t n,
					      struct lmd_error *err);
/* Destroys sessions and transfers that were not taken. */
void lmi_engine_command_queue_fini(struct lmi_engine_command_queue *r);
/* Returns false if the queue is full or shut. */
bool lmi_engine_command_queue_push(struct lmi_engine_command_queue *r,
				   const struct lmi_engine_command *o);
bool lmi_engine_command_queue_pop(struct lmi_engine_command_queue *r,
				  struct lmi_engine_command *out);
/* Shuts the queue if it is empty: all later pushes fail.  Returns true if it is shut. */
bool lmi_engine_command_queue_shut(struct lmi_engine_command_queue *r);
/* Wakes the reader without a command. */
void lmi_engine_command_queue_wake(struct lmi_engine_command_queue *r);

/* Waits until an eventfd is readable, and clears it. Returns false after timeout_ms (-1: no limit)
 * or a signal. */
bool lmi_engine_eventfd_wait(int fd, int timeout_ms);

#endif /* LLAMAD_CORE_ENGINE_RING_H */
