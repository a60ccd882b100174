/* SPDX-License-Identifier: MIT
 *
 * Memory of the device and buffers. */
#include "gpu.h"

enum lmd_status gpu_alloc(struct gpu_dev *dev, uint64_t bytes, const char *what, gpu_ptr *out,
			  struct lmd_error *err)
{
	int code;

	*out = 0;
	if (!bytes)
		return LMD_OK;
	code = dev->drv->alloc(out, (size_t)bytes);
	if (code == GPU_CODE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no device memory for %s (%llu bytes)",
				dev->vendor->name, what, (unsigned long long)bytes);
	return gpu_check(dev, code, what, err);
}

void gpu_free(struct gpu_dev *dev, gpu_ptr p)
{
	if (p)
		(void)dev->drv->free(p);
}

enum lmd_status gpu_upload(struct gpu_dev *dev, gpu_ptr to, const void *from, uint64_t bytes,
			   struct lmd_error *err)
{
	int code = bytes ? dev->drv->upload(to, from, (size_t)bytes, dev->stream) : 0;

	if (!code)
		code = dev->drv->stream_sync(dev->stream);
	return gpu_check(dev, code, "a copy to the device", err);
}

enum lmd_status gpu_download(struct gpu_dev *dev, void *to, gpu_ptr from, uint64_t bytes,
			     struct lmd_error *err)
{
	int code = bytes ? dev->drv->download(to, from, (size_t)bytes, dev->stream) : 0;

	if (!code)
		code = dev->drv->stream_sync(dev->stream);
	return gpu_check(dev, code, "a copy from the device", err);
}

enum lmd_status gpu_memory(void *state, uint64_t *total, uint64_t *free, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	size_t f = 0, t = 0;
	enum lmd_status st = gpu_enter(dev, err);

	if (st == LMD_OK)
		st = gpu_check(dev, dev->drv->memory_info(&f, &t), "a question for free memory",
			       err);
	*free = f;
	*total = t;
	return st;
}

static enum lmd_status create_pinned(struct gpu_dev *dev, struct lmd_buffer *b,
				     struct lmd_error *err)
{
	void *p = NULL;
	int code = dev->drv->host_alloc(&p, (size_t)(b->bytes ? b->bytes : 1), 0);

	if (code == GPU_CODE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no pinned memory for %llu bytes",
				dev->vendor->name, (unsigned long long)b->bytes);
	if (!code) {
		b->host = p;
		code = dev->drv->host_address(&b->at, p, 0);
	}
	return gpu_check(dev, code, "pinned memory", err);
}

enum lmd_status gpu_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				  struct lmd_buffer **out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct lmd_buffer *b;
	enum lmd_status st = gpu_enter(dev, err);

	(void)import;
	if (st != LMD_OK)
		return st;
	if (flags != LMD_BUF_DEVICE && flags != LMD_BUF_PINNED)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: a buffer with flags %#x",
				dev->vendor->name, flags);
	b = dev->host->alloc(dev->host->ctx, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a buffer", dev->vendor->name);
	*b = (struct lmd_buffer){.dev = dev, .bytes = bytes};
	st = flags == LMD_BUF_PINNED ? create_pinned(dev, b, err)
				     : gpu_alloc(dev, bytes ? bytes : 1, "a buffer", &b->at, err);
	if (st != LMD_OK) {
		gpu_buffer_destroy(dev, b);
		return st;
	}
	*out = b;
	return LMD_OK;
}

void gpu_buffer_destroy(void *state, struct lmd_buffer *b)
{
	struct gpu_dev *dev = state;

	if (!b)
		return;
	(void)gpu_enter(dev, NULL);
	if (b->host)
		(void)dev->drv->host_free(b->host);
	else
		gpu_free(dev, b->at);
	dev->host->free(dev->host->ctx, b);
}

enum lmd_status gpu_buffer_map(void *state, struct lmd_buffer *b, void **out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;

	if (!b->host)
		return lmd_fail(err, LMD_INVALID, "%s: device memory cannot be mapped",
				dev->vendor->name);
	*out = b->host;
	return LMD_OK;
}

void gpu_buffer_unmap(void *state, struct lmd_buffer *b)
{
	(void)state;
	(void)b;
}

static enum lmd_status check_range(struct gpu_dev *dev, const struct lmd_buffer *b, uint64_t off,
				   uint64_t bytes, struct lmd_error *err)
{
	if (b && (off > b->bytes || bytes > b->bytes - off))
		return lmd_fail(err, LMD_INVALID,
				"%s: a copy of %llu bytes at %llu of a buffer of %llu",
				dev->vendor->name, (unsigned long long)bytes,
				(unsigned long long)off, (unsigned long long)b->bytes);
	return LMD_OK;
}

/* From the memory of another device; memory of the host is the same for all. */
static int copy_from_peer(const struct gpu_dev *dev, gpu_ptr to, const struct gpu_dev *peer,
			  gpu_ptr from, size_t bytes, gpu_stream s)
{
	if (dev->vendor->hip)
		return dev->drv->peer_copy_hip(to, dev->number, from, peer->number, bytes, s);
	return dev->drv->peer_copy(to, dev->context, from, peer->context, bytes, s);
}

/* Host memory on both sides is the device's work, too: it has its place in the queue's order. */
static int copy(struct gpu_dev *dev, gpu_stream s, const struct lmd_buffer *dst, char *dst_ptr,
		uint64_t dst_off, const struct lmd_buffer *src, const char *src_ptr,
		uint64_t src_off, uint64_t bytes)
{
	if (dst && src && src->dev != dev && !src->host && !dst->host)
		return copy_from_peer(dev, dst->at + dst_off, src->dev, src->at + src_off,
				      (size_t)bytes, s);
	if (dst && src)
		return dev->drv->copy(dst->at + dst_off, src->at + src_off, (size_t)bytes, s);
	if (dst)
		return dev->drv->upload(dst->at + dst_off, src_ptr + src_off, (size_t)bytes, s);
	return dev->drv->download(dst_ptr + dst_off, src->at + src_off, (size_t)bytes, s);
}

enum lmd_status gpu_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				const void *src_ptr, uint64_t src_off, uint64_t bytes,
				struct lmd_event *done, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	enum lmd_status st = gpu_enter(dev, err);

	if (st == LMD_OK && !dst && !src)
		st = lmd_fail(err, LMD_INVALID, "%s: a copy between two places in host memory",
			      dev->vendor->name);
	if (st == LMD_OK)
		st = check_range(dev, dst, dst_off, bytes, err);
	if (st == LMD_OK)
		st = check_range(dev, src, src_off, bytes, err);
	if (st == LMD_OK && bytes)
		st = gpu_check(dev,
			       copy(dev, gpu_queue_stream(dev, q), dst, dst_ptr, dst_off, src,
				    src_ptr, src_off, bytes),
			       "a copy", err);
	return st == LMD_OK ? gpu_queue_done(dev, q, done, err) : st;
}
