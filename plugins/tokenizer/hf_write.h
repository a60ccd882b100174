/* SPDX-License-Identifier: MIT
 *
 * hf_write.h - the tokenizer.json that a vocabulary of a model file would have had, for tests: the
 * same ids, merges, scores and special tokens, with steps that say what the kind does by itself. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H

#include "llamad/model.h"
#include "llamad/tokenizer.h"

/* info: of that vocabulary, opened as it is.  The text is the caller's to free; NULL: there is no
 * such file for its kind or pre-tokenizer. */
char *hf_write(const struct lmd_tokspec *spec, const struct lmd_tok_info *info);

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_WRITE_H */
