/* SPDX-License-Identifier: MIT
 *
 * vars.h - a conversation as variables of a template. */
#ifndef LLAMAD_CORE_TEXT_CHAT_VARS_H
#define LLAMAD_CORE_TEXT_CHAT_VARS_H

#include "core/text/chat/chat.h"
#include "core/text/template/template.h"

/* messages, tools, documents, add_generation_prompt, the arguments of the request, and the texts
 * of special tokens, in *out, a dictionary in the arena.  n_messages of in->messages count.
 * text_args: arguments of tool calls are texts, else objects. */
enum lmd_status lmi_chat_vars(struct lmi_tvalue *out, const struct lmi_chat_input *in,
			      uint32_t n_messages, bool text_args, const struct lmi_tokenizer *tok,
			      struct lmd_arena *arena, struct lmd_error *err);

/* Checks roles and counts, for those who want to know before it is rendered. */
enum lmd_status lmi_chat_check(const struct lmi_chat_input *in, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_VARS_H */
