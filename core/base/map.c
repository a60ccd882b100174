/* SPDX-License-Identifier: MIT
 *
 * Bytes of files in memory: mapped in place, or read into the heap.
 *
 * A copy starts at the same offset within a page as its bytes in the file, so that direct reads,
 * which need whole pages on both sides, need no second buffer. O_DIRECT is set on a separate
 * descriptor, opened from the open file and not from the path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"

#define PAGE	   4096u
#define HUGE_PAGE  (2u << 20)
#define READ_STEP  (8u << 20)
#define LOCK_STEP  (64u << 20)

enum lmd_status lmi_map_open(struct lmi_map *m, const struct lmi_file *f, uint64_t bytes,
			     struct lmd_error *err)
{
	enum lmi_file_fault fault;
	void *p = MAP_FAILED;

	if (bytes > f->bytes || bytes > SIZE_MAX / 2)
		return lmd_fail(err, LMD_INVALID, "cannot map %llu bytes of a file of %llu",
				(unsigned long long)bytes, (unsigned long long)f->bytes);
	if (lmi_file_must_fail(&fault) && fault == LMI_FILE_FAULT_EIO)
		errno = EIO;
	else
		p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return lmd_fail(err, errno == ENOMEM ? LMD_NOMEM : LMD_IO, "mmap of %llu bytes: %s",
				(unsigned long long)bytes, strerror(errno));
	*m = (struct lmi_map){.ptr = p, .bytes = bytes};
	return LMD_OK;
}

/* Opens the same file again for direct reads; -1 if that is not possible. */
static int open_direct(int fd)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
}

/* Reads whole pages [at, at + n) to p as far as direct reads work; returns the bytes read. */
static uint64_t read_direct(int fd, uint8_t *p, uint64_t at, uint64_t n)
{
	uint64_t done = 0;

	while (fd >= 0 && done < n) {
		ssize_t k = lmi_file_pread(fd, p + done, (size_t)(n - done), at + done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		done += (uint64_t)k;
		if (done % PAGE) /* end of file or a short read: read the rest normally */
			break;
	}
	return done;
}

struct load {
	const struct lmi_file *f;
	uint8_t *p;	      /* byte `first` of the file */
	uint64_t first, end;  /* whole pages around the wanted bytes; end: offset in the file */
	uint64_t skip;	      /* from first to the first wanted byte */
	int direct;
	lmi_map_fn fn;
	void *arg;
};

static enum lmd_status load(struct load *l, struct lmd_error *err)
{
	uint64_t at = l->first;

	while (at < l->end) {
		uint64_t n = l->end - at < READ_STEP ? l->end - at : READ_STEP;
		uint64_t pages = (n + PAGE - 1) / PAGE * PAGE;
		uint64_t got = at % PAGE ? 0 : read_direct(l->direct, l->p + (at - l->first), at,
							   pages);

		got = got < n ? got : n;
		if (got < n) {
			enum lmd_status st = lmi_file_read(l->f, at + got,
							   l->p + (at + got - l->first),
							   (size_t)(n - got), err);

			if (st != LMD_OK)
				return st;
		}
		at += n;
		if (l->fn && !l->fn(l->arg, at - l->first > l->skip ? at - l->first - l->skip : 0))
			return lmd_fail(err, LMD_CANCELLED, "cancelled at byte %llu",
					(unsigned long long)at);
	}
	return LMD_OK;
}

enum lmd_status lmi_map_load(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, bool direct, lmi_map_fn fn, void *arg,
			     struct lmd_error *err)
{
	uint64_t skip = at % PAGE;
	uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE;
	/* space to align, and for the rest of the last page */
	uint64_t room = skip + bytes + align + PAGE;
	uint8_t *block = bytes && bytes <= SIZE_MAX / 4 ? lmi_alloc((size_t)room, 1) : NULL;
	struct load l = {.f = f, .first = at - skip, .end = at + bytes, .skip = skip, .fn = fn,
			 .arg = arg};
	enum lmd_status st;

	if (!block)
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of the file",
				(unsigned long long)bytes);
	l.p = block + (align - (uintptr_t)block % align) % align;
	if (align == HUGE_PAGE)
		(void)madvise(l.p, (size_t)(skip + bytes), MADV_HUGEPAGE); /* only a hint */
	l.direct = direct ? open_direct(f->fd) : -1;
	st = load(&l, err);
	if (l.direct >= 0)
		(void)close(l.direct);
	if (st != LMD_OK) {
		lmi_free(block);
		return st;
	}
	*m = (struct lmi_map){.ptr = l.p + skip, .bytes = bytes, .on_heap = true, .block = block};
	return LMD_OK;
}

enum lmd_status lmi_map_read(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, struct lmd_error *err)
{
	return lmi_map_load(m, f, at, bytes, false, NULL, NULL, err);
}

bool lmi_map_lock(const struct lmi_map *m, lmi_map_fn fn, void *arg)
{
	for (uint64_t at = 0; at < m->bytes; at += LOCK_STEP) {
		uint64_t n = m->bytes - at < LOCK_STEP ? m->bytes - at : LOCK_STEP;

		if (mlock(m->ptr + at, (size_t)n) != 0 || (fn && !fn(arg, at + n))) {
			(void)munlock(m->ptr, (size_t)m->bytes);
			return false;
		}
	}
	return true;
}

enum lmd_status lmi_map_zeros(struct lmi_map *m, uint64_t bytes, struct lmd_error *err)
{
	void *p = MAP_FAILED;

	if (bytes <= SIZE_MAX / 2) /* never written: all pages are the shared zero page */
		p = mmap(NULL, (size_t)bytes, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "no address space for %llu bytes",
				(unsigned long long)bytes);
	*m = (struct lmi_map){.ptr = p, .bytes = bytes};
	return LMD_OK;
}

void lmi_map_close(struct lmi_map *m)
{
	if (m->on_heap)
		lmi_free(m->block);
	else if (m->ptr)
		(void)munmap((void *)(uintptr_t)m->ptr, (size_t)m->bytes);
	*m = (struct lmi_map){0};
}
