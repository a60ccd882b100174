/* SPDX-License-Identifier: MIT
 *
 * conns.h - the connections of a front: who they are, how many there may be.
 *
 * All functions may be called from any thread; each holds a lock for a moment. */
#ifndef LLAMAD_DAEMON_FRONT_CONNS_H
#define LLAMAD_DAEMON_FRONT_CONNS_H

#include <pthread.h>

#include "core/base/mailbox.h"
#include "daemon/front/front.h"

#define LMI_CONN_BUCKETS 256u

struct lmi_conn {
	struct lmi_message message; /* says that it is gone */
	struct lmi_conn *next;      /* of its bucket */
	void *front;
	uint32_t pipe;       /* nng's number */
	uint32_t n_call;     /* requests taken and not answered to the end */
	uint64_t send_bytes; /* of replies under way */
	struct lmi_principal who;
};

/* Requests of a connection beyond that many under way, and replies beyond that many bytes that it
 * has not read, are dropped. */
#define LMI_CONN_CALLS      1024u
#define LMI_CONN_SEND_BYTES (16ull << 20)

struct lmi_conns {
	pthread_mutex_t lock;
	struct lmi_conn *bucket[LMI_CONN_BUCKETS];
	struct lmi_front_limits limits;
	uint32_t own_uid;
	uint32_t n;
	uint64_t n_ever, n_refused;
};

void lmi_conns_init(struct lmi_conns *c, const struct lmi_front_limits *limits, uint32_t own_uid);
/* Frees what is left. */
void lmi_conns_fini(struct lmi_conns *c);
void lmi_conns_set_limits(struct lmi_conns *c, const struct lmi_front_limits *limits);

/* Lets a connection in and makes its principal of uid, gid and pid, or counts it as refused
 * and returns NULL.  No other one has that pipe. */
struct lmi_conn *lmi_conns_add(struct lmi_conns *c, uint32_t pipe, uint32_t uid, uint32_t gid,
			       int32_t pid);
/* Takes it out; the caller owns it then.  NULL: none of that pipe. */
struct lmi_conn *lmi_conns_remove(struct lmi_conns *c, uint32_t pipe);
/* A request of a pipe begins: LMD_NOTFOUND: nobody is there any more; LMD_BUSY: it has too many
 * under way, this one is not counted. */
enum lmd_status lmi_conns_begin(struct lmi_conns *c, uint32_t pipe, struct lmi_principal *who);
/* Its reply of that many bytes is under way.  LMD_NOTFOUND: nobody is there any more; LMD_BUSY: too
 * much is not read; it is not counted then. */
enum lmd_status lmi_conns_send(struct lmi_conns *c, uint32_t pipe, uint64_t bytes);
/* It has ended, with the bytes of its reply (0: none was sent). */
void lmi_conns_end(struct lmi_conns *c, uint32_t pipe, uint64_t bytes);
void lmi_conns_count(struct lmi_conns *c, uint32_t *n, uint64_t *n_refused);

#endif /* LLAMAD_DAEMON_FRONT_CONNS_H */
