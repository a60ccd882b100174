/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-streams: decoders with several residual streams. */
#include "arch/streams/streams.h"
#include "llamad/plugin.h"

#define ARCH(arch_name, table)                                                                     \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH,                  \
		.name = arch_name, .ops = &table,                                                  \
	}

static const struct lmd_factory factories[] = {
	ARCH("deepseek4", arch_deepseek4),
	ARCH("gemma3n", arch_gemma3n),
	ARCH("qwen4exp", arch_qwen4exp),
};

LMD_PLUGIN_DEFINE("arch-streams", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
