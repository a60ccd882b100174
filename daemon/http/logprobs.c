/* SPDX-License-Identifier: MIT */
#include "daemon/http/logprobs.h"

#include <math.h>

#include "daemon/http/json_out.h"

/* Writes the members of one entry. */
static void put_entry(struct lmi_json_text *j, const struct lmi_wire_token_logprob *v,
		      enum lmi_http_logprobs_form form)
{
	if (form != LMI_HTTP_LOGPROBS_OPENAI)
		lmi_http_json_put_int(j, "id", v->token);
	lmi_http_json_put_str(j, "token", v->text);
	if (form == LMI_HTTP_LOGPROBS_SAMPLED)
		lmi_http_json_put_real(j, "prob", exp(v->logprob));
	else
		lmi_http_json_put_real(j, "logprob", v->logprob);
	lmi_json_text_key(j, "bytes");
	lmi_json_text_array(j);
	for (size_t i = 0; i < v->text.len; i++)
		lmi_json_text_int(j, (unsigned char)v->text.ptr[i]);
	lmi_json_text_end(j);
}

void lmi_http_put_logprobs(struct lmi_json_text *j, const struct lmi_wire_token_logprob *v,
			   uint32_t n, enum lmi_http_logprobs_form form)
{
	lmi_json_text_object(j);
	put_entry(j, &v[0], form);
	lmi_json_text_key(j, form == LMI_HTTP_LOGPROBS_SAMPLED ? "top_probs" : "top_logprobs");
	lmi_json_text_array(j);
	for (uint32_t i = 1; i < n; i++) {
		lmi_json_text_object(j);
		put_entry(j, &v[i], form);
		lmi_json_text_end(j);
	}
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

void lmi_http_put_logprobs_list(struct lmi_json_text *j, const struct lmi_http_answer_token *v,
				uint32_t n, enum lmi_http_logprobs_form form)
{
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < n; i++)
		if (v[i].n_logprobs)
			lmi_http_put_logprobs(j, v[i].logprobs, v[i].n_logprobs, form);
	lmi_json_text_end(j);
}
