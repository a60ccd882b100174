/* SPDX-License-Identifier: MIT
 *
 * durable_push.h - durable streams whose items are delivered to functions of the caller (push.h).
 *
 * A caller inside the process that writes something of its own from the items, such as the bytes of an
 * HTTP response, has to know after a restart how it did that.  It gives the service a note, which is
 * written with the request, and at the next start it gets its notes back and subscribes again, from
 * the first item on.
 *
 * All functions belong to the loop's thread and must not be called from callbacks of the service. */
#ifndef LLAMAD_SERVICE_DURABLE_PUSH_H
#define LLAMAD_SERVICE_DURABLE_PUSH_H

#include "proto/proto.h"
#include "service/push.h"

/* A stream of an earlier run of the daemon.  Valid during the call. */
struct lmi_svc_durable_note {
	const struct lmi_svc_principal *owner; /* whose request it was; without pid and conn */
	struct lmi_wire_id id;
	uint64_t seed;
	bool was_read; /* lmi_service_durable_set_read() was called */
	struct lmd_str note;
};

/* Calls fn for each stream whose request had a note.  fn must not call the service. */
void lmi_service_durable_each(struct lmi_service *svc,
			      void (*fn)(void *arg, const struct lmi_svc_durable_note *n), void *arg);
/* Frees the notes, which nobody needs any more. */
void lmi_service_durable_forget_notes(struct lmi_service *svc);
/* Subscribes to such a stream: functions of p->ops are called during the call and later, `begun`
 * never.  If there is no such stream, p->ops->end is called with LMD_NOTFOUND. */
void lmi_service_durable_push(struct lmi_service *svc, uint64_t now,
			      const struct lmi_svc_principal *owner, const struct lmi_wire_id *id,
			      struct lmi_svc_push *p);
/* The caller has passed on the end of the stream, which need not be kept for long. */
void lmi_service_durable_set_read(struct lmi_service *svc, uint64_t now,
				  const struct lmi_svc_principal *owner,
				  const struct lmi_wire_id *id);
/* Nobody wants the stream any more: it is cancelled and removed. */
void lmi_service_durable_cancel(struct lmi_service *svc, uint64_t now,
				const struct lmi_svc_principal *owner, const struct lmi_wire_id *id);

#endif /* LLAMAD_SERVICE_DURABLE_PUSH_H */
