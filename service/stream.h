/* SPDX-License-Identifier: MIT
 *
 * stream.h - the table of streams: ids, owners, readers that wait, leases.
 *
 * A stream is what a generation or a job writes to.  It has a random id that only its owner
 * can use.  It lives while somebody reads: when no reader waits and none came for its lease, it
 * is given up; so it is when the connection that read it last is gone.
 *
 * Pure: time is an argument, and so is randomness' only use, the making of ids. */
#ifndef LLAMAD_SERVICE_STREAM_H
#define LLAMAD_SERVICE_STREAM_H

#include "service/output.h"
#include "service/service.h"

#define LMI_ID_BYTES   16
#define LMI_RID_BYTES  64
#define LMI_NAME_BYTES 128

/* The owner of streams and request ids. */
struct lmi_owner {
	uint32_t uid;
	char key_label[LMI_KEY_LABEL_MAX];
};
struct lmi_owner lmi_owner_of(const struct lmi_principal *who);
bool lmi_owner_same(const struct lmi_owner *a, const struct lmi_owner *b);

struct lmi_work;

/* A reader that waits. */
struct lmi_park {
	struct lmi_park *next;
	uint64_t conn, after, hold_ns, until_ns;
	uint32_t max;
	lmi_reply_fn reply;
	void *arg;
	/* of the request, for the reply */
	uint32_t v, n_rid;
	char rid[LMI_RID_BYTES];
};

struct lmi_stream {
	struct lmi_stream *in_bucket, *prev, *next; /* the table's */
	uint8_t id[LMI_ID_BYTES];
	struct lmi_owner owner;
	uint32_t kind;                                          /* the caller's word */
	char model[LMI_NAME_BYTES + 1], rid[LMI_RID_BYTES + 1]; /* for reports */
	uint64_t conn;                                          /* that read it last, or made it */
	uint64_t made_ns, touched_ns, lease_ns;
	struct lmi_output out;
	struct lmi_park *parked;
	bool own_lease;        /* asked for by the client: it outlives its connection */
	bool read_out;         /* a reader was given the final item */
	bool given_up;         /* nobody can find it any more; freed when its work has ended */
	struct lmi_work *work; /* the caller's; NULL: none, or it has ended */
};

struct lmi_streams {
	struct lmi_stream **buckets; /* [n_bucket], a power of two */
	uint32_t n_bucket;
	struct lmi_stream *first, *last; /* by age */
	uint32_t n, n_parked;
};

/* Bytes that nobody can guess.  LMD_IO. */
enum lmd_status lmi_random(void *out, size_t n, struct lmd_error *err);

enum lmd_status lmi_streams_init(struct lmi_streams *t, struct lmd_error *err);
/* Streams that are left are destroyed; nobody waits for them any more. */
void lmi_streams_fini(struct lmi_streams *t);

/* With a fresh id; read by who->conn.  LMD_NOMEM; LMD_IO: no random numbers. */
enum lmd_status lmi_stream_create(struct lmi_stream **out, struct lmi_streams *t,
				  const struct lmi_principal *who, uint32_t kind, uint64_t now,
				  uint64_t lease_ns, uint64_t max_bytes, struct lmd_error *err);
/* Nobody waits for it. */
void lmi_stream_destroy(struct lmi_streams *t, struct lmi_stream *s);
/* LMD_NOTFOUND: there is none of that id that belongs to `who`. */
enum lmd_status lmi_stream_find(struct lmi_stream **out, struct lmi_streams *t,
				const struct lmi_principal *who, const uint8_t id[LMI_ID_BYTES],
				struct lmd_error *err);

/* A reader waits; owned by the stream until it is taken. */
void lmi_stream_park(struct lmi_streams *t, struct lmi_stream *s, struct lmi_park *own_p);
/* Takes a reader that is to be answered now; NULL: none is. */
struct lmi_park *lmi_stream_due(struct lmi_streams *t, struct lmi_stream *s, uint64_t now);
/* Takes a reader of that connection, or any one with conn 0; NULL: none left. */
struct lmi_park *lmi_stream_unpark(struct lmi_streams *t, struct lmi_stream *s, uint64_t conn);
/* Tells a reader that was taken that its connection is gone, and frees it. */
void lmi_park_drop(struct lmi_park *own_p);
/* Until when a new item changes nothing for the readers: 0 if one of them has all that is there, or
 * its reply is nearly full; else the time when the next one is due; UINT64_MAX: nobody reads. */
uint64_t lmi_stream_settled_until(const struct lmi_stream *s);
/* When the next reader is due or the lease ends; UINT64_MAX: not by time alone. */
uint64_t lmi_stream_deadline(const struct lmi_stream *s);
/* The lease is over. */
bool lmi_stream_is_stale(const struct lmi_stream *s, uint64_t now);

#endif /* LLAMAD_SERVICE_STREAM_H */
