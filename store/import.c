/* SPDX-License-Identifier: MIT
 *
 * Imported files.  A copy gets its final name only after it has been written to the disk and read
 * back, so all files with such names are complete.  The next open removes interrupted copies.  Two
 * imports of the same content may run at once: a complete file is never overwritten. */
#include "store/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/printable.h"
#include "core/base/tower_file.h"
#include "store/blob.h"

#define PIECE (1u << 20)
#define SHOW  128
#define PART  48

void lmi_store_blob_name(char out[LMI_STORE_BLOB_NAME], const char *digest)
{
	(void)snprintf(out, LMI_STORE_BLOB_NAME, "sha256-%.64s", digest);
}

enum lmd_status lmi_store_blob_folder(int *fd, int dir_fd, struct lmd_error *err)
{
	if (mkdirat(dir_fd, LMI_STORE_BLOB_FOLDER, 0700) < 0 && errno != EEXIST)
		return lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER ": cannot create the folder: %s",
				strerror(errno));
	*fd = openat(dir_fd, LMI_STORE_BLOB_FOLDER,
		     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER ": cannot open the folder: %s",
				strerror(errno));
	return LMD_OK;
}

static bool is_part(const char *name)
{
	size_t n = strlen(name);

	return n > 12 && strncmp(name, "import-", 7) == 0 && strcmp(name + n - 5, ".part") == 0;
}

uint32_t lmi_store_blob_sweep(int dir_fd)
{
	int fd = openat(dir_fd, LMI_STORE_BLOB_FOLDER,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	uint32_t n = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(d)))
		if (is_part(e->d_name) && unlinkat(dirfd(d), e->d_name, 0) == 0)
			n++;
	closedir(d);
	return n;
}

void lmi_store_blob_remove(int dir_fd, const char *digest)
{
	static const char *const endings[] = {"", LMI_STORE_BLOB_MANIFEST, LMI_TOWER_SUFFIX};
	char name[LMI_STORE_BLOB_NAME], path[sizeof(LMI_STORE_BLOB_FOLDER "/") + sizeof(name) + 8];
	struct lmd_error err;
	int fd;

	lmi_store_blob_name(name, digest);
	for (size_t i = 0; i < LMD_LEN(endings); i++) { /* a lack of descriptors does not prevent it */
		(void)snprintf(path, sizeof(path), LMI_STORE_BLOB_FOLDER "/%s%s", name, endings[i]);
		(void)unlinkat(dir_fd, path, 0);
	}
	if (lmi_store_blob_folder(&fd, dir_fd, &err) != LMD_OK)
		return;
	(void)fsync(fd);
	close(fd);
}

struct copy {
	int from, folder, part;
	char part_name[PART];
	char name[LMI_STORE_BLOB_NAME + 8]; /* of the copy; "": that of its content */
	struct lmi_store_file src;
	char digest[LMI_STORE_DIGEST_HEX];
	const struct lmi_store_work *work;
};

static enum lmd_status open_part(struct copy *c, struct lmd_error *err)
{
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(c->part_name, sizeof(c->part_name), "import-%ld-%u.part",
			       (long)getpid(), i);
		c->part = openat(c->folder, c->part_name,
				 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (c->part >= 0)
			return LMD_OK;
		if (errno != EEXIST)
			break;
	}
	c->part_name[0] = 0;
	return lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER ": cannot create a file: %s",
			strerror(errno));
}

/* Copies a file and computes its digest in one pass. */
static enum lmd_status copy_bytes(struct copy *c, struct lmi_sha256 *h, void *buf,
				  struct lmd_error *err)
{
	struct lmi_store_file after = {0};
	enum lmd_status st;
	uint64_t at = 0;

	for (;;) {
		size_t got = 0;

		st = lmi_store_piece(c->from, at, buf, PIECE, &got, c->work, err);
		if (st != LMD_OK)
			return st;
		if (!got)
			break;
		if (at + got > c->src.size)
			return lmd_fail(err, LMD_BUSY, "the file grew while it was being read");
		lmi_sha256_update(h, buf, got);
		if (!lmi_file_write_all(c->part, buf, got))
			return lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER ": write: %s",
					strerror(errno));
		at += got;
		if (c->work && c->work->progress)
			c->work->progress(c->work->arg, at, 2 * c->src.size);
	}
	st = lmi_store_file_identity(&after, c->from, err);
	if (st == LMD_OK && (at != c->src.size || !lmi_store_same_identity(&c->src, &after)))
		st = lmd_fail(err, LMD_BUSY, "the file changed while it was being read");
	return st;
}

static enum lmd_status copy_to_part(struct copy *c, struct lmd_error *err)
{
	void *buf = lmi_alloc(PIECE, 1);
	uint8_t raw[LMI_SHA256_BYTES];
	struct lmi_sha256 h = {0};
	enum lmd_status st;

	if (!buf || !lmi_sha256_init(&h))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a copy");
	else
		st = copy_bytes(c, &h, buf, err);
	if (st == LMD_OK && !lmi_sha256_final(&h, raw))
		st = lmd_fail(err, LMD_INTERNAL, "SHA-256 failed");
	if (st == LMD_OK)
		lmi_sha256_hex(c->digest, raw);
	if (st == LMD_OK && fsync(c->part) < 0)
		st = lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER ": fsync: %s", strerror(errno));
	lmi_sha256_fini(&h);
	lmi_free(buf);
	return st;
}

