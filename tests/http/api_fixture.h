/* SPDX-License-Identifier: MIT
 *
 * api_fixture.h - runs the translations and forms of the HTTP APIs without a server. */
#ifndef LLAMAD_TESTS_HTTP_API_FIXTURE_H
#define LLAMAD_TESTS_HTTP_API_FIXTURE_H

#include <jansson.h>

#include "daemon/http/generation.h"

/* Returns the translation of an endpoint, or NULL if the path is not that of a generation. */
lmi_http_translate_fn api_translation(const char *path);

/* Translates a body.  Returns {"request": {...}, "stream": true, "n_choice": 2}, with the request
 * as op generate would receive it and without members that have their default, or {"param":
 * "messages[0].role", "error": "..."}.  The caller decrefs it.  Aborts if the translation accepts a
 * request that the protocol would not. */
json_t *api_translate(const char *path, const json_t *body);

/* Runs the form of an answer: `choices` is a list of {"items": [...], "end": {...}}.  An item is a
 * list of its kind and its fields, such as ["token", 5, "text"], ["reasoning", "text"], ["call", 0,
 * "name", "id"], ["arguments", 0, "{"], ["call_end", 0, true]; a text that is not UTF-8 is written
 * {"hex": "ff"}.  Returns {"stream": "...", "whole": {...}}; the caller decrefs it. */
json_t *api_answer(const char *path, const json_t *body, const json_t *choices);

#endif /* LLAMAD_TESTS_HTTP_API_FIXTURE_H */
