/* SPDX-License-Identifier: MIT
 *
 * anthropic.h - the messages API of Anthropic.
 *
 * A member that the API does not know is refused by name, as the API itself does.  The budget of
 * `thinking` has no effect: models decide how long they think. */
#ifndef LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_H
#define LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_H

#include <jansson.h>

#include "daemon/http/generation.h"
#include "daemon/http/route.h"

extern const struct lmi_http_routes lmi_anthropic_routes;

/* The pure parts, for tests. */
enum lmd_status lmi_anthropic_translate(struct lmi_http_generation *out, const json_t *body,
					struct lmd_arena *arena, const char **param,
					struct lmd_error *err);
void lmi_anthropic_error(struct lmi_json_text *out, const struct lmi_http_error *e);

#endif /* LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_H */
