/* SPDX-License-Identifier: MIT
 *
 * cover.h - the tokens of a vocabulary that consist only of characters of a given set (class
 * tokens), and all remaining tokens. */
#ifndef LLAMAD_GRAMMAR_COVER_H
#define LLAMAD_GRAMMAR_COVER_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_gvocab;

struct lmi_chars {
	uint64_t ascii[2];
	bool high; /* also contains all non-ASCII characters */
};

bool lmi_chars_equal(const struct lmi_chars *a, const struct lmi_chars *b);

/* Tokens of up to this many characters are grouped by exact length. */
#define LMI_COVER_CHARS 16

/* A token that is not made only of the characters of the set. */
struct lmi_left {
	uint32_t token; /* index in the vocabulary's sorted order */
	uint32_t same;  /* bytes shared with the previous remaining token */
};

struct lmi_cover {
	struct lmi_chars chars;
	uint64_t *mask;      /* bit set of the token ids that consist of chars only */
	uint32_t *by_length; /* [n] the tokens of mask as indices in the sorted order */
	uint32_t end[LMI_COVER_CHARS + 1]; /* by_length[0 .. end[k]) have at most k characters */
	uint32_t n;
	struct lmi_left *rest; /* [n_rest] all other tokens */
	uint32_t n_rest;
};

/* Scans the whole vocabulary. Returns false if out of memory; *c is then empty. */
bool lmi_cover_init(struct lmi_cover *c, const struct lmi_gvocab *v, const struct lmi_chars *chars);
/* *c may be zeroed. */
void lmi_cover_fini(struct lmi_cover *c);
uint64_t lmi_cover_bytes(const struct lmi_cover *c, const struct lmi_gvocab *v);

#endif /* LLAMAD_GRAMMAR_COVER_H */
