/* SPDX-License-Identifier: MIT */
#ifndef LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H
#define LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H

#include "common/tok.h"

struct spm_state {
	struct lmi_tok tok; /* first */
	/* token of a byte that no token covers; the unknown token if none */
	uint32_t byte_tok[256];
	uint64_t *joint;        /* 2^20 bits by joint_bit: a token has these two characters side by
				 * side; a text is cut where none has */
};

extern const struct lmd_tokenizer_ops spm_ops;

#endif /* LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H */
