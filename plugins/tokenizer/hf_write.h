/* SPDX-License-Identifier: MIT
 *
 * hf_write.h - writes the tokenizer.json equivalent to the vocabulary of a model file, for tests:
 * the same ids, merges, scores and special tokens, with steps that spell out what the kind does
 * implicitly. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H

#include "llamad/model.h"
#include "llamad/tokenizer.h"

/* info: of that vocabulary, opened as it is. Returns text that the caller frees, or NULL if its
 * kind or pre-tokenizer has no equivalent. */
char *hf_write(const struct lmd_tokspec *spec, const struct lmd_tok_info *info);

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H */
