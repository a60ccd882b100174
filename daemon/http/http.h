/* SPDX-License-Identifier: MIT
 *
 * http.h - the listener for HTTP.
 *
 * It serves APIs, which are tables of routes (route.h), over HTTP/1.1, on unix sockets and TCP.  A connection has one
 * request at a time; later requests wait until the response has been sent.
 *
 * A client on a unix socket is identified by the uid of its process, as on the daemon's socket.  A
 * client on TCP has the role of the API key that it sends in each request.  Without a key it may
 * only use public endpoints, unless it is on this machine and no key exists.
 *
 * Everything runs on the loop's thread, in callbacks of the loop's event base. */
#ifndef LLAMAD_DAEMON_HTTP_HTTP_H
#define LLAMAD_DAEMON_HTTP_HTTP_H

#include "daemon/front/front.h"
#include "daemon/http/inherited.h"
#include "llamad/host.h"
#include "service/service.h"

struct event_base;
struct lmi_http_routes;
struct lmi_http_server;

/* An answer that has ended.  The strings are valid during the call. */
struct lmi_http_generated {
	struct lmd_str path, model;
	const char *finish;      /* word of enum lmi_wire_finish */
	const char *traceparent; /* the request's header; NULL: none */
	uint64_t all_ns, queue_ns, first_ns, prompt_ns, out_ns; /* from the whole request on */
	uint32_t n_prompt, n_cached, n_out;
	bool chat; /* the prompt was given as messages */
};

struct lmi_http_ops {
	/* As in struct lmi_front_ops. */
	void (*login)(void *arg, const struct lmi_conn_peer *peer, const struct lmd_str *secret,
		      lmi_front_login_fn done, void *done_arg);
	void (*refused)(void *arg, const struct lmi_conn_peer *peer, const char *label,
			const char *subject, const char *reason);
	/* Returns whether there is an API key, so that clients on TCP must send one. */
	bool (*has_key)(void *arg);
	/* Returns the wall-clock time in ns since 1970. */
	int64_t (*wall_ns)(void *arg);
	/* Takes an answer that has ended, for traces; NULL: nobody wants them. */
	void (*generated)(void *arg, const struct lmi_http_generated *g);
};

struct lmi_http_limits {
	uint64_t idle_ms; /* without a request; 0: no limit */
	uint64_t head_ms; /* for the header, and for each 10 KiB of a body */
};

/* All strings must outlive the server. */
struct lmi_http_opts {
	const struct lmd_host *host;
	struct event_base *base;
	struct lmi_service *service;
	const struct lmi_http_routes *const *apis; /* ends in NULL; at least one */
	const char *const *addresses; /* [n_address], see address.h */
	uint32_t n_address;
	const struct lmi_http_inherited *inherited; /* further sockets, which it takes over; NULL: none */
	const char *tls_cert, *tls_key; /* PEM files, for tls: */
	const char *const *origins; /* [n_origin] origins of web pages that may use the APIs */
	uint32_t n_origin;
	const char *model;   /* for requests that name none that exists; NULL: not configured */
	bool refuse_unknown; /* a name that does not exist is not replaced by the default model */
	const char *version; /* of the daemon */
	uint64_t body_bytes; /* maximum length of a body */
	/* What clients may store; nothing if store_bytes is 0.  bytes and number are per owner. */
	const char *store_folder;
	uint64_t store_bytes, store_age_s;
	uint32_t store_number;
	/* Streams that can be resumed: bytes of each, number per owner; none if resume_bytes is 0. */
	uint64_t resume_bytes, resume_ms;
	uint32_t resume_number;
	uint64_t durable_ms; /* as resume_ms, for durable streams */
	struct lmi_conn_limiter *limiter; /* shared by all listeners of the daemon; outlives this */
	struct lmi_http_limits limits;
	struct lmi_http_ops ops;
	void *arg;
};

/* Opens all addresses, and listens at the inherited sockets.  Returns LMD_BUSY if one is in use, or LMD_IO. */
enum lmd_status lmi_http_open(struct lmi_http_server **out, const struct lmi_http_opts *opts,
			      struct lmd_error *err);
/* Call this when the service has been destroyed: further requests are answered with 503. */
void lmi_http_service_ended(struct lmi_http_server *h);
/* Waits at most flush_ms until all responses are sent.  NULL allowed. */
void lmi_http_flush(struct lmi_http_server *h, uint32_t flush_ms);
/* Closes all connections and removes the unix sockets.  NULL allowed. */
void lmi_http_close(struct lmi_http_server *h);

void lmi_http_set_limits(struct lmi_http_server *h, const struct lmi_http_limits *limits);
/* Reads the TLS files again, for new connections.  On failure the old ones stay in use. */
enum lmd_status lmi_http_renew_tls(struct lmi_http_server *h, struct lmd_error *err);
/* Call this after a key was removed: connections do not remember it any more. */
void lmi_http_revoke(struct lmi_http_server *h, const char *label);

struct lmi_http_stats {
	uint32_t n_conn, n_request; /* open connections; requests without a complete response */
	uint64_t n_conn_refused;
	uint64_t n_class[6]; /* responses by class: [4] = 400 to 499 */
};
void lmi_http_stats(const struct lmi_http_server *h, struct lmi_http_stats *out);

/* Writes the addresses of the sockets in the order in which they were opened, as in the configuration, with the
 * actual ports: ADDR:PORT, tls:ADDR:PORT, unix:/PATH. Returns their number. */
uint32_t lmi_http_addresses(const struct lmi_http_server *h,
			    char out[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES]);

#endif /* LLAMAD_DAEMON_HTTP_HTTP_H */
