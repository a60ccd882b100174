/* SPDX-License-Identifier: MIT
 *
 * Memory in a worker: files and buffers that the other process maps as well, and buffers that are memory of
 * the device. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/plugin/registry.h"
#include "core/worker/serve.h"

static enum lmd_status map(struct lmi_worker_object *o, const struct lmi_worker_memory *m, int fd, int prot,
			   struct lmd_error *err)
{
	void *p = fd >= 0 && m->bytes < SIZE_MAX / 2
			  ? mmap(NULL, (size_t)m->bytes, prot, MAP_SHARED, fd, (off_t)m->at)
			  : MAP_FAILED;

	if (p == MAP_FAILED)
		return lmd_fail(err, errno == ENOMEM ? LMD_NOMEM : LMD_IO,
				"worker: %llu bytes cannot be mapped: %s", (unsigned long long)m->bytes,
				strerror(errno));
	o->mem = p;
	o->bytes = m->bytes;
	return LMD_OK;
}

static enum lmd_status take(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
			    enum lmi_worker_object_kind kind, struct lmd_error *err)
{
	const int prot = kind == LMI_WORKER_OBJECT_FILE ? PROT_READ : PROT_READ | PROT_WRITE;
	struct lmi_worker_memory m;
	struct lmi_worker_object *o;
	enum lmd_status st;

	lmi_worker_in_read(in, &m, sizeof(m));
	if (in->failed)
		return lmi_worker_too_short(err);
	st = lmi_worker_object_create(s, m.number, kind, &o, err);
	if (st != LMD_OK)
		return st;
	if (fd < 0 && s->own_memory && kind == LMI_WORKER_OBJECT_BUFFER) {
		o->bytes = m.bytes;
		st = s->ops->buffer_create(s->state, m.bytes, LMD_BUF_DEVICE, NULL, &o->buffer, err);
	} else {
		st = map(o, &m, fd, prot, err);
	}
	if (st != LMD_OK)
		*o = (struct lmi_worker_object){0};
	return st;
}

enum lmd_status lmi_worker_do_file(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				   struct lmd_error *err)
{
	return take(s, in, fd, LMI_WORKER_OBJECT_FILE, err);
}

enum lmd_status lmi_worker_do_buffer(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				     struct lmd_error *err)
{
	return take(s, in, fd, LMI_WORKER_OBJECT_BUFFER, err);
}

enum lmd_status lmi_worker_do_buffer_free(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					  struct lmd_error *err)
{
	(void)fd;
	(void)err;
	return lmi_worker_forget_object(s, in, LMI_WORKER_OBJECT_BUFFER);
}

/* ---- copies ---- */

/* One side of a copy: a buffer of the device, or host memory. */
struct side {
	struct lmd_buffer *buffer;
	char *ptr;
};

/* host: what stands for LMI_WORKER_NONE. Returns false if the bytes are in no buffer. */
static bool find_side(struct lmi_worker_serve *s, uint64_t number, uint64_t at, uint64_t bytes, void *host,
		      struct side *out)
{
	const struct lmi_worker_object *o = lmi_worker_object_find(s, number, LMI_WORKER_OBJECT_BUFFER);

	*out = (struct side){.ptr = host};
	if (number == LMI_WORKER_NONE)
		return host || !bytes;
	if (!o || at > o->bytes || bytes > o->bytes - at)
		return false;
	*out = (struct side){.buffer = o->buffer, .ptr = o->buffer ? NULL : o->mem + at};
	return true;
}

enum lmd_status lmi_worker_do_copy(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				   struct lmd_error *err)
{
	struct lmi_worker_copy c;
	struct side dst = {0}, src = {0};
	void *from = NULL, *to = NULL;

	(void)fd;
	lmi_worker_in_read(in, &c, sizeof(c));
	if (!in->failed && c.src == LMI_WORKER_NONE)
		from = (void *)(uintptr_t)lmi_worker_in_get(in, c.bytes);
	if (!in->failed && c.dst == LMI_WORKER_NONE && c.bytes <= LMI_WORKER_PAYLOAD_MAX)
		to = lmi_worker_out_put(&s->reply, NULL, (size_t)c.bytes);
	if (in->failed || !find_side(s, c.dst, c.dst_at, c.bytes, to, &dst) ||
	    !find_side(s, c.src, c.src_at, c.bytes, from, &src) || (!dst.buffer && !src.buffer))
		return lmd_fail(err, LMD_INVALID, "worker: a copy of %llu bytes that are in no buffer",
				(unsigned long long)c.bytes);
	return s->ops->buffer_copy(s->state, NULL, dst.buffer, dst.ptr, dst.buffer ? c.dst_at : 0, src.buffer,
				   src.ptr, src.buffer ? c.src_at : 0, c.bytes, NULL, err);
}

enum lmd_status lmi_worker_do_memory(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				     struct lmd_error *err)
{
	struct lmi_worker_device_memory m = {0};
	enum lmd_status st = s->ops->memory
				     ? s->ops->memory(s->state, &m.total, &m.free, err)
				     : lmd_fail(err, LMD_UNSUPPORTED, "backend %s does not tell its memory",
						s->factory->f->name);

	(void)in;
	(void)fd;
	(void)lmi_worker_out_put(&s->reply, &m, sizeof(m));
	return st;
}
