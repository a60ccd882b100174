/* SPDX-License-Identifier: MIT
 *
 * route.h - the endpoints of the HTTP listener.
 *
 * Each API has a folder with one file per endpoint, and a table of its routes.  The server, the
 * OpenAPI description (/openapi.json), the manual and the access rules are made from these tables,
 * so that an endpoint is a file and a row. */
#ifndef LLAMAD_DAEMON_HTTP_ROUTE_H
#define LLAMAD_DAEMON_HTTP_ROUTE_H

#include <stdint.h>

#include "llamad/status.h"

struct lmi_http_exchange;
struct lmi_http_server;
struct lmi_json_text;

enum lmi_http_method {
	LMI_HTTP_GET,
	LMI_HTTP_HEAD,
	LMI_HTTP_POST,
	LMI_HTTP_PUT,
	LMI_HTTP_DELETE,
	LMI_HTTP_OPTIONS,
};
#define LMI_HTTP_N_METHOD 6

enum lmi_http_access {
	LMI_HTTP_PUBLIC, /* no key */
	LMI_HTTP_USER,   /* role user */
	LMI_HTTP_ADMIN,  /* role admin */
};

/* An error as an API shows it. */
struct lmi_http_error {
	int code;              /* status code of HTTP, 400 to 599 */
	enum lmd_status cause; /* the status behind the code */
	const char *text;
	const char *param;      /* the member of the body at fault; NULL: none */
	uint32_t retry_ms;      /* 0: unknown */
	uint64_t n_prompt, n_ctx; /* if the prompt is longer than the context, otherwise 0 */
};

/* What is the same for all endpoints of an API. */
struct lmi_http_api {
	const char *name;  /* "openai" */
	const char *title; /* for the description: "OpenAI" */
	/* Writes the body of an error response: one JSON value. */
	void (*error)(struct lmi_json_text *out, const struct lmi_http_error *e);
};

/* Handles a request on the loop's thread: responds during the call or later, exactly once. */
typedef void (*lmi_http_handler_fn)(struct lmi_http_exchange *x);

struct lmi_http_route {
	enum lmi_http_method method;
	/* "/v1/models/{model}": a member in braces matches the text up to the next slash, or to the
	 * end of the path if it is the last one */
	const char *path;
	enum lmi_http_access access;
	lmi_http_handler_fn handle; /* NULL: answered with 501 and `summary` */
	const char *summary;        /* one line for the description */
	const char *body;   /* JSON schema of the request's body; NULL: none */
	const char *answer; /* JSON schema of the answer; NULL: not described */
};

struct lmi_http_routes {
	const struct lmi_http_api *api;
	const struct lmi_http_route *v; /* [n] */
	uint32_t n;
	/* Called when the server has been opened, before the loop runs; NULL: nothing to do. */
	void (*opened)(struct lmi_http_server *h);
};

#endif /* LLAMAD_DAEMON_HTTP_ROUTE_H */
