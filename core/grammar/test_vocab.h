/* SPDX-License-Identifier: MIT
 *
 * test_vocab.h - the vocabulary of the parity pack: the bytes, an end token, and three special
 * tokens. */
#ifndef LLAMAD_GRAMMAR_TEST_VOCAB_H
#define LLAMAD_GRAMMAR_TEST_VOCAB_H

#include <string.h>

#include "llamad/sampler.h"

static inline size_t test_piece(const void *ctx, lmd_token id, char *out, size_t cap)
{
	static const char *const words[] = {"<|end|>", "<|tool|>", "<think>", "</think>"};
	size_t n;

	(void)ctx;
	if (id < 256) {
		if (cap)
			out[0] = (char)id;
		return 1;
	}
	n = strlen(words[id - 256]);
	memcpy(out, words[id - 256], n < cap ? n : cap);
	return n;
}

static const int32_t test_end[] = {256};
static const struct lmd_sample_vocab test_vocab = {.struct_size = sizeof(test_vocab),
						   .n_tokens = 260,
						   .piece = test_piece,
						   .eog = test_end,
						   .n_eog = 1,
						   .eot = -1,
						   .eos = 256,
						   .nl = 10};

#endif /* LLAMAD_GRAMMAR_TEST_VOCAB_H */
