/* SPDX-License-Identifier: MIT
 *
 * event_ring.h - what has happened lately, for op events: the latest LMI_SVC_EVENTS events of all
 * users, which clients fetch after a cursor.  Nothing of prompts and answers is in them.
 *
 * All functions belong to the service's thread. */
#ifndef LLAMAD_SERVICE_EVENT_RING_H
#define LLAMAD_SERVICE_EVENT_RING_H

#include "proto/proto.h"
#include "service/output.h"
#include "service/service.h"

#define LMI_SVC_EVENTS 1024u

struct lmi_svc_generation;
struct lmi_svc_event_ring;

/* About a model.  text: more about it, NULL: nothing. */
void lmi_svc_event_ring_model(struct lmi_service *svc, enum lmi_wire_event_kind kind,
			      const char *model, const char *text);
/* About a generation.  end: of one that ended, otherwise NULL. */
void lmi_svc_event_ring_generation(const struct lmi_svc_generation *g,
				   enum lmi_wire_event_kind kind, const struct lmi_svc_end *end);
/* Answers the clients whose wait is over. */
void lmi_svc_event_ring_tick(struct lmi_service *svc, uint64_t now);
/* Returns when the next wait is over; UINT64_MAX: nobody waits. */
uint64_t lmi_svc_event_ring_deadline(const struct lmi_service *svc);
/* Returns how many clients wait. */
uint32_t lmi_svc_event_ring_n_waiting(const struct lmi_service *svc);
void lmi_svc_event_ring_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_EVENT_RING_H */
