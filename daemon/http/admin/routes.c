/* SPDX-License-Identifier: MIT
 *
 * The table of the endpoints about the server itself. */
#include "core/base/json_text.h"
#include "daemon/http/admin/admin.h"

static const char *error_type(const struct lmi_http_error *e)
{
	return e->code == 401   ? "authentication_error"
	       : e->code == 403 ? "permission_error"
	       : e->code == 404 ? "not_found_error"
	       : e->code == 429 ? "rate_limit_error"
	       : e->code == 501 ? "not_supported_error"
	       : e->code == 503 ? "unavailable_error"
	       : e->code >= 500 ? "server_error"
				: "invalid_request_error";
}

static void write_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	lmi_json_text_object(out);
	lmi_json_text_key(out, "error");
	lmi_json_text_object(out);
	lmi_json_text_key(out, "code");
	lmi_json_text_int(out, e->code);
	lmi_json_text_key(out, "message");
	lmi_json_text_str(out, e->text);
	lmi_json_text_key(out, "type");
	lmi_json_text_str(out, error_type(e));
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

static const struct lmi_http_api api = {.name = "admin", .title = "Server", .error = write_error};

#define STATUS                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\"}},"                  \
	"\"required\":[\"status\"]}"

static const struct lmi_http_route routes[] = {
	{.method = LMI_HTTP_GET,
	 .path = "/",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_index,
	 .summary = "Lists the endpoints as plain text."},
	{.method = LMI_HTTP_GET,
	 .path = "/health",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_health,
	 .summary = "Returns whether the server accepts work.",
	 .answer = STATUS},
	{.method = LMI_HTTP_GET,
	 .path = "/v1/health",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_health,
	 .summary = "Returns whether the server accepts work.",
	 .answer = STATUS},
	{.method = LMI_HTTP_GET,
	 .path = "/livez",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_live,
	 .summary = "Answers while the server is alive."},
	{.method = LMI_HTTP_GET,
	 .path = "/readyz",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_ready,
	 .summary = "Returns 200 if the server accepts work, otherwise 503."},
	{.method = LMI_HTTP_GET,
	 .path = "/ping",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_ping,
	 .summary = "Answers while the server is alive."},
	{.method = LMI_HTTP_GET,
	 .path = "/version",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_version,
	 .summary = "Returns the version of the server.",
	 .answer = "{\"type\":\"object\",\"properties\":{\"version\":{\"type\":\"string\"}},"
		   "\"required\":[\"version\"]}"},
	{.method = LMI_HTTP_GET,
	 .path = "/metrics",
	 .access = LMI_HTTP_USER,
	 .handle = lmi_http_admin_metrics,
	 .summary = "Returns the metrics of the server in the text format of Prometheus."},
	{.method = LMI_HTTP_GET,
	 .path = "/load",
	 .access = LMI_HTTP_USER,
	 .handle = lmi_http_admin_load,
	 .summary = "Returns how many generations run or wait, as vLLM does.",
	 .answer = "{\"type\":\"object\",\"properties\":{\"server_load\":{\"type\":\"integer\"}},"
		   "\"required\":[\"server_load\"]}"},
	{.method = LMI_HTTP_GET,
	 .path = "/v1/usage",
	 .access = LMI_HTTP_USER,
	 .handle = lmi_http_admin_usage,
	 .summary = "Returns the usage of the client, or that of all for administrators, per model "
		    "and day. Query: since (YYYY-MM-DD), principal, model.",
	 .answer = "{\"type\":\"object\",\"properties\":{\"object\":{\"type\":\"string\"},"
		   "\"data\":{\"type\":\"array\"},\"has_more\":{\"type\":\"boolean\"}},"
		   "\"required\":[\"data\"]}"},
	{.method = LMI_HTTP_POST,
	 .path = "/sleep",
	 .access = LMI_HTTP_ADMIN,
	 .handle = lmi_http_admin_sleep,
	 .summary = "Unloads the models in memory, or the model of the query."},
	{.method = LMI_HTTP_POST,
	 .path = "/wake_up",
	 .access = LMI_HTTP_ADMIN,
	 .handle = lmi_http_admin_wake_up,
	 .summary = "Loads the default model, or the model of the query."},
	{.method = LMI_HTTP_GET,
	 .path = "/is_sleeping",
	 .access = LMI_HTTP_USER,
	 .handle = lmi_http_admin_is_sleeping,
	 .summary = "Returns whether no model, or not the model of the query, is in memory.",
	 .answer = "{\"type\":\"object\",\"properties\":{\"is_sleeping\":{\"type\":\"boolean\"}},"
		   "\"required\":[\"is_sleeping\"]}"},
	{.method = LMI_HTTP_GET,
	 .path = "/openapi.json",
	 .access = LMI_HTTP_PUBLIC,
	 .handle = lmi_http_admin_description,
	 .summary = "Returns the description of all endpoints in OpenAPI 3.1.",
	 .answer = "{\"type\":\"object\"}"},
};

const struct lmi_http_routes lmi_http_admin_routes = {
	.api = &api, .v = routes, .n = LMD_LEN(routes)};
