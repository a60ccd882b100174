/* SPDX-License-Identifier: MIT
 *
 * plugin.h - the kernels that were linked into the plugin, as the vendor's tool wrote them. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_PLUGIN_H
#define LLAMAD_PLUGINS_BACKEND_GPU_PLUGIN_H

#include <stddef.h>

const void *gpu_image(size_t *bytes);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_PLUGIN_H */
