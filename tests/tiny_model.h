/* SPDX-License-Identifier: MIT
 *
 * tiny_model.h - small random models, written by the tests themselves: one of each kind of
 * memory that a sequence can have, and of each place of norms. */
#ifndef LLAMAD_TESTS_TINY_MODEL_H
#define LLAMAD_TESTS_TINY_MODEL_H

#include <stdint.h>

enum lmt_tiny {
	LMT_FULL,   /* llama: full attention */
	LMT_WINDOW, /* granite_swa: three of four layers see 8 tokens */
	LMT_STATE,  /* mamba2: recurrent states alone */
	LMT_HYBRID, /* jamba: states, and one layer of attention */
	LMT_SANDWICH, /* gemma3: a norm on either side of each block, one head of keys */
	LMT_WORDS     /* LMT_FULL with words in its vocabulary */
};
#define LMT_N_TINY 5 /* all but LMT_WORDS, which differs in its vocabulary alone */
#define LMT_VOCAB  96u
#define LMT_EMBD   64u
#define LMT_CTX	   256u

#define LMT_N_WORDS 9
extern const char *const lmt_words[LMT_N_WORDS];

const char *lmt_tiny_name(enum lmt_tiny kind);

/* LMT_FULL has a vocabulary: token i < 95 is the character 32 + i, the last ends a text.  In that
 * of LMT_WORDS the characters from '#' to '+' are lmt_words.  The others have none. */
#define LMT_EOS 95

/* Writes the file; ends the test when it cannot. */
void lmt_tiny_write(enum lmt_tiny kind, uint64_t seed, const char *path);

#endif /* LLAMAD_TESTS_TINY_MODEL_H */
