/* SPDX-License-Identifier: MIT
 *
 * http_impl.h - internals of the listener for HTTP, shared by its files. */
#ifndef LLAMAD_DAEMON_HTTP_HTTP_IMPL_H
#define LLAMAD_DAEMON_HTTP_HTTP_IMPL_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <sys/uio.h>

#include "core/base/arena.h"
#include "core/base/sha256.h"
#include "daemon/front/pacer.h"
#include "daemon/http/chunks.h"
#include "daemon/http/exchange.h"
#include "daemon/http/head.h"
#include "daemon/http/http.h"
#include "daemon/http/objects.h"
#include "daemon/http/times.h"
#include "daemon/http/tls.h"
#include "proto/proto.h"

/* A response stream asks its writer to wait while more bytes than the first are unsent, and to go
 * on when at most the second are left. */
#define LMI_HTTP_OUT_HIGH (256u << 10)
#define LMI_HTTP_OUT_LOW  (64u << 10)
/* Maximum number of received bytes that are kept while a request is handled. */
#define LMI_HTTP_IN_BYTES (64u << 10)
/* Maximum memory of all bodies together, in bodies of the maximum length. */
#define LMI_HTTP_BODIES 16u
/* Maximum number of parts that are sent together. */
#define LMI_HTTP_PARTS 4
/* Maximum number of members in braces of a path. */
#define LMI_HTTP_MEMBERS 4u

/* Work that is done after the current callback has returned, because the service must not be called
 * from its own callbacks. */
struct lmi_http_later {
	struct lmi_http_later *next;
	struct lmi_http_exchange *x; /* NULL: the exchange has ended */
	void (*fn)(struct lmi_http_exchange *x, void *arg);
	void *arg;
};

struct lmi_http_listen_socket {
	struct lmi_http_listen_socket *next;
	struct lmi_http_server *h;
	struct evconnlistener *listener;
	struct event *resume; /* accepts again after a pause */
	struct lmi_http_address addr;
	bool inherited; /* its file belongs to somebody else */
	char text[160]; /* the address with the actual port */
};

struct lmi_http_server {
	uint64_t n_call; /* requests to the service so far, for their ids */
	struct lmi_http_opts o;
	struct lmi_service *svc; /* NULL: it has ended */
	struct lmi_http_listen_socket *sockets;
	struct ssl_ctx_st *tls; /* NULL: not used */
	struct lmi_conn_limiter *limiter;
	uint32_t n_conn;
	uint64_t n_conn_refused;
	struct lmi_http_conn *conns;
	uint64_t n_exchange; /* so far */
	uint32_t n_running;  /* exchanges */
	uint64_t body_bytes; /* memory of all bodies */
	uint32_t in_service; /* depth of callbacks of the service */
	struct lmi_http_later *later, **later_end;
	struct event *later_event;
	int64_t date_s; /* of the text below */
	char date[40];
	char *openapi; /* the description of all APIs; NULL until somebody asks for it */
	uint64_t n_class[6];
	struct lmi_http_objects *objects; /* NULL: nothing is stored */
	struct event *expire;             /* removes old objects */
	struct event *stored;             /* tells that objects were written */
	struct lmi_http_background *backgrounds;
	uint32_t n_background;
	struct lmi_http_lasting *lasting;
	struct lmi_http_lookup *lookups; /* pending ones of keys */
	struct lmi_front_pacer pacer;    /* of long bodies */
	struct lmi_http_exchange *turns; /* those that wait for their turn, the next one first */
	struct event *turn_event;
	struct lmi_http_times *times; /* of all models so far */
	struct lmi_http_replay *replays; /* streams that can be resumed */
};

#define LMI_HTTP_LOG(h, level, ...)                                                                \
	((h)->o.host->log((h)->o.host->ctx, "http", (level), __VA_ARGS__))

/* ---- conn.c ---- */

enum lmi_http_conn_state {
	LMI_HTTP_CONN_HEAD,   /* waits for a request */
	LMI_HTTP_CONN_AUTH,   /* the key of a request is looked up */
	LMI_HTTP_CONN_BODY,   /* reads the body */
	LMI_HTTP_CONN_ANSWER, /* the request is handled */
	LMI_HTTP_CONN_FLUSH,  /* sends the rest of the last response */
	LMI_HTTP_CONN_LINGER, /* has sent everything and waits for the client to close */
};

