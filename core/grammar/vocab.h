/* SPDX-License-Identifier: MIT
 *
 * vocab.h - a vocabulary sorted by token text, so that tokens with a common prefix are adjacent
 * and the prefix is matched once. */
#ifndef LLAMAD_GRAMMAR_VOCAB_H
#define LLAMAD_GRAMMAR_VOCAB_H

#include "core/grammar/class_tokens.h"
#include "core/grammar/grammar.h"

/* A token that can be matched by its text. */
struct lmi_gr_token {
	uint32_t id;
	uint32_t text, n;  /* bytes text[text .. text + n), n >= 1 */
	uint32_t n_shared; /* length of the prefix shared with the previous token */
};

/* What a token's text contains. Kept apart from struct lmi_gr_token because all of these are
 * scanned together. */
struct lmi_gr_token_chars {
	uint64_t ascii[2]; /* which ASCII characters it contains */
	uint8_t n_chars;   /* 255: that many or more */
	bool non_ascii;    /* contains bytes of 0x80 and above */
	bool complete;     /* consists of complete UTF-8 characters */
};

struct lmi_grammar_vocab {
	uint32_t n;        /* number of ids */
	uint32_t n_words;  /* words of a bit set of ids */
	uint32_t n_tokens; /* sorted tokens, without empty texts and end-of-generation tokens */
	struct lmi_gr_token *token;
	struct lmi_gr_token_chars *chars; /* [n_tokens], in the order of token */
	uint32_t first[257];              /* [b, b + 1): tokens that start with byte b */
	char *text;
	uint32_t *rank;   /* [n] index in token, or UINT32_MAX */
	uint32_t longest; /* length of the longest text in bytes */
	uint64_t *all;    /* bit set of all ids */
	uint64_t *eog;    /* bit set of the end-of-generation tokens */
	/* Bit set of the tokens that a negated token literal accepts: those that start with a
	 * complete character. */
	uint64_t *starts_with_char;
	/* for the characters that may appear unescaped in a JSON string */
	struct lmi_gr_class_tokens json_string;
};

static inline bool lmi_gr_bit(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void lmi_gr_bit_set(uint64_t *set, uint32_t i)
{
	set[i / 64] |= 1ull << (i % 64);
}

#endif /* LLAMAD_GRAMMAR_VOCAB_H */
