/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: Anthropic's API over HTTP (http_endpoint.c). */
#include <stddef.h>

#include "daemon/http/anthropic/anthropic.h"
#include "tests/fuzz/http_endpoint.h"

const struct lmi_http_routes *const fuzz_routes = &lmi_anthropic_routes;

const struct fuzz_body fuzz_bodies[] = {
	{"/v1/messages",
	 "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\","
	 "\"cache_control\":{\"type\":\"ephemeral\"}}]}],\"stop_sequences\":[\"x\"],\"thinking\":{\"type\":\"disabled\"}}"},
	{"/v1/messages/count_tokens",
	 "{\"model\":\"m\",\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"name\":\"f\","
	 "\"input_schema\":{\"type\":\"object\"}}]}"},
	{NULL, NULL},
};
