/* SPDX-License-Identifier: MIT
 *
 * The content and identity of files.  A file is opened once, so that the file that was checked is
 * the one that is read; its last path component must not be a link. */
#include "store/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "core/base/printable.h"
#include "store/blob.h"

#define PIECE (1u << 20)
#define SHOW  128

static void identity_of(struct lmi_store_file *id, const struct stat *sb)
{
	id->size = (uint64_t)sb->st_size;
	id->dev = (uint64_t)sb->st_dev;
	id->ino = (uint64_t)sb->st_ino;
	id->mtime_ns = (int64_t)sb->st_mtim.tv_sec * 1000000000 + sb->st_mtim.tv_nsec;
	id->ctime_ns = (int64_t)sb->st_ctim.tv_sec * 1000000000 + sb->st_ctim.tv_nsec;
}

enum lmd_status lmi_store_file_identity(struct lmi_store_file *id, int fd, struct lmd_error *err)
{
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return lmd_fail(err, LMD_IO, "fstat: %s", strerror(errno));
	identity_of(id, &sb);
	return LMD_OK;
}

enum lmd_status lmi_store_file_open(int *out, int at_fd, const char *path,
				    struct lmi_store_file *id, struct lmd_error *err)
{
	int fd = openat(at_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char show[SHOW];
	struct stat sb;

	(void)lmi_printable_path(show, sizeof(show), path);
	if (fd < 0) {
		int e = errno;

		if (fstatat(at_fd, path, &sb, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(sb.st_mode))
			return lmd_fail(err, LMD_INVALID, "%s: is %s, not a regular file", show,
					S_ISLNK(sb.st_mode) ? "a symbolic link" : "a special file");
		return lmd_fail(err,
				e == ENOENT || e == ENOTDIR ? LMD_NOTFOUND
				: e == ENOMEM               ? LMD_NOMEM
							    : LMD_IO,
				"%s: cannot open: %s", show, strerror(e));
	}
	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode)) {
		close(fd);
		return lmd_fail(err, LMD_INVALID, "%s: is not a regular file", show);
	}
	identity_of(id, &sb);
	*out = fd;
	return LMD_OK;
}

enum lmd_status lmi_store_file_same(const struct lmi_store_file *f, int fd, struct lmd_error *err)
{
	struct lmi_store_file now;
	enum lmd_status st = lmi_store_file_identity(&now, fd, err);
	char show[SHOW];

	if (st != LMD_OK)
		return st;
	(void)lmi_printable_path(show, sizeof(show), f->path ? f->path : "");
	if (now.size != f->size)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: has %llu bytes, but had %llu when it was added", show,
				(unsigned long long)now.size, (unsigned long long)f->size);
	if (now.dev != f->dev || now.ino != f->ino)
		return lmd_fail(err, LMD_CORRUPT, "%s: is not the file that was added",
				show);
	if (now.mtime_ns != f->mtime_ns || now.ctime_ns != f->ctime_ns)
		return lmd_fail(err, LMD_CORRUPT, "%s: has changed since it was added", show);
	return LMD_OK;
}

enum lmd_status lmi_store_model_changed(const struct lmi_store_model *m, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < m->n_files; i++) {
		struct lmi_store_file now;
		int fd;

		st = lmi_store_file_open(&fd, AT_FDCWD, m->files[i].path, &now, err);
		if (st == LMD_INVALID)
			st = LMD_CORRUPT; /* it was replaced by a link or folder */
		if (st != LMD_OK)
			break;
		st = lmi_store_file_same(&m->files[i], fd, err);
		close(fd);
	}
	if (st != LMD_OK && err)
		err->status = st;
	return st;
}

enum lmd_status lmi_store_piece(int fd, uint64_t at, void *buf, size_t n, size_t *got,
				const struct lmi_store_work *work, struct lmd_error *err)
{
	ssize_t k;

	if (work && work->cancel && atomic_load_explicit(work->cancel, memory_order_relaxed))
		return lmd_fail(err, LMD_CANCELLED, "cancelled at byte %llu",
				(unsigned long long)at);
	do
		k = pread(fd, buf, n, (off_t)at);
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return lmd_fail(err, LMD_IO, "read at byte %llu: %s", (unsigned long long)at,
				strerror(errno));
	*got = (size_t)k;
	return LMD_OK;
}

