/* SPDX-License-Identifier: MIT
 *
 * Shader modules and pipelines.  All pipelines have one layout: push constants, and two uniform buffers
 * with the arguments of the op and the environment of the step. */
#include "vkb.h"

static const uint32_t attn_spv[] =
#include "shaders/attn.spv.inc"
	;
static const uint32_t attn_fast_spv[] =
#include "shaders/attn_fast.spv.inc"
	;
static const uint32_t attn_fast_sub_spv[] =
#include "shaders/attn_fast_sub.spv.inc"
	;
static const uint32_t attn_join_spv[] =
#include "shaders/attn_join.spv.inc"
	;
static const uint32_t conv_spv[] =
#include "shaders/conv.spv.inc"
	;
static const uint32_t copy_spv[] =
#include "shaders/copy.spv.inc"
	;
static const uint32_t dequant_spv[] =
#include "shaders/dequant.spv.inc"
	;
static const uint32_t embed_spv[] =
#include "shaders/embed.spv.inc"
	;
static const uint32_t embed_all_spv[] =
#include "shaders/embed_all.spv.inc"
	;
static const uint32_t ew_spv[] =
#include "shaders/ew.spv.inc"
	;
static const uint32_t gather_spv[] =
#include "shaders/gather.spv.inc"
	;
static const uint32_t glu_spv[] =
#include "shaders/glu.spv.inc"
	;
static const uint32_t index_spv[] =
#include "shaders/index.spv.inc"
	;
static const uint32_t lora_spv[] =
#include "shaders/lora.spv.inc"
	;
static const uint32_t mix_spv[] =
#include "shaders/mix.spv.inc"
	;
static const uint32_t moe_spv[] =
#include "shaders/moe.spv.inc"
	;
static const uint32_t norm_spv[] =
#include "shaders/norm.spv.inc"
	;
static const uint32_t pages_spv[] =
#include "shaders/pages.spv.inc"
	;
static const uint32_t patch_spv[] =
#include "shaders/patch.spv.inc"
	;
static const uint32_t peer_spv[] =
#include "shaders/peer.spv.inc"
	;
static const uint32_t product_spv[] =
#include "shaders/product.spv.inc"
	;
static const uint32_t product8_spv[] =
#include "shaders/product8.spv.inc"
	;
static const uint32_t product8_dot_spv[] =
#include "shaders/product8_dot.spv.inc"
	;
static const uint32_t product8_sub_spv[] =
#include "shaders/product8_sub.spv.inc"
	;
static const uint32_t product8_tile_spv[] =
#include "shaders/product8_tile.spv.inc"
	;
static const uint32_t product8_tile_dot_spv[] =
#include "shaders/product8_tile_dot.spv.inc"
	;
static const uint32_t product_all_spv[] =
#include "shaders/product_all.spv.inc"
	;
static const uint32_t product_tile_spv[] =
#include "shaders/product_tile.spv.inc"
	;
static const uint32_t product_tile_all_spv[] =
#include "shaders/product_tile_all.spv.inc"
	;
static const uint32_t reduce_spv[] =
#include "shaders/reduce.spv.inc"
	;
static const uint32_t rope_kv_spv[] =
#include "shaders/rope_kv.spv.inc"
	;
static const uint32_t round_spv[] =
#include "shaders/round.spv.inc"
	;
static const uint32_t route_spv[] =
#include "shaders/route.spv.inc"
	;
static const uint32_t sample_spv[] =
#include "shaders/sample.spv.inc"
	;
static const uint32_t scan_spv[] =
#include "shaders/scan.spv.inc"
	;
static const uint32_t softmax_spv[] =
#include "shaders/softmax.spv.inc"
	;

struct code {
	const uint32_t *words;
	size_t bytes;
};
#define CODE(name) {name##_spv, sizeof(name##_spv)},
static const struct code codes[VKB_N_MODULE] = {VKB_MODULES(CODE)};

