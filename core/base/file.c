/* SPDX-License-Identifier: MIT
 *
 * Files. A path is resolved once; everything else works on the descriptor, so that the file that
 * was checked is the file that is read. O_NONBLOCK keeps opening a FIFO or device from blocking; it
 * has no effect on regular files. */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"

#define SHOW   128
#define IO_MAX (1u << 30) /* bytes per read or write */

/* The failure that a test has requested. */
static _Atomic uint64_t fail_in;
static _Atomic int fail_fault;
static _Atomic bool failed;

void lmi_file_fail_nth(uint64_t nth, enum lmi_file_fault fault)
{
	failed = false;
	fail_fault = (int)fault;
	fail_in = nth;
}

bool lmi_file_did_fail(void)
{
	return failed;
}

bool lmi_file_must_fail(enum lmi_file_fault *fault)
{
	uint64_t left = fail_in;

	while (left && !atomic_compare_exchange_weak(&fail_in, &left, left - 1))
		;
	if (left != 1)
		return false;
	failed = true;
	*fault = (enum lmi_file_fault)fail_fault;
	return true;
}

ssize_t lmi_file_pread(int fd, void *buf, size_t n, uint64_t at)
{
	enum lmi_file_fault fault;

	if (!lmi_file_must_fail(&fault))
		return pread(fd, buf, n < IO_MAX ? n : IO_MAX, (off_t)at);
	switch (fault) {
	case LMI_FILE_FAULT_SHORT:
		return pread(fd, buf, n > 1 ? n / 2 : n, (off_t)at);
	case LMI_FILE_FAULT_END:
		return 0;
	case LMI_FILE_FAULT_EIO:
	case LMI_FILE_FAULT_EINTR:
		break;
	}
	errno = fault == LMI_FILE_FAULT_EINTR ? EINTR : EIO;
	return -1;
}

enum lmd_status lmi_error_errno(struct lmd_error *err, const char *path, const char *what)
{
	int e = errno;
	char show[SHOW];

	return lmd_fail(err,
			e == ENOENT   ? LMD_NOTFOUND
			: e == ENOMEM ? LMD_NOMEM
				      : LMD_IO,
			"%s: %s: %s", lmi_printable_path(show, sizeof(show), path), what,
			strerror(e));
}

const char *lmi_file_kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return "a device";
	if (S_ISSOCK(mode))
		return "a socket";
	return "not a file";
}

static _Thread_local struct lmi_file_guard *guard;

struct lmi_file_guard *lmi_file_guard_attach(struct lmi_file_guard *g)
{
	struct lmi_file_guard *previous = guard;

	guard = g;
	return previous;
}

enum lmd_status lmi_file_open(struct lmi_file *f, const char *path, struct lmd_error *err)
{
	char show[SHOW];
	struct stat st;
	int fd;

	f->fd = -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENXIO ? lmd_fail(err, LMD_INVALID, "%s: not a regular file",
						 lmi_printable_path(show, sizeof(show), path))
				      : lmi_error_errno(err, path, "cannot open");
	if (fstat(fd, &st) < 0) {
		(void)lmi_error_errno(err, path, "fstat");
		close(fd);
		return LMD_IO;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return lmd_fail(err, LMD_INVALID, "%s: is %s, not a regular file",
				lmi_printable_path(show, sizeof(show), path),
				lmi_file_kind(st.st_mode));
	}
	if (guard) {
		enum lmd_status verdict = guard->opened(guard, path, &st, err);

		if (verdict != LMD_OK) {
			close(fd);
			return verdict;
		}
	}
	f->fd = fd;
	f->bytes = (uint64_t)st.st_size;
	return LMD_OK;
}

enum lmd_status lmi_file_read(const struct lmi_file *f, uint64_t at, void *buf, size_t n,
			      struct lmd_error *err)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t k = lmi_file_pread(f->fd, p, n, at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return lmd_fail(err, LMD_IO, "read at byte %llu: %s",
					(unsigned long long)at, strerror(errno));
		if (k == 0)
			return lmd_fail(err, LMD_IO,
					"the file ends at byte %llu, %zu more bytes are needed",
					(unsigned long long)at, n);
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return LMD_OK;
}

void lmi_file_close(struct lmi_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

bool lmi_file_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

const char *lmi_file_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum lmd_status lmi_file_check_folder(const char *path, struct lmd_error *err)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash && slash != path ? (size_t)(slash - path) : 1;
	char folder[PATH_MAX + 1], show[SHOW];
	struct stat sb;

	if (n > PATH_MAX)
		return lmd_fail(err, LMD_INVALID, "path of %zu bytes, at most %d", n, PATH_MAX);
	memcpy(folder, slash ? path : ".", n);
	folder[n] = '\0';
	if (stat(folder, &sb))
		return lmi_error_errno(err, folder, "cannot write there");
	return S_ISDIR(sb.st_mode) ? LMD_OK
				   : lmd_fail(err, LMD_INVALID, "%s: is not a folder",
					      lmi_printable_path(show, sizeof(show), folder));
}

