/* SPDX-License-Identifier: MIT
 *
 * Removes what no row refers to: files of models that a crash left behind, and downloads that were
 * interrupted. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/tower_file.h"
#include "store/blob.h"
#include "store/db.h"

#define DOWNLOADS "downloads"

struct prune {
	struct lmi_store *s;
	const struct lmi_store_prune *o;
	struct lmd_error *err;
	enum lmd_status failed; /* the first error of a file or folder; the others are still tried */
};

/* Keeps the first error, with errno. */
static void note_failure(struct prune *p, const char *path, const char *what)
{
	int e = errno;
	char shown[160];

	if (p->failed == LMD_OK)
		p->failed = lmd_fail(p->err, LMD_IO, "%s: %s: %s",
				     lmi_printable_path(shown, sizeof(shown), path), what,
				     strerror(e));
}

/* Reports a file and removes it unless this is a dry run. */
static void prune_file(struct prune *p, int fd, const char *folder, const char *name)
{
	char path[2 * 256 + 2];
	struct stat sb;

	if (fstatat(fd, name, &sb, AT_SYMLINK_NOFOLLOW) || S_ISDIR(sb.st_mode))
		return;
	(void)snprintf(path, sizeof(path), "%.255s/%.255s", folder, name);
	if (!p->o->dry_run && unlinkat(fd, name, 0)) {
		if (errno != ENOENT)
			note_failure(p, path, "cannot be removed");
		return;
	}
	p->o->found(p->o->arg, path, (uint64_t)sb.st_blocks * 512);
}

/* Opens a folder below another; returns NULL with errno if that fails. */
static DIR *open_folder(int at_fd, const char *name)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0) {
		int e = errno;

		(void)close(fd);
		errno = e;
	}
	return d;
}

/* Opens a folder of the state folder; returns NULL if there is none, or after a failure. */
static DIR *open_own_folder(struct prune *p, const char *name)
{
	DIR *d = open_folder(p->s->dir_fd, name);

	if (!d && errno != ENOENT)
		note_failure(p, name, "cannot be opened");
	return d;
}

/* Returns the next entry; NULL at the end, or after a failure. */
static struct dirent *next_entry(struct prune *p, DIR *d, const char *folder)
{
	struct dirent *e;

	errno = 0;
	e = readdir(d);
	if (!e && errno)
		note_failure(p, folder, "cannot be read");
	return e;
}

/* Returns whether it is the name of an imported file or of what belongs to it; copies the digest. */
static bool is_blob(const char *name, char digest[LMI_SHA256_HEX])
{
	if (strncmp(name, "sha256-", 7) != 0)
		return false;
	(void)snprintf(digest, LMI_SHA256_HEX, "%s", name + 7);
	return lmi_sha256_is_hex(digest) &&
	       (!name[6 + LMI_SHA256_HEX] ||
		!strcmp(name + 6 + LMI_SHA256_HEX, LMI_STORE_BLOB_MANIFEST) ||
		!strcmp(name + 6 + LMI_SHA256_HEX, LMI_TOWER_SUFFIX));
}

/* A file in models/ is also used by a model that was added in place from there. Its path may have
 * been written in several ways, so that only its last part is compared. */
static enum lmd_status is_used(const struct prune *p, const char *digest, bool *used)
{
	int64_t one;

	return lmi_store_db_number(p->s, p->err, &one, used,
				   "SELECT 1 FROM model_files WHERE digest = ?1 OR "
				   "substr(path, -71) = 'sha256-' || ?1",
				   "t", digest);
}

/* Without a model in the registry each file would be removed: the registry may be the wrong one. */
static enum lmd_status check_not_all(struct prune *p)
{
	DIR *d;
	char digest[LMI_SHA256_HEX];
	struct dirent *e;
	unsigned n_files = 0;
	int64_t one;
	bool found;
	enum lmd_status st = lmi_store_db_number(p->s, p->err, &one, &found,
						 "SELECT 1 FROM models LIMIT 1", "");

	if (st != LMD_OK || found || p->o->all)
		return st;
	d = open_own_folder(p, LMI_STORE_BLOB_FOLDER);
	while (d && (e = next_entry(p, d, LMI_STORE_BLOB_FOLDER)))
		n_files += is_blob(e->d_name, digest);
	if (d)
		(void)closedir(d);
	return n_files ? lmd_fail(p->err, LMD_INVALID,
				  "the registry has no model: all files in " LMI_STORE_BLOB_FOLDER
				  ", %u, would be removed",
				  n_files)
		       : p->failed;
}

static enum lmd_status prune_blobs(struct prune *p)
{
	DIR *d = open_own_folder(p, LMI_STORE_BLOB_FOLDER);
	enum lmd_status st = LMD_OK;
	char digest[LMI_SHA256_HEX];
	struct dirent *e;
	bool used;

	while (d && st == LMD_OK && (e = next_entry(p, d, LMI_STORE_BLOB_FOLDER))) {
		if (!is_blob(e->d_name, digest))
			continue;
		st = is_used(p, digest, &used);
		if (st == LMD_OK && !used)
			prune_file(p, dirfd(d), LMI_STORE_BLOB_FOLDER, e->d_name);
	}
	if (d)
		(void)closedir(d);
	return st;
}

/* Each download has a folder of its own. */
static void prune_download(struct prune *p, int fd, const char *name)
{
	DIR *d = open_folder(fd, name);
	char folder[2 * 256];
	struct dirent *e;

	(void)snprintf(folder, sizeof(folder), DOWNLOADS "/%.200s", name);
	if (!d) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			note_failure(p, folder, "cannot be opened");
		return;
	}
	while ((e = next_entry(p, d, folder)))
		prune_file(p, dirfd(d), folder, e->d_name);
	(void)closedir(d);
	if (!p->o->dry_run && unlinkat(fd, name, AT_REMOVEDIR) && errno != ENOENT &&
	    errno != ENOTEMPTY)
		note_failure(p, folder, "cannot be removed");
}

static void prune_downloads(struct prune *p)
{
	DIR *d = open_own_folder(p, DOWNLOADS);
	struct dirent *e;

	while (d && (e = next_entry(p, d, DOWNLOADS)))
		if (e->d_name[0] != '.')
			prune_download(p, dirfd(d), e->d_name);
	if (d)
		(void)closedir(d);
}

enum lmd_status lmi_store_prune(struct lmi_store *s, const struct lmi_store_prune *o,
				struct lmd_error *err)
{
	struct prune p = {.s = s, .o = o, .err = err};
	enum lmd_status st = check_not_all(&p);

	if (st == LMD_OK)
		st = prune_blobs(&p);
	if (st == LMD_OK)
		prune_downloads(&p);
	return st == LMD_OK ? p.failed : st;
}
