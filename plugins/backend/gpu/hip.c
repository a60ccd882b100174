/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the plugin for AMD's devices. */
#include "gpu.h"
#include "llamad/plugin.h"
#include "plugin.h"

static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
				      "libamdhip64.so", NULL};

/* Numbers of device attributes: hipDeviceAttribute_t. */
const struct gpu_vendor gpu_vendor = {
	.name = "hip",
	.sonames = sonames,
	.hip = true,
	.attr_warp = 87,
	.attr_processors = 63,
	.image = gpu_image,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "hip",
	.probe = gpu_probe,
	.state_bytes = sizeof(struct gpu_dev),
	.ops = &gpu_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-hip", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
