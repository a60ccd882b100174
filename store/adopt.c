/* SPDX-License-Identifier: MIT
 *
 * A file that is already on the store's disk becomes an imported one by its name alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/blob.h"
#include "store/import.h"

/* Returns LMD_OK if an imported file with that name exists and has that digest. */
static enum lmd_status check_present(int folder, const char *name, const char *digest,
				     const struct lmi_store_work *work, struct lmd_error *err)
{
	char is[LMI_STORE_DIGEST_HEX];
	struct lmi_store_file f;
	int fd;
	enum lmd_status st = lmi_store_file_open(&fd, folder, name, &f, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_digest_fd(is, fd, f.size, 0, f.size, work, err);
	close(fd);
	if (st == LMD_OK && strcmp(is, digest) != 0)
		return lmd_fail(err, LMD_CORRUPT, "%s: its content has another digest", name);
	return st;
}

static enum lmd_status adopt(struct lmi_store_file *out, int folder, const char *path,
			     const char *digest, const struct lmi_store_work *work,
			     struct lmd_error *err)
{
	char name[LMI_STORE_BLOB_NAME];
	enum lmd_status st;
	int fd;

	lmi_store_blob_name(name, digest);
	st = check_present(folder, name, digest, work, err);
	if (st == LMD_OK)
		(void)unlink(path);
	else if (st == LMD_CANCELLED || st == LMD_NOMEM)
		return st;
	else if (renameat(AT_FDCWD, path, folder, name) < 0)
		return lmd_fail(err, LMD_IO, "%s: rename: %s", name, strerror(errno));
	(void)fsync(folder); /* not supported by all file systems */
	st = lmi_store_file_open(&fd, folder, name, out, err);
	if (st != LMD_OK)
		return st;
	close(fd);
	memcpy(out->digest, digest, LMI_STORE_DIGEST_HEX);
	out->path = NULL;
	return LMD_OK;
}

enum lmd_status lmi_store_adopt(struct lmi_store_file *out, const char *dir, const char *path,
				const char *digest, const struct lmi_store_work *work,
				struct lmd_error *err)
{
	struct lmi_store_file f = {0};
	int dir_fd = -1, folder = -1;
	enum lmd_status st;

	if (!lmi_store_digest_ok(digest))
		return lmd_fail(err, LMD_INVALID, "digest '%.64s': not 64 hexadecimal digits",
				digest);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return lmd_fail(err, LMD_IO, "%.200s: cannot open the folder: %s", dir,
				strerror(errno));
	st = lmi_store_blob_folder(&folder, dir_fd, err);
	if (st == LMD_OK)
		st = adopt(&f, folder, path, digest, work, err);
	if (folder >= 0)
		close(folder);
	close(dir_fd);
	if (st == LMD_OK)
		*out = f;
	return st;
}
