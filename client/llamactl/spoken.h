/* SPDX-License-Identifier: MIT
 *
 * spoken.h - what an answer consists of, written as it comes or kept for --json: text, thoughts
 * and calls of tools. */
#ifndef LLAMAD_LLAMACTL_SPOKEN_H
#define LLAMAD_LLAMACTL_SPOKEN_H

#include "client/llamactl/chat_args.h"
#include "client/llamactl/json_out.h"
#include "core/text/tokenizer.h"

struct lmi_spoken_call;

/* Zeroed, with what the caller wants. */
struct lmi_spoken {
	bool json;     /* nothing is written as it comes */
	bool keep;     /* text is kept as well */
	bool apart;    /* the answer was taken apart */
	bool thoughts; /* are written */
	bool dim;      /* ... so that they look like ones */
	struct lmi_text text, thinking;
	struct lmi_spoken_call *calls; /* [n_call] */
	uint32_t n_call;
	bool thinks; /* what was written last is a thought */
	char last;   /* byte that was written; 0: none yet */
};

/* By --raw, --special, --grammar, --tools: is the answer to be taken apart? */
bool lmi_spoken_wanted(const struct lmi_args *a, const struct lmi_chat_args *chat);
/* By --json, --show-thinking and --hide-thinking: a terminal shows thoughts, others do not. */
enum lmd_status lmi_spoken_init(struct lmi_spoken *s, struct lmi_ctl *ctl, struct lmd_error *err);
void lmi_spoken_fini(struct lmi_spoken *s);

enum lmd_status lmi_spoken_text(struct lmi_spoken *s, const char *p, size_t n,
				struct lmd_error *err);
enum lmd_status lmi_spoken_thought(struct lmi_spoken *s, const char *p, size_t n,
				   struct lmd_error *err);
enum lmd_status lmi_spoken_call(struct lmi_spoken *s, struct lmd_str name, struct lmd_str id,
				struct lmd_error *err);
/* Of the call that began last. */
enum lmd_status lmi_spoken_args(struct lmi_spoken *s, const char *p, size_t n,
				struct lmd_error *err);
/* Writes it, as a line of JSON. */
enum lmd_status lmi_spoken_call_end(struct lmi_spoken *s, bool complete, struct lmd_error *err);

/* After it: a newline if the answer has none; one that failed before its first byte is nothing. */
void lmi_spoken_end_line(struct lmi_spoken *s, enum lmd_status st);
/* Members text and, taken apart, thinking and tool_calls. */
void lmi_spoken_json(const struct lmi_spoken *s, struct lmi_json *j);

#endif /* LLAMAD_LLAMACTL_SPOKEN_H */
