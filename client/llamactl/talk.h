/* SPDX-License-Identifier: MIT
 *
 * talk.h - a conversation of `run`: what was said so far, and the prompt it makes. */
#ifndef LLAMAD_LLAMACTL_TALK_H
#define LLAMAD_LLAMACTL_TALK_H

#include "client/llamactl/chat_args.h"
#include "core/text/tokenizer.h"

struct lmi_chat_answer;
struct lmi_engine;
struct lmi_message;

/* Zeroed = nothing was said. */
struct lmi_talk {
	struct lmi_message *m; /* [n]; their contents are the talk's */
	uint32_t n, cap;
};

/* With the system's message, if there is one. */
enum lmd_status lmi_talk_begin(struct lmi_talk *t, const struct lmi_chat_args *args,
			       struct lmd_error *err);
/* role is a constant; the text is copied. */
enum lmd_status lmi_talk_say(struct lmi_talk *t, const char *role, const char *text, size_t n,
			     struct lmd_error *err);
/* The prompt for the next answer; begin: with the vocabulary's begin token; how, NULL allowed: as
 * for lmi_chat_encode. */
enum lmd_status lmi_talk_encode(const struct lmi_talk *t, const struct lmi_engine *e,
				const struct lmi_chat_args *args, bool begin,
				struct lmi_tokens *out, struct lmi_chat_answer *how,
				struct lmd_error *err);
void lmi_talk_fini(struct lmi_talk *t);

#endif /* LLAMAD_LLAMACTL_TALK_H */
