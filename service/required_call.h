/* SPDX-License-Identifier: MIT
 *
 * required_call.h - the constraint of an answer that must consist of tool calls. */
#ifndef LLAMAD_SERVICE_REQUIRED_CALL_H
#define LLAMAD_SERVICE_REQUIRED_CALL_H

#include <stdbool.h>

#include "core/text/chat/chat.h"
#include "proto/proto.h"

struct lmi_svc_required_call {
	char *text;          /* on the heap (free) */
	bool structural_tag; /* otherwise a JSON schema */
};

/* A control token of the vocabulary that occurs in markers, and its text. */
struct lmi_svc_marker_token {
	lmd_token id;
	struct lmd_str text;
};

/* Makes the constraint of a request with required_call.  The calls are written in the format of the
 * answer if the format says how, with the tokens among its markers.  Otherwise they are JSON, and
 * answer->format becomes that of calls as JSON.  Any thread.
 * tokens: [n_token] those of answer->shown
 * LMD_INVALID: the tools are not a list of functions, or none has the name. */
enum lmd_status lmi_svc_required_call_make(struct lmi_svc_required_call *out,
					   const struct lmi_wire_req_generate *q,
					   struct lmi_chat_answer_format *answer,
					   const struct lmi_svc_marker_token *tokens, size_t n_token,
					   struct lmd_error *err);

#endif /* LLAMAD_SERVICE_REQUIRED_CALL_H */
