/* SPDX-License-Identifier: MIT
 *
 * front.h - the listener: the sockets for clients.  It decodes requests and encodes replies.
 *
 * The listener speaks the REP side of the scalability protocols (docs/protocol.md, "Transport") on
 * a unix socket and, if configured, on TCP and TLS.  A connection may have any number of requests
 * pending; each gets exactly one reply, in any order.  A message that is not a valid request is
 * answered with an error and has no other effect.
 *
 * A client on the unix socket is identified by the uid of its process.  A client on TCP or TLS
 * authenticates its connection with a key in hello; before that only hello and ping are allowed.
 *
 * Threads: all functions belong to the loop's thread.  nng's own threads run callbacks that post to
 * the listener's mailbox. */
#ifndef LLAMAD_DAEMON_FRONT_FRONT_H
#define LLAMAD_DAEMON_FRONT_FRONT_H

#include "daemon/front/conn_limiter.h"
#include "llamad/host.h"
#include "service/service.h"

/* The result of a successful key lookup. */
struct lmi_front_login {
	enum lmi_svc_role role;
	char label[LMI_SVC_KEY_LABEL_MAX];
	int64_t expires_ns; /* wall clock; 0: never */
};
/* Called exactly once for each login, during the call or later.  On failure login is NULL and err
 * gives the reason. */
typedef void (*lmi_front_login_fn)(void *arg, const struct lmi_front_login *login,
				   const struct lmd_error *err);

struct lmi_front_ops {
	/* Handles a request; must call reply exactly once, with reply_arg.  All arguments are
	 * borrowed for the call. */
	void (*call)(void *arg, const struct lmi_svc_principal *who,
		     const struct lmi_wire_request *req, lmi_svc_reply_fn reply, void *reply_arg);
	/* Reports that a connection has ended; no more requests of it follow. */
	void (*closed)(void *arg, uint64_t conn);
	/* Returns whether a stream is running for the connection. */
	bool (*busy)(void *arg, uint64_t conn);
	/* Looks up the key of a secret that the peer has sent.  The error is LMD_DENIED if it does
	 * not exist or has expired. */
	void (*login)(void *arg, const struct lmi_conn_peer *peer, const struct lmd_str *secret,
		      lmi_front_login_fn done, void *done_arg);
	/* Reports that a peer was refused, for the audit log: without a key (label ""), since it has
	 * tried too many keys, or since the key's role is not enough.  subject: what it asked for. */
	void (*refused)(void *arg, const struct lmi_conn_peer *peer, const char *label,
			const char *subject, const char *reason);
	/* Returns the wall-clock time in ns since 1970. */
	int64_t (*wall_ns)(void *arg);
};

struct lmi_front_limits {
	uint64_t idle_ms;    /* idle time after which a connection is closed; 0: never */
	uint64_t message_ms; /* maximum time for the first bytes and for each 10 KiB of a message */
};

struct lmi_front_opts {
	const struct lmd_host *host;
	const char *path;        /* unix socket, after lmi_daemon_socket_claim (state_dir.h) */
	const char *const *urls; /* [n_urls] tcp://ADDR:PORT, tls+tcp://ADDR:PORT */
	uint32_t n_urls;
	const char *tls_cert, *tls_key; /* PEM files, for tls+tcp */
	uint64_t message_bytes;         /* maximum length of a message */
	uint32_t n_call; /* maximum number of pending requests; further ones fail as busy */
	struct lmi_conn_limiter *limiter; /* shared by all listeners of the daemon; outlives this */
	struct lmi_front_limits limits;
	struct lmi_front_ops ops;
	void *arg;
};

struct lmi_front_listener;

/* Opens all sockets.  Returns LMD_BUSY if an address is in use, LMD_INVALID if the TLS files cannot
 * be used, or LMD_IO. */
enum lmd_status lmi_front_open(struct lmi_front_listener **out, const struct lmi_front_opts *opts,
			       struct lmd_error *err);
/* Accepts no more requests, and waits at most flush_ms until all replies are sent.  NULL
 * allowed. */
void lmi_front_flush(struct lmi_front_listener *f, uint32_t flush_ms);
/* Closes all connections and removes the socket.  All requests must have been answered.  NULL
 * allowed. */
void lmi_front_close(struct lmi_front_listener *f);

/* Ends the threads of the socket library, after all listeners are closed.  Leak checkers then
 * report only leaks of llamad. */
void lmi_front_library_fini(void);

/* Returns a descriptor that is readable when lmi_front_listener_tick has something to do. */
int lmi_front_fd(const struct lmi_front_listener *f);
/* Handles received messages and closes connections whose time is over. */
void lmi_front_listener_tick(struct lmi_front_listener *f, uint64_t now);
/* Returns the time by which lmi_front_listener_tick must be called. */
uint64_t lmi_front_deadline(const struct lmi_front_listener *f);

/* Changes the limits.  The numbers of connections apply to new connections, the times at once. */
void lmi_front_set_limits(struct lmi_front_listener *f, const struct lmi_front_limits *limits);
/* Reads the TLS files again, for new connections.  On failure the old ones stay in use. */
enum lmd_status lmi_front_renew_tls(struct lmi_front_listener *f, struct lmd_error *err);
/* Call this after a key was removed: its connections are no longer authenticated and their pending
 * work is dropped. */
void lmi_front_revoke(struct lmi_front_listener *f, const char *label);

struct lmi_front_stats {
	uint32_t n_conn;                      /* open connections */
	uint32_t n_calling;                   /* pending requests */
	uint32_t n_sending;                   /* connections with unsent replies */
	uint64_t n_message, n_bad, n_refused; /* messages; invalid ones; rejected connections */
	/* connections closed because they were idle, sent too slowly, or did not read */
	uint64_t n_idle, n_slow, n_unread;
};
void lmi_front_stats(const struct lmi_front_listener *f, struct lmi_front_stats *out);

#endif /* LLAMAD_DAEMON_FRONT_FRONT_H */
