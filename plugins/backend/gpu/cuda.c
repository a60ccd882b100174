/* SPDX-License-Identifier: MIT
 *
 * Descriptor of the plugin for NVIDIA's devices. */
#include "gpu.h"
#include "llamad/plugin.h"
#include "plugin.h"

static const char *const sonames[] = {"libcuda.so.1", "libcuda.so", NULL};

/* Numbers of device attributes: CUdevice_attribute. */
const struct gpu_vendor gpu_vendor = {
	.name = "cuda",
	.sonames = sonames,
	.attr_warp = 10,
	.attr_processors = 16,
	.attr_major = 75,
	.attr_minor = 76,
	.image = gpu_image,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "cuda",
	.probe = gpu_probe,
	.state_bytes = sizeof(struct gpu_dev),
	.ops = &gpu_backend_ops,
}};

LMD_PLUGIN_DEFINE("backend-cuda", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)
