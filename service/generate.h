/* SPDX-License-Identifier: MIT
 *
 * generate.h - generations: from a request to a command of an engine, and from its events to
 * items of a stream.
 *
 *     look-up of the name -> model loaded -> prompt tokenised -> its turn -> runs -> ended
 *
 * At most limits.sessions run at a time; the others wait in the order in which they came, and
 * who waits for a model to be loaded holds nobody else up. */
#ifndef LLAMAD_SERVICE_GENERATE_H
#define LLAMAD_SERVICE_GENERATE_H

#include "service/service_impl.h"

/* Is the request within the limits?  LMD_INVALID with the numbers. */
enum lmd_status lmi_generate_check(const struct lmi_service_limits *l,
				   const struct lmi_req_generate *q, struct lmd_error *err);

/* Takes the events of a resident's engine. */
void lmi_generate_events(struct lmi_service *svc, uint64_t now, struct lmi_resident *r);
/* Deadlines, cancellations that found no room. */
void lmi_generate_turn(struct lmi_service *svc, uint64_t now);
/* Starts what can start. */
void lmi_generate_pump(struct lmi_service *svc, uint64_t now);
uint64_t lmi_generate_deadline(const struct lmi_service *svc);
/* At the end of a turn: engines whose tokens matter to no reader before some time wake nobody until
 * then. */
void lmi_generate_doze(struct lmi_service *svc, uint64_t now);

/* Ends those of an engine; reason as in enum lmi_wire_cancel_reason. */
void lmi_generate_cancel_all(struct lmi_service *svc, uint64_t now, const struct lmi_resident *r,
			     enum lmi_wire_cancel_reason reason);
/* Refuses those that wait for their turn, since the daemon drains. */
void lmi_generate_refuse_waiting(struct lmi_service *svc, uint64_t now);
/* Generations of an engine that have it and do not run yet. */
uint32_t lmi_generate_n_waiting(const struct lmi_service *svc, const struct lmi_resident *r);

#endif /* LLAMAD_SERVICE_GENERATE_H */
