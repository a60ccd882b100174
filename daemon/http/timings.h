/* SPDX-License-Identifier: MIT
 *
 * timings.h - times and counts of an answer in the APIs of OpenAI and llama.cpp. */
#ifndef LLAMAD_DAEMON_HTTP_TIMINGS_H
#define LLAMAD_DAEMON_HTTP_TIMINGS_H

#include "core/base/json_text.h"
#include "daemon/http/generation.h"

/* Writes the member `timings`: queue_ms from the arrival of the request to its first step unless queue_ns is 0,
 * cache_n tokens of the prompt that were not computed again, times of the prompt (prompt_*) and of the answer (predicted_*), and
 * as far as there are any: forced_n tokens that a grammar left no choice about, guessed ones (draft_*), and
 * what became of the prefix cache. */
void lmi_http_put_timings(struct lmi_json_text *j, const struct lmi_http_answer_end *end);

#endif /* LLAMAD_DAEMON_HTTP_TIMINGS_H */
