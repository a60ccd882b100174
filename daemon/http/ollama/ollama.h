/* SPDX-License-Identifier: MIT
 *
 * ollama.h - the API of Ollama.
 *
 * Unknown members and options are ignored, and numbers out of range become the nearest allowed one,
 * as Ollama does it.  keep_alive of a generation has no effect: it belongs to op load. */
#ifndef LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_H
#define LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_H

#include <jansson.h>

#include "daemon/http/generation.h"
#include "daemon/http/route.h"

/* The version of Ollama's API that is answered here; clients compare it with what they need. */
#define LMI_OLLAMA_API_VERSION "0.12.6"

extern const struct lmi_http_routes lmi_ollama_routes;

/* The pure parts, for tests. */
enum lmd_status lmi_ollama_translate_chat(struct lmi_http_generation *out, const json_t *body,
					  struct lmd_arena *arena, const char **param,
					  struct lmd_error *err);
enum lmd_status lmi_ollama_translate_generate(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err);
void lmi_ollama_error(struct lmi_json_text *out, const struct lmi_http_error *e);

#endif /* LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_H */
