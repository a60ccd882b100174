/* SPDX-License-Identifier: MIT
 *
 * bpe_kind.h - shared by the kinds of this plugin: vocabulary, words, merges. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_BPE_BPE_KIND_H
#define LLAMAD_PLUGINS_TOKENIZER_BPE_BPE_KIND_H

#include "common/bpe.h"
#include "tokenizer/bpe/pretok.h"

struct bpe_state {
	struct lmi_tok tok; /* must be first */
	struct lmi_bpe bpe;
	struct pretok pre;
	bool escape_space;
	bool lowercase;     /* kind whitespace */
	bool dna;           /* kind hybriddna */
	uint32_t dna_begin, dna_end, dna_oov; /* tokens of kind hybriddna, or LMI_NONE */
};

/* Opens with the pre-tokenizer `pre` (NULL: the spec's, or "default" with a warning). text: how a
 * fragment is tokenised; NULL: bpe_text. def_bos: default begin and end id. */
enum lmd_status bpe_open(struct bpe_state *b, const struct lmd_host *host,
			 const struct lmd_tokspec *spec, const char *pre, int32_t def_bos,
			 struct lmd_tok_info *info, struct lmd_error *err);

/* Tokenises a fragment: escapes spaces if required, makes it canonical, splits it into words, and
 * merges them. */
enum lmd_status bpe_text(const struct lmi_tok *t, struct lmi_job *j, const char *s, size_t n);

/* Looks up the tokens of kind hybriddna. */
void bpe_dna_tokens(struct bpe_state *b);

extern const struct lmd_tokenizer_ops bpe_gpt2_ops;
extern const struct lmd_tokenizer_ops bpe_gemma4_ops;
extern const struct lmd_tokenizer_ops bpe_whitespace_ops;
extern const struct lmd_tokenizer_ops bpe_hybriddna_ops;

#endif /* LLAMAD_PLUGINS_TOKENIZER_BPE_BPE_KIND_H */
