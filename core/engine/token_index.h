/* SPDX-License-Identifier: MIT
 *
 * token_index.h - finds where in a text the last tokens of a sequence occurred before.
 *
 * A place of a text is the index of one of its tokens. The places where the same two tokens end form
 * a chain, the latest first. The text itself belongs to the caller, who may append to it. */
#ifndef LLAMAD_CORE_ENGINE_TOKEN_INDEX_H
#define LLAMAD_CORE_ENGINE_TOKEN_INDEX_H

#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_ENGINE_NO_PLACE UINT32_MAX

/* A zeroed index is empty and has no room. */
struct lmi_engine_token_index {
	uint32_t *head; /* [n_head] by hash: the latest place + 1; 0: none */
	uint32_t *prev; /* [cap] the place before in the chain + 1; 0: none */
	uint32_t n_head, cap;
};

/* Prepares an index for a text of at most `cap` tokens, which is below UINT32_MAX; LMD_NOMEM. Memory
 * that is not written to is not used (alloc.h). */
enum lmd_status lmi_engine_token_index_init(struct lmi_engine_token_index *x, uint32_t cap);
void lmi_engine_token_index_fini(struct lmi_engine_token_index *x);
/* Forgets all places. Allocates nothing. */
void lmi_engine_token_index_clear(struct lmi_engine_token_index *x);
/* Adds the places [from, to) of a text. Allocates nothing. */
void lmi_engine_token_index_add(struct lmi_engine_token_index *x, const lmd_token *text,
				uint32_t from, uint32_t to);
/* Returns the place of text[n_text] before which most tokens agree with the last of tokens[n], more
 * than *length (at least 1), and sets *length to their number; LMI_ENGINE_NO_PLACE if there is none. Of
 * equally good places it is the latest. At least one token of the text follows it. Examines a bounded
 * number of places and tokens. */
uint32_t lmi_engine_token_index_find(const struct lmi_engine_token_index *x, const lmd_token *text,
				     uint32_t n_text, const lmd_token *tokens, uint32_t n,
				     uint32_t *length);

/* Returns the token that follows such a place, if it is none of avoid[n_avoid]; -1 if there is none. */
lmd_token lmi_engine_token_index_other(const struct lmi_engine_token_index *x, const lmd_token *text,
				       uint32_t n_text, const lmd_token *tokens, uint32_t n,
				       const lmd_token *avoid, uint32_t n_avoid, uint32_t *length);

#endif /* LLAMAD_CORE_ENGINE_TOKEN_INDEX_H */
