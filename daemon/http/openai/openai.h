/* SPDX-License-Identifier: MIT
 *
 * openai.h - the API of OpenAI: chat completions, completions, responses, embeddings
 * and models.
 *
 * Bodies are those of the API reference, with the extensions of llama.cpp's server and of vLLM.
 * Where a parameter is absent, the default of llamad applies, except that max_tokens of completions
 * defaults to 16.  A member that the API does not know is refused by name. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_H
#define LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_H

#include <jansson.h>

#include "daemon/http/generation.h"
#include "daemon/http/route.h"

extern const struct lmi_http_routes lmi_openai_routes;

/* The pure parts, for tests. */
enum lmd_status lmi_openai_translate_chat(struct lmi_http_generation *out, const json_t *body,
					  struct lmd_arena *arena, const char **param,
					  struct lmd_error *err);
enum lmd_status lmi_openai_translate_completion(struct lmi_http_generation *out, const json_t *body,
						struct lmd_arena *arena, const char **param,
						struct lmd_error *err);
enum lmd_status lmi_openai_translate_response(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err);
void lmi_openai_error(struct lmi_json_text *out, const struct lmi_http_error *e);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_H */