enum lmd_status vkb_pipelines_open(struct vkb_dev *dev, struct lmd_error *err)
{
	const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
					  .size = sizeof(struct vkb_push)};
	const VkDescriptorSetLayoutBinding bindings[] = {
		{.binding = 0,
		 .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
		 .descriptorCount = 1,
		 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
		{.binding = 1,
		 .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
		 .descriptorCount = 1,
		 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
	};
	const VkDescriptorSetLayoutCreateInfo set = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = LMD_LEN(bindings),
		.pBindings = bindings,
	};
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1,
		.pSetLayouts = &dev->set_layout,
		.pushConstantRangeCount = 1,
		.pPushConstantRanges = &push,
	};
	VkResult r = dev->fn.CreateDescriptorSetLayout(dev->handle, &set, NULL, &dev->set_layout);

	if (r == VK_SUCCESS)
		r = dev->fn.CreatePipelineLayout(dev->handle, &layout, NULL, &dev->layout);

	vkb_cache_open(dev);
	return r == VK_SUCCESS ? LMD_OK : vkb_fail(err, r, "making a pipeline layout");
}

void vkb_pipelines_close(struct vkb_dev *dev)
{
	vkb_cache_close(dev, dev->pipelines != NULL && !dev->lost);
	while (dev->pipelines) {
		struct vkb_pipeline *p = dev->pipelines;

		dev->pipelines = p->next;
		if (p->handle)
			dev->fn.DestroyPipeline(dev->handle, p->handle, NULL);
		dev->host->free(dev->host->ctx, p);
	}
	for (int i = 0; i < VKB_N_MODULE; i++) {
		if (dev->modules[i])
			dev->fn.DestroyShaderModule(dev->handle, dev->modules[i], NULL);
		dev->modules[i] = NULL;
	}
	if (dev->layout)
		dev->fn.DestroyPipelineLayout(dev->handle, dev->layout, NULL);
	if (dev->set_layout)
		dev->fn.DestroyDescriptorSetLayout(dev->handle, dev->set_layout, NULL);
}

static enum lmd_status load_module(struct vkb_dev *dev, enum vkb_module m, struct lmd_error *err)
{
	const VkShaderModuleCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = codes[m].bytes,
		.pCode = codes[m].words,
	};
	VkResult r = VK_SUCCESS;

	if (!dev->modules[m])
		r = dev->fn.CreateShaderModule(dev->handle, &info, NULL, &dev->modules[m]);
	return r == VK_SUCCESS ? LMD_OK : vkb_fail(err, r, "loading a shader");
}

enum lmd_status vkb_pipeline_make(struct vkb_dev *dev, struct vkb_pipeline *p,
				  struct lmd_error *err)
{
	static const VkSpecializationMapEntry entries[] = {
		{.constantID = 0, .offset = 0, .size = 4},
		{.constantID = 1, .offset = 4, .size = 4},
	};
	const VkSpecializationInfo spec = {
		.mapEntryCount = 2,
		.pMapEntries = entries,
		.dataSize = sizeof(p->spec),
		.pData = p->spec,
	};
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
			  .pName = "main",
			  .pSpecializationInfo = &spec},
		.layout = dev->layout,
	};
	enum lmd_status st;
	VkResult r;

	if (p->handle)
		return LMD_OK;
	st = load_module(dev, p->module, err);
	if (st != LMD_OK)
		return st;
	info.stage.module = dev->modules[p->module];
	r = dev->fn.CreateComputePipelines(dev->handle, dev->cache, 1, &info, NULL, &p->handle);
	if (r == VK_SUCCESS)
		return LMD_OK;
	p->handle = VK_NULL_HANDLE;
	return vkb_fail(err, r, "making a pipeline");
}

enum lmd_status vkb_pipeline(struct vkb_dev *dev, enum vkb_module module, uint32_t spec0,
			     uint32_t spec1, struct vkb_pipeline **out, struct lmd_error *err)
{
	struct vkb_pipeline *p = dev->pipelines;

	while (p && !(p->module == module && p->spec[0] == spec0 && p->spec[1] == spec1))
		p = p->next;
	if (!p) {
		p = dev->host->alloc(dev->host->ctx, sizeof(*p));
		if (!p)
			return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a pipeline");
		*p = (struct vkb_pipeline){
			.next = dev->pipelines, .module = module, .spec = {spec0, spec1}};
		dev->pipelines = p;
	}
	*out = p;
	return LMD_OK;
}