enum lmd_status lmi_store_digest_fd(char out[LMI_STORE_DIGEST_HEX], int fd, uint64_t size,
				    uint64_t before, uint64_t total,
				    const struct lmi_store_work *work, struct lmd_error *err)
{
	void *buf = lmi_alloc(PIECE, 1);
	uint8_t raw[LMI_SHA256_BYTES];
	enum lmd_status st = LMD_OK;
	struct lmi_sha256 h = {0};
	uint64_t at = 0;

	if (!buf || !lmi_sha256_init(&h))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	while (st == LMD_OK) {
		size_t got = 0;

		st = lmi_store_piece(fd, at, buf, PIECE, &got, work, err);
		if (st != LMD_OK || !got)
			break;
		lmi_sha256_update(&h, buf, got);
		at += got;
		if (at > size || h.cancelled)
			break;
		if (work && work->progress)
			work->progress(work->arg, before + at, total);
	}
	if (st == LMD_OK && at != size && !h.cancelled)
		st = lmd_fail(err, LMD_BUSY,
			      "%s than %llu bytes: the file changed while it was being read",
			      at > size ? "more" : "less", (unsigned long long)size);
	if (st == LMD_OK && h.cancelled)
		st = lmd_fail(err, LMD_CANCELLED, "the digest was cancelled");
	if (st == LMD_OK && !lmi_sha256_final(&h, raw))
		st = lmd_fail(err, LMD_INTERNAL, "SHA-256 failed");
	if (st == LMD_OK)
		lmi_sha256_hex(out, raw);
	lmi_sha256_fini(&h);
	lmi_free(buf);
	return st;
}

/* Maximum wait for a file whose time is in the future. */
#define SETTLE_TRIES 32

void lmi_store_file_wait_tick(const struct lmi_store_file *id)
{
	int64_t last = id->mtime_ns > id->ctime_ns ? id->mtime_ns : id->ctime_ns;

	for (int i = 0; i < SETTLE_TRIES; i++) {
		struct timespec now, ms = {.tv_nsec = 1000000};

		if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0 ||
		    (int64_t)now.tv_sec * 1000000000 + now.tv_nsec > last)
			return;
		(void)nanosleep(&ms, NULL);
	}
}

bool lmi_store_same_identity(const struct lmi_store_file *a, const struct lmi_store_file *b)
{
	return a->size == b->size && a->dev == b->dev && a->ino == b->ino &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

enum lmd_status lmi_store_digest_file(struct lmi_store_file *out, const char *path,
				      const struct lmi_store_work *work, struct lmd_error *err)
{
	struct lmi_store_file f = {.path = path}, after = {0};
	char show[SHOW];
	enum lmd_status st;
	int fd;

	st = lmi_store_file_open(&fd, AT_FDCWD, path, &f, err);
	if (st != LMD_OK)
		return st;
	lmi_store_file_wait_tick(&f);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	st = lmi_store_digest_fd(f.digest, fd, f.size, 0, f.size, work, err);
	if (st == LMD_OK)
		st = lmi_store_file_identity(&after, fd, err);
	if (st == LMD_OK && !lmi_store_same_identity(&f, &after))
		st = lmd_fail(err, LMD_BUSY, "the file changed while it was being read");
	close(fd);
	if (st == LMD_OK)
		*out = f;
	else
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), path));
	return st;
}

bool lmi_store_digest_ok(const char *hex)
{
	return lmi_sha256_is_hex(hex);
}

enum lmd_status lmi_store_digest_join(char out[LMI_STORE_DIGEST_HEX],
				      const struct lmi_store_file *files, uint32_t n,
				      struct lmd_error *err)
{
	uint8_t raw[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (n == 1) {
		memcpy(out, files[0].digest, LMI_STORE_DIGEST_HEX);
		return LMD_OK;
	}
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	for (uint32_t i = 0; i < n; i++) {
		lmi_sha256_update(&h, files[i].digest, LMI_STORE_DIGEST_HEX - 1);
		lmi_sha256_update(&h, "\n", 1);
	}
	if (!lmi_sha256_final(&h, raw))
		return lmd_fail(err, LMD_INTERNAL, "SHA-256 failed");
	lmi_sha256_hex(out, raw);
	return LMD_OK;
}
