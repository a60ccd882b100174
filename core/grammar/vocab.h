/* SPDX-License-Identifier: MIT
 *
 * vocab.h - a vocabulary in the order of its texts, so that tokens with a common begin
 * stand together and are walked through once. */
#ifndef LLAMAD_GRAMMAR_VOCAB_H
#define LLAMAD_GRAMMAR_VOCAB_H

#include "core/grammar/cover.h"
#include "core/grammar/grammar.h"

/* One token that can be matched by its text. */
struct lmi_gtoken {
	uint32_t id;
	uint32_t text, n;  /* bytes text[text .. text + n), n >= 1 */
	uint32_t same;     /* bytes in common with the token before it */
};

/* What a token is made of; apart from the rest, since all are looked through at a time. */
struct lmi_gmade {
	uint64_t ascii[2]; /* which ASCII characters are in it */
	uint8_t n_chars;   /* 255: as many or more */
	bool high;         /* holds bytes of 0x80 and above */
	bool whole;        /* consists of whole characters of UTF-8 */
};

struct lmi_gvocab {
	uint32_t n;        /* ids */
	uint32_t n_words;  /* of a bit set of ids */
	uint32_t n_tokens; /* in order; without empty texts and ends of generation */
	struct lmi_gtoken *token;
	struct lmi_gmade *made; /* [n_tokens], in the same order */
	uint32_t first[257]; /* [b, b + 1): tokens that begin with byte b */
	char *text;
	uint32_t *place;  /* [n] in token, or UINT32_MAX */
	uint32_t longest; /* text, in bytes */
	uint64_t *all;    /* bit set of all ids */
	uint64_t *eog;    /* bit set */
	/* Bit set of what a negated token literal takes: tokens that begin with a complete
	 * character. */
	uint64_t *plain;
	struct lmi_cover usual; /* of what strings of JSON hold without an escape */
};

static inline bool lmi_bit(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void lmi_bit_set(uint64_t *set, uint32_t i)
{
	set[i / 64] |= 1ull << (i % 64);
}

#endif /* LLAMAD_GRAMMAR_VOCAB_H */
