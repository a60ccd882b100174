/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the CPU backend. */
#include "cpu.h"
#include "llamad/plugin.h"

/* Runs everywhere and is faster than `ref`; a GPU is preferred. */
static int probe(const struct lmd_host *host, char *why, size_t n)
{
	(void)host;
	(void)why;
	(void)n;
	return 50;
}

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "cpu",
	.probe = probe,
	.state_bytes = sizeof(struct cpu_dev),
	.ops = &cpu_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-cpu", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
