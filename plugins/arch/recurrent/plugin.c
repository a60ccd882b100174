/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-recurrent: models whose memory is a state of fixed size. */
#include "arch/recurrent/recurrent.h"
#include "llamad/plugin.h"

#define ARCH(arch_name, table)                                                                     \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH,                  \
		.name = arch_name, .ops = &table,                                                  \
	}

static const struct lmd_factory factories[] = {
	ARCH("mamba", arch_mamba),           ARCH("mamba2", arch_mamba2),
	ARCH("jamba", arch_jamba),           ARCH("rwkv6", arch_rwkv6),
	ARCH("rwkv6qwen2", arch_rwkv6qwen2), ARCH("rwkv7", arch_rwkv7),
	ARCH("arwkv7", arch_arwkv7),
};

LMD_PLUGIN_DEFINE("arch-recurrent", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
