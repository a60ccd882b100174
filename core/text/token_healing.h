/* SPDX-License-Identifier: MIT
 *
 * token_healing.h - token healing: continues a prompt that may end in the middle of what should be
 * one token.
 *
 * A prompt that ends in "http:" ends in the token ":", but models hardly ever saw "//" after that
 * token, because their training text had "://".  Token healing takes such tokens back; the text
 * generated next must then begin with their bytes, in whichever tokens.
 *
 *     n = lmi_heal_begin(&h, t, ids, n, 3);
 *     while (!lmi_heal_done(&h))
 *             ... sample among the tokens that lmi_heal_allows, then lmi_heal_accept it ...
 *
 * Owned by one thread.  Allocates nothing. */
#ifndef LLAMAD_CORE_TEXT_TOKEN_HEALING_H
#define LLAMAD_CORE_TEXT_TOKEN_HEALING_H

#include "core/text/tokenizer.h"

#define LMI_HEAL_BYTES_MAX 256

struct lmi_token_healing {
	const struct lmi_tokenizer *t;
	size_t n, at;              /* required bytes, and how many of them were generated */
	char text[LMI_HEAL_BYTES_MAX];
};

/* Takes back as many of the last max_back tokens as together are a proper prefix of some longer
 * token.  Never takes back control tokens, nor more than LMI_HEAL_BYTES_MAX.  Returns how many ids
 * are left.  Searches the whole vocabulary up to max_back times. */
size_t lmi_heal_begin(struct lmi_token_healing *h, const struct lmi_tokenizer *t,
		      const lmd_token *ids, size_t n, size_t max_back);

static inline bool lmi_heal_done(const struct lmi_token_healing *h)
{
	return h->at == h->n;
}

/* Whether the token's text starts with the bytes that are still required, or is a prefix of them.
 * Any token is allowed when no bytes are left. */
bool lmi_heal_allows(const struct lmi_token_healing *h, lmd_token id);

/* Records that this token was generated; it must be an allowed one. */
void lmi_heal_accept(struct lmi_token_healing *h, lmd_token id);

#endif /* LLAMAD_CORE_TEXT_TOKEN_HEALING_H */
