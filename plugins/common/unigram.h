/* SPDX-License-Identifier: MIT
 *
 * unigram.h - unigram tokenization: of all ways to segment a text into tokens, finds the one with
 * the greatest sum of scores (log probabilities). */
#ifndef LLAMAD_PLUGINS_COMMON_UNIGRAM_H
#define LLAMAD_PLUGINS_COMMON_UNIGRAM_H

#include "common/tokenizer_base.h"
#include "common/trie.h"

struct tok_unigram {
	const struct tok_vocab *vocab;
	struct tok_trie trie;  /* normal, user-defined and unused tokens */
	double *score;         /* [n]; 0 for user-defined tokens */
	double unknown_score;  /* score of a character without a token */
	/* set by the caller before tok_unigram_open, for vocabularies of tokenizer.json: */
	const double *exact; /* [n] scores that replace the spec's; every token of the model then
			      * has its score and can match. NULL otherwise */
	bool byte_fallback;  /* unknown text becomes <0xNN> tokens */
	uint32_t byte_token[256];
	int32_t unk; /* -1 = the unknown token of the vocabulary */
};

/* Reads scores and attributes as the file states them, so call it before tok_vocab_finish. */
enum lmd_status tok_unigram_open(struct tok_unigram *u, const struct tok_vocab *v,
				 struct lmd_error *err);
void tok_unigram_close(struct tok_unigram *u);

/* Emits the tokens of a normalised text. Adjacent characters without a token become one unknown
 * token, or bytes. Sums are in double precision. Uses j->buf[0..1]. */
enum lmd_status tok_unigram_text(const struct tok_unigram *u, struct tok_encode_job *j,
				 const char *s, size_t n);

#endif /* LLAMAD_PLUGINS_COMMON_UNIGRAM_H */
