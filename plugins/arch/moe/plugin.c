/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-moe: decoders with mixtures of experts. */
#include "arch/moe/moe.h"
#include "llamad/plugin.h"

#define FACTORY(name_, ident)                                                                      \
	{.struct_size = sizeof(struct lmd_factory),                                                \
	 .kind = LMD_KIND_ARCH,                                                                    \
	 .name = name_,                                                                            \
	 .ops = &arch_##ident},

static const struct lmd_factory factories[] = {ARCH_MOE_LIST(FACTORY)};

LMD_PLUGIN_DEFINE("arch-moe", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
