/* SPDX-License-Identifier: MIT
 *
 * Buffers of a device in a worker. Pinned ones are memory that both processes map, and so are all those of
 * a device that computes in host memory: copies between them are made here. Others are memory of the
 * device, which the worker copies from and to. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/worker/proxy.h"

/* Maximum bytes of the rows in one message. */
#define CHUNK (16ull << 20)

void lmi_worker_buffer_destroy(void *state, struct lmd_buffer *b)
{
	if (!b)
		return;
	lmi_worker_forget(state, LMI_WORKER_BUFFER_FREE, b->number);
	if (b->mem)
		(void)munmap(b->mem, (size_t)(b->bytes ? b->bytes : 1));
	lmi_free(b);
}

enum lmd_status lmi_worker_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
					 struct lmd_buffer **out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmi_worker_memory m = {.bytes = bytes ? bytes : 1};
	struct lmd_buffer *b;
	enum lmd_status st = LMD_OK;
	int fd = -1;

	if (import || (flags != LMD_BUF_DEVICE && flags != LMD_BUF_PINNED &&
		       (flags != LMD_BUF_HOST_VISIBLE || w->own_memory)))
		return lmd_fail(err, LMD_UNSUPPORTED, "worker: a buffer with flags %#x", flags);
	b = lmi_alloc(1, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a buffer");
	b->bytes = bytes;
	b->number = m.number = lmi_worker_number_take(w);
	if (!w->own_memory || flags == LMD_BUF_PINNED) {
		b->mem = lmi_worker_memory(m.bytes, &fd);
		if (!b->mem)
			st = lmd_fail(err, LMD_NOMEM, "worker: no shared memory of %llu bytes",
				      (unsigned long long)bytes);
	}
	if (st == LMD_OK) {
		lmi_worker_link_begin(&w->link);
		(void)lmi_worker_out_put(&w->link.out, &m, sizeof(m));
		st = lmi_worker_ask_for(w, LMI_WORKER_BUFFER, fd, NULL, 0, err);
		lmi_worker_link_end(&w->link);
	}
	if (fd >= 0)
		(void)close(fd);
	if (st == LMD_OK) {
		*out = b;
		return LMD_OK;
	}
	lmi_worker_number_give(w, b->number);
	if (b->mem)
		(void)munmap(b->mem, (size_t)m.bytes);
	lmi_free(b);
	return st;
}

enum lmd_status lmi_worker_buffer_map(void *state, struct lmd_buffer *b, void **out,
				      struct lmd_error *err)
{
	(void)state;
	if (!b->mem)
		return lmd_fail(err, LMD_INVALID, "worker: memory of the device cannot be mapped");
	*out = b->mem;
	return LMD_OK;
}

void lmi_worker_buffer_unmap(void *state, struct lmd_buffer *b)
{
	(void)state;
	(void)b;
}

/* ---- copies ---- */

static bool is_inside(const struct lmd_buffer *b, uint64_t at, uint64_t bytes)
{
	return !b || (at <= b->bytes && bytes <= b->bytes - at);
}

/* Copies at most CHUNK bytes if one side is the message. */
static enum lmd_status ask_copy(struct lmi_worker_proxy *w, const struct lmi_worker_copy *c, char *to,
				const char *from, struct lmd_error *err)
{
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	(void)lmi_worker_out_put(&w->link.out, c, sizeof(*c));
	if (c->src == LMI_WORKER_NONE)
		(void)lmi_worker_out_put(&w->link.out, from, (size_t)c->bytes);
	st = lmi_worker_ask_for(w, LMI_WORKER_COPY, -1, to,
				c->dst == LMI_WORKER_NONE ? (size_t)c->bytes : 0, err);
	lmi_worker_link_end(&w->link);
	return st;
}

/* Copies from or to memory of the device. to, from: host memory that the worker does not map. */
static enum lmd_status copy_there(struct lmi_worker_proxy *w, struct lmi_worker_copy c, char *to,
				  const char *from, struct lmd_error *err)
{
	const uint64_t end = c.bytes;
	enum lmd_status st = LMD_OK;

	if (c.dst != LMI_WORKER_NONE && c.src != LMI_WORKER_NONE)
		return ask_copy(w, &c, NULL, NULL, err);
	for (uint64_t at = 0; at < end && st == LMD_OK; at += c.bytes) {
		c.bytes = end - at < CHUNK ? end - at : CHUNK;
		st = ask_copy(w, &c, to ? to + at : NULL, from ? from + at : NULL, err);
		c.dst_at += c.bytes;
		c.src_at += c.bytes;
	}
	return st;
}

enum lmd_status lmi_worker_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				       void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				       const void *src_ptr, uint64_t src_off, uint64_t bytes,
				       struct lmd_event *done, struct lmd_error *err)
{
	const struct lmi_worker_copy c = {.dst = dst ? dst->number : LMI_WORKER_NONE,
					  .dst_at = dst ? dst_off : 0,
					  .src = src ? src->number : LMI_WORKER_NONE,
					  .src_at = src ? src_off : 0,
					  .bytes = bytes};
	char *to = dst ? dst->mem : dst_ptr;
	const char *from = src ? src->mem : src_ptr;

	(void)q;
	(void)done;
	if (!is_inside(dst, dst_off, bytes) || !is_inside(src, src_off, bytes))
		return lmd_fail(err, LMD_INVALID, "worker: a copy of %llu bytes beyond the end of a buffer",
				(unsigned long long)bytes);
	if ((dst && !dst->mem) || (src && !src->mem))
		return copy_there(state, c, to ? to + dst_off : NULL, from ? from + src_off : NULL, err);
	memcpy(to + dst_off, from + src_off, (size_t)bytes);
	return LMD_OK;
}
