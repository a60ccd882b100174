/* SPDX-License-Identifier: MIT
 *
 * generation.h - shared by `run` and `generate`: a request made from the options of answer_opts.h,
 * and its answer, printed as it comes and ended by Ctrl-C. */
#ifndef LLAMAD_LLAMACTL_GENERATION_H
#define LLAMAD_LLAMACTL_GENERATION_H

#include "client/llamactl/answer_logprobs.h"
#include "client/llamactl/answer_printer.h"
#include "client/llamactl/chat_args.h"
#include "core/text/tokenizer.h"
#include "llamad/client.h"
#include "proto/proto.h"

struct lmi_ctl_generation {
	struct lmi_ctl *ctl;
	struct lmi_ctl_chat_args chat;
	struct lmd_arena *arena; /* holds lists of the request */
	/* All but the prompt: each answer adds `prompt`, `tokens` or `messages`. */
	struct lmi_wire_request req;
	int32_t hold_ms; /* < 0: the server's default */
};

/* Reads the options. Release with fini, also after a failure. */
enum lmd_status lmi_ctl_generation_init(struct lmi_ctl_generation *g, struct lmi_ctl *ctl,
					struct lmd_error *err);
void lmi_ctl_generation_fini(struct lmi_ctl_generation *g);
/* Reads the options again, after one of them has changed; the model stays. */
enum lmd_status lmi_ctl_generation_update(struct lmi_ctl_generation *g, struct lmd_error *err);

/* Zero it, then set the members of `printer` that the caller chooses, and keep_tokens. */
struct lmi_ctl_answer {
	struct lmi_ctl_answer_printer printer;
	bool keep_tokens;
	struct lmi_text_token_buf tokens; /* of the answer, with keep_tokens */
	struct lmi_ctl_logprobs logprobs;
	struct lmd_item done;		  /* the last item */
	char id[33];			  /* of the stream */
};

/* Requests an answer and prints it. LMD_CANCELLED: Ctrl-C; *a has the answer so far. */
enum lmd_status lmi_ctl_generate(struct lmi_ctl_generation *g, struct lmi_ctl_answer *a,
				 struct lmd_error *err);
/* Requests the answer of an earlier stream again, in the same way. */
enum lmd_status lmi_ctl_replay(struct lmi_ctl *ctl, const char *id, struct lmi_ctl_answer *a,
			       struct lmd_error *err);
void lmi_ctl_answer_fini(struct lmi_ctl_answer *a);

/* Answers the prompt or, if it is NULL, all of standard input. show_id: --json includes the id of
 * the stream. */
enum lmd_status lmi_ctl_generate_once(struct lmi_ctl_generation *g, const char *prompt,
				      bool show_id, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_GENERATION_H */
