/* SPDX-License-Identifier: MIT
 *
 * Removes what no row refers to: files of models that a crash left behind, and downloads that were
 * interrupted. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "store/blob.h"
#include "store/db.h"

#define DOWNLOADS "downloads"

struct prune {
	struct lmi_store *s;
	const struct lmi_store_prune *o;
	struct lmd_error *err;
};

/* Reports a file and removes it unless this is a dry run. */
static void prune_file(const struct prune *p, int fd, const char *folder, const char *name)
{
	char path[2 * 256 + 2];
	struct stat sb;

	if (fstatat(fd, name, &sb, AT_SYMLINK_NOFOLLOW) || S_ISDIR(sb.st_mode))
		return;
	if (!p->o->dry_run && unlinkat(fd, name, 0))
		return;
	(void)snprintf(path, sizeof(path), "%.255s/%.255s", folder, name);
	p->o->found(p->o->arg, path, (uint64_t)sb.st_blocks * 512);
}

/* Opens a folder below another; returns NULL if there is none. */
static DIR *open_folder(int at_fd, const char *name)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0)
		(void)close(fd);
	return d;
}

static enum lmd_status is_used(const struct prune *p, const char *digest, bool *used)
{
	int64_t one;

	return lmi_store_db_number(p->s, p->err, &one, used,
				   "SELECT 1 FROM model_files JOIN models ON id = model_id "
				   "WHERE imported AND model_files.digest = ?1",
				   "t", digest);
}

static enum lmd_status prune_blobs(const struct prune *p)
{
	DIR *d = open_folder(p->s->dir_fd, LMI_STORE_BLOB_FOLDER);
	enum lmd_status st = LMD_OK;
	struct dirent *e;
	bool used;

	while (d && st == LMD_OK && (e = readdir(d))) {
		if (strncmp(e->d_name, "sha256-", 7) != 0 || !lmi_sha256_is_hex(e->d_name + 7))
			continue;
		st = is_used(p, e->d_name + 7, &used);
		if (st == LMD_OK && !used)
			prune_file(p, dirfd(d), LMI_STORE_BLOB_FOLDER, e->d_name);
	}
	if (d)
		(void)closedir(d);
	return st;
}

/* Each download has a folder of its own. */
static void prune_downloads(const struct prune *p)
{
	DIR *d = open_folder(p->s->dir_fd, DOWNLOADS), *one;
	char folder[2 * 256];
	struct dirent *e, *f;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !(one = open_folder(dirfd(d), e->d_name)))
			continue;
		(void)snprintf(folder, sizeof(folder), DOWNLOADS "/%.200s", e->d_name);
		while ((f = readdir(one)))
			prune_file(p, dirfd(one), folder, f->d_name);
		(void)closedir(one);
		if (!p->o->dry_run)
			(void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		(void)closedir(d);
}

enum lmd_status lmi_store_prune(struct lmi_store *s, const struct lmi_store_prune *o,
				struct lmd_error *err)
{
	const struct prune p = {.s = s, .o = o, .err = err};
	enum lmd_status st = prune_blobs(&p);

	if (st == LMD_OK)
		prune_downloads(&p);
	return st;
}
