/* SPDX-License-Identifier: MIT
 *
 * generate.h - generations: converts a request to a command of an engine, and the engine's events
 * to items of a stream.
 *
 *     name looked up -> model loaded -> prompt tokenised -> queued -> running -> ended
 *
 * At most limits.max_running generations run at a time; the others are queued, and fair_queue.h
 * chooses the next one.
 * A generation that waits for its model to be loaded does not delay the others. */
#ifndef LLAMAD_SERVICE_GENERATE_H
#define LLAMAD_SERVICE_GENERATE_H

#include "proto/proto.h"
#include "service/limits.h"
#include "service/service.h"

struct lmi_svc_loaded_model;

/* Checks a request against the limits; returns LMD_INVALID with value and limit. */
enum lmd_status lmi_svc_generate_check(const struct lmi_service_limits *l,
				       const struct lmi_wire_req_generate *q,
				       struct lmd_error *err);

/* Handles the events of a loaded model's engine. */
void lmi_svc_generate_events(struct lmi_service *svc, uint64_t now, struct lmi_svc_loaded_model *r);
/* Handles deadlines, and cancellations that did not fit into the command queue. */
void lmi_svc_generate_tick(struct lmi_service *svc, uint64_t now);
/* Starts queued generations as far as possible. */
void lmi_svc_generate_pump(struct lmi_service *svc, uint64_t now);
uint64_t lmi_svc_generate_deadline(const struct lmi_service *svc);
/* Wakeup coalescing, at the end of a tick: an engine whose tokens no reader needs before some time
 * does not wake the loop until then. */
void lmi_svc_generate_defer_wakeups(struct lmi_service *svc, uint64_t now);

/* Cancels all generations of an engine, or of all engines if r is NULL. */
void lmi_svc_generate_cancel_all(struct lmi_service *svc, uint64_t now,
				 const struct lmi_svc_loaded_model *r,
				 enum lmi_wire_cancel_reason reason);
/* Fails all generations that are not running yet, because the daemon is draining; durable ones go on
 * after its next start. */
void lmi_svc_generate_fail_queued(struct lmi_service *svc, uint64_t now);
/* Writes what is known of the running generations of a model to out[max], the oldest first, and returns
 * their number: all if `who` is an admin, otherwise those of `who`.  The lists of settings are in the
 * arena; without memory they are empty. */
uint32_t lmi_svc_generate_running(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
				  const struct lmi_svc_principal *who,
				  struct lmi_wire_running_generation *out, uint32_t max,
				  struct lmd_arena *arena);
/* Returns the number of generations that hold the engine but are not running yet. */
uint32_t lmi_svc_generate_n_waiting(const struct lmi_service *svc,
				    const struct lmi_svc_loaded_model *r);

#endif /* LLAMAD_SERVICE_GENERATE_H */
