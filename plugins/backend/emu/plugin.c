/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the emulated devices. */
#include <stdio.h>

#include "emu.h"
#include "llamad/plugin.h"

/* Never chosen by itself. */
static int probe(const struct lmd_host *host, char *why, size_t n)
{
	(void)host;
	(void)why;
	(void)n;
	return 1;
}

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "emu",
	.probe = probe,
	.state_bytes = sizeof(struct emu_dev),
	.ops = &emu_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-emu", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
