/* SPDX-License-Identifier: MIT
 *
 * conversation.h - a conversation of `run`: the messages so far, and the prompt made from them. */
#ifndef LLAMAD_CLIENT_LLAMACTL_CONVERSATION_H
#define LLAMAD_CLIENT_LLAMACTL_CONVERSATION_H

#include "client/llamactl/chat_args.h"
#include "core/text/tokenizer.h"

struct lmi_chat_answer_format;
struct lmi_engine;
struct lmi_chat_message;

/* A zeroed struct is an empty conversation. */
struct lmi_ctl_conversation {
	struct lmi_chat_message *m; /* [n]; the conversation owns their contents */
	uint32_t n, cap;
};

/* Begins with the system message, if there is one. */
enum lmd_status lmi_ctl_conversation_begin(struct lmi_ctl_conversation *t,
					   const struct lmi_ctl_chat_args *args,
					   struct lmd_error *err);
/* Adds a message. role must be a constant; the text is copied. */
enum lmd_status lmi_ctl_conversation_add(struct lmi_ctl_conversation *t, const char *role,
					 const char *text, size_t n, struct lmd_error *err);
/* Encodes the prompt for the next answer. begin: add the vocabulary's begin token; answer_format
 * may be NULL, see lmi_chat_encode. */
enum lmd_status lmi_ctl_conversation_encode(const struct lmi_ctl_conversation *t,
					    const struct lmi_engine *e,
					    const struct lmi_ctl_chat_args *args, bool begin,
					    struct lmi_text_token_buf *out,
					    struct lmi_chat_answer_format *answer_format,
					    struct lmd_error *err);
void lmi_ctl_conversation_fini(struct lmi_ctl_conversation *t);

#endif /* LLAMAD_CLIENT_LLAMACTL_CONVERSATION_H */