struct lmi_http_conn {
	struct lmi_http_conn *prev, *next;
	struct lmi_http_server *h;
	const struct lmi_http_listen_socket *socket;
	struct bufferevent *bev;
	struct event *timer, *again;
	struct lmi_conn_peer peer;
	uint32_t uid, gid;
	int32_t pid;
	enum lmi_http_conn_state state;
	bool eof;        /* the client sends no more */
	bool keep_alive; /* another request may follow */
	struct lmi_http_head head;
	struct lmi_http_chunks chunks;
	uint64_t body_left, part_bytes; /* part: since the timer was started */
	uint64_t n_written, n_sent_seen; /* seen: when the timer last fired, with unsent bytes */
	bool was_unsent;                 /* or without */
	struct lmd_str held;             /* sent with the next bytes, or soon */
	struct lmi_http_exchange *x;
	/* the latest key that was found, so that it is not looked up for every request */
	bool key_known;
	char key_digest[LMI_SHA256_HEX];
	struct lmi_front_login key;
};

/* Takes a connection, or closes it if there are too many. */
void lmi_http_conn_accept(struct lmi_http_listen_socket *l, int fd, const struct sockaddr *sa);
/* Closes it at once, and ends its exchange without a response. */
void lmi_http_conn_close(struct lmi_http_conn *c);
/* Reads the body of the exchange, whose key has been checked. */
void lmi_http_conn_continue(struct lmi_http_conn *c);
/* Sends bytes, those of n parts (at most LMI_HTTP_PARTS) one after the other: at once, as far as the
 * system takes them. */
void lmi_http_conn_write(struct lmi_http_conn *c, const void *bytes, size_t n);
void lmi_http_conn_write_parts(struct lmi_http_conn *c, const struct iovec *parts, int n);
/* Sends bytes together with those that follow, at the latest when the current callback has returned.
 * They must live as long as the exchange. */
void lmi_http_conn_hold(struct lmi_http_conn *c, struct lmd_str bytes);
/* Returns the number of unsent bytes. */
size_t lmi_http_conn_unsent(const struct lmi_http_conn *c);
/* Returns whether another request may follow the one of its exchange: if the client wants that, and
 * the body was read. */
bool lmi_http_conn_stays(const struct lmi_http_conn *c);
/* Closes it after everything was sent. */
void lmi_http_conn_end(struct lmi_http_conn *c);
/* Call this when the response is complete; the exchange is freed later. */
void lmi_http_conn_answered(struct lmi_http_conn *c);

/* ---- exchange.c ---- */

struct lmi_http_query {
	const char *name, *value;
};

enum lmi_http_phase {
	LMI_HTTP_PHASE_PENDING, /* nothing has been sent */
	LMI_HTTP_PHASE_STREAM,  /* the response has begun */
	LMI_HTTP_PHASE_DONE,    /* the response is complete */
};

struct lmi_http_exchange {
	struct lmi_http_exchange *next_turn; /* of those that wait for their turn */
	struct lmi_http_conn *conn; /* NULL: it was lost, and the stream is kept for a while */
	struct lmi_conn_peer peer;
	struct lmi_http_server *h;
	struct lmd_arena *arena;
	struct lmi_http_head head;
	enum lmi_http_method method;
	bool method_known;
	const struct lmi_http_api *api; /* in whose form errors are written */
	const struct lmi_http_route *route;
	struct lmd_str members[LMI_HTTP_MEMBERS]; /* as in the path, not decoded */
	const char *path;                         /* as the client wrote it */
	struct lmi_http_query *query;             /* [n_query], after the first use */
	uint32_t n_query;
	bool query_read;
	const char *cors; /* value of Access-Control-Allow-Origin; NULL: none */
	struct lmi_svc_principal principal;
	char *body;
	size_t n_body, body_cap;
	json_t *json;
	json_t *kept; /* further values, freed with the exchange; NULL: none */
	int64_t created;
	uint64_t begun_ns; /* when the whole request had arrived */
	enum lmi_http_phase phase;
	bool chunked;      /* the response */
	bool has_response_body;
	struct lmi_http_call *calls; /* pending requests to the service */
	struct lmi_http_exchange **lookup; /* cleared when the exchange ends; NULL: none */
	/* Called once, before the exchange is freed; outside callbacks of the service. */
	void (*fini)(void *arg);
	/* Called when the client has read what stream_write() returned false for. */
	void (*drained)(void *arg);
	void *hook_arg;
	bool cancel_on_eof; /* a client that sends no more is taken as gone */
	const struct lmi_http_again *again; /* it goes on after a restart; NULL: it does not */
	struct lmi_http_replay *replay; /* NULL: the stream cannot be resumed */
	/* for the access log */
	int code;
	const char *log_model, *log_end;
	uint64_t log_queue_ns, log_first_ns;
	uint32_t log_prompt, log_out;
};

