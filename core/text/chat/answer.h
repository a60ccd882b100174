/* SPDX-License-Identifier: MIT
 *
 * answer.h - how the answer to a prompt is written, for those who take it apart (parse.h). */
#ifndef LLAMAD_CORE_TEXT_CHAT_ANSWER_H
#define LLAMAD_CORE_TEXT_CHAT_ANSWER_H

#include <stdbool.h>

#include "core/text/parse/parse.h"
#include "core/text/tokenizer.h"

/* Zeroed: nothing is known. */
struct lmi_chat_answer {
	/* NULL before it is found: the one whose markers stand in the template */
	const struct lmi_parse_format *format;
	bool tools;  /* the model was told of some: else calls without markers are none */
	bool thinks; /* it begins inside of a thought */
	struct lmi_tokens shown; /* control tokens that markers are made of, ascending: their text
				  * is part of the answer */
};

void lmi_chat_answer_fini(struct lmi_chat_answer *a);

/* A parse for it.  LMD_NOMEM. */
enum lmd_status lmi_chat_answer_parse(const struct lmi_chat_answer *a, struct lmi_parse **out,
				      lmi_out_fn fn, void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_ANSWER_H */
