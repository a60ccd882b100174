/* SPDX-License-Identifier: MIT
 *
 * prompt.h - the prompt of a conversation without an answer to it, for all APIs. */
#ifndef LLAMAD_DAEMON_HTTP_PROMPT_H
#define LLAMAD_DAEMON_HTTP_PROMPT_H

#include "core/base/json_text.h"
#include "daemon/http/exchange.h"
#include "daemon/http/generation.h"

/* Writes the answer: one JSON value. */
typedef void (*lmi_http_prompt_write_fn)(const struct lmi_wire_rep_apply_template *r,
					 struct lmi_json_text *out);

/* Reads the body of the exchange as a request for an answer, and responds with its prompt, or with
 * an error. */
void lmi_http_prompt(struct lmi_http_exchange *x, lmi_http_translate_fn translate,
		     lmi_http_prompt_write_fn write);

#endif /* LLAMAD_DAEMON_HTTP_PROMPT_H */
