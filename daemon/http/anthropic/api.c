/* SPDX-License-Identifier: MIT
 *
 * The routes of the API and its errors. */
#include <stdio.h>

#include "daemon/http/anthropic/anthropic_impl.h"

static const char *error_type(int code)
{
	switch (code) {
	case 401:
		return "authentication_error";
	case 403:
		return "permission_error";
	case 404:
		return "not_found_error";
	case 413:
		return "request_too_large";
	case 429:
		return "rate_limit_error";
	case 503:
	case 529:
		return "overloaded_error";
	case 504:
		return "timeout_error";
	default:
		return code < 500 ? "invalid_request_error" : "api_error";
	}
}

void lmi_anthropic_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	char text[LMD_ERROR_TEXT + 256];

	/* the API has no place for the member at fault */
	(void)snprintf(text, sizeof(text), "%s%s%s", e->param ? e->param : "", e->param ? ": " : "",
		       e->text);
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "type", "error");
	lmi_json_text_key(out, "error");
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "type", error_type(e->code));
	lmi_http_json_put_text(out, "message", text);
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

static const char messages_body[] =
	"{\"type\":\"object\",\"required\":[\"max_tokens\",\"messages\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"max_tokens\":{\"type\":\"integer\"},"
	"\"messages\":{\"type\":\"array\",\"minItems\":1},"
	"\"system\":{\"type\":[\"string\",\"array\"]},\"stream\":{\"type\":\"boolean\"},"
	"\"temperature\":{\"type\":\"number\"},\"top_p\":{\"type\":\"number\"},"
	"\"top_k\":{\"type\":\"integer\"},\"stop_sequences\":{\"type\":\"array\"},"
	"\"tools\":{\"type\":\"array\"},\"tool_choice\":{\"type\":\"object\"},"
	"\"thinking\":{\"type\":\"object\"},\"output_config\":{\"type\":\"object\"}}}";

static const char count_body[] =
	"{\"type\":\"object\",\"required\":[\"messages\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"messages\":{\"type\":\"array\",\"minItems\":1},"
	"\"system\":{\"type\":[\"string\",\"array\"]},\"tools\":{\"type\":\"array\"}}}";

static const struct lmi_http_route routes[] = {
	{LMI_HTTP_POST, "/v1/messages", LMI_HTTP_USER, lmi_anthropic_messages,
	 "Continues a conversation.", messages_body,
	 "{\"type\":\"object\",\"properties\":{\"type\":{\"const\":\"message\"}}}"},
	{LMI_HTTP_POST, "/v1/messages/count_tokens", LMI_HTTP_USER, lmi_anthropic_count_tokens,
	 "Counts the tokens of a conversation.", count_body,
	 "{\"type\":\"object\",\"required\":[\"input_tokens\"]}"},
};

static const struct lmi_http_api api = {
	.name = "anthropic", .title = "Anthropic", .error = lmi_anthropic_error};

const struct lmi_http_routes lmi_anthropic_routes = {
	.api = &api, .v = routes, .n = LMD_LEN(routes)};
