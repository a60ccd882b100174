/* SPDX-License-Identifier: MIT
 *
 * stream.h - the table of streams: ids, owners, waiting readers, leases.
 *
 * A generation or a job writes its items to a stream.  A stream has a random id that only its owner
 * can use.  It is given up if no reader waits and none has come for the time of its lease, and if
 * the connection that read it last has ended.
 *
 * Pure except for random ids: the time is an argument. */
#ifndef LLAMAD_SERVICE_STREAM_H
#define LLAMAD_SERVICE_STREAM_H

#include "service/output.h"
#include "service/service.h"

#define LMI_SVC_ID_BYTES              16
#define LMI_SVC_IDEMPOTENCY_KEY_BYTES 64
#define LMI_SVC_NAME_BYTES            128

/* The owner of streams and request ids. */
struct lmi_svc_owner {
	uint32_t uid;
	char key_label[LMI_SVC_KEY_LABEL_MAX];
};
struct lmi_svc_owner lmi_svc_owner_of(const struct lmi_svc_principal *principal);
/* Returns the number under which the owner has rows in prefix caches, the same in every run. Never 0, the
 * number of rows that all share. */
uint64_t lmi_svc_owner_tenant(const struct lmi_svc_owner *o);
bool lmi_svc_owner_same(const struct lmi_svc_owner *a, const struct lmi_svc_owner *b);

struct lmi_svc_durable;
struct lmi_svc_push;
struct lmi_svc_stream_writer;
struct lmi_svc_user;

/* A waiting reader (long poll). */
struct lmi_svc_waiting_reader {
	struct lmi_svc_waiting_reader *next;
	uint64_t conn, after, hold_ns, until_ns;
	uint32_t max;
	lmi_svc_reply_fn reply;
	void *arg;
	/* copied from the request for the reply */
	uint32_t v, n_rid;
	char rid[LMI_SVC_IDEMPOTENCY_KEY_BYTES];
};

struct lmi_svc_stream {
	struct lmi_svc_stream *in_bucket, *prev, *next; /* links of the table */
	uint8_t id[LMI_SVC_ID_BYTES];
	struct lmi_svc_owner owner;
	uint32_t kind;                                          /* enum of the caller */
	struct lmi_svc_user *user; /* in whose account it is; NULL: in none */
	char model[LMI_SVC_NAME_BYTES + 1],
		rid[LMI_SVC_IDEMPOTENCY_KEY_BYTES + 1]; /* for op streams */
	uint64_t conn; /* the connection that read it last or created it */
	uint64_t created_ns, touched_ns, lease_ns;
	struct lmi_svc_output out;
	struct lmi_svc_waiting_reader *readers;
	struct lmi_svc_durable *durable; /* NULL: it ends with the daemon */
	struct lmi_svc_push *push; /* the subscriber; NULL: the stream is read with op next */
	bool own_lease;        /* the client requested a lease, so it outlives its connection */
	bool read_out;         /* a reader was sent the final item */
	bool cancelled;        /* its owner cancelled it and need not read the end */
	bool given_up;         /* cannot be found any more; freed when its work has ended */
	struct lmi_svc_stream_writer *writer; /* what writes to it; NULL: it has ended */
};

struct lmi_svc_streams {
	struct lmi_svc_stream **buckets; /* [n_bucket], a power of two */
	uint32_t n_bucket;
	struct lmi_svc_stream *first, *last; /* by age */
	uint32_t n, n_reader;
};

/* Fills out with cryptographically secure random bytes.  LMD_IO. */
enum lmd_status lmi_svc_random(void *out, size_t n, struct lmd_error *err);

enum lmd_status lmi_svc_streams_init(struct lmi_svc_streams *t, struct lmd_error *err);
/* Destroys the remaining streams, which must have no waiting readers. */
void lmi_svc_streams_fini(struct lmi_svc_streams *t);

/* Creates a stream with a new id for the connection principal->conn.  LMD_NOMEM; LMD_IO: no random
 * numbers. */
enum lmd_status lmi_svc_stream_create(struct lmi_svc_stream **out, struct lmi_svc_streams *t,
				      const struct lmi_svc_principal *principal, uint32_t kind,
				      uint64_t now, uint64_t lease_ns, uint64_t max_bytes,
				      struct lmd_error *err);
/* Gives the stream an id that an earlier run of the daemon chose and that no stream has. */
void lmi_svc_stream_set_id(struct lmi_svc_streams *t, struct lmi_svc_stream *s,
			   const uint8_t id[LMI_SVC_ID_BYTES]);
/* Destroys a stream without waiting readers. */
void lmi_svc_stream_destroy(struct lmi_svc_streams *t, struct lmi_svc_stream *s);
/* Returns LMD_NOTFOUND if no stream with that id belongs to `principal`, or, if `any_owner` is set,
 * to anybody. */
enum lmd_status lmi_svc_stream_find(struct lmi_svc_stream **out, struct lmi_svc_streams *t,
				    const struct lmi_svc_principal *principal,
				    const uint8_t id[LMI_SVC_ID_BYTES], bool any_owner,
				    struct lmd_error *err);

/* Adds a waiting reader; the stream owns it until it is removed. */
void lmi_svc_stream_add_reader(struct lmi_svc_streams *t, struct lmi_svc_stream *s,
			       struct lmi_svc_waiting_reader *own_p);
/* Removes and returns a reader that must be answered now, or NULL. */
struct lmi_svc_waiting_reader *
lmi_svc_stream_take_due_reader(struct lmi_svc_streams *t, struct lmi_svc_stream *s, uint64_t now);
/* Removes and returns a reader of that connection (conn 0: any reader), or NULL. */
struct lmi_svc_waiting_reader *
lmi_svc_stream_remove_reader(struct lmi_svc_streams *t, struct lmi_svc_stream *s, uint64_t conn);
/* Answers a removed reader with an error because its connection has ended, and frees it. */
void lmi_svc_waiting_reader_drop(struct lmi_svc_waiting_reader *own_p);
/* Returns when the subscriber must be given items; UINT64_MAX: not before more of them arrive. */
uint64_t lmi_svc_stream_push_due(const struct lmi_svc_stream *s);
/* For wakeup coalescing: returns until when a new item makes no difference to the readers
 * and the subscriber.  This is
 * 0 if a reader has no unread item or its reply is nearly full, otherwise the time at which the
 * next reader is due, or UINT64_MAX if there is no reader. */
uint64_t lmi_svc_stream_wakeup_due(const struct lmi_svc_stream *s);
/* Returns when the next reader is due or the lease ends; UINT64_MAX: neither depends on time. */
uint64_t lmi_svc_stream_deadline(const struct lmi_svc_stream *s);
/* Returns whether the lease has expired. */
bool lmi_svc_stream_lease_expired(const struct lmi_svc_stream *s, uint64_t now);

#endif /* LLAMAD_SERVICE_STREAM_H */
