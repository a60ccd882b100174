/* SPDX-License-Identifier: MIT
 *
 * template_vars.h - a conversation as the variables of a template. */
#ifndef LLAMAD_CORE_TEXT_CHAT_TEMPLATE_VARS_H
#define LLAMAD_CORE_TEXT_CHAT_TEMPLATE_VARS_H

#include "core/text/chat/chat.h"
#include "core/jinja/template.h"

/* Sets *out to a dictionary, allocated in the arena, of messages, tools, documents,
 * add_generation_prompt, the request's template arguments, and the texts of special tokens.  Only
 * the first n_messages of in->messages are included.
 * text_args: pass the arguments of tool calls as strings; otherwise as objects. */
enum lmd_status lmi_chat_vars(struct lmi_jinja_value *out, const struct lmi_chat_input *in,
			      uint32_t n_messages, bool text_args, const struct lmi_tokenizer *tok,
			      struct lmd_arena *arena, struct lmd_error *err);

/* Checks the number of messages and their roles, for callers that want to reject a request before
 * rendering it. */
enum lmd_status lmi_chat_check(const struct lmi_chat_input *in, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_TEMPLATE_VARS_H */
