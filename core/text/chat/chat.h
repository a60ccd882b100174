/* SPDX-License-Identifier: MIT
 *
 * chat.h - a conversation becomes a prompt: through the chat template of the model, or another
 * one, to text and to tokens.
 *
 * Templates and what is filled into them are untrusted.  Rendering is bounded (template.h) and
 * slow enough to be kept off a loop's thread.  Control tokens of the prompt come from the
 * template alone, see controls.h. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CHAT_H
#define LLAMAD_CORE_TEXT_CHAT_CHAT_H

#include <stdbool.h>
#include <time.h>

#include "core/text/chat/answer.h"
#include "core/text/tokenizer.h"
#include "llamad/model.h"

#define LMI_CHAT_MESSAGES_MAX 4096

/* Members that are absent have ptr NULL. */
struct lmi_message {
	struct lmd_str role; /* system, developer, user, assistant, tool, function */
	struct lmd_str content;
	struct lmd_str reasoning;    /* what an assistant thought */
	struct lmd_str name;         /* of a tool, or who speaks */
	struct lmd_str tool_calls;   /* JSON array, of an assistant */
	struct lmd_str tool_call_id; /* that a tool answers */
};

struct lmi_chat_input {
	const struct lmi_message *messages; /* [n_messages], at least 1 */
	uint32_t n_messages;
	struct lmd_str tools; /* JSON array, or ptr NULL */
	struct lmd_str args;  /* JSON object: further variables of the template, or ptr NULL */
	/* ptr NULL: the template of the model.  A name: that variant of the model's, or a
	 * built-in one (builtin.h).  Anything with "{" in it: the text of a template. */
	struct lmd_str template;
	struct tm now; /* for templates that tell the date */
};

/* What a model brings for conversations; immutable, for any number of threads. */
struct lmi_chat;

/* model and tok outlive it.  A template that is not one fails nobody before it is used. */
enum lmd_status lmi_chat_create(struct lmi_chat **out, const struct lmd_model *model,
				const struct lmi_tokenizer *tok, struct lmd_error *err);
/* NULL allowed. */
void lmi_chat_destroy(struct lmi_chat *c);

/* The model has a template of its own. */
bool lmi_chat_has_template(const struct lmi_chat *c);

/* The prompt, up to where the answer begins; an assistant's message at the end is the beginning
 * of the answer.  *own: [out->n], 1 for bytes that the template wrote; the caller frees it.
 * LMD_INVALID: the template or a message, and why; LMD_NOTFOUND: no such template. */
enum lmd_status lmi_chat_render(const struct lmi_chat *c, const struct lmi_chat_input *in,
				struct lmi_text *out, uint8_t **own, struct lmd_error *err);
/* The same as tokens, in place of what `out` held.  begin: with the token that the vocabulary
 * wants at the beginning, unless the template wrote it.  answer, NULL allowed: is told how the
 * answer is written, by the template that is used or, when it says nothing, by the model's own. */
enum lmd_status lmi_chat_encode(const struct lmi_chat *c, const struct lmi_chat_input *in,
				bool begin, struct lmi_tokens *out, struct lmi_chat_answer *answer,
				struct lmd_error *err);

/* How the answer to a plain text is written that goes through no template. */
enum lmd_status lmi_chat_answer(const struct lmi_chat *c, struct lmd_str prompt,
				struct lmi_chat_answer *answer, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CHAT_H */
