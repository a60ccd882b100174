/* SPDX-License-Identifier: MIT
 *
 * logprobs.h - log probabilities of tokens in answers, in the forms that several APIs share. */
#ifndef LLAMAD_DAEMON_HTTP_LOGPROBS_H
#define LLAMAD_DAEMON_HTTP_LOGPROBS_H

#include "daemon/http/generation.h"

enum lmi_http_logprobs_form {
	LMI_HTTP_LOGPROBS_OPENAI,  /* token, logprob, bytes, top_logprobs */
	LMI_HTTP_LOGPROBS_LLAMACPP, /* also id */
	LMI_HTTP_LOGPROBS_SAMPLED, /* of llama.cpp: id, token, bytes, prob, top_probs */
};

/* Writes the object of one token; n >= 1 entries, the first of which is the token itself. */
void lmi_http_put_logprobs(struct lmi_json_text *j, const struct lmi_wire_token_logprob *v,
			   uint32_t n, enum lmi_http_logprobs_form form);
/* Writes the objects of those tokens that have log probabilities. */
void lmi_http_put_logprobs_list(struct lmi_json_text *j, const struct lmi_http_answer_token *v,
				uint32_t n, enum lmi_http_logprobs_form form);

#endif /* LLAMAD_DAEMON_HTTP_LOGPROBS_H */
