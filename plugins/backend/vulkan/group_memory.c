/* SPDX-License-Identifier: MIT
 *
 * The memory of a group: host memory that all devices import, or memory of each device that the host
 * reaches, too. */
#include <string.h>

#include "group.h"

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- memory that is imported ---- */

/* A type of memory that the host need not flush. */
static bool pick_type(const struct vkb_dev *dev, uint32_t bits, uint32_t *out)
{
	const VkMemoryPropertyFlags want =
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

	for (uint32_t i = 0; i < dev->memory.memoryTypeCount; i++) {
		if (!(bits >> i & 1) || (dev->memory.memoryTypes[i].propertyFlags & want) != want)
			continue;
		*out = i;
		return true;
	}
	return false;
}

static VkResult import_buffer(struct vkb_part *p, uint64_t bytes)
{
	const VkExternalMemoryBufferCreateInfo external = {
		.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
	};
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.pNext = &external,
		.size = bytes,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
			 VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
	};

	return p->dev->fn.CreateBuffer(p->dev->handle, &info, NULL, &p->buffer);
}

static VkResult import_memory(struct vkb_part *p, uint64_t bytes)
{
	const struct vkb_functions *fn = &p->dev->fn;
	const VkMemoryAllocateFlagsInfo flags = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
	};
	const VkImportMemoryHostPointerInfoEXT import = {
		.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
		.pNext = &flags,
		.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
		.pHostPointer = p->host,
	};
	VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
					 .pNext = &import,
					 .allocationSize = bytes};
	VkMemoryHostPointerPropertiesEXT can = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
	VkMemoryRequirements need;
	VkResult r = p->dev->host_pointer(p->dev->handle, import.handleType, p->host, &can);

	if (r != VK_SUCCESS)
		return r;
	fn->GetBufferMemoryRequirements(p->dev->handle, p->buffer, &need);
	if (need.size > bytes ||
	    !pick_type(p->dev, need.memoryTypeBits & can.memoryTypeBits, &allocate.memoryTypeIndex))
		return VK_ERROR_FEATURE_NOT_PRESENT;
	r = fn->AllocateMemory(p->dev->handle, &allocate, NULL, &p->memory);
	return r == VK_SUCCESS ? fn->BindBufferMemory(p->dev->handle, p->buffer, p->memory, 0) : r;
}

static VkResult import(struct vkb_part *p, uint64_t bytes)
{
	VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
	VkResult r = import_buffer(p, bytes);

	if (r == VK_SUCCESS)
		r = import_memory(p, bytes);
	address.buffer = p->buffer;
	if (r == VK_SUCCESS)
		p->address = p->dev->fn.GetBufferDeviceAddress(p->dev->handle, &address);
	return r;
}

static void drop_import(struct vkb_part *p)
{
	if (p->buffer)
		p->dev->fn.DestroyBuffer(p->dev->handle, p->buffer, NULL);
	if (p->memory)
		p->dev->fn.FreeMemory(p->dev->handle, p->memory, NULL);
	p->buffer = VK_NULL_HANDLE;
	p->memory = VK_NULL_HANDLE;
}

/* Gives all devices the same memory; false: they cannot have that. */
static bool share(struct vkb_area *a, uint64_t bytes)
{
	uint64_t align = 4096, mask;
	char *start;
	VkResult r = VK_SUCCESS;

	for (uint32_t i = 0; i < a->n; i++) {
		if (!a->of[i].dev->host_pointer)
			return false;
		if (a->of[i].dev->import_align > align)
			align = a->of[i].dev->import_align;
	}
	mask = align - 1;
	bytes = round_up(bytes, align);
	a->block = a->host->alloc(a->host->ctx, (size_t)(bytes + align));
	if (!a->block)
		return false;
	start = a->block + ((align - ((uintptr_t)a->block & mask)) & mask);
	for (uint32_t i = 0; i < a->n && r == VK_SUCCESS; i++) {
		a->of[i].host = start;
		r = import(&a->of[i], bytes);
	}
	if (r == VK_SUCCESS)
		return true;
	for (uint32_t i = 0; i < a->n; i++)
		drop_import(&a->of[i]);
	a->host->free(a->host->ctx, a->block);
	a->block = NULL;
	return false;
}

/* ---- areas ---- */

void vkb_area_free(struct vkb_area *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->n; i++) {
		drop_import(&a->of[i]);
		vkb_free(a->of[i].dev, &a->of[i].own);
	}
	a->host->free(a->host->ctx, a->block);
	a->host->free(a->host->ctx, a);
}

enum lmd_status vkb_area_make(struct vkb_dev *const *devs, uint32_t n, uint64_t part_bytes,
			      struct vkb_area **out, struct lmd_error *err)
{
	const struct lmd_host *h = devs[0]->host;
	const uint64_t part = round_up(part_bytes ? part_bytes : 1, 256), bytes = 2 * n * part;
	struct vkb_area *a;
	enum lmd_status st = LMD_OK;

	if (part > UINT32_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"vulkan: ranks cannot exchange %llu bytes at once",
				(unsigned long long)part_bytes);
	a = h->alloc(h->ctx, sizeof(*a));
	if (!a)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a group of %u devices", n);
	*a = (struct vkb_area){.host = h, .part_bytes = part, .n = n};
	for (uint32_t i = 0; i < n; i++)
		a->of[i].dev = devs[i];
	if (!share(a, bytes)) {
		for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
			st = vkb_alloc(devs[i], VKB_HOST, bytes, &a->of[i].own, err);
			a->of[i].address = a->of[i].own.address;
			a->of[i].host = a->of[i].own.host;
		}
	}
	if (st != LMD_OK) {
		vkb_area_free(a);
		return st;
	}
	*out = a;
	return LMD_OK;
}

void vkb_area_spread(const struct vkb_area *a, uint32_t half, uint64_t bytes)
{
	for (uint32_t r = 0; r < a->n && !a->block; r++) {
		const uint64_t at = (half * (uint64_t)a->n + r) * a->part_bytes;

		for (uint32_t i = 0; i < a->n; i++)
			if (i != r)
				memcpy(a->of[i].host + at, a->of[r].host + at, (size_t)bytes);
	}
}
