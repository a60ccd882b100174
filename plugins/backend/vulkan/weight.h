/* SPDX-License-Identifier: MIT
 *
 * weight.h - weights on the device: rows [n_stack][n] of k columns, at a distance of row_bytes, which
 * is a multiple of 4.  Types without a decoder in the shaders are stored as f32. */
#ifndef LLAMAD_VULKAN_WEIGHT_H
#define LLAMAD_VULKAN_WEIGHT_H

#include "vkb.h"

struct vkb_weight {
	uint32_t dtype;          /* as stored */
	uint32_t n_stack, n, k, row_bytes;
	uint32_t n_scale, n_bias;
	struct vkb_mem rows, scale, bias;
	struct vkb_mem flat_rows;
	VkDeviceAddress flat;    /* all elements as f32; 0 until vkb_weight_flat */
};

static inline struct vkb_weight *vkb_weight(struct lmd_weight *w)
{
	return (struct vkb_weight *)(void *)w;
}

/* Has the shader library a decoder for this type? */
bool vkb_has_decoder(uint32_t dtype);

/* Of two modules the one that decodes a type: `few` has the decoders of shaders/decode.glsl alone. */
enum vkb_module vkb_module_for(uint32_t dtype, enum vkb_module few, enum vkb_module all);

/* Makes w->flat. */
enum lmd_status vkb_weight_flat(struct vkb_dev *dev, struct vkb_weight *w, struct lmd_error *err);

#endif /* LLAMAD_VULKAN_WEIGHT_H */
