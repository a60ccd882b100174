/* SPDX-License-Identifier: MIT
 *
 * front.h - a socket on which clients ask: bytes to requests, replies to bytes.
 *
 * One REP socket of nng on a unix socket.  Requests of all connections are taken as they come,
 * any number of a connection at a time; each is answered once, in any order, and while some
 * wait for their answer others are still read.  A message that is no request is answered with
 * an error and changes nothing else.
 *
 * Threads: everything belongs to the loop's thread.  nng's own threads run callbacks that post
 * to the front's mailbox and decide, under a short lock, whether a connection is let in. */
#ifndef LLAMAD_DAEMON_FRONT_FRONT_H
#define LLAMAD_DAEMON_FRONT_FRONT_H

#include "llamad/host.h"
#include "service/service.h"

struct lmi_front_ops {
	/* A request: reply is to be called exactly once with reply_arg.  Everything is borrowed
	 * for the call. */
	void (*call)(void *arg, const struct lmi_principal *who, const struct lmi_request *req,
		     lmi_reply_fn reply, void *reply_arg);
	/* A connection is gone; no more requests of it come. */
	void (*gone)(void *arg, uint64_t conn);
};

struct lmi_front_limits {
	uint32_t connections;          /* at a time */
	uint32_t connections_per_user; /* of one uid */
	/* further ones for root and the own uid */
	uint32_t connections_kept;
};

struct lmi_front_opts {
	const struct lmd_host *host;
	const char *path;       /* of the unix socket; claimed (state_dir.h) */
	uint64_t message_bytes; /* longest message; a longer one ends its connection */
	uint32_t n_call;        /* requests that may wait for their answer; over it they are busy */
	struct lmi_front_limits limits;
	struct lmi_front_ops ops;
	void *arg;
};

struct lmi_front;

/* Listens.  LMD_BUSY: somebody listens there; LMD_IO. */
enum lmd_status lmi_front_open(struct lmi_front **out, const struct lmi_front_opts *opts,
			       struct lmd_error *err);
/* Takes no more requests, and waits at most flush_ms for replies under way.  NULL allowed. */
void lmi_front_flush(struct lmi_front *f, uint32_t flush_ms);
/* Every request was answered.  Ends all connections and removes the socket.  NULL allowed. */
void lmi_front_close(struct lmi_front *f);

/* Ends the threads of the socket library, once all fronts are closed: so that leak checkers see
 * what is ours. */
void lmi_front_library_fini(void);

/* Readable when lmi_front_turn has something to do. */
int lmi_front_fd(const struct lmi_front *f);
/* Calls ops for what came. */
void lmi_front_turn(struct lmi_front *f);

/* For connections to come. */
void lmi_front_set_limits(struct lmi_front *f, const struct lmi_front_limits *limits);

struct lmi_front_stats {
	uint32_t n_conn;                      /* connections */
	uint32_t n_calling;                   /* requests that wait for their answer */
	uint32_t n_sending;                   /* replies under way */
	uint64_t n_message, n_bad, n_refused; /* messages; no requests; connections not let in */
	uint64_t n_dropped;                   /* requests and replies of clients that do not read */
};
void lmi_front_stats(struct lmi_front *f, struct lmi_front_stats *out);

#endif /* LLAMAD_DAEMON_FRONT_FRONT_H */
