/* SPDX-License-Identifier: MIT */
#include "llamad/plugin.h"

#include "tokenizer/bpe/bpe_kind.h"

#define KIND(name_, aliases_, ops_)                                                                \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_TOKENIZER,             \
		.name = name_, .aliases = aliases_, .state_bytes = sizeof(struct bpe_state),       \
		.ops = &ops_                                                                       \
	}

static const struct lmd_factory factories[] = {
	KIND("gpt2", "bpe\0", bpe_gpt2_ops),
	KIND("gemma4", NULL, bpe_gemma4_ops),
	KIND("whitespace", NULL, bpe_whitespace_ops),
	KIND("hybriddna", NULL, bpe_hybriddna_ops),
};

#undef KIND

LMD_PLUGIN_DEFINE("tokenizer-bpe", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
