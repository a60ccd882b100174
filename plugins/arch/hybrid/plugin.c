/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-hybrid: decoders with attention in some layers and recurrent states in others. */
#include "arch/hybrid/hybrid.h"
#include "llamad/plugin.h"

#define FACTORY(name_, ident)                                                                      \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH, .name = name_,   \
		.ops = &lmi_arch_##ident                                                           \
	},

static const struct lmd_factory factories[] = {LMI_HYBRID_LIST(FACTORY)};

LMD_PLUGIN_DEFINE("arch-hybrid", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
