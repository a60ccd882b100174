/* SPDX-License-Identifier: MIT */
#ifndef LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H
#define LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H

#include "common/tokenizer_base.h"

struct spm_state {
	struct tok_tokenizer_base tok; /* must be first */
	/* token for a byte that no token covers, or the unknown token */
	uint32_t byte_token[256];
	uint64_t *joint; /* 2^20 bits indexed by joint_bit: some token contains these two adjacent
			  * characters; text is split where none does */
};

extern const struct lmd_tokenizer_ops spm_ops;

#endif /* LLAMAD_PLUGINS_TOKENIZER_SPM_SPM_H */
