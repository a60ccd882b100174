/* SPDX-License-Identifier: MIT
 *
 * The member `timings` of an answer, as llama.cpp's server has it: how long its parts took, and which
 * tokens were not computed. */
#include "daemon/http/timings.h"

#include <stdio.h>

#include "daemon/http/json_out.h"

/* Writes the time of n tokens under names that begin with `what`. */
static void put_times(struct lmi_json_text *j, const char *what, uint32_t n, uint64_t ns)
{
	double ms = (double)ns / 1e6;
	char key[48];

	(void)snprintf(key, sizeof(key), "%s_n", what);
	lmi_http_json_put_int(j, key, n);
	(void)snprintf(key, sizeof(key), "%s_ms", what);
	lmi_http_json_put_real(j, key, ms);
	(void)snprintf(key, sizeof(key), "%s_per_token_ms", what);
	lmi_http_json_put_real(j, key, n ? ms / n : 0);
	(void)snprintf(key, sizeof(key), "%s_per_second", what);
	lmi_http_json_put_real(j, key, ns ? n / (ms / 1e3) : 0);
}

void lmi_http_put_timings(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	lmi_json_text_key(j, "timings");
	lmi_json_text_object(j);
	if (end->queue_ns)
		lmi_http_json_put_real(j, "queue_ms", (double)end->queue_ns / 1e6);
	lmi_http_json_put_int(j, "cache_n", end->n_cached);
	if (end->broke_at)
		lmi_http_json_put_int(j, "prefix_broke_at", end->broke_at);
	if (end->n_pinned)
		lmi_http_json_put_int(j, "pinned_n", end->n_pinned);
	if (end->n_shift)
		lmi_http_json_put_int(j, "shift_n", end->n_shift);
	if (end->n_forced)
		lmi_http_json_put_int(j, "forced_n", end->n_forced);
	put_times(j, "prompt", end->n_prompt > end->n_cached ? end->n_prompt - end->n_cached : 0,
		  end->prompt_ns);
	put_times(j, "predicted", end->n_out, end->out_ns);
	if (end->n_drafted) {
		lmi_http_json_put_int(j, "draft_n", end->n_drafted);
		lmi_http_json_put_int(j, "draft_n_accepted", end->n_accepted);
	}
	lmi_json_text_end(j);
}
