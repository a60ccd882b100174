/* SPDX-License-Identifier: MIT
 *
 * answer.h - how the model writes its answer to a prompt, for the answer parser (parse.h). */
#ifndef LLAMAD_CORE_TEXT_CHAT_ANSWER_H
#define LLAMAD_CORE_TEXT_CHAT_ANSWER_H

#include <stdbool.h>

#include "core/text/parse/parse.h"
#include "core/text/tokenizer.h"

/* A zeroed struct means that nothing is known yet. */
struct lmi_chat_answer {
	/* NULL until known: the format whose markers occur in the chat template */
	const struct lmi_parse_format *format;
	bool tools;  /* the prompt offered tools; otherwise unmarked JSON is not a call */
	bool thinks; /* the answer starts inside the reasoning */
	struct lmi_tokens shown; /* control tokens that occur in markers, ascending: their text is
				  * part of the answer */
};

void lmi_chat_answer_fini(struct lmi_chat_answer *a);

/* Creates an answer parser for this format.  LMD_NOMEM. */
enum lmd_status lmi_chat_answer_parse(const struct lmi_chat_answer *a, struct lmi_parse **out,
				      lmi_out_fn fn, void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_ANSWER_H */
