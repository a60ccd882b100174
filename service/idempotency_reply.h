/* SPDX-License-Identifier: MIT
 *
 * idempotency_reply.h - replies to requests with a request id, and to their repetitions. */
#ifndef LLAMAD_SERVICE_IDEMPOTENCY_REPLY_H
#define LLAMAD_SERVICE_IDEMPOTENCY_REPLY_H

#include "proto/proto.h"
#include "service/idempotency.h"
#include "service/request.h"
#include "service/service.h"
#include "service/stream.h"

/* The reply to a request that is not idempotent. */
struct lmi_svc_idempotency_key_reply {
	lmi_svc_reply_fn reply; /* NULL: answered */
	void *arg;
	struct lmi_wire_request head; /* only v, op and rid */
	char rid_text[LMI_SVC_IDEMPOTENCY_KEY_BYTES];
	struct lmi_svc_idempotency_key *key; /* NULL: none, or answered */
};
/* Answers a repetition with the cached reply. */
void lmi_svc_idempotency_key_repeat_reply(const struct lmi_svc_idempotency_key *key,
					  const struct lmi_wire_request *to, lmi_svc_reply_fn fn,
					  void *arg);
/* Moves the stream of a request id to the connection that repeated the request. */
void lmi_svc_idempotency_key_set_reader(struct lmi_service *svc,
					const struct lmi_svc_idempotency_key *key,
					const struct lmi_svc_principal *principal, uint64_t now);
/* Call this if the connection of a stream has ended.  If the request was repeated on another one,
 * moves the stream to that and returns true.  Otherwise forgets the request id, since the stream
 * will be given up, and returns false. */
bool lmi_svc_idempotency_key_move_stream(struct lmi_service *svc, struct lmi_svc_stream *s);
void lmi_svc_idempotency_key_reply_init(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_request_ctx *a);
/* Answers the request and its repetitions. */
void lmi_svc_idempotency_key_reply_send(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_cached_reply *reply);
/* Answers them with the id of a stream and a seed. */
void lmi_svc_idempotency_key_reply_stream(struct lmi_svc_idempotency_key_reply *o,
					  const struct lmi_svc_stream *s, int64_t seed);
void lmi_svc_idempotency_key_reply_fail(struct lmi_service *svc,
					struct lmi_svc_idempotency_key_reply *o,
					const struct lmd_error *err, uint32_t retry_ms);

#endif /* LLAMAD_SERVICE_IDEMPOTENCY_REPLY_H */
