/* SPDX-License-Identifier: MIT
 *
 * http_endpoint.h - what a fuzz target of one API of HTTP defines. */
#ifndef LLAMAD_TESTS_FUZZ_HTTP_ENDPOINT_H
#define LLAMAD_TESTS_FUZZ_HTTP_ENDPOINT_H

#include "daemon/http/route.h"

/* A body that one of the endpoints with POST accepts. */
struct fuzz_body {
	const char *path; /* as in the route; NULL: the end of the list */
	const char *text; /* JSON, at most 15 KiB */
};

extern const struct lmi_http_routes *const fuzz_routes;
extern const struct fuzz_body fuzz_bodies[];

#endif /* LLAMAD_TESTS_FUZZ_HTTP_ENDPOINT_H */
