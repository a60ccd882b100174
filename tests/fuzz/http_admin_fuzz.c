/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: health, metrics, sleep and the other endpoints for operators over HTTP (http_endpoint.c). */
#include <stddef.h>

#include "daemon/http/admin/admin.h"
#include "tests/fuzz/http_endpoint.h"

const struct lmi_http_routes *const fuzz_routes = &lmi_http_admin_routes;

const struct fuzz_body fuzz_bodies[] = {
	{"/sleep", "{}"},
	{"/wake_up", "{\"tags\":[\"weights\"]}"},
	{NULL, NULL},
};
