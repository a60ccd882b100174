/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the Vulkan backend. */
#include "llamad/plugin.h"
#include "vkb.h"

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "vulkan",
	.probe = vkb_probe,
	.state_bytes = sizeof(struct vkb_dev),
	.ops = &vkb_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-vulkan", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
