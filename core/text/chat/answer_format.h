/* SPDX-License-Identifier: MIT
 *
 * answer_format.h - how the model writes its answer to a prompt, for the answer parser (parse.h). */
#ifndef LLAMAD_CORE_TEXT_CHAT_ANSWER_FORMAT_H
#define LLAMAD_CORE_TEXT_CHAT_ANSWER_FORMAT_H

#include <stdbool.h>

#include "core/text/answer/parser.h"
#include "core/text/tokenizer.h"

/* A zeroed struct means that nothing is known yet. */
struct lmi_chat_answer_format {
	/* NULL until known: the format whose markers occur in the chat template */
	const struct lmi_answer_format *format;
	bool tools;  /* the prompt offered tools; otherwise unmarked JSON is not a call */
	bool thinks; /* the answer starts inside the reasoning */
	struct lmi_text_token_buf
		shown; /* control tokens that occur in markers, ascending: their text is
				  * part of the answer */
};

void lmi_chat_answer_format_fini(struct lmi_chat_answer_format *a);

/* Creates an answer parser for this format.  LMD_NOMEM. */
enum lmd_status lmi_chat_answer_parser_create(const struct lmi_chat_answer_format *a,
					      struct lmi_answer_parser **out,
					      lmi_answer_event_fn fn, void *arg,
					      struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_ANSWER_FORMAT_H */