enum lmd_status lmi_new_file_open(struct lmi_new_file *f, const char *path, unsigned mode,
				  struct lmd_error *err)
{
	size_t n = strlen(path);
	enum lmd_status st;
	char show[SHOW];
	struct stat sb;

	*f = (struct lmi_new_file){.fd = -1};
	if (stat(path, &sb) == 0 && !S_ISREG(sb.st_mode)) /* renaming would replace a special file
							   * such as /dev/null */
		return lmd_fail(err, LMD_INVALID, "%s: is %s, not a regular file",
				lmi_printable_path(show, sizeof(show), path),
				lmi_file_kind(sb.st_mode));
	if (n > PATH_MAX)
		return lmd_fail(err, LMD_INVALID, "path of %zu bytes exceeds the limit of %d",
				n, PATH_MAX);
	st = lmi_file_check_folder(path, err);
	if (st != LMD_OK)
		return st;
	f->path = lmi_strndup(path, n);
	f->temp = lmi_alloc(n + 32, 1);
	if (!f->path || !f->temp) {
		lmi_new_file_abort(f);
		return lmd_fail(err, LMD_NOMEM, "no memory for a path");
	}
	for (unsigned i = 0; i < 100 && f->fd < 0; i++) {
		(void)snprintf(f->temp, n + 32, "%s.%ld-%u.part", path, (long)getpid(), i);
		f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		if (f->fd < 0 && errno != EEXIST)
			break;
	}
	if (f->fd >= 0)
		return LMD_OK;
	st = lmi_error_errno(err, path, "cannot create");
	lmi_free(f->temp);
	f->temp = NULL; /* somebody else's file: do not remove it */
	lmi_new_file_abort(f);
	return st;
}

enum lmd_status lmi_new_file_write(struct lmi_new_file *f, const void *data, size_t n,
				   struct lmd_error *err)
{
	return lmi_new_file_write_at(f, f->bytes, data, n, err);
}

enum lmd_status lmi_new_file_write_at(struct lmi_new_file *f, uint64_t at, const void *data,
				      size_t n, struct lmd_error *err)
{
	const uint8_t *p = data;
	char show[SHOW];

	while (n) {
		ssize_t k = pwrite(f->fd, p, n < IO_MAX ? n : IO_MAX, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return lmi_error_errno(err, f->temp, "write");
		if (k == 0) /* retrying might never end */
			return lmd_fail(err, LMD_IO, "%s: write: wrote 0 of %zu bytes",
					lmi_printable_path(show, sizeof(show), f->temp), n);
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
		if (f->bytes < at)
			f->bytes = at;
	}
	return LMD_OK;
}

void lmi_file_sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (slash)
		(void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + (slash == path)),
			       path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

enum lmd_status lmi_new_file_publish(struct lmi_new_file *f, struct lmd_error *err)
{
	if (fsync(f->fd) < 0)
		return lmi_error_errno(err, f->temp, "fsync");
	if (rename(f->temp, f->path) < 0)
		return lmi_error_errno(err, f->path, "rename");
	lmi_free(f->temp);
	f->temp = NULL;
	lmi_file_sync_folder(f->path);
	return LMD_OK;
}

enum lmd_status lmi_new_file_commit(struct lmi_new_file *f, struct lmd_error *err)
{
	enum lmd_status st = lmi_new_file_publish(f, err);

	lmi_new_file_abort(f);
	return st;
}

void lmi_new_file_abort(struct lmi_new_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (f->temp)
		(void)unlink(f->temp);
	lmi_free(f->temp);
	lmi_free(f->path);
	f->temp = f->path = NULL;
}

enum lmd_status lmi_file_read_all(const char *path, uint64_t max, char **out, size_t *n,
				  struct lmd_error *err)
{
	struct lmi_file f;
	char *p = NULL;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	if (f.bytes > max) {
		st = lmd_fail(err, LMD_INVALID, "%s: %llu bytes exceed the limit of %llu", path,
			      (unsigned long long)f.bytes, (unsigned long long)max);
	} else {
		p = lmi_alloc((size_t)f.bytes + 1, 1);
		st = p ? lmi_file_read(&f, 0, p, (size_t)f.bytes, err)
		       : lmd_fail(err, LMD_NOMEM, "%s: no memory for %llu bytes", path,
				  (unsigned long long)f.bytes);
	}
	if (st == LMD_OK) {
		*out = p;
		*n = (size_t)f.bytes;
	} else {
		lmi_free(p);
	}
	lmi_file_close(&f);
	return st;
}
