/* SPDX-License-Identifier: MIT
 *
 * replay_impl.h - streams that are kept, shared by replay.c and replay_read.c. */
#ifndef LLAMAD_DAEMON_HTTP_REPLAY_IMPL_H
#define LLAMAD_DAEMON_HTTP_REPLAY_IMPL_H

#include "daemon/http/http_impl.h"
#include "daemon/http/replay.h"

struct lmi_http_replay_reader {
	struct lmi_http_replay_reader *next;
	struct lmi_http_replay *replay; /* NULL: it is forgotten */
	struct lmi_http_exchange *x;
	uint64_t at;
	bool blocked; /* its client reads too slowly */
};

struct lmi_http_replay {
	struct lmi_http_replay *next;
	struct lmi_http_server *h;
	char name[LMI_HTTP_REPLAY_NAME + 1];
	struct lmi_svc_principal owner;
	const char *type;            /* of the stream */
	struct lmi_http_exchange *x; /* computes it; NULL: has been freed */
	struct lmi_http_replay_reader *readers;
	struct event *timer;
	char *ring;      /* [cap] */
	uint64_t cap, n; /* n: bytes so far */
	bool with_ids;   /* events have ids */
	/* of a durable stream */
	bool durable;
	bool has_id;    /* the service has accepted it */
	bool suspended; /* it goes on at the next start */
	bool was_sent;  /* a client was sent all of it */
	bool was_read;  /* and the service knows that */
	struct lmi_wire_id id;
	bool ended;     /* no more bytes come */
	bool nomem;     /* later bytes are not in memory */
	bool forgotten; /* freed as soon as x is */
	int64_t started_ms, ended_ms;
};

/* ---- replay.c ---- */

/* Returns the stream of that name that the owner of the exchange has; NULL: none. */
struct lmi_http_replay *lmi_http_replay_find(const struct lmi_http_exchange *x, const char *name);
/* Starts or stops the timer; call this when a reader came or went. */
void lmi_http_replay_arm(struct lmi_http_replay *r);
/* A client was sent all of the stream: the service is told outside its callbacks. */
void lmi_http_replay_set_sent(struct lmi_http_replay *r);

/* ---- replay_read.c ---- */

/* Sends what is new to the readers that wait for it. */
void lmi_http_replay_send_to_all(struct lmi_http_replay *r);
/* Returns false if the generation should wait: it has readers, and all read too slowly. */
bool lmi_http_replay_wants_more(const struct lmi_http_replay *r);
/* Lets the generation go on, after fewer wait. */
void lmi_http_replay_wake(struct lmi_http_replay *r);

#endif /* LLAMAD_DAEMON_HTTP_REPLAY_IMPL_H */
