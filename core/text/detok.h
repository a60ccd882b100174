/* SPDX-License-Identifier: MIT
 *
 * detok.h - converts tokens to bytes one at a time, as they are generated.
 *
 * A UTF-8 character may be spread over several tokens.  Bytes that the next token could complete to
 * a character are held back, at most three.  Bytes that cannot be part of a valid character are
 * passed through unchanged, so that everything that goes in comes out, in order.  Unless the
 * vocabulary cleans up spaces, the concatenated output is what decoding the whole list gives.
 *
 * Owned by one thread.  Allocates nothing. */
#ifndef LLAMAD_CORE_TEXT_DETOK_H
#define LLAMAD_CORE_TEXT_DETOK_H

#include "core/text/tokenizer.h"

/* Flags: LMD_DECODE_UNPARSE_SPECIAL, and */
#define LMI_DETOK_STRIP_LEADING_SPACE                                                              \
	0x100u /* the first token starts a text: strip its leading space if the
				* vocabulary adds one there */

struct lmi_detok {
	const struct lmi_tokenizer *t;
	uint32_t flags;
	const lmd_token *shown; /* [n_shown], ascending: always written out, whatever the flags
				 * are */
	size_t n_shown;
	uint32_t n_held;
	char held[4];
};

void lmi_detok_init(struct lmi_detok *d, const struct lmi_tokenizer *t, uint32_t flags);

/* Writes these control tokens out as well.  ids must be in ascending order and outlive d. */
void lmi_detok_set_visible(struct lmi_detok *d, const lmd_token *ids, size_t n);
bool lmi_detok_is_visible(const struct lmi_detok *d, lmd_token id);

/* Bytes that the `out` buffer of the functions below must hold. */
size_t lmi_detok_max_bytes(const struct lmi_tokenizer *t);

/* Writes the complete characters and returns their length in bytes; 0 for an id outside the
 * vocabulary. */
size_t lmi_detok_feed(struct lmi_detok *d, lmd_token id, char *out);

/* Writes the bytes that are held back, complete or not. */
size_t lmi_detok_flush(struct lmi_detok *d, char *out);

/* Number of bytes at the end of s[0..n) that start an incomplete character: 0..3. */
size_t lmi_text_utf8_incomplete_tail(const char *s, size_t n);

#endif /* LLAMAD_CORE_TEXT_DETOK_H */
