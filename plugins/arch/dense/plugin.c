/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-dense: dense decoders, most of them only a table for the shared decoder. */
#include "arch/dense/dense.h"
#include "llamad/plugin.h"

#define FACTORY(name_, ident)                                                                      \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH, .name = name_,   \
		.ops = &lmi_arch_##ident                                                           \
	},

static const struct lmd_factory factories[] = {LMI_DENSE_LIST(FACTORY)};

LMD_PLUGIN_DEFINE("arch-dense", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
