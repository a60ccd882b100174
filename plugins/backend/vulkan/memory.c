/* SPDX-License-Identifier: MIT
 *
 * Memory: chunks of one allocation and one buffer each, from which pieces are taken first fit.  A
 * piece that is large gets a chunk of its own. */
#include <stdio.h>
#include <string.h>

#include "vkb.h"

#define ALIGN 256u
#define MAX_BLOCK 4096u

struct block {
	uint64_t at, bytes;
	bool used;
};

struct vkb_chunk {
	struct vkb_chunk *next;
	enum vkb_kind kind;
	VkDeviceMemory memory;
	VkBuffer buffer;
	VkDeviceAddress address;
	char *host;
	uint64_t bytes, used;
	uint32_t n_block;
	struct block blocks[MAX_BLOCK]; /* by offset, without gaps */
};

static void destroy_chunk(struct vkb_dev *dev, struct vkb_chunk *c)
{
	if (c->buffer)
		dev->fn.DestroyBuffer(dev->handle, c->buffer, NULL);
	if (c->memory)
		dev->fn.FreeMemory(dev->handle, c->memory, NULL);
	dev->host->free(dev->host->ctx, c);
}

static VkResult make_buffer(struct vkb_dev *dev, struct vkb_chunk *c)
{
	const VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = c->bytes,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
			 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
			 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
			 VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
	};
	const VkMemoryAllocateFlagsInfo flags = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
	};
	VkMemoryAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = &flags,
		.memoryTypeIndex = dev->type_of[c->kind],
	};
	VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
	VkMemoryRequirements need;
	VkResult r = dev->fn.CreateBuffer(dev->handle, &info, NULL, &c->buffer);

	if (r != VK_SUCCESS)
		return r;
	dev->fn.GetBufferMemoryRequirements(dev->handle, c->buffer, &need);
	allocate.allocationSize = need.size;
	r = dev->fn.AllocateMemory(dev->handle, &allocate, NULL, &c->memory);
	if (r == VK_SUCCESS)
		r = dev->fn.BindBufferMemory(dev->handle, c->buffer, c->memory, 0);
	if (r == VK_SUCCESS && (c->kind == VKB_HOST || dev->mappable))
		r = dev->fn.MapMemory(dev->handle, c->memory, 0, VK_WHOLE_SIZE, 0,
				      (void **)(void *)&c->host);
	address.buffer = c->buffer;
	if (r == VK_SUCCESS)
		c->address = dev->fn.GetBufferDeviceAddress(dev->handle, &address);
	return r;
}

static enum lmd_status make_chunk(struct vkb_dev *dev, enum vkb_kind kind, uint64_t bytes,
				  struct vkb_chunk **out, struct lmd_error *err)
{
	struct vkb_chunk *c;
	VkResult r;

	if (bytes > dev->max_allocation)
		return lmd_fail(err, LMD_NOMEM,
				"vulkan: %llu bytes in one piece, the device allows at most %llu",
				(unsigned long long)bytes, (unsigned long long)dev->max_allocation);
	c = dev->host->alloc(dev->host->ctx, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a chunk");
	c->kind = kind;
	c->bytes = bytes;
	r = make_buffer(dev, c);
	if (r != VK_SUCCESS) {
		destroy_chunk(dev, c);
		(void)vkb_fail(err, r, "allocating memory");
		return lmd_fail(err, r == VK_ERROR_DEVICE_LOST ? LMD_DEVICE : LMD_NOMEM,
				"vulkan: the device has no memory for %llu more bytes",
				(unsigned long long)bytes);
	}
	c->blocks[c->n_block++] = (struct block){.bytes = bytes};
	c->next = dev->chunks;
	dev->chunks = c;
	*out = c;
	return LMD_OK;
}

/* Takes a piece of a chunk; NULL = no room. */
static struct block *take(struct vkb_chunk *c, uint64_t bytes)
{
	for (uint32_t i = 0; i < c->n_block; i++) {
		struct block *b = &c->blocks[i];

		if (b->used || b->bytes < bytes)
			continue;
		if (b->bytes > bytes && c->n_block < MAX_BLOCK) {
			memmove(b + 2, b + 1, (c->n_block - i - 1) * sizeof(*b));
			b[1] = (struct block){.at = b->at + bytes, .bytes = b->bytes - bytes};
			b->bytes = bytes;
			c->n_block++;
		}
		b->used = true;
		c->used += b->bytes;
		return b;
	}
	return NULL;
}

static enum lmd_status take_any(struct vkb_dev *dev, enum vkb_kind kind, uint64_t bytes,
				struct vkb_mem *out, struct lmd_error *err)
{
	uint64_t chunk = dev->set.chunk < dev->max_allocation ? dev->set.chunk : dev->max_allocation;
	struct vkb_chunk *c = dev->chunks;
	struct block *b = NULL;
	enum lmd_status st;

