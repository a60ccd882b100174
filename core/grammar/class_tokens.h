/* SPDX-License-Identifier: MIT
 *
 * class_tokens.h - the tokens of a vocabulary that consist only of characters of a given set (class
 * tokens), and all remaining tokens. */
#ifndef LLAMAD_CORE_GRAMMAR_CLASS_TOKENS_H
#define LLAMAD_CORE_GRAMMAR_CLASS_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_grammar_vocab;

struct lmi_gr_char_set {
	uint64_t ascii[2];
	bool non_ascii; /* also contains all non-ASCII characters */
};

bool lmi_gr_char_set_equal(const struct lmi_gr_char_set *a, const struct lmi_gr_char_set *b);

/* Tokens of up to this many characters are grouped by exact length. */
#define LMI_GR_CLASS_TOKEN_CHARS_MAX 16

/* A token that is not made only of the characters of the set. */
struct lmi_gr_remaining_token {
	uint32_t token;    /* index in the vocabulary's sorted order */
	uint32_t n_shared; /* bytes shared with the previous remaining token */
};

struct lmi_gr_class_tokens {
	struct lmi_gr_char_set chars;
	uint64_t *mask;      /* bit set of the token ids that consist of chars only */
	uint32_t *by_length; /* [n] the tokens of mask as indices in the sorted order */
	uint32_t end[LMI_GR_CLASS_TOKEN_CHARS_MAX +
		     1]; /* by_length[0 .. end[k]) have at most k characters */
	uint32_t n;
	struct lmi_gr_remaining_token *remaining; /* [n_rest] all other tokens */
	uint32_t n_remaining;
};

/* Scans the whole vocabulary. Returns false if out of memory; *c is then empty. */
bool lmi_gr_class_tokens_init(struct lmi_gr_class_tokens *c, const struct lmi_grammar_vocab *v,
			      const struct lmi_gr_char_set *chars);
/* *c may be zeroed. */
void lmi_gr_class_tokens_fini(struct lmi_gr_class_tokens *c);
uint64_t lmi_gr_class_tokens_bytes(const struct lmi_gr_class_tokens *c,
				   const struct lmi_grammar_vocab *v);

#endif /* LLAMAD_CORE_GRAMMAR_CLASS_TOKENS_H */
