/* SPDX-License-Identifier: MIT
 *
 * prompt.h - a generate request as an engine understands it: tokens, samplers, stop texts. */
#ifndef LLAMAD_SERVICE_PROMPT_H
#define LLAMAD_SERVICE_PROMPT_H

#include "core/engine/constrain.h"
#include "core/engine/engine.h"
#include "core/text/chat/answer.h"
#include "core/text/tokenizer.h"
#include "proto/proto.h"

/* The request goes through a chat template: off the loop's thread. */
bool lmi_prompt_is_chat(const struct lmi_engine *e, const struct lmi_req_generate *q);
/* The request's prompt as tokens, and how its answer is written, when that is asked for.  Any
 * thread. */
enum lmd_status lmi_prompt_encode(const struct lmi_engine *e, const struct lmi_req_generate *q,
				  struct lmi_tokens *out, struct lmi_chat_answer *answer,
				  struct lmd_error *err);
/* Can the model take so many?  Said before it is their turn. */
enum lmd_status lmi_prompt_check(const struct lmi_engine *e, const struct lmi_tokens *t,
				 struct lmd_error *err);

/* Its grammar, and the end of the prompt that it heals: what was taken back is cut off *prompt.
 * *out NULL: there is nothing to keep to.  Off the loop's thread, if it wants any of this. */
bool lmi_prompt_is_constrained(const struct lmi_req_generate *q);
enum lmd_status lmi_prompt_constrain(struct lmi_engine *e, const struct lmi_req_generate *q,
				     struct lmi_tokens *prompt, struct lmi_constraint **out,
				     struct lmd_error *err);

struct lmi_prompt {
	uint64_t seed;
	const lmd_token *tokens;
	size_t n_tokens;
	uint64_t n_max, n_default; /* bounds of the answer */
	struct lmi_constraint *constraint;
	const struct lmi_tokens *shown; /* control tokens that are written out */
};
/* Gives the engine the command `cmd`, and the constraint with it when that is LMD_OK. */
enum lmd_status lmi_prompt_run(struct lmi_engine *e, uint64_t cmd, const struct lmi_req_generate *q,
			       const struct lmi_prompt *p, struct lmd_error *err);

#endif /* LLAMAD_SERVICE_PROMPT_H */