	for (; c && !b; c = b ? c : c->next)
		b = c->kind == kind ? take(c, bytes) : NULL;
	if (!b) {
		st = make_chunk(dev, kind, bytes > chunk / 4 ? bytes : chunk, &c, err);
		if (st != LMD_OK && st != LMD_DEVICE && bytes <= chunk / 4)
			st = make_chunk(dev, kind, bytes, &c, err);
		if (st != LMD_OK)
			return st;
		b = take(c, bytes);
	}
	*out = (struct vkb_mem){
		.chunk = c,
		.buffer = c->buffer,
		.offset = b->at,
		.bytes = bytes,
		.address = c->address + b->at,
		.host = c->host ? c->host + b->at : NULL,
	};
	return LMD_OK;
}

enum lmd_status vkb_alloc(struct vkb_dev *dev, enum vkb_kind kind, uint64_t bytes,
			  struct vkb_mem *out, struct lmd_error *err)
{
	uint64_t room = (bytes ? bytes + ALIGN - 1 : ALIGN) / ALIGN * ALIGN;
	enum lmd_status st;

	if (room < bytes)
		return lmd_fail(err, LMD_NOMEM, "vulkan: %llu bytes are too many",
				(unsigned long long)bytes);
	(void)pthread_mutex_lock(&dev->lock);
	st = take_any(dev, kind, room, out, err);
	(void)pthread_mutex_unlock(&dev->lock);
	return st;
}

/* Joins a free block with the free one after it. */
static void join(struct vkb_chunk *c, uint32_t i)
{
	struct block *b = &c->blocks[i];

	if (i + 1 >= c->n_block || b[0].used || b[1].used)
		return;
	b->bytes += b[1].bytes;
	c->n_block--;
	memmove(b + 1, b + 2, (c->n_block - i - 1) * sizeof(*b));
}

static void release(struct vkb_dev *dev, struct vkb_chunk *c, uint64_t at)
{
	struct vkb_chunk **link = &dev->chunks;

	for (uint32_t i = 0; i < c->n_block; i++) {
		if (c->blocks[i].at != at || !c->blocks[i].used)
			continue;
		c->blocks[i].used = false;
		c->used -= c->blocks[i].bytes;
		join(c, i);
		if (i)
			join(c, i - 1);
		break;
	}
	if (c->used)
		return;
	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	destroy_chunk(dev, c);
}

void vkb_free(struct vkb_dev *dev, struct vkb_mem *m)
{
	if (!m->chunk)
		return;
	(void)pthread_mutex_lock(&dev->lock);
	release(dev, m->chunk, m->offset);
	(void)pthread_mutex_unlock(&dev->lock);
	*m = (struct vkb_mem){0};
}

void vkb_memory_close(struct vkb_dev *dev)
{
	while (dev->chunks) {
		struct vkb_chunk *c = dev->chunks;

		dev->chunks = c->next;
		destroy_chunk(dev, c);
	}
}

uint64_t vkb_used(struct vkb_dev *dev)
{
	uint64_t sum = 0;

	(void)pthread_mutex_lock(&dev->lock);
	for (const struct vkb_chunk *c = dev->chunks; c; c = c->next)
		sum += c->kind == VKB_DEVICE ? c->bytes : 0;
	(void)pthread_mutex_unlock(&dev->lock);
	return sum;
}
