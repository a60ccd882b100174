/* SPDX-License-Identifier: MIT
 *
 * cover.h - the tokens of a vocabulary that consist of some characters alone, and all others. */
#ifndef LLAMAD_GRAMMAR_COVER_H
#define LLAMAD_GRAMMAR_COVER_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_gvocab;

struct lmi_chars {
	uint64_t ascii[2];
	bool high; /* and all characters that are not ASCII */
};

bool lmi_chars_equal(const struct lmi_chars *a, const struct lmi_chars *b);

/* Lengths up to this one are told apart. */
#define LMI_COVER_CHARS 16

/* A token of the others. */
struct lmi_left {
	uint32_t token; /* index in the vocabulary's order */
	uint32_t same;  /* bytes in common with the one left before it */
};

struct lmi_cover {
	struct lmi_chars chars;
	uint64_t *mask;      /* bit set of the ids of those tokens */
	uint32_t *by_length; /* [n] them again, as indices in the vocabulary's order */
	uint32_t end[LMI_COVER_CHARS + 1]; /* by_length[0 .. end[k]) have at most k characters */
	uint32_t n;
	struct lmi_left *rest; /* [n_rest] the others */
	uint32_t n_rest;
};

/* Looks through the whole vocabulary; false: no memory, *c is empty. */
bool lmi_cover_init(struct lmi_cover *c, const struct lmi_gvocab *v, const struct lmi_chars *chars);
/* Zeroed allowed. */
void lmi_cover_fini(struct lmi_cover *c);
uint64_t lmi_cover_bytes(const struct lmi_cover *c, const struct lmi_gvocab *v);

#endif /* LLAMAD_GRAMMAR_COVER_H */
