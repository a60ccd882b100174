/* SPDX-License-Identifier: MIT
 *
 * rid.h - request ids: a request that is sent again is answered again and not run again.
 *
 * Only ops that must not run twice are remembered, and these answer with little: the id of a
 * stream, a number, a flag.
 * While the first one is not answered, its repetitions wait for the same answer.  A request
 * that was refused is forgotten: nothing happened. */
#ifndef LLAMAD_SERVICE_RID_H
#define LLAMAD_SERVICE_RID_H

#include "service/stream.h"

struct lmi_call;

/* An answer; what does not belong to the op is zero. */
struct lmi_once_said {
	uint8_t id[LMI_ID_BYTES]; /* of a stream */
	int64_t number;           /* generate: the seed; rm: bytes */
	bool flag;                /* rm: it was an alias */
};

struct lmi_rid {
	struct lmi_rid *in_bucket, *prev, *next;
	struct lmi_owner owner;
	uint32_t op, n_text;
	char text[LMI_RID_BYTES];
	uint64_t digest; /* of the request */
	uint64_t made_ns;
	bool answered;
	struct lmi_once_said said;
	struct lmi_call *waits; /* repetitions */
};

struct lmi_rids {
	struct lmi_rid **buckets;
	uint32_t n_bucket, n, n_max;
	uint64_t age_ns;
	struct lmi_rid *first, *last; /* by age */
};

enum lmd_status lmi_rids_init(struct lmi_rids *t, uint32_t n_max, uint64_t age_ns,
			      struct lmd_error *err);
void lmi_rids_fini(struct lmi_rids *t);

/* *out: the entry of that request id, made when *is_new.  LMD_INVALID: it was used for another
 * request; LMD_BUSY: too many are waiting for their first answer; LMD_NOMEM. */
enum lmd_status lmi_rid_take(struct lmi_rids *t, struct lmi_rid **out, bool *is_new,
			     const struct lmi_owner *owner, uint32_t op, const struct lmd_str *text,
			     uint64_t digest, uint64_t now, struct lmd_error *err);
/* NULL: not known. */
struct lmi_rid *lmi_rid_find(const struct lmi_rids *t, const struct lmi_owner *owner,
			     const struct lmd_str *text);
/* Nobody waits for it. */
void lmi_rid_forget(struct lmi_rids *t, struct lmi_rid *r);
/* Forgets what is old. */
void lmi_rids_expire(struct lmi_rids *t, uint64_t now);

/* A digest of bytes, for telling requests apart (FNV-1a). */
uint64_t lmi_rid_digest(const void *bytes, size_t n);

#endif /* LLAMAD_SERVICE_RID_H */
