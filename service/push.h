/* SPDX-License-Identifier: MIT
 *
 * push.h - a generation whose output is delivered to functions of the caller.
 *
 * A client of the socket fetches items with op next.  A caller inside the process can have them
 * pushed instead: the service calls its functions with the items of the stream's kept output,
 * without a copy of the text.  A caller that cannot take more says so; the output is then kept, up
 * to the limit stream_bytes, beyond which the generation is cancelled as that of a slow reader.
 *
 * All functions belong to the loop's thread.  The functions of struct lmi_svc_push_ops are called
 * during lmi_service_push, lmi_service_push_resume and the ticks of the service, and must not call
 * the service. */
#ifndef LLAMAD_SERVICE_PUSH_H
#define LLAMAD_SERVICE_PUSH_H

#include "service/service.h"

struct lmi_svc_stream;
struct lmi_wire_item; /* proto */

struct lmi_svc_push_ops {
	/* Called at most once, before any items, with the reply of op generate.  May be NULL. */
	void (*begun)(void *arg, const struct lmi_wire_reply *reply);
	/* Takes items, in order, without gaps, none of them final.  They are valid during the call.
	 * Returns false if no more should be delivered until lmi_service_push_resume. */
	bool (*items)(void *arg, const struct lmi_wire_item *items, uint32_t n);
	/* Called once, last.  `item` is the final item.  If it is NULL, the request failed or the
	 * service ended it: err is the error, and retry_ms the time until a retry makes sense. */
	void (*end)(void *arg, const struct lmi_wire_item *item, const struct lmd_error *err,
		    uint32_t retry_ms);
};

/* Memory of the caller, in use from lmi_service_push until ops->end or lmi_service_push_stop. */
struct lmi_svc_push {
	/* set by the caller */
	const struct lmi_svc_push_ops *ops;
	void *arg;
	uint32_t hold_ms; /* output batching delay, at most the limit hold_max; 0: none */
	/* kept with a durable stream (durable_push.h); borrowed until `begun` or `end` is called */
	const void *note; /* [n_note] */
	size_t n_note;
	/* private to the service */
	struct lmi_svc_stream *stream;
	uint64_t after, hold_ns;
	uint32_t max;
	bool active, begun, paused;
};

/* Begins a generation: `req` is a request of op generate, borrowed for the call.  Its rid is
 * ignored. */
void lmi_service_push(struct lmi_service *svc, uint64_t now,
		      const struct lmi_svc_principal *principal,
		      const struct lmi_wire_request *req, struct lmi_svc_push *p);
/* Delivers what has been kept since ops->items returned false, and goes on. */
void lmi_service_push_resume(struct lmi_service *svc, uint64_t now, struct lmi_svc_push *p);
/* Cancels the generation, which ends within one step.  No function is called any more.  Does
 * nothing if it has ended. */
void lmi_service_push_stop(struct lmi_service *svc, uint64_t now, struct lmi_svc_push *p);

#endif /* LLAMAD_SERVICE_PUSH_H */
