/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-gpt: decoders with LayerNorm or with parallel blocks. */
#include "arch/gpt/gpt.h"
#include "llamad/plugin.h"

#define FACTORY(name_, ident)                                                                      \
	{.struct_size = sizeof(struct lmd_factory),                                                \
	 .kind = LMD_KIND_ARCH,                                                                    \
	 .name = name_,                                                                            \
	 .ops = &arch_##ident},

static const struct lmd_factory factories[] = {ARCH_GPT_LIST(FACTORY)};

LMD_PLUGIN_DEFINE("arch-gpt", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
