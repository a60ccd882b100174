/* SPDX-License-Identifier: MIT
 *
 * front_impl.h - the inside of a front, shared by its files. */
#ifndef LLAMAD_DAEMON_FRONT_FRONT_IMPL_H
#define LLAMAD_DAEMON_FRONT_FRONT_IMPL_H

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>

#include "core/base/mailbox.h"
#include "daemon/front/frame.h"
#include "daemon/front/front.h"
#include "proto/proto.h"

#define LMI_MS_NS 1000000ull

/* Requests of a connection beyond that many under way are busy; one that has not read that many
 * bytes of replies is closed. */
#define LMI_CONN_CALLS     1024u
#define LMI_CONN_OUT_BYTES (16ull << 20)
/* Longest message of a connection that still needs a key. */
#define LMI_STRANGER_BYTES (64ull << 10)
/* Connections over the limits that are told so, rather than closed at once. */
#define LMI_TURNED_AWAY_MAX 32u

/* An operation of nng; its end comes as a message. */
struct lmi_aio {
	struct lmi_message message;
	struct lmi_front *f;
	void *owner;
	nng_aio *aio;
	bool runs;
};
/* done: on the loop's thread. */
enum lmd_status lmi_aio_init(struct lmi_aio *op, struct lmi_front *f, void *owner,
			     void (*done)(struct lmi_message *m));
/* It does not run.  A zeroed struct is allowed. */
void lmi_aio_fini(struct lmi_aio *op);

/* ---- listen.c ---- */

struct lmi_listener {
	struct lmi_listener *next;
	struct lmi_front *f;
	nng_stream_listener *l;
	struct lmi_aio accept;
	uint64_t again_ns; /* accepts again then; 0: it does */
	bool ipc, tls;
	char url[160]; /* with the port that it has got */
};

/* Listens at a URL; `addr` of the unix socket: its path. */
enum lmd_status lmi_listener_open(struct lmi_front *f, const char *url, struct lmd_error *err);
/* Accepts where it had to pause. */
void lmi_listener_turn(struct lmi_listener *l, uint64_t now);
/* For connections to come. */
void lmi_listener_set_tls(struct lmi_listener *l, nng_tls_config *tls);
/* Accepts nothing any more; free when no operation of it runs. */
void lmi_listener_stop(struct lmi_listener *l);
void lmi_listener_free(struct lmi_listener *l);
/* The files of the options, as nng wants them. */
enum lmd_status lmi_tls_read(nng_tls_config **out, const struct lmi_front_opts *o,
			     struct lmd_error *err);

/* ---- conn.c ---- */

/* A reply under way; bytes follow. */
struct lmi_out {
	struct lmi_out *next;
	size_t n, sent;
	uint8_t bytes[];
};

struct lmi_conn {
	struct lmi_conn *prev, *next;
	struct lmi_front *f;
	bool ipc;
	nng_stream *stream;
	struct lmi_aio rx, tx;
	struct lmi_frames frames;
	struct lmi_out *out, **out_end;
	uint64_t out_bytes;
	struct lmi_visitor visitor;
	struct lmi_principal who;
	int64_t expires_ns; /* of its key */
	uint32_t n_call;    /* requests taken and not answered */
	bool reads;
	bool closed;      /* nothing is read or sent any more; freed when nothing runs */
	bool doomed;      /* to be closed in the next turn */
	bool revoked;     /* its key is gone: to be told so in the next turn */
	bool last_words;  /* to be closed when all is sent */
	bool turned_away; /* not let in: the next request is answered with `why` */
	uint64_t begun_ns;
	uint64_t since_ns;          /* when it had work last */
	uint64_t wrote_ns;          /* when bytes were taken last */
	uint64_t part_ns, part_got; /* of the message that comes: since when, from which byte */
	char why[160];
	uint8_t in[16384];
};

/* A stream that was accepted; owned from here on. */
void lmi_conn_begin(struct lmi_front *f, const struct lmi_listener *l, nng_stream *own_stream);
/* Sends a message of n bytes behind the route.  False: no memory; the connection ends. */
void lmi_conn_send(struct lmi_conn *c, const uint8_t *route, uint32_t n_route, const void *bytes,
		   size_t n);
/* Ends it.  Not within a call of ops: there it is doomed. */
void lmi_conn_close(struct lmi_conn *c);
void lmi_conn_doom(struct lmi_conn *c);
/* It is a stranger from now on: what it asked for is dropped. */
void lmi_conn_expel(struct lmi_conn *c);
/* Its key is gone: nothing more is done for it, and it is expelled in the next turn. */
void lmi_conn_revoke(struct lmi_conn *c);
/* A request was answered. */
void lmi_conn_answered(struct lmi_conn *c);
/* Frees it when it is closed and nothing of it runs. */
void lmi_conn_settle(struct lmi_conn *c);
/* Closes it when its time is over; when to ask again. */
uint64_t lmi_conn_turn(struct lmi_conn *c, uint64_t now);

/* ---- front.c ---- */

struct lmi_front {
	struct lmi_front_opts o;
	struct lmi_mailbox mailbox;
	struct lmi_door door;
	struct lmi_listener *listeners;
	struct lmi_conn *conns; /* all that are not freed */
	uint32_t n_live;        /* of them */
	bool open;              /* requests are taken */
	bool walks;             /* over the connections: none is freed meanwhile */
	char *path;
	nng_tls_config *tls;
	uint64_t now;
	uint64_t check_ns; /* when connections are looked at next */
	uint64_t n_conn_ever;
	uint32_t n_calling, n_sending, n_turned_away;
	uint64_t n_message, n_bad, n_idle, n_slow, n_unread;
	uint64_t n_refused_said, n_unread_said;
	struct lmi_wire_buf buf; /* of the reply that is encoded */
};

/* A message came; too_long: only its length is known. */
void lmi_front_message(struct lmi_conn *c, const struct lmi_frame *frame, bool too_long);
/* Connections are looked at by then. */
static inline void lmi_front_check_by(struct lmi_front *f, uint64_t when)
{
	if (when < f->check_ns)
		f->check_ns = when;
}

#define LMI_FRONT_LOG(f, level, ...)                                                               \
	((f)->o.host->log((f)->o.host->ctx, "front", (level), __VA_ARGS__))

#endif /* LLAMAD_DAEMON_FRONT_FRONT_IMPL_H */
