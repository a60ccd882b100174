/* SPDX-License-Identifier: MIT
 *
 * heal.h - goes on with a text that may end in the middle of what should be one token.
 *
 * A prompt that ends in "http:" ends in the token ":", and models hardly ever saw "//" behind that
 * token: they know "://".  Healing takes such tokens back; what is generated then must begin with
 * their bytes, in whichever tokens.
 *
 *     n = lmi_heal_begin(&h, t, ids, n, 3);
 *     while (!lmi_heal_done(&h))
 *             ... sample among the tokens that lmi_heal_allows, then lmi_heal_take it ...
 *
 * Owned by one thread.  Nothing is allocated. */
#ifndef LLAMAD_CORE_TEXT_HEAL_H
#define LLAMAD_CORE_TEXT_HEAL_H

#include "core/text/tokenizer.h"

#define LMI_HEAL_BYTES 256

struct lmi_heal {
	const struct lmi_tokenizer *t;
	size_t n, at;              /* bytes that must come, and have come */
	char text[LMI_HEAL_BYTES];
};

/* Of the last max_back tokens takes back as many as together are the beginning of some longer
 * token; none that are special, and at most LMI_HEAL_BYTES.  Returns how many ids are left.  Looks
 * at the whole vocabulary up to max_back times. */
size_t lmi_heal_begin(struct lmi_heal *h, const struct lmi_tokenizer *t, const lmd_token *ids,
		      size_t n, size_t max_back);

static inline bool lmi_heal_done(const struct lmi_heal *h)
{
	return h->at == h->n;
}

/* Does the token begin with what must come, or is it the beginning of that?  Any token when all
 * has come. */
bool lmi_heal_allows(const struct lmi_heal *h, lmd_token id);

/* The token was generated; it is one of those allowed. */
void lmi_heal_take(struct lmi_heal *h, lmd_token id);

#endif /* LLAMAD_CORE_TEXT_HEAL_H */
