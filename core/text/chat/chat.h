/* SPDX-License-Identifier: MIT
 *
 * chat.h - turns a conversation into a prompt, as text and as tokens, with the model's chat
 * template or another one.
 *
 * Templates and the values they print are untrusted.  Rendering is bounded (template.h), but too
 * slow for an event loop's thread.  Only the template can place control tokens in the prompt, see
 * control_tokens.h. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CHAT_H
#define LLAMAD_CORE_TEXT_CHAT_CHAT_H

#include <stdbool.h>
#include <time.h>

#include "core/text/chat/answer_format.h"
#include "core/text/tokenizer.h"
#include "llamad/model.h"

#define LMI_CHAT_MESSAGES_MAX 4096

/* Absent members have ptr NULL. */
struct lmi_chat_message {
	struct lmd_str role; /* system, developer, user, assistant, tool, function */
	struct lmd_str content;
	struct lmd_str reasoning;    /* the assistant's reasoning */
	struct lmd_str name;         /* name of the tool or of the speaker */
	struct lmd_str tool_calls;   /* JSON array; assistant messages only */
	struct lmd_str tool_call_id; /* the call that a tool message answers */
};

struct lmi_chat_input {
	const struct lmi_chat_message *messages; /* [n_messages], at least 1 */
	uint32_t n_messages;
	struct lmd_str tools; /* JSON array, or ptr NULL */
	struct lmd_str args;  /* JSON object: additional template variables, or ptr NULL */
	/* Which template to use.  ptr NULL: the model's own.  A name: that variant of the model's
	 * template, or a built-in one (builtin_templates.h).  Anything that contains "{": the text
	 * of a template. */
	struct lmd_str template;
	struct tm now; /* current time, for templates that print the date */
};

/* A model's chat template and control tokens.  Immutable; may be used by any number of threads. */
struct lmi_chat;

/* model and tok must outlive it.  A malformed template is not an error here, only when it is
 * used. */
enum lmd_status lmi_chat_create(struct lmi_chat **out, const struct lmd_model *model,
				const struct lmi_tokenizer *tok, struct lmd_error *err);
/* NULL allowed. */
void lmi_chat_destroy(struct lmi_chat *c);

/* Whether the model has a chat template of its own. */
bool lmi_chat_has_template(const struct lmi_chat *c);

/* Renders the prompt up to where the answer begins.  If the last message is the assistant's, its
 * text is the beginning of the answer.  *own: [out->n], 1 for each byte that the template wrote;
 * caller frees.  LMD_INVALID if the template or a message is invalid; LMD_NOTFOUND if there is no
 * such template. */
enum lmd_status lmi_chat_render(const struct lmi_chat *c, const struct lmi_chat_input *in,
				struct lmi_text_byte_buf *out, uint8_t **own,
				struct lmd_error *err);
/* Renders the prompt and encodes it; the result replaces the content of `out`.
 * begin: add the BOS token if the vocabulary wants one and the template did not write it.
 * answer: NULL allowed; receives the answer format, found from the template in use or, if that says
 * nothing, from the model's own. */
enum lmd_status lmi_chat_encode(const struct lmi_chat *c, const struct lmi_chat_input *in,
				bool begin, struct lmi_text_token_buf *out,
				struct lmi_chat_answer_format *answer, struct lmd_error *err);

/* Finds the answer format for a plain prompt that no template rendered. */
enum lmd_status lmi_chat_find_answer_format(const struct lmi_chat *c, struct lmd_str prompt,
					    struct lmi_chat_answer_format *answer,
					    struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CHAT_H */
