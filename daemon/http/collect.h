/* SPDX-License-Identifier: MIT
 *
 * collect.h - collects the items of a generation into one answer. */
#ifndef LLAMAD_DAEMON_HTTP_COLLECT_H
#define LLAMAD_DAEMON_HTTP_COLLECT_H

#include "daemon/http/generation.h"

struct lmi_http_collected_call;

/* Tokens with their text and their log probabilities. */
struct lmi_http_collected_tokens {
	struct lmi_wire_buf heads, entries, text;
};

/* Zeroed at the beginning. */
struct lmi_http_collected {
	struct lmi_wire_buf text, reasoning;
	struct lmi_http_collected_tokens tokens, prompt;
	struct lmi_http_collected_call *calls; /* [n_call] */
	uint32_t n_call, cap_call;
};

/* Adds an item that is not final.  Returns false if out of memory. */
bool lmi_http_collected_add(struct lmi_http_collected *c, const struct lmi_wire_item *item);
/* Describes the answer, except for its end.  It is valid until the next change.  Returns false if
 * out of memory. */
bool lmi_http_collected_answer(const struct lmi_http_collected *c, struct lmd_arena *arena,
			       struct lmi_http_answer *out);
/* Takes the counts, times and settings of an item done; memory comes from the arena.  Without memory there are
 * no settings. */
void lmi_http_collect_end(struct lmi_http_answer_end *out, const struct lmi_wire_item *item,
			  struct lmd_arena *arena);
void lmi_http_collected_fini(struct lmi_http_collected *c);

#endif /* LLAMAD_DAEMON_HTTP_COLLECT_H */
