/* SPDX-License-Identifier: MIT */
#include "llamad/plugin.h"

#include "tokenizer/spm/spm.h"

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "llama",
	.aliases = "spm\0",
	.state_bytes = sizeof(struct spm_state),
	.ops = &spm_ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-spm", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