/* Checks the digest of the file `fd`; returns LMD_CORRUPT if it differs. */
static enum lmd_status read_back(struct copy *c, int fd, struct lmd_error *err)
{
	char digest[LMI_STORE_DIGEST_HEX];
	enum lmd_status st;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* to read from the disk if possible */
	st = lmi_store_digest_fd(digest, fd, c->src.size, c->src.size, 2 * c->src.size, c->work,
				 err);
	if (st == LMD_BUSY || (st == LMD_OK && strcmp(digest, c->digest) != 0))
		st = lmd_fail(err, LMD_CORRUPT,
			      LMI_STORE_BLOB_FOLDER
			      "/sha256-%s: the data read back differs from the data written",
			      c->digest);
	return st;
}

/* Checks an existing file of that name: LMD_OK if it has the content of its name, LMD_CORRUPT if
 * not (the disk must have damaged it), LMD_NOTFOUND if there is none. */
static enum lmd_status reuse(struct copy *c, const char *name, struct lmd_error *err)
{
	struct lmi_store_file id;
	enum lmd_status st;
	int fd;

	st = lmi_store_file_open(&fd, c->folder, name, &id, err);
	if (st == LMD_INVALID)
		return lmd_fail(err, LMD_IO, LMI_STORE_BLOB_FOLDER "/%s: is not a regular file",
				name);
	if (st != LMD_OK)
		return st;
	st = id.size == c->src.size ? read_back(c, fd, err) : LMD_CORRUPT;
	close(fd);
	return st;
}

/* Renames the copy.  Returns LMD_BUSY if a file of that name exists by now, unless `replace`. */
static enum lmd_status give_name(struct copy *c, const char *name, bool replace,
				 struct lmd_error *err)
{
	unsigned flags = replace ? 0 : RENAME_NOREPLACE;
	int rc = renameat2(c->folder, c->part_name, c->folder, name, flags);

	if (rc < 0 && (errno == EINVAL || errno == ENOSYS)) /* not supported by the file system */
		rc = renameat(c->folder, c->part_name, c->folder, name);
	if (rc < 0)
		return lmd_fail(err, errno == EEXIST ? LMD_BUSY : LMD_IO,
				LMI_STORE_BLOB_FOLDER "/%s: rename: %s", name, strerror(errno));
	c->part_name[0] = 0;
	(void)fsync(c->folder); /* not supported by all file systems */
	return LMD_OK;
}

static enum lmd_status place_blob(struct copy *c, const char *name, struct lmd_error *err)
{
	enum lmd_status st = reuse(c, name, err);

	if (st != LMD_NOTFOUND && st != LMD_CORRUPT)
		return st;
	return give_name(c, name, st == LMD_CORRUPT, err);
}

static enum lmd_status import(struct copy *c, struct lmi_store_file *out, struct lmd_error *err)
{
	struct lmi_store_file f = {0};
	enum lmd_status st = open_part(c, err);
	int fd;

	if (st == LMD_OK)
		st = copy_to_part(c, err);
	if (st != LMD_OK)
		return st;
	if (!*c->name)
		lmi_store_blob_name(c->name, c->digest);
	st = read_back(c, c->part, err);
	if (st == LMD_OK)
		st = place_blob(c, c->name, err);
	if (st == LMD_BUSY)
		st = place_blob(c, c->name, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_file_open(&fd, c->folder, c->name, &f, err); /* renaming changed its ctime */
	if (st != LMD_OK)
		return st;
	close(fd);
	memcpy(f.digest, c->digest, sizeof(f.digest));
	*out = f;
	return LMD_OK;
}

/* Copies `path` into the folder; of *own, `name` and `work` are read. */
static enum lmd_status copy_in(const struct copy *own, struct lmi_store_file *out, const char *dir,
			       const char *path, struct lmd_error *err)
{
	struct copy c = *own;
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum lmd_status st;
	char show[SHOW];

	if (dir_fd < 0)
		return lmd_fail(err, LMD_IO, "%s: cannot open the folder: %s",
				lmi_printable_path(show, sizeof(show), dir), strerror(errno));
	st = lmi_store_file_open(&c.from, AT_FDCWD, path, &c.src, err);
	if (st == LMD_OK) {
		lmi_store_file_wait_tick(&c.src);
		st = lmi_store_blob_folder(&c.folder, dir_fd, err);
		if (st == LMD_OK)
			st = import(&c, out, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), path));
	}
	if (c.part >= 0)
		close(c.part);
	if (c.part_name[0])
		(void)unlinkat(c.folder, c.part_name, 0);
	if (c.folder >= 0)
		close(c.folder);
	if (c.from >= 0)
		close(c.from);
	close(dir_fd);
	return st;
}

enum lmd_status lmi_store_import(struct lmi_store_file *out, const char *dir, const char *path,
				 const struct lmi_store_work *work, struct lmd_error *err)
{
	const struct copy c = {.from = -1, .folder = -1, .part = -1, .work = work};

	return copy_in(&c, out, dir, path, err);
}

enum lmd_status lmi_store_import_tower(const char *dir, const char *digest, const char *path,
				       const struct lmi_store_work *work, struct lmd_error *err)
{
	struct copy c = {.from = -1, .folder = -1, .part = -1, .work = work};
	struct lmi_store_file is;

	(void)snprintf(c.name, sizeof(c.name), "sha256-%.64s" LMI_TOWER_SUFFIX, digest);
	return copy_in(&c, &is, dir, path, err);
}
