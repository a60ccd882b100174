/* SPDX-License-Identifier: MIT
 *
 * local_generate.h - one answer of the engine inside `run`: generated, written as it comes or
 * collected, and ended by Ctrl-C. */
#ifndef LLAMAD_CLIENT_LLAMACTL_LOCAL_GENERATE_H
#define LLAMAD_CLIENT_LLAMACTL_LOCAL_GENERATE_H

#include "client/llamactl/chat_args.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/answer_printer.h"
#include "core/text/chat/chat.h"
#include "core/text/tokenizer.h"

struct lmi_ctl_local_answer {
	struct lmi_engine *e;
	struct lmi_ctl_answer_printer printer;
	struct lmi_chat_answer_format answer_format; /* format NULL: the answer is not parsed */
	struct lmi_answer_parser *parse;
	struct lmd_error *parse_err; /* where a parse error is reported */
	enum lmd_status parse_st;
	struct lmi_text_token_buf tokens; /* generated tokens */
	size_t n_prompt_kept; /* prompt tokens that were kept; fewer than all if its end was
				   * healed */
	struct lmi_engine_event done;
};

/* Generates after the given tokens, of which a->n_kept are kept, with the options of the command
 * line. LMD_CANCELLED: Ctrl-C; the answer so far is in *a. */
enum lmd_status lmi_ctl_local_generate(struct lmi_ctl *ctl, struct lmi_ctl_local_answer *a,
				       const struct lmi_ctl_chat_args *args,
				       const lmd_token *tokens, size_t n_tokens,
				       struct lmd_error *err);

void lmi_ctl_local_answer_json(const struct lmi_ctl_local_answer *a);
void lmi_ctl_local_answer_fini(struct lmi_ctl_local_answer *a);

#endif /* LLAMAD_CLIENT_LLAMACTL_LOCAL_GENERATE_H */