/* Creates an exchange for the head at the beginning of the input, which is removed from there. */
struct lmi_http_exchange *lmi_http_exchange_create(struct lmi_http_conn *c);
/* Creates an exchange without a connection, for POST and that path, which gets a copy of the body. NULL:
 * out of memory, or there is no such endpoint. */
struct lmi_http_exchange *lmi_http_exchange_create_again(struct lmi_http_server *h,
							 const struct lmi_svc_principal *owner,
							 const struct lmd_str *path,
							 const struct lmd_str *body);
/* Checks origin, path and key; continues the connection or responds. */
void lmi_http_exchange_admit(struct lmi_http_exchange *x);
/* Appends to the body.  Returns false if it becomes too long or memory runs out, after a
 * response. */
bool lmi_http_exchange_add(struct lmi_http_exchange *x, const char *bytes, size_t n);
/* Handles the request, whose body is complete. */
void lmi_http_exchange_run(struct lmi_http_exchange *x);
/* Handles the request now if its body is short, or otherwise when its turn comes (turns.c). */
void lmi_http_turn_wait(struct lmi_http_exchange *x);
/* Removes an exchange that may wait for its turn. */
void lmi_http_turn_cancel(struct lmi_http_exchange *x);
/* Handles the request that has waited longest, if it may; call this when turn_event fires. */
void lmi_http_turn_next(struct lmi_http_server *h);
/* Ends all work for the exchange, writes the access log, and frees it. */
void lmi_http_exchange_destroy(struct lmi_http_exchange *x);
/* Calls fn outside callbacks of the service, unless the exchange has ended before. */
void lmi_http_later(struct lmi_http_exchange *x,
		    void (*fn)(struct lmi_http_exchange *x, void *arg), void *arg);
/* Calls what is due. */
void lmi_http_later_run(struct lmi_http_server *h);

/* ---- response.c ---- */

/* Sends a response with additional header lines, each ending in CR LF, or "". */
void lmi_http_respond(struct lmi_http_exchange *x, int code, const char *type, const char *fields,
		      const void *bytes, size_t n);
/* Sends an error with additional header lines. */
void lmi_http_respond_error(struct lmi_http_exchange *x, const struct lmi_http_error *e,
			    const char *fields);
void lmi_http_respond_text(struct lmi_http_exchange *x, int code, const char *fields,
			   const char *fmt, ...) LMD_PRINTF(4, 5);
/* Sends an error on a connection whose request could not be parsed. */
void lmi_http_respond_bad(struct lmi_http_conn *c, int code, const char *why);
const char *lmi_http_reason(int code);

/* Sends bytes of a stream on the connection.  Returns false if the client reads too slowly. */
bool lmi_http_stream_send(struct lmi_http_exchange *x, const void *bytes, size_t n);
/* Sends parts of a stream as one chunk, at most LMI_HTTP_PARTS - 2; returns as above. */
bool lmi_http_stream_send_parts(struct lmi_http_exchange *x, const struct iovec *parts, int n_parts);

/* ---- replay.c ---- */

/* Keeps the stream of the exchange, which is about to begin, if the client asks for it, or if it is
 * durable.  Returns false after a response. */
bool lmi_http_replay_begin(struct lmi_http_exchange *x, const char *type, bool durable);
/* Keeps the durable stream of an exchange that goes on after a restart.  Returns false if out of
 * memory. */
bool lmi_http_replay_begin_again(struct lmi_http_exchange *x, const char *type);
/* The service has accepted the durable stream. */
void lmi_http_replay_set_id(struct lmi_http_exchange *x, const struct lmi_wire_id *id);
/* The daemon is being stopped, and the durable stream goes on at its next start: its connections are
 * closed, so that no client takes it as complete. */
