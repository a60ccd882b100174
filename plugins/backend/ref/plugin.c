/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the reference backend. */
#include "llamad/plugin.h"
#include "ref.h"

/* Runs everywhere; any other backend that can run is preferred. */
static int probe(const struct lmd_host *host, char *why, size_t n)
{
	(void)host;
	(void)why;
	(void)n;
	return 10;
}

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "ref",
	.probe = probe,
	.state_bytes = sizeof(struct ref_dev),
	.ops = &ref_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-ref", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
