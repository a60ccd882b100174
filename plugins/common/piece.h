/* SPDX-License-Identifier: MIT
 *
 * piece.h - the bytes of one token. */
#ifndef LLAMAD_PLUGINS_COMMON_PIECE_H
#define LLAMAD_PLUGINS_COMMON_PIECE_H

#include "common/tok.h"

/* Caller's memory that stores as much as fits; n counts all bytes, including those that do not
 * fit. */
struct lmi_sink {
	char *p;
	size_t cap, n;
	size_t skip;          /* bytes to leave out first; not counted */
};

void lmi_sink_put(struct lmi_sink *s, const char *p, size_t n);

/* Appends the piece of a token of the vocabulary. special: write control tokens as text. */
void lmi_piece(const struct lmi_tok *t, uint32_t id, bool special, struct lmi_sink *s);

#endif /* LLAMAD_PLUGINS_COMMON_PIECE_H */
