/* SPDX-License-Identifier: MIT
 *
 * Buffers and copies. */
#include "vkb.h"

struct vkb_buffer {
	struct vkb_dev *dev;
	struct vkb_mem mem;
	uint64_t bytes;
	uint32_t flags;
};

static struct vkb_buffer *own(const struct lmd_buffer *b)
{
	return (struct vkb_buffer *)(uintptr_t)b;
}

const struct vkb_mem *vkb_buffer_mem(const struct lmd_buffer *b)
{
	return &own(b)->mem;
}

enum lmd_status vkb_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				  struct lmd_buffer **out, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_buffer *b;
	enum lmd_status st = vkb_alive(dev, err);

	(void)import;
	if (st != LMD_OK)
		return st;
	if (flags != LMD_BUF_DEVICE && flags != LMD_BUF_PINNED &&
	    !(flags == LMD_BUF_HOST_VISIBLE && dev->mappable))
		return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: a buffer with flags %#x", flags);
	b = dev->host->alloc(dev->host->ctx, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a buffer");
	*b = (struct vkb_buffer){.dev = dev, .bytes = bytes, .flags = flags};
	st = vkb_alloc(dev, flags == LMD_BUF_PINNED ? VKB_HOST : VKB_DEVICE, bytes, &b->mem, err);
	if (st != LMD_OK) {
		dev->host->free(dev->host->ctx, b);
		return st;
	}
	*out = (struct lmd_buffer *)(void *)b;
	return LMD_OK;
}

void vkb_buffer_destroy(void *state, struct lmd_buffer *buffer)
{
	struct vkb_dev *dev = state;

	if (!buffer)
		return;
	vkb_free(dev, &own(buffer)->mem);
	dev->host->free(dev->host->ctx, buffer);
}

enum lmd_status vkb_buffer_map(void *state, struct lmd_buffer *buffer, void **out,
			       struct lmd_error *err)
{
	(void)state;
	if (own(buffer)->flags == LMD_BUF_DEVICE)
		return lmd_fail(err, LMD_INVALID, "vulkan: device memory cannot be mapped");
	*out = own(buffer)->mem.host;
	return LMD_OK;
}

void vkb_buffer_unmap(void *state, struct lmd_buffer *b)
{
	(void)state;
	(void)b;
}

static enum lmd_status check(const struct vkb_dev *dev, const struct lmd_buffer *b, uint64_t off,
			     uint64_t bytes, struct lmd_error *err)
{
	if (!b)
		return LMD_OK;
	if (own(b)->dev != dev)
		return lmd_fail(err, LMD_INVALID, "vulkan: a copy of another device's memory");
	if (off > own(b)->bytes || bytes > own(b)->bytes - off)
		return lmd_fail(err, LMD_INVALID,
				"vulkan: a copy of %llu bytes at %llu of a buffer of %llu",
				(unsigned long long)bytes, (unsigned long long)off,
				(unsigned long long)own(b)->bytes);
	return LMD_OK;
}

static enum lmd_status record(struct vkb_batch *b, struct lmd_buffer *dst, char *dst_ptr,
			      uint64_t dst_off, struct lmd_buffer *src, const char *src_ptr,
			      uint64_t src_off, uint64_t bytes, struct lmd_error *err)
{
	VkBufferCopy region;

	if (!src)
		return vkb_upload(b, &own(dst)->mem, dst_off, src_ptr + src_off, bytes, err);
	if (!dst)
		return vkb_download(b, dst_ptr + dst_off, &own(src)->mem, src_off, bytes, err);
	if (!bytes)
		return LMD_OK;
	region = (VkBufferCopy){.srcOffset = own(src)->mem.offset + src_off,
				.dstOffset = own(dst)->mem.offset + dst_off,
				.size = bytes};
	b->dev->fn.CmdCopyBuffer(b->cmd, own(src)->mem.buffer, own(dst)->mem.buffer, 1, &region);
	return LMD_OK;
}

enum lmd_status vkb_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				const void *src_ptr, uint64_t src_off, uint64_t bytes,
				struct lmd_event *done, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_batch b;
	enum lmd_status st = check(dev, dst, dst_off, bytes, err);

	if (st == LMD_OK)
		st = check(dev, src, src_off, bytes, err);
	if (st == LMD_OK && !dst && !src)
		st = lmd_fail(err, LMD_INVALID, "vulkan: a copy from host memory to host memory");
	if (st == LMD_OK && !src)
		st = vkb_settle(dev, err);
	if (st == LMD_OK)
		st = vkb_begin(dev, (struct vkb_queue *)(void *)q, &b, err);
	if (st != LMD_OK)
		return st;
	st = record(&b, dst, dst_ptr, dst_off, src, src_ptr, src_off, bytes, err);
	if (st != LMD_OK) {
		vkb_abandon(&b);
		return st;
	}
	return vkb_submit(&b, NULL, (struct vkb_event *)(void *)done, err);
}
