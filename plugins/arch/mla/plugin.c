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
	ARCH("deepseek2", lmi_arch_deepseek2),
	ARCH("mistral4", lmi_arch_mistral4),
	ARCH("minicpm3", lmi_arch_minicpm3),
	ARCH("plm", lmi_arch_plm),
	ARCH("deepseek32", lmi_arch_deepseek32),
	ARCH("glm-dsa", lmi_arch_glm_dsa),
	ARCH("dots3note", lmi_arch_dots3note),
	ARCH("hy_v4", lmi_arch_hy_v4),
};

LMD_PLUGIN_DEFINE("arch-mla", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
