/* SPDX-License-Identifier: MIT
 *
 * tiny_model.h - small random models, written by the tests: one for each kind of memory of a
 * sequence and for each norm placement. */
#ifndef LLAMAD_TESTS_TINY_MODEL_H
#define LLAMAD_TESTS_TINY_MODEL_H

#include <stdint.h>

enum lmt_tiny {
	LMT_FULL,   /* llama: full attention */
	LMT_WINDOW, /* granite_swa: three of four layers have a window of 8 tokens */
	LMT_STATE,  /* mamba2: only recurrent states */
	LMT_HYBRID, /* jamba: recurrent states and one attention layer */
	LMT_SANDWICH, /* gemma3: norms before and after each block, one key head */
	LMT_WORDS,    /* LMT_FULL with words in its vocabulary */
	LMT_SUPPRESS, /* LMT_FULL with a list of all tokens but LMT_ALLOWED that are not sampled */
	/* LMT_FULL with a classifier of two labels; it adds LMT_SEP and LMT_EOS to texts, and has
	 * tokens for infilling */
	LMT_RANK,
	LMT_GREEDY, /* LMT_FULL that recommends the temperature 0, and a top_k that is out of bounds */
	LMT_TALL,   /* LMT_FULL with 20 layers, so that its weights are more than four times as many */
	/* LMT_FULL with a draft layer (NextN), whose next tokens depend mostly on the last one, so that
	 * many guesses are right */
	LMT_NEXTN,
	/* a draft model for LMT_NEXTN (EAGLE-3) with that one's embedding and head, many of whose guesses are
	 * right; and one with its own, for two of three tokens */
	LMT_EAGLE3,
	LMT_EAGLE3_MAP,
	LMT_DFLASH, /* one that guesses blocks of four tokens, the first of which is often right */
	LMT_N_KIND
};
#define LMT_N_TINY 5 /* all before LMT_WORDS; the others differ in little */
#define LMT_VOCAB  96u
#define LMT_EMBD   64u
#define LMT_CTX	   256u
#define LMT_N_MAP  64u /* tokens of LMT_EAGLE3_MAP: token i stands for token i + i / 2 */

#define LMT_N_WORDS 9
extern const char *const lmt_words[LMT_N_WORDS];

const char *lmt_tiny_name(enum lmt_tiny kind);

/* LMT_FULL has a vocabulary: token i < 95 is the character 32 + i, the last one is the
 * end-of-generation token.  LMT_WORDS has lmt_words in place of the characters from '#' to '+'.
 * The others have no vocabulary. */
#define LMT_EOS 95
#define LMT_SEP 94 /* of LMT_RANK: "~" */
#define LMT_ALLOWED 33 /* "A" */

/* Keys that replace or extend those of the models that are written, without the architecture's
 * prefix; terminated by a row without a name.  NULL: none. */
struct lmt_tiny_key {
	const char *name;
	uint32_t type; /* LMD_META_I64, stored as u32, or LMD_META_BOOL */
	uint32_t value;
};
extern const struct lmt_tiny_key *lmt_tiny_keys;

/* Writes the file; fails the test if it cannot. */
void lmt_tiny_write(enum lmt_tiny kind, uint64_t seed, const char *path);

#endif /* LLAMAD_TESTS_TINY_MODEL_H */
