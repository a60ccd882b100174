/* SPDX-License-Identifier: MIT
 *
 * piece.h - the bytes of one token. */
#ifndef LLAMAD_PLUGINS_COMMON_PIECE_H
#define LLAMAD_PLUGINS_COMMON_PIECE_H

#include "common/tokenizer_base.h"

/* Caller's memory that stores as much as fits; n counts all bytes, including those that do not
 * fit. */
struct tok_byte_sink {
	char *p;
	size_t cap, n;
	size_t skip;          /* bytes to leave out first; not counted */
};

void tok_sink_put(struct tok_byte_sink *s, const char *p, size_t n);

/* Appends the piece of a token of the vocabulary. special: write control tokens as text. */
void tok_piece_put(const struct tok_tokenizer_base *t, uint32_t id, bool special,
		   struct tok_byte_sink *s);

#endif /* LLAMAD_PLUGINS_COMMON_PIECE_H */
