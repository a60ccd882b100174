/* SPDX-License-Identifier: MIT
 *
 * talk.h - a conversation of `run`: the messages so far, and the prompt made from them. */
#ifndef LLAMAD_LLAMACTL_TALK_H
#define LLAMAD_LLAMACTL_TALK_H

#include "client/llamactl/chat_args.h"
#include "core/text/tokenizer.h"

struct lmi_chat_answer;
struct lmi_engine;
struct lmi_message;

/* A zeroed struct is an empty conversation. */
struct lmi_talk {
	struct lmi_message *m; /* [n]; the conversation owns their contents */
	uint32_t n, cap;
};

/* Begins with the system message, if there is one. */
enum lmd_status lmi_talk_begin(struct lmi_talk *t, const struct lmi_chat_args *args,
			       struct lmd_error *err);
/* Adds a message. role must be a constant; the text is copied. */
enum lmd_status lmi_talk_say(struct lmi_talk *t, const char *role, const char *text, size_t n,
			     struct lmd_error *err);
/* Encodes the prompt for the next answer. begin: add the vocabulary's begin token; how may be
 * NULL, see lmi_chat_encode. */
enum lmd_status lmi_talk_encode(const struct lmi_talk *t, const struct lmi_engine *e,
				const struct lmi_chat_args *args, bool begin,
				struct lmi_tokens *out, struct lmi_chat_answer *how,
				struct lmd_error *err);
void lmi_talk_fini(struct lmi_talk *t);

#endif /* LLAMAD_LLAMACTL_TALK_H */
