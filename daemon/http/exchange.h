/* SPDX-License-Identifier: MIT
 *
 * exchange.h - one HTTP request and its response, as the endpoints see them.
 *
 * An exchange begins when a whole request has arrived, passed the checks of the header filter, and
 * its key was found, and ends when the response was sent or the connection is lost.  It has one
 * arena, freed at its end.  All functions belong to the loop's thread; after a response or an end
 * of the connection, no callback of the exchange is called any more. */
#ifndef LLAMAD_DAEMON_HTTP_EXCHANGE_H
#define LLAMAD_DAEMON_HTTP_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/json_text.h"
#include "daemon/http/route.h"
#include "llamad/types.h"
#include "service/service.h"

struct lmd_arena;
struct lmi_http_exchange;
struct lmi_http_server;
struct lmi_http_objects;

/* ---- the request ---- */

const struct lmi_http_route *lmi_http_route_of(const struct lmi_http_exchange *x);
const struct lmi_svc_principal *lmi_http_principal(const struct lmi_http_exchange *x);
/* Returns a member of the path in braces, decoded; "" if the route has no such member. */
const char *lmi_http_path_member(const struct lmi_http_exchange *x, const char *name);
/* Returns a parameter of the query, decoded; NULL if it is absent. */
const char *lmi_http_query(const struct lmi_http_exchange *x, const char *name);
/* Returns a header; NULL if it is absent. */
const char *lmi_http_header(const struct lmi_http_exchange *x, const char *name);
struct lmd_str lmi_http_body(const struct lmi_http_exchange *x);
/* Returns the body as a JSON object, which belongs to the exchange.  If it is not an object, or
 * exceeds the bounds of depth and size, this responds with 400 and returns NULL. */
const json_t *lmi_http_body_object(struct lmi_http_exchange *x);
/* The same for an array. */
const json_t *lmi_http_body_list(struct lmi_http_exchange *x);
/* Frees a value at the end of the exchange.  Returns false, after a response with 503, if out of
 * memory. */
bool lmi_http_keep_json(struct lmi_http_exchange *x, json_t *own_value);
/* Returns what clients store at this server; NULL: nothing is stored. */
struct lmi_http_objects *lmi_http_objects_of(const struct lmi_http_exchange *x);
/* Returns the arena of the exchange; its limit is in proportion to the bound of a body. */
struct lmd_arena *lmi_http_arena(struct lmi_http_exchange *x);
/* Returns a time in seconds since 1970, the same during the exchange. */
int64_t lmi_http_created(const struct lmi_http_exchange *x);

/* ---- the service ---- */

/* Calls the service for the principal of the exchange.  `reply` is not called if the exchange ends
 * before.  The function may respond.  If this is called from such a function, the memory of req
 * must belong to the arena of the exchange, because the service is called later. */
void lmi_http_call(struct lmi_http_exchange *x, const struct lmi_wire_request *req,
		   lmi_svc_reply_fn reply, void *arg);

/* ---- the response: one of the following ---- */

/* Sends JSON; j is finished and freed. */
void lmi_http_reply(struct lmi_http_exchange *x, int code, struct lmi_json_text *j);
void lmi_http_reply_text(struct lmi_http_exchange *x, int code, const char *type, const void *bytes,
			 size_t n);
/* Sends an error in the form of the route's API, with Retry-After if e->retry_ms is set. */
void lmi_http_reply_error(struct lmi_http_exchange *x, const struct lmi_http_error *e);
/* Returns the code of HTTP for a status. */
int lmi_http_code(enum lmd_status st);
/* Does so for a request of the principal: 429 if its quota is used up, and not the server busy. */
int lmi_http_code_for(const struct lmi_http_server *h, const struct lmi_svc_principal *principal,
		      enum lmd_status st);
/* Sends the error of a service request.  The code of HTTP comes from the one table of statuses. */
void lmi_http_reply_status(struct lmi_http_exchange *x, const struct lmd_error *err,
			   uint32_t retry_ms);
/* Sends 400 with the name of a member of the body and a message. */
void lmi_http_reply_invalid(struct lmi_http_exchange *x, const char *param, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Begins a response of unknown length.  Until the end, each write goes out at once. */
void lmi_http_stream_begin(struct lmi_http_exchange *x, const char *type);
/* Returns false if the client reads too slowly: the bytes are taken, but more should wait. */
bool lmi_http_stream_write(struct lmi_http_exchange *x, const void *bytes, size_t n);
void lmi_http_stream_end(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_EXCHANGE_H */
