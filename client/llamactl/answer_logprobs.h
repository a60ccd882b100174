/* SPDX-License-Identifier: MIT
 *
 * answer_logprobs.h - collects the log probabilities of an answer and of its prompt for --json. */
#ifndef LLAMAD_CLIENT_LLAMACTL_ANSWER_LOGPROBS_H
#define LLAMAD_CLIENT_LLAMACTL_ANSWER_LOGPROBS_H

#include "client/llamactl/json_out.h"
#include "core/text/tokenizer.h"
#include "llamad/client.h"

struct lmi_ctl_logprob;

/* A zeroed struct is empty. */
struct lmi_ctl_logprobs {
	struct lmi_ctl_logprob *v; /* [n], room for cap */
	uint32_t n, cap;
	struct lmi_text_byte_buf text;
};

/* Adds a token of the answer or of the prompt; does nothing for other items, and for a token of an
 * answer without log probabilities. */
enum lmd_status lmi_ctl_logprobs_add(struct lmi_ctl_logprobs *l, const struct lmd_item *it,
				     struct lmd_error *err);
/* Writes the members prompt and logprobs, each if there are any. */
void lmi_ctl_logprobs_json(const struct lmi_ctl_logprobs *l, struct lmi_ctl_json *j);
void lmi_ctl_logprobs_fini(struct lmi_ctl_logprobs *l);

#endif /* LLAMAD_CLIENT_LLAMACTL_ANSWER_LOGPROBS_H */
