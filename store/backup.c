/* SPDX-License-Identifier: MIT
 *
 * Copies of the database in the state folder.  A copy is made by VACUUM INTO, which is consistent and
 * complete without the log; it becomes visible under its name once it is on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/db.h"

#define NAME_MAX_BYTES 64u
#define TAIL	       ".backup"
#define PART	       "registry.db.part"

enum lmd_status lmi_store_backup_name_check(const char *name, struct lmd_error *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strnlen(name, NAME_MAX_BYTES + 1), tail = strlen(TAIL);

	if (n > tail && n <= NAME_MAX_BYTES && strspn(name, allowed) == n && *name != '.' &&
	    *name != '-' && !strcmp(name + n - tail, TAIL))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"the name of a backup must have at most %u characters of A-Z a-z 0-9 . _ -, "
			"begin with a letter or digit, and end in " TAIL,
			NAME_MAX_BYTES);
}

static void path_of(const struct lmi_store *s, const char *name, char path[LMI_STORE_PATH_MAX + 80])
{
	(void)snprintf(path, LMI_STORE_PATH_MAX + 80, "%s/%s", s->dir, name);
}

/* Syncs the finished copy and gives it its name, unless the name is in use. */
static enum lmd_status publish(struct lmi_store *s, const char *name, uint64_t *bytes,
			       struct lmd_error *err)
{
	int fd = openat(s->dir_fd, PART, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum lmd_status st = LMD_OK;
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) || fchmod(fd, 0600) || fsync(fd))
		st = lmd_fail(err, LMD_IO, "%s: %s", name, strerror(errno));
	else if (linkat(s->dir_fd, PART, s->dir_fd, name, 0))
		st = errno == EEXIST ? lmd_fail(err, LMD_INVALID, "%s: exists already", name)
				     : lmd_fail(err, LMD_IO, "%s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	(void)fsync(s->dir_fd);
	if (st == LMD_OK)
		*bytes = (uint64_t)sb.st_size;
	return st;
}

enum lmd_status lmi_store_backup(struct lmi_store *s, const char *name, uint64_t *bytes,
				 struct lmd_error *err)
{
	char path[LMI_STORE_PATH_MAX + 80];
	enum lmd_status st = lmi_store_backup_name_check(name, err);

	if (st != LMD_OK)
		return st;
	path_of(s, PART, path);
	(void)unlinkat(s->dir_fd, PART, 0); /* of a process that was killed */
	st = lmi_store_db_run(s, err, "VACUUM INTO ?", "t", path);
	if (st == LMD_OK)
		st = publish(s, name, bytes, err);
	(void)unlinkat(s->dir_fd, PART, 0);
	return st;
}

/* ---- restoring ---- */

/* Checks the attached copy: ours, of a known schema, undamaged. */
static enum lmd_status check_copy(struct lmi_store *s, const char *name, struct lmd_error *err)
{
	int64_t app = 0, version = 0;
	bool found;
	enum lmd_status st;

	st = lmi_store_db_number(s, err, &app, &found, "PRAGMA copy.application_id", "");
	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, &version, &found, "PRAGMA copy.user_version", "");
	if (st != LMD_OK)
		return st;
	if (app != LMI_STORE_APPLICATION_ID || version < 1)
		return lmd_fail(err, LMD_INVALID, "%s: is not a registry", name);
	if (version != lmi_store_sql_n)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: has schema %lld, but this llamad restores schema %u only", name,
				(long long)version, lmi_store_sql_n);
	return lmi_store_check(s, "copy", err);
}

/* In the order of their references. */
static const char *const tables[] = {"models", "model_files", "aliases", "keys",
				     "usage",  "settings",    "kv"};

static enum lmd_status copy_all(struct lmi_store *s, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);
	char sql[96];

	if (st != LMD_OK)
		return st;
	for (size_t i = LMD_LEN(tables); i-- && st == LMD_OK;) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM main.%s", tables[i]);
		st = lmi_store_db_run(s, err, sql, "");
	}
	for (size_t i = 0; i < LMD_LEN(tables) && st == LMD_OK; i++) {
		(void)snprintf(sql, sizeof(sql), "INSERT INTO main.%s SELECT * FROM copy.%s",
			       tables[i], tables[i]);
		st = lmi_store_db_run(s, err, sql, "");
	}
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_restore(struct lmi_store *s, const char *name, struct lmd_error *err)
{
	char path[LMI_STORE_PATH_MAX + 80];
	enum lmd_status st = lmi_store_backup_name_check(name, err), detached;
	bool was_corrupt;
	struct stat sb;

	if (st != LMD_OK)
		return st;
	if (fstatat(s->dir_fd, name, &sb, AT_SYMLINK_NOFOLLOW))
		return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%s: %s", name,
				strerror(errno));
	if (!S_ISREG(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "%s: is not a regular file", name);
	path_of(s, name, path);
	st = lmi_store_heal(s, err);
	if (st != LMD_OK)
		return st;
	was_corrupt = s->corrupt;
	s->opening = true; /* what is wrong with the copy says nothing about the registry */
	st = lmi_store_db_run(s, err, "ATTACH ? AS copy", "t", path);
	if (st == LMD_OK) {
		st = check_copy(s, name, err);
		if (st == LMD_OK)
			st = copy_all(s, err);
		detached = lmi_store_db_run(s, NULL, "DETACH copy", "");
		(void)detached; /* fails only with the statement before it */
	}
	s->opening = false;
	s->corrupt = was_corrupt;
	if (st == LMD_CORRUPT)
		lmd_error_prefix(err, name);
	return st;
}
