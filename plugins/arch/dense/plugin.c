/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-dense: decoders that are a table over the shared decoder. */
#include "arch/dense/dense.h"
#include "llamad/plugin.h"

#define ARCH(name_, ops_)                                                                          \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH, .name = name_,   \
		.ops = &(ops_)                                                                     \
	}

static const struct lmd_factory factories[] = {
	ARCH("llama", lmi_arch_llama),
	ARCH("llama-embed", lmi_arch_llama_embed),
};

LMD_PLUGIN_DEFINE("arch-dense", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
