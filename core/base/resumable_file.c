/* SPDX-License-Identifier: MIT
 *
 * Files that a later run can resume. The lock on the partial file, held until it is closed, keeps
 * two processes from writing it; the journal needs none. A journal record counts only if the bytes
 * match it, so that a record torn by a power loss, or one whose data did not reach the disk, costs
 * only the segments from there on. */
#include "core/base/resumable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/printable.h"

#define MAGIC  "lmdpart1"
#define HEAD   (8 + LMI_RESUMABLE_FILE_KEY)
#define RECORD 16
#define PIECE  (1u << 20) /* bytes read back at a time */
#define SHOW   128
#define TRIES  100

static bool is_same_file(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static enum lmd_status check_kind(int fd, const char *path, struct lmd_error *err)
{
	char show[SHOW];
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return lmi_error_errno(err, path, "fstat");
	if (!S_ISREG(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "%s: is %s, not a regular file",
				lmi_printable_path(show, sizeof(show), path),
				lmi_file_kind(sb.st_mode));
	if (sb.st_uid != geteuid() || sb.st_nlink > 1)
		return lmd_fail(err, LMD_INVALID,
				"%s: cannot be written: it belongs to another user or has a second "
				"hard link",
				lmi_printable_path(show, sizeof(show), path));
	return LMD_OK;
}

static int open_at(const char *path, unsigned mode)
{
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode);
}

/* Opens and locks the partial file. The previous holder of the lock may have renamed it in the
 * meantime: then the opened file is the finished one and must not be touched. */
static enum lmd_status open_locked(struct lmi_new_file *f, unsigned mode, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	char show[SHOW];

	for (unsigned i = 0; st == LMD_OK && i < TRIES; i++) {
		f->fd = open_at(f->temp, mode);
		if (f->fd < 0)
			return lmi_error_errno(err, f->temp, "cannot create");
		st = check_kind(f->fd, f->temp, err);
		if (st == LMD_OK && flock(f->fd, LOCK_EX | LOCK_NB) < 0)
			st = errno == EWOULDBLOCK
				     ? lmd_fail(err, LMD_BUSY, "%s: another process is writing it",
						lmi_printable_path(show, sizeof(show), f->temp))
				     : lmi_error_errno(err, f->temp, "flock");
		if (st == LMD_OK && is_same_file(f->fd, f->temp))
			return LMD_OK;
		close(f->fd);
		f->fd = -1;
	}
	return st != LMD_OK ? st
			    : lmd_fail(err, LMD_BUSY, "%s: another process is writing it",
				       lmi_printable_path(show, sizeof(show), f->temp));
}

/* Reads exactly n bytes; returns false if the file ends first or cannot be read. */
static bool read_at(int fd, uint64_t at, void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t k = lmi_file_pread(fd, p, n, at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

static enum lmd_status write_journal(struct lmi_resumable_file *p, uint64_t at, const void *data,
				     size_t n, struct lmd_error *err)
{
	struct lmi_new_file f = {.fd = p->journal, .temp = p->journal_path};

	return lmi_new_file_write_at(&f, at, data, n, err);
}

/* Returns true if the bytes [at, end) match the fingerprint. Sets *st to LMD_CANCELLED if the
 * callback cancels. */
static bool is_whole(const struct lmi_resumable_file *p, const struct lmi_resumable_file_opts *o,
		     uint64_t at, uint64_t end, uint64_t sum, uint8_t *buf, enum lmd_status *st)
{
	struct lmi_fingerprint have;

	lmi_fingerprint_init(&have);
	while (at < end) {
		size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

		if (!read_at(p->file.fd, at, buf, n))
			return false;
		lmi_fingerprint_add(&have, buf, n);
		at += n;
		if (o->progress && !o->progress(o->progress_arg, at)) {
			*st = LMD_CANCELLED;
			return false;
		}
	}
	return lmi_fingerprint_get(&have) == sum;
}

/* Counts the complete segments. */
static enum lmd_status read_back(struct lmi_resumable_file *p,
				 const struct lmi_resumable_file_opts *o,
				 enum lmi_resumable_file_found *found, struct lmd_error *err)
{
	uint8_t head[HEAD], record[RECORD], *buf;
	enum lmd_status st = LMD_OK;

	*found = p->file.bytes ? LMI_RESUMABLE_FILE_DAMAGED : LMI_RESUMABLE_FILE_NOTHING;
	p->file.bytes = 0;
	if (o->restart || !read_at(p->journal, 0, head, sizeof(head)) ||
	    memcmp(head, MAGIC, 8) != 0) {
		*found = o->restart ? LMI_RESUMABLE_FILE_NOTHING : *found;
		return LMD_OK;
	}
	if (memcmp(head + 8, o->key, LMI_RESUMABLE_FILE_KEY) != 0) {
		*found = *found == LMI_RESUMABLE_FILE_NOTHING ? *found : LMI_RESUMABLE_FILE_OTHER;
		return LMD_OK;
	}
	buf = lmi_alloc(PIECE, 1);
	if (!buf)
		return lmd_fail(err, LMD_NOMEM, "no memory to read %s back", p->file.temp);
	while (read_at(p->journal, HEAD + (uint64_t)p->n_segment * RECORD, record, RECORD)) {
		uint64_t end = lmi_get_le64(record);

		if (end < p->file.bytes || p->n_segment == UINT32_MAX ||
		    !is_whole(p, o, p->file.bytes, end, lmi_get_le64(record + 8), buf, &st))
			break;
		p->file.bytes = end;
		p->n_segment++;
		*found = LMI_RESUMABLE_FILE_KEPT;
	}
	lmi_free(buf);
	return st == LMD_OK ? st : lmd_fail(err, st, "%s: cancelled while it was read back",
					    p->file.temp);
}

/* Truncates both files to n_segment segments. */
static enum lmd_status truncate_files(struct lmi_resumable_file *p, struct lmd_error *err)
{
	uint64_t records = p->n_segment ? HEAD + (uint64_t)p->n_segment * RECORD : 0;

	lmi_fingerprint_init(&p->sum);
	if (ftruncate(p->journal, (off_t)records) < 0)
		return lmi_error_errno(err, p->journal_path, "truncate");
	if (ftruncate(p->file.fd, (off_t)p->file.bytes) < 0)
		return lmi_error_errno(err, p->file.temp, "truncate");
	return LMD_OK;
}

static enum lmd_status begin_journal(struct lmi_resumable_file *p, const uint8_t *key,
				     struct lmd_error *err)
{
	uint8_t head[HEAD] = MAGIC;

	memcpy(head + 8, key, LMI_RESUMABLE_FILE_KEY);
	return write_journal(p, 0, head, sizeof(head), err);
}

static void close_both(struct lmi_resumable_file *p)
{
	if (p->journal >= 0)
		close(p->journal);
	if (p->file.fd >= 0)
		close(p->file.fd);
	p->journal = p->file.fd = -1;
}

void lmi_resumable_file_keep(struct lmi_resumable_file *p)
{
	close_both(p);
	lmi_free(p->journal_path);
	lmi_free(p->file.temp);
	lmi_free(p->file.path);
	p->journal_path = p->file.temp = p->file.path = NULL;
}

static enum lmd_status open_both(struct lmi_resumable_file *p, const char *path, unsigned mode,
				 struct lmd_error *err)
{
	size_t n = strlen(path);
	enum lmd_status st;
	struct stat sb;
	char show[SHOW];

	if (stat(path, &sb) == 0 && !S_ISREG(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "%s: is %s, not a regular file",
				lmi_printable_path(show, sizeof(show), path),
				lmi_file_kind(sb.st_mode));
	if (n > PATH_MAX)
		return lmd_fail(err, LMD_INVALID, "path of %zu bytes exceeds the limit of %d",
				n, PATH_MAX);
	st = lmi_file_check_folder(path, err);
	if (st != LMD_OK)
		return st;
	p->file.path = lmi_strndup(path, n);
	p->file.temp = lmi_alloc(n + 32, 1);
	p->journal_path = lmi_alloc(n + 32, 1);
	if (!p->file.path || !p->file.temp || !p->journal_path)
		return lmd_fail(err, LMD_NOMEM, "no memory for a path");
	(void)snprintf(p->file.temp, n + 32, "%s.partial", path);
	(void)snprintf(p->journal_path, n + 32, "%s.partial.journal", path);
	st = open_locked(&p->file, mode, err);
	if (st != LMD_OK)
		return st;
	p->journal = open_at(p->journal_path, mode);
	if (p->journal < 0)
		return lmi_error_errno(err, p->journal_path, "cannot create");
	st = check_kind(p->journal, p->journal_path, err);
	if (st == LMD_OK && fstat(p->file.fd, &sb) < 0)
		st = lmi_error_errno(err, p->file.temp, "fstat");
	if (st == LMD_OK)
		p->file.bytes = (uint64_t)sb.st_size;
	return st;
}

enum lmd_status lmi_resumable_file_open(struct lmi_resumable_file *p, const char *path,
					unsigned mode, const struct lmi_resumable_file_opts *o,
					enum lmi_resumable_file_found *found, struct lmd_error *err)
{
	enum lmd_status st;

	*p = (struct lmi_resumable_file){.file = {.fd = -1}, .journal = -1};
	st = open_both(p, path, mode, err);
	if (st == LMD_OK)
		st = read_back(p, o, found, err);
	if (st == LMD_OK)
		st = truncate_files(p, err);
	if (st == LMD_OK && !p->n_segment)
		st = begin_journal(p, o->key, err);
	if (st != LMD_OK)
		lmi_resumable_file_keep(p);
	return st;
}

enum lmd_status lmi_resumable_file_restart(struct lmi_resumable_file *p, struct lmd_error *err)
{
	uint8_t head[HEAD];

	if (!read_at(p->journal, 0, head, sizeof(head)))
		return lmd_fail(err, LMD_IO, "%s: cannot be read", p->journal_path);
	p->file.bytes = p->n_segment = 0;
	if (truncate_files(p, err) != LMD_OK)
		return LMD_IO;
	return begin_journal(p, head + 8, err);
}

enum lmd_status lmi_resumable_file_write(struct lmi_resumable_file *p, const void *data, size_t n,
					 struct lmd_error *err)
{
	enum lmd_status st = lmi_new_file_write(&p->file, data, n, err);

	if (st == LMD_OK)
		lmi_fingerprint_add(&p->sum, data, n);
	return st;
}

enum lmd_status lmi_resumable_file_end_segment(struct lmi_resumable_file *p, struct lmd_error *err)
{
	uint8_t record[RECORD];
	enum lmd_status st;

	lmi_put_le64(record, p->file.bytes);
	lmi_put_le64(record + 8, lmi_fingerprint_get(&p->sum));
	st = write_journal(p, HEAD + (uint64_t)p->n_segment * RECORD, record, sizeof(record), err);
	lmi_fingerprint_init(&p->sum);
	p->n_segment++;
	return st;
}

enum lmd_status lmi_resumable_file_commit(struct lmi_resumable_file *p, struct lmd_error *err)
{
	/* keep the lock until the file has its name, so that no other process resumes it
	 * meanwhile */
	enum lmd_status st = lmi_new_file_publish(&p->file, err);

	if (st != LMD_OK)
		return st;
	(void)unlink(p->journal_path);
	lmi_resumable_file_keep(p);
	return LMD_OK;
}

void lmi_resumable_file_abort(struct lmi_resumable_file *p)
{
	if (p->file.temp) {
		(void)unlink(p->journal_path);
		(void)unlink(p->file.temp);
	}
	lmi_resumable_file_keep(p);
}
