/* SPDX-License-Identifier: MIT */
#include "llamad/plugin.h"

#include "tokenizer/bpe/bpe_kind.h"

static const struct lmd_factory factories[] = {
	{
		.struct_size = sizeof(struct lmd_factory),
		.kind = LMD_KIND_TOKENIZER,
		.name = "gpt2",
		.aliases = "bpe\0",
		.state_bytes = sizeof(struct bpe_state),
		.ops = &bpe_gpt2_ops,
	},
	{
		.struct_size = sizeof(struct lmd_factory),
		.kind = LMD_KIND_TOKENIZER,
		.name = "gemma4",
		.state_bytes = sizeof(struct bpe_state),
		.ops = &bpe_gemma4_ops,
	},
};

LMD_PLUGIN_DEFINE("tokenizer-bpe", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
