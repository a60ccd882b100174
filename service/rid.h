/* SPDX-License-Identifier: MIT
 *
 * rid.h - request ids (idempotency keys): a repeated request gets the same reply and is not run
 * again.
 *
 * Only requests that are not idempotent are remembered.  Their replies are small: the id of a
 * stream, a number, a flag.  Until the first request has been answered, its repetitions wait for
 * its reply.  A request that failed is forgotten, since it had no effect. */
#ifndef LLAMAD_SERVICE_RID_H
#define LLAMAD_SERVICE_RID_H

#include "service/stream.h"

struct lmi_call;

/* A cached reply; fields that the op does not have are zero. */
struct lmi_once_said {
	uint8_t id[LMI_ID_BYTES]; /* id of the stream */
	int64_t number;           /* generate: seed; rm: bytes */
	bool flag;                /* rm: alias */
};

struct lmi_rid {
	struct lmi_rid *in_bucket, *prev, *next;
	struct lmi_owner owner;
	uint32_t op, n_text;
	char text[LMI_RID_BYTES];
	uint64_t digest; /* digest of the request */
	uint64_t made_ns;
	bool answered;
	struct lmi_once_said said;
	struct lmi_call *waits; /* repetitions */
};

struct lmi_rids {
	struct lmi_rid **buckets;
	uint32_t n_bucket, n, n_max;
	uint64_t age_ns;
	struct lmi_rid *first, *last; /* oldest, newest */
};

enum lmd_status lmi_rids_init(struct lmi_rids *t, uint32_t n_max, uint64_t age_ns,
			      struct lmd_error *err);
void lmi_rids_fini(struct lmi_rids *t);

/* Finds the entry of a request id, or creates it and sets *is_new.  Returns LMD_INVALID if the id
 * was used for a different request, LMD_BUSY if too many requests are unanswered, or LMD_NOMEM. */
enum lmd_status lmi_rid_take(struct lmi_rids *t, struct lmi_rid **out, bool *is_new,
			     const struct lmi_owner *owner, uint32_t op, const struct lmd_str *text,
			     uint64_t digest, uint64_t now, struct lmd_error *err);
/* Returns NULL if the request id is unknown. */
struct lmi_rid *lmi_rid_find(const struct lmi_rids *t, const struct lmi_owner *owner,
			     const struct lmd_str *text);
/* Removes an entry for which no repetition waits. */
void lmi_rid_forget(struct lmi_rids *t, struct lmi_rid *r);
/* Removes entries older than age_ns. */
void lmi_rids_expire(struct lmi_rids *t, uint64_t now);

/* Returns the FNV-1a hash of the bytes, which distinguishes requests. */
uint64_t lmi_rid_digest(const void *bytes, size_t n);

#endif /* LLAMAD_SERVICE_RID_H */
