/* SPDX-License-Identifier: MIT
 *
 * said.h - one answer of the engine inside `run`: generated, written as it comes or collected, and
 * ended by Ctrl-C. */
#ifndef LLAMAD_LLAMACTL_SAID_H
#define LLAMAD_LLAMACTL_SAID_H

#include "client/llamactl/chat_args.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/spoken.h"
#include "core/text/chat/answer.h"
#include "core/text/tokenizer.h"

struct lmi_said {
	struct lmi_engine *e;
	struct lmi_spoken spoken;
	struct lmi_chat_answer how; /* format NULL: the answer is not parsed */
	struct lmi_parse *parse;
	struct lmd_error *parse_err; /* where a parse error is reported */
	enum lmd_status parse_st;
	struct lmi_tokens tokens; /* generated tokens */
	size_t n_kept;            /* prompt tokens that were kept; fewer than all if its end was
				   * healed */
	struct lmi_event done;
};

/* Generates after the given tokens, of which a->n_kept are kept, with the options of the command
 * line. LMD_CANCELLED: Ctrl-C; the answer so far is in *a. */
enum lmd_status lmi_said_generate(struct lmi_ctl *ctl, struct lmi_said *a,
				  const struct lmi_chat_args *args, const lmd_token *tokens,
				  size_t n_tokens, struct lmd_error *err);

void lmi_said_print_json(const struct lmi_said *a);
void lmi_said_fini(struct lmi_said *a);

#endif /* LLAMAD_LLAMACTL_SAID_H */
