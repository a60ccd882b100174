/* SPDX-License-Identifier: MIT
 *
 * request.h - a request while it is handled, its copies and its reply. */
#ifndef LLAMAD_SERVICE_REQUEST_H
#define LLAMAD_SERVICE_REQUEST_H

#include <string.h>

#include "core/base/arena.h"
#include "proto/proto.h"
#include "service/service.h"

struct lmi_svc_idempotency_key;
struct lmi_svc_push;

/* A copy of a request that owns its memory. */
struct lmi_svc_copy {
	struct lmi_wire_request req;
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena;
};
enum lmd_status lmi_svc_copy_init(struct lmi_svc_copy *c, const struct lmi_wire_request *req,
				  struct lmd_error *err);
/* A zeroed struct is allowed. */
void lmi_svc_copy_fini(struct lmi_svc_copy *c);

/* The context of a request. */
struct lmi_svc_request_ctx {
	struct lmi_service *svc;
	uint64_t now;
	const struct lmi_svc_principal *principal;
	const struct lmi_wire_request *req;
	lmi_svc_reply_fn reply;
	void *arg;
	/* only for ops that are not idempotent, otherwise NULL */
	struct lmi_svc_copy *copy; /* an op that keeps the copy zeroes this one */
	struct lmi_svc_idempotency_key *key;
	struct lmi_svc_push *push; /* the subscriber of the stream; NULL: none */
};

/* Handles an op: replies during the call or later, or returns an error. */
typedef enum lmd_status (*lmi_svc_do_fn)(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
					 struct lmd_error *err);

/* Checks that the request is allowed, and handles it. */
void lmi_svc_dispatch(struct lmi_svc_request_ctx *a);

static inline struct lmd_str lmi_svc_str(const char *s)
{
	return (struct lmd_str){.ptr = s ? s : "", .len = s ? strlen(s) : 0};
}

/* Sends the reply to the client. */
static inline enum lmd_status lmi_svc_reply_send(const struct lmi_svc_request_ctx *a,
						 const struct lmi_wire_reply *r)
{
	a->reply(a->arg, r, NULL, 0);
	return LMD_OK;
}

#endif /* LLAMAD_SERVICE_REQUEST_H */
