/* SPDX-License-Identifier: MIT
 *
 * anthropic_impl.h - shared by the files of this folder. */
#ifndef LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_IMPL_H
#define LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_IMPL_H

#include "daemon/http/anthropic/anthropic.h"
#include "daemon/http/json_out.h"
#include "daemon/http/members.h"

enum lmi_anthropic_block {
	LMI_ANTHROPIC_NO_BLOCK,
	LMI_ANTHROPIC_TEXT,
	LMI_ANTHROPIC_THINKING,
	LMI_ANTHROPIC_TOOL_USE,
};

/* The state of the form. */
struct lmi_anthropic_state {
	struct lmd_arena *arena;
	struct lmd_str stop; /* the stop sequence, if there is only one; otherwise empty */
	enum lmi_anthropic_block block; /* the block that is open */
	uint32_t n_block;               /* blocks so far, including the open one */
	struct lmi_http_pieces pieces;  /* of the open block */
};

extern const struct lmi_http_form lmi_anthropic_form;

/* Reads `messages`; `system` was read before. */
void lmi_anthropic_read_messages(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v);
/* Reads `system` as the first message. */
void lmi_anthropic_read_system(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v);

/* Handlers. */
void lmi_anthropic_messages(struct lmi_http_exchange *x);
void lmi_anthropic_count_tokens(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_ANTHROPIC_ANTHROPIC_IMPL_H */
