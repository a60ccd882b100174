/* SPDX-License-Identifier: MIT
 *
 * detok.h - tokens to bytes, one by one, as they are generated.
 *
 * A character may be spread over tokens.  What might become a character with the next token
 * is held back, at most three bytes; bytes that cannot are given out as they are, so that
 * everything that went in comes out, in order.  Without cleaning of spaces, the sum of what
 * is given out is what decoding of the whole list gives.
 *
 * Owned by one thread.  Nothing is allocated. */
#ifndef LLAMAD_CORE_TEXT_DETOK_H
#define LLAMAD_CORE_TEXT_DETOK_H

#include "core/text/tokenizer.h"

/* Flags: LMD_DECODE_UNPARSE_SPECIAL, and: */
#define LMI_DETOK_BEGIN 0x100u /* the first token begins a text: its leading space is not given
				* out where the vocabulary puts one there */

struct lmi_detok {
	const struct lmi_tokenizer *t;
	uint32_t flags;
	const lmd_token *shown; /* [n_shown], ascending: written out whatever the flags say */
	size_t n_shown;
	uint32_t n_held;
	char held[4];
};

void lmi_detok_init(struct lmi_detok *d, const struct lmi_tokenizer *t, uint32_t flags);

/* These control tokens are written out, too; ids, ascending, outlive it. */
void lmi_detok_show(struct lmi_detok *d, const lmd_token *ids, size_t n);
bool lmi_detok_shows(const struct lmi_detok *d, lmd_token id);

/* Bytes that `out` of the functions below must hold. */
size_t lmi_detok_room(const struct lmi_tokenizer *t);

/* Writes what is complete and returns its length; 0 for an id outside of the vocabulary. */
size_t lmi_detok_add(struct lmi_detok *d, lmd_token id, char *out);

/* Writes what is held back, complete or not. */
size_t lmi_detok_flush(struct lmi_detok *d, char *out);

/* Bytes at the end of s[0..n) that begin a character which is not complete: 0..3. */
size_t lmi_utf8_partial(const char *s, size_t n);

#endif /* LLAMAD_CORE_TEXT_DETOK_H */
