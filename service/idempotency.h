/* SPDX-License-Identifier: MIT
 *
 * idempotency.h - request ids (idempotency keys): a repeated request gets the same reply and is
 * not run again.
 *
 * Only requests that are not idempotent are remembered.  Their replies are small: the id of a
 * stream, a number, a flag.  Until the first request has been answered, its repetitions wait for
 * its reply.  A request that failed is forgotten, since it had no effect. */
#ifndef LLAMAD_SERVICE_IDEMPOTENCY_H
#define LLAMAD_SERVICE_IDEMPOTENCY_H

#include "service/stream.h"

struct lmi_svc_call;

/* A cached reply; fields that the op does not have are zero. */
struct lmi_svc_cached_reply {
	uint8_t id[LMI_SVC_ID_BYTES]; /* id of the stream */
	int64_t number;           /* generate: seed; rm: bytes */
	bool flag;                /* rm: alias */
};

struct lmi_svc_idempotency_key {
	struct lmi_svc_idempotency_key *in_bucket, *prev, *next;
	struct lmi_svc_owner owner;
	uint32_t op, n_text;
	char text[LMI_SVC_IDEMPOTENCY_KEY_BYTES];
	uint64_t digest; /* digest of the request */
	uint64_t created_ns;
	bool answered;
	struct lmi_svc_cached_reply reply;
	struct lmi_svc_call *waiters; /* repetitions */
};

struct lmi_svc_idempotency_keys {
	struct lmi_svc_idempotency_key **buckets;
	uint32_t n_bucket, n, n_max;
	uint64_t age_ns;
	struct lmi_svc_idempotency_key *first, *last; /* oldest, newest */
};

enum lmd_status lmi_svc_idempotency_keys_init(struct lmi_svc_idempotency_keys *t, uint32_t n_max,
					      uint64_t age_ns, struct lmd_error *err);
void lmi_svc_idempotency_keys_fini(struct lmi_svc_idempotency_keys *t);

/* Finds the entry of a request id, or creates it and sets *is_new.  Returns LMD_INVALID if the id
 * was used for a different request, LMD_BUSY if too many requests are unanswered, or LMD_NOMEM. */
enum lmd_status lmi_svc_idempotency_key_take(struct lmi_svc_idempotency_keys *t,
					     struct lmi_svc_idempotency_key **out, bool *is_new,
					     const struct lmi_svc_owner *owner, uint32_t op,
					     const struct lmd_str *text, uint64_t digest,
					     uint64_t now, struct lmd_error *err);
/* Returns NULL if the request id is unknown. */
struct lmi_svc_idempotency_key *
lmi_svc_idempotency_key_find(const struct lmi_svc_idempotency_keys *t,
			     const struct lmi_svc_owner *owner, const struct lmd_str *text);
/* Removes an entry for which no repetition waits. */
void lmi_svc_idempotency_key_forget(struct lmi_svc_idempotency_keys *t,
				    struct lmi_svc_idempotency_key *r);
/* Removes entries older than age_ns. */
void lmi_svc_idempotency_keys_expire(struct lmi_svc_idempotency_keys *t, uint64_t now);

/* Returns the FNV-1a hash of the bytes, which distinguishes requests. */
uint64_t lmi_svc_idempotency_key_digest(const void *bytes, size_t n);

#endif /* LLAMAD_SERVICE_IDEMPOTENCY_H */
