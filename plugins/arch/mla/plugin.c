/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-mla: decoders with latent attention. */
#include "arch/mla/mla.h"
#include "llamad/plugin.h"

#define ARCH(arch_name, table)                                                                     \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH,                  \
		.name = arch_name, .ops = &table,                                                  \
	}

static const struct lmd_factory factories[] = {
	ARCH("deepseek2", arch_deepseek2),   ARCH("mistral4", arch_mistral4),
	ARCH("minicpm3", arch_minicpm3),     ARCH("plm", arch_plm),
	ARCH("deepseek32", arch_deepseek32), ARCH("glm-dsa", arch_glm_dsa),
	ARCH("dots3note", arch_dots3note),   ARCH("hy_v4", arch_hy_v4),
};

LMD_PLUGIN_DEFINE("arch-mla", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
