/* SPDX-License-Identifier: MIT
 *
 * The descriptor of the null backend. */
#include "llamad/plugin.h"
#include "null.h"

/* The lowest score, so that "auto" chooses any other backend. */
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
	.name = "null",
	.probe = probe,
	.state_bytes = sizeof(struct null_dev),
	.ops = &null_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-null", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
