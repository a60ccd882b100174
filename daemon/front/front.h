/* SPDX-License-Identifier: MIT
 *
 * front.h - the sockets on which clients ask: bytes to requests, replies to bytes.
 *
 * A front speaks REP of the scalability protocols (docs/protocol.md, "Transport") on a unix socket
 * and, where it is told to, on TCP and TLS.  Requests of all connections are taken as they come,
 * any number of a connection at a time; each is answered once, in any order, and while some wait
 * for their answer others are still read.  A message that is no request is answered with an error
 * and changes nothing else.
 *
 * On the unix socket the uid of its process says who a client is.  On the others it says so with a
 * key in hello, for the connection; before that hello and ping alone are answered.
 *
 * Threads: everything belongs to the loop's thread.  nng's own threads run callbacks that post to
 * the front's mailbox. */
#ifndef LLAMAD_DAEMON_FRONT_FRONT_H
#define LLAMAD_DAEMON_FRONT_FRONT_H

#include "daemon/front/door.h"
#include "llamad/host.h"
#include "service/service.h"

/* A key that was found. */
struct lmi_login {
	enum lmi_role role;
	char label[LMI_KEY_LABEL_MAX];
	int64_t expires_ns; /* wall clock; 0: never */
};
/* Exactly once for each login, in the call or later; login NULL: err says why not. */
typedef void (*lmi_login_fn)(void *arg, const struct lmi_login *login, const struct lmd_error *err);

struct lmi_front_ops {
	/* A request: reply is to be called exactly once with reply_arg.  Everything is borrowed
	 * for the call. */
	void (*call)(void *arg, const struct lmi_principal *who, const struct lmi_request *req,
		     lmi_reply_fn reply, void *reply_arg);
	/* A connection is gone; no more requests of it come. */
	void (*gone)(void *arg, uint64_t conn);
	/* Whether something runs for it although no request waits. */
	bool (*busy)(void *arg, uint64_t conn);
	/* Looks for the key of a secret.  LMD_DENIED when there is none, or it has expired. */
	void (*login)(void *arg, const struct lmd_str *secret, lmi_login_fn done, void *done_arg);
	/* Wall-clock time, ns since 1970. */
	int64_t (*wall_ns)(void *arg);
};

struct lmi_front_limits {
	struct lmi_door_limits door;
	uint64_t idle_ms;    /* a connection without work is closed after that time; 0: never */
	uint64_t message_ms; /* for the first bytes, and for each 10 KiB of a message */
};

struct lmi_front_opts {
	const struct lmd_host *host;
	const char *path;        /* of the unix socket; claimed (state_dir.h) */
	const char *const *urls; /* [n_urls] tcp://ADDR:PORT, tls+tcp://ADDR:PORT */
	uint32_t n_urls;
	const char *tls_cert, *tls_key; /* files in PEM; for tls+tcp */
	uint64_t message_bytes;         /* longest message */
	uint32_t n_call; /* requests that may wait for their answer; over it they are busy */
	struct lmi_front_limits limits;
	struct lmi_front_ops ops;
	void *arg;
};

struct lmi_front;

/* Listens.  LMD_BUSY: somebody listens there; LMD_INVALID: the files for TLS; LMD_IO. */
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
/* Calls ops for what came, and ends connections whose time is over. */
void lmi_front_turn(struct lmi_front *f, uint64_t now);
/* When turn must be called at the latest. */
uint64_t lmi_front_deadline(const struct lmi_front *f);

/* Numbers of connections count for those to come, times at once. */
void lmi_front_set_limits(struct lmi_front *f, const struct lmi_front_limits *limits);
/* Reads the files for TLS again, for connections to come; on failure the old ones stay. */
enum lmd_status lmi_front_renew_tls(struct lmi_front *f, struct lmd_error *err);
/* A key is gone: its connections need another one, and what they had asked for is dropped. */
void lmi_front_revoke(struct lmi_front *f, const char *label);

struct lmi_front_stats {
	uint32_t n_conn;                      /* connections */
	uint32_t n_calling;                   /* requests that wait for their answer */
	uint32_t n_sending;                   /* connections with replies under way */
	uint64_t n_message, n_bad, n_refused; /* messages; no requests; connections not let in */
	/* connections ended: without work; that sent too slowly; that did not read */
	uint64_t n_idle, n_slow, n_unread;
};
void lmi_front_stats(const struct lmi_front *f, struct lmi_front_stats *out);

#endif /* LLAMAD_DAEMON_FRONT_FRONT_H */
