/* SPDX-License-Identifier: MIT
 *
 * llamacpp.h - the native API of llama.cpp's server.
 *
 * Numbers out of range become the nearest allowed one, and members that it does not know are
 * ignored, as that server does it; values of the wrong type are refused by name. */
#ifndef LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_H
#define LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_H

#include <jansson.h>

#include "daemon/http/generation.h"
#include "daemon/http/route.h"

extern const struct lmi_http_routes lmi_llamacpp_routes;

/* The pure parts, for tests. */
enum lmd_status lmi_llamacpp_translate(struct lmi_http_generation *out, const json_t *body,
				       struct lmd_arena *arena, const char **param,
				       struct lmd_error *err);
enum lmd_status lmi_llamacpp_translate_infill(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err);
void lmi_llamacpp_error(struct lmi_json_text *out, const struct lmi_http_error *e);

#endif /* LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_H */
