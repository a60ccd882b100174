/* SPDX-License-Identifier: MIT
 *
 * prompt.h - converts a generate request for an engine: tokens, samplers, stop sequences. */
#ifndef LLAMAD_SERVICE_PROMPT_H
#define LLAMAD_SERVICE_PROMPT_H

#include "core/engine/constrain.h"
#include "core/engine/engine.h"
#include "core/text/chat/chat.h"
#include "core/text/tokenizer.h"
#include "proto/proto.h"
#include "service/limits.h"
#include "service/pictures.h"

/* Returns whether the request needs a chat template and so must be encoded in another thread than
 * the loop's. */
bool lmi_svc_prompt_is_chat(const struct lmi_engine *e, const struct lmi_wire_req_generate *q);
/* Reads the pictures of the request's messages, tokenises its prompt and, if the request has parse, finds the format of the answer.
 * Any thread. */
enum lmd_status lmi_svc_prompt_encode(const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_svc_pictures *pictures, struct lmi_text_token_buf *out,
				      struct lmi_chat_answer_format *answer, struct lmd_error *err);
/* Renders the request's conversation as text, with LMI_SVC_PICTURE_SHOWN in the place of each picture; the
 * result replaces the content of `out`.  Any thread. */
enum lmd_status lmi_svc_prompt_render(const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_text_byte_buf *out, struct lmd_error *err);
enum lmi_engine_class lmi_svc_prompt_class(const struct lmi_wire_req_generate *q);
/* Checks that the prompt fits into the context and is within the limits; called before the generation is queued. */
enum lmd_status lmi_svc_prompt_check(const struct lmi_engine *e, const struct lmi_text_token_buf *t,
				     const struct lmi_service_limits *l,
				     struct lmd_error *err);

/* Prepares the grammar and token healing; tokens to be healed are removed from the end of *prompt.
 * resumed: the tokens of the answer that an earlier run has taken.
 * answer: the format of the answer; with required_call, it may become that of calls as JSON.
 * *out is NULL if the request has neither.  If lmi_svc_prompt_is_constrained(), call it in another
 * thread than the loop's. */
bool lmi_svc_prompt_is_constrained(const struct lmi_wire_req_generate *q);
enum lmd_status lmi_svc_prompt_constrain(struct lmi_engine *e,
					 const struct lmi_wire_req_generate *q,
					 struct lmi_text_token_buf *prompt,
					 const struct lmi_text_token_buf *resumed,
					 struct lmi_chat_answer_format *answer,
					 struct lmi_engine_constraint **out, struct lmd_error *err);

struct lmi_sampler_params;
struct lmi_svc_settings; /* settings.h */

struct lmi_svc_prompt {
	uint64_t seed;
	const lmd_token *tokens;
	size_t n_tokens;
	int32_t adapter; /* slot of the engine; 0: none */
	uint64_t client; /* the user, with whom nobody shares a count of what was served */
	uint64_t tenant; /* with whom rows are shared */
	uint64_t n_max, n_default; /* maximum and default length of the answer */
	const struct lmi_svc_pictures *pictures;
	const struct lmi_text_token_buf *prediction;
	uint32_t draft_max; /* unless the request says otherwise */
	struct lmi_engine_constraint *constraint;
	const struct lmi_sampler_params *defaults; /* of sampling parameters that are missing */
	const struct lmi_text_token_buf
		*shown; /* control tokens whose text is part of the answer */
	bool resumable; /* fail unless another run can go on where this one stops */
	const struct lmi_text_token_buf *resumed; /* tokens that an earlier run has taken */
	struct lmi_svc_settings *used; /* is filled; NULL: not wanted */
};
/* Submits the command `cmd` to the engine.  On success the engine takes the constraint. */
enum lmd_status lmi_svc_prompt_run(struct lmi_engine *e, uint64_t cmd,
				   const struct lmi_wire_req_generate *q,
				   const struct lmi_svc_prompt *p, struct lmd_error *err);

#endif /* LLAMAD_SERVICE_PROMPT_H */