void lmi_http_replay_suspend(struct lmi_http_exchange *x);
/* Sends a comment, which is no part of a durable stream. */
void lmi_http_replay_comment(struct lmi_http_exchange *x, const void *bytes, size_t n);
/* Returns the name of the stream; NULL: it is not kept. */
const char *lmi_http_replay_name(const struct lmi_http_exchange *x);
/* Writes the header lines of the response. */
void lmi_http_replay_fields(const struct lmi_http_exchange *x, char *out, size_t n);
/* Writes bytes of a stream that is kept.  Returns false if more should wait. */
bool lmi_http_replay_write(struct lmi_http_exchange *x, const void *bytes, size_t n);
/* The stream is complete, or there is an error in place of it. */
void lmi_http_replay_end(struct lmi_http_exchange *x);
void lmi_http_replay_error(struct lmi_http_exchange *x, const void *bytes, size_t n);
/* The connection is lost.  Returns whether the exchange goes on without one. */
bool lmi_http_replay_detach(struct lmi_http_exchange *x);
/* The response of an exchange without a connection is complete; it is freed later. */
void lmi_http_replay_answered(struct lmi_http_exchange *x);
/* The exchange ends. */
void lmi_http_replay_release(struct lmi_http_exchange *x);
/* Forgets the streams of a key. */
void lmi_http_replay_revoke(struct lmi_http_server *h, const char *label);
/* Ends all of them. */
void lmi_http_replay_close(struct lmi_http_server *h);

/* ---- durable.c ---- */

/* What is known of an exchange that goes on after a restart; in its arena. */
struct lmi_http_again {
	struct lmi_wire_id stream;
	uint64_t seed;
	bool was_read; /* a client was sent all of the stream */
	const char *name, *id, *model;
	int64_t created;
};

/* Writes what lmi_http_durable_recover() needs, to the arena of the exchange.  Returns false if out of
 * memory. */
bool lmi_http_durable_note(struct lmi_http_exchange *x, const char *id, const char *model,
			   struct lmd_str *out);
/* Continues the durable streams of an earlier run of the daemon. */
void lmi_http_durable_recover(struct lmi_http_server *h);

/* ---- auth.c ---- */

/* Finds the principal of the exchange, now or later, and continues the connection, or responds with
 * 401 or 403. */
void lmi_http_auth(struct lmi_http_exchange *x);
/* Call this when the server ends: pending look-ups forget it. */
void lmi_http_auth_end(struct lmi_http_server *h);

/* ---- origin.c ---- */

/* Returns whether a Host field names this machine, with any port. */
bool lmi_http_host_is_local(const struct lmd_str *host);
/* Returns the value of Access-Control-Allow-Origin for an Origin field: a string of `origins`, or
 * NULL if that origin is not allowed. */
const char *lmi_http_origin_allowed(const char *const *origins, uint32_t n,
				    const struct lmd_str *origin);
/* Returns whether Origin is the server itself, as the Host field names it. */
bool lmi_http_origin_is_host(const struct lmd_str *origin, const struct lmd_str *host);

/* ---- router.c ---- */

struct lmi_http_found {
	const struct lmi_http_api *api;     /* the one whose paths are most similar */
	const struct lmi_http_route *route; /* NULL: none */
	struct lmd_str members[LMI_HTTP_MEMBERS];
	uint32_t allowed; /* bit m: the path has a route for method m */
};
void lmi_http_route_find(struct lmi_http_found *out, const struct lmi_http_routes *const *list,
			 enum lmi_http_method method, const struct lmd_str *path);
extern const char *const lmi_http_method_names[LMI_HTTP_N_METHOD];
/* Writes the methods of a set, separated by commas. */
void lmi_http_methods_text(char *buf, size_t n, uint32_t set);

/* ---- openapi.c ---- */

/* Writes the OpenAPI description of the APIs, to be freed with free(); NULL if out of memory or if
 * a schema is not JSON. */
char *lmi_http_openapi(const struct lmi_http_routes *const *list, const char *version);

#endif /* LLAMAD_DAEMON_HTTP_HTTP_IMPL_H */
