/* SPDX-License-Identifier: MIT
 *
 * front_impl.h - internals of the listener, shared by its files. */
#ifndef LLAMAD_DAEMON_FRONT_FRONT_IMPL_H
#define LLAMAD_DAEMON_FRONT_FRONT_IMPL_H

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>

#include "core/base/mailbox.h"
#include "daemon/front/frame.h"
#include "daemon/front/front.h"
#include "daemon/front/pacer.h"
#include "proto/proto.h"

/* Maximum number of pending requests of a connection; further ones fail as busy.  A connection with
 * more than LMI_CONN_OUT_BYTES of unread replies is closed. */
#define LMI_CONN_CALLS     1024u
#define LMI_CONN_OUT_BYTES (16ull << 20)
/* Maximum length of a message on an unauthenticated connection. */
#define LMI_FRONT_UNAUTHENTICATED_BYTES (64ull << 10)
/* Maximum number of rejected connections that get an error reply before they are closed. */
#define LMI_FRONT_REJECTED_MAX 32u

/* An nng operation; its completion arrives as a message. */
struct lmi_front_aio {
	struct lmi_mailbox_message message;
	struct lmi_front_listener *f;
	void *owner;
	nng_aio *aio;
	bool runs;
};
/* Initialises an operation; done is called on the loop's thread. */
enum lmd_status lmi_front_aio_init(struct lmi_front_aio *op, struct lmi_front_listener *f,
				   void *owner, void (*done)(struct lmi_mailbox_message *m));
/* The operation must not be running.  A zeroed struct is allowed. */
void lmi_front_aio_fini(struct lmi_front_aio *op);

/* ---- listen.c ---- */

struct lmi_front_listen_socket {
	struct lmi_front_listen_socket *next;
	struct lmi_front_listener *f;
	nng_stream_listener *l;
	struct lmi_front_aio accept;
	uint64_t resume_ns; /* while paused: time to accept again; otherwise 0 */
	bool ipc, tls;
	char url[160]; /* with the actual port */
};

/* Listens at a URL. */
enum lmd_status lmi_front_listener_open(struct lmi_front_listener *f, const char *url,
					struct lmd_error *err);
/* Accepts again after a pause. */
void lmi_front_listen_socket_tick(struct lmi_front_listen_socket *l, uint64_t now);
/* Sets the TLS configuration of new connections. */
void lmi_front_listener_set_tls(struct lmi_front_listen_socket *l, nng_tls_config *tls);
/* Stops accepting.  Free the listener once its operation has ended. */
void lmi_front_listener_stop(struct lmi_front_listen_socket *l);
void lmi_front_listener_free(struct lmi_front_listen_socket *l);
/* Reads the TLS files into an nng configuration. */
enum lmd_status lmi_front_tls_read(nng_tls_config **out, const struct lmi_front_opts *o,
				   struct lmd_error *err);

/* ---- conn.c ---- */

/* An unsent reply. */
struct lmi_front_out {
	struct lmi_front_out *next;
	size_t n, sent;
	uint8_t bytes[];
};

struct lmi_conn {
	struct lmi_conn *prev, *next;
	struct lmi_front_listener *f;
	bool ipc;
	nng_stream *stream;
	struct lmi_front_aio rx, tx;
	struct lmi_front_frames frames;
	struct lmi_front_out *out, **out_end;
	uint64_t out_bytes;
	struct lmi_conn_peer peer;
	struct lmi_svc_principal principal;
	int64_t expires_ns; /* expiry of its key */
	uint32_t n_call;    /* pending requests */
	bool reading;
	bool paused; /* within a long message whose bytes are not read or parsed now */
	uint64_t paused_ns; /* since when */
	bool closed;        /* nothing is read or sent any more; freed once no operation runs */
	bool close_pending; /* will be closed in the next tick */
	bool revoked; /* its key was removed; lmi_conn_deauthenticate follows in the next tick */
	bool close_after_send; /* will be closed when everything has been sent */
	bool rejected;         /* rejected: the next request is answered with `why` */
	uint64_t begun_ns;
	uint64_t since_ns;          /* time of its last work */
	uint64_t wrote_ns;          /* time at which the client last read bytes */
	uint64_t part_ns, part_got; /* start and bytes of the current 10 KiB of a message */
	char reject_reason[160];
	uint32_t in_at, in_n; /* received bytes that have not been parsed: in[in_at..in_n) */
	uint8_t in[16384];
};

/* Creates a connection for an accepted stream; takes ownership of it. */
void lmi_conn_begin(struct lmi_front_listener *f, const struct lmi_front_listen_socket *l,
		    nng_stream *own_stream);
/* Sends the route and a message of n bytes.  If out of memory, the connection is closed. */
void lmi_conn_send(struct lmi_conn *c, const uint8_t *route, uint32_t n_route, const void *bytes,
		   size_t n);
/* Closes the connection.  Not allowed during a call of ops; use lmi_conn_close_later there, which
 * closes it in the next tick. */
void lmi_conn_close(struct lmi_conn *c);
void lmi_conn_close_later(struct lmi_conn *c);
/* Makes the connection unauthenticated and drops its pending work. */
void lmi_conn_deauthenticate(struct lmi_conn *c);
/* Call this after its key was removed: further requests are denied, and the next tick calls
 * lmi_conn_deauthenticate. */
void lmi_conn_revoke(struct lmi_conn *c);
/* Call this after a request was answered. */
void lmi_conn_answered(struct lmi_conn *c);
/* Frees the connection if it is closed and no operation is running. */
void lmi_conn_free_if_done(struct lmi_conn *c);
/* Closes the connection if its time is over; returns the time of the next check. */
uint64_t lmi_conn_tick(struct lmi_conn *c, uint64_t now);

/* ---- front.c ---- */

struct lmi_front_listener {
	struct lmi_front_opts o;
	struct lmi_mailbox mailbox;
	struct lmi_conn_limiter *limiter;
	uint32_t n_conn; /* open connections that were admitted */
	uint64_t n_refused;
	struct lmi_front_listen_socket *listeners;
	struct lmi_conn *conns; /* all connections that have not been freed */
	uint32_t n_live;        /* their number */
	bool open;              /* accepts requests */
	bool iterating;         /* is iterating over conns: none may be freed */
	char *path;
	nng_tls_config *tls;
	uint64_t now;
	uint64_t check_ns; /* time of the next check of all connections */
	struct lmi_front_pacer pacer;
	uint64_t n_conn_ever;
	uint32_t n_calling, n_sending, n_rejected;
	uint64_t n_message, n_bad, n_idle, n_slow, n_unread;
	uint64_t n_refused_logged, n_unread_logged;
	struct lmi_wire_buf buf; /* for encoding replies */
};

/* Handles a message.  If too_long is true, only its route and length are known. */
void lmi_front_message(struct lmi_conn *c, const struct lmi_front_frame *frame, bool too_long);
/* Makes sure that the connections are checked at that time or earlier. */
static inline void lmi_front_check_by(struct lmi_front_listener *f, uint64_t when)
{
	if (when < f->check_ns)
		f->check_ns = when;
}

#define LMI_FRONT_LOG(f, level, ...)                                                               \
	((f)->o.host->log((f)->o.host->ctx, "front", (level), __VA_ARGS__))

#endif /* LLAMAD_DAEMON_FRONT_FRONT_IMPL_H */
