/* SPDX-License-Identifier: MIT
 *
 * Files of sessions. Names are checked before they become part of a path, and folders are opened
 * without following links. */
#include "service/session_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/sha256.h"

#define SUFFIX	    ".session"
#define PART	    ".part"
#define COPY_BYTES  (1u << 20)
/* Entries of a folder that are looked at. */
#define ENTRIES_MAX 16384u

enum lmd_status lmi_svc_session_check_name(const struct lmd_str *name, struct lmd_error *err)
{
	static const char set[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (!name->len || name->len > LMI_SVC_SESSION_NAME)
		return lmd_fail(err, LMD_INVALID, "session: the name has %zu bytes, allowed are 1 to %d",
				name->len, LMI_SVC_SESSION_NAME);
	for (size_t i = 0; i < name->len; i++)
		if (!name->ptr[i] || !strchr(set, name->ptr[i]) ||
		    (!i && strchr("._-", name->ptr[i])))
			return lmd_fail(err, LMD_INVALID,
					"session: byte %zu of the name: allowed are letters, digits, "
					"'.', '_' and '-', and a letter or digit at the beginning",
					i + 1);
	return LMD_OK;
}

bool lmi_svc_session_owner(char out[LMI_SVC_SESSION_OWNER], const struct lmi_svc_owner *o)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;

	if (!*o->key_label) {
		(void)snprintf(out, LMI_SVC_SESSION_OWNER, "uid-%u", o->uid);
		return true;
	}
	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, o->key_label, strlen(o->key_label));
	if (!lmi_sha256_final(&h, bytes))
		return false;
	lmi_sha256_hex(hex, bytes);
	(void)snprintf(out, LMI_SVC_SESSION_OWNER, "key-%.32s", hex);
	return true;
}

static enum lmd_status path_of(char out[PATH_MAX], const struct lmi_svc_sessions *s,
			       const char *name, const char *suffix, struct lmd_error *err)
{
	int n = snprintf(out, PATH_MAX, "%s/sessions/%s%s%s%s", s->state_dir, s->owner,
			 *name ? "/" : "", name, suffix);

	return n > 0 && n < PATH_MAX
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID, "the path of the state folder is too long");
}

enum lmd_status lmi_svc_session_path(char out[PATH_MAX], const struct lmi_svc_sessions *s,
				     const char *name, struct lmd_error *err)
{
	return path_of(out, s, name, SUFFIX, err);
}

static enum lmd_status not_found(struct lmd_error *err, const char *name)
{
	return lmd_fail(err, LMD_NOTFOUND, "session %s: there is none of that name", name);
}

static enum lmd_status fail_errno(struct lmd_error *err, const char *name)
{
	int e = errno;

	return lmd_fail(err, e == ENOSPC || e == EDQUOT ? LMD_BUSY : LMD_IO, "session %s: %s", name,
			strerror(e));
}

/* ---- lists ---- */

/* Opens a folder below `at`, or at a path; NULL: there is none. */
static DIR *open_folder(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		(void)close(fd);
	return d;
}

/* Returns the name of a session in out, or false if the file is none. */
static bool session_name(char out[LMI_SVC_SESSION_NAME + 1], const char *file, const char *suffix)
{
	size_t n = strlen(file), k = strlen(suffix);
	struct lmd_str name = {.ptr = file, .len = n > k ? n - k : 0};

	if (n <= k || strcmp(file + n - k, suffix) != 0 ||
	    lmi_svc_session_check_name(&name, NULL) != LMD_OK)
		return false;
	memcpy(out, file, n - k);
	out[n - k] = 0;
	return true;
}

static bool is_old(const struct lmi_svc_sessions *s, const struct stat *sb)
{
	return s->max_age_s && s->wall_s > sb->st_mtime &&
	       (uint64_t)(s->wall_s - sb->st_mtime) > s->max_age_s;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct lmi_svc_session_row *)a)->name,
		      ((const struct lmi_svc_session_row *)b)->name);
}

struct folder {
	uint32_t n;	 /* sessions */
	uint32_t n_part; /* that are being received */
	uint64_t bytes;
};

/* Adds up the files of a folder and lists the sessions in rows, which may be NULL. */
static void read_folder(const struct lmi_svc_sessions *s, DIR *d, struct lmi_svc_session_row *rows,
			struct folder *out)
{
	const struct dirent *e;

	*out = (struct folder){0};
	for (uint32_t i = 0; i < ENTRIES_MAX && (e = readdir(d)); i++) {
		struct lmi_svc_session_row row = {0};
		struct stat sb;

		if (*e->d_name == '.' ||
		    fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW) || !S_ISREG(sb.st_mode))
			continue;
		if (is_old(s, &sb)) {
			(void)unlinkat(dirfd(d), e->d_name, 0);
			continue;
		}
		out->bytes += (uint64_t)sb.st_size;
		if (session_name(row.name, e->d_name, PART)) {
			out->n_part++;
			continue;
		}
		if (!session_name(row.name, e->d_name, SUFFIX) || out->n == LMI_SVC_SESSIONS_MAX)
			continue;
		row.bytes = (uint64_t)sb.st_size;
		row.changed_s = sb.st_mtime;
		if (rows)
			rows[out->n] = row;
		out->n++;
	}
}

static void read_heads(const struct lmi_svc_sessions *s, struct lmi_svc_session_row *rows,
		       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_engine_saved_head h;
		char path[PATH_MAX];

		if (lmi_svc_session_path(path, s, rows[i].name, NULL) != LMD_OK ||
		    lmi_engine_saved_read_head(path, &h, NULL, NULL) != LMD_OK)
			continue;
		memcpy(rows[i].model, h.model_name, sizeof(rows[i].model));
		rows[i].n_token = h.n_token;
	}
}

static enum lmd_status list(const struct lmi_svc_sessions *s, bool heads,
			    struct lmi_svc_session_row **own_rows, struct folder *f,
			    struct lmd_error *err)
{
	struct lmi_svc_session_row *rows;
	char path[PATH_MAX];
	enum lmd_status st = path_of(path, s, "", "", err);
	DIR *d;

	if (st != LMD_OK)
		return st;
	rows = lmi_alloc(LMI_SVC_SESSIONS_MAX, sizeof(*rows));
	if (!rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of sessions");
	*f = (struct folder){0};
	d = open_folder(AT_FDCWD, path);
	if (d) {
		read_folder(s, d, rows, f);
		(void)closedir(d);
	}
	qsort(rows, f->n, sizeof(*rows), by_name);
	if (heads)
		read_heads(s, rows, f->n);
	*own_rows = rows;
	return LMD_OK;
}

enum lmd_status lmi_svc_session_list(const struct lmi_svc_sessions *s, bool heads,
				     struct lmi_svc_session_row **own_rows, uint32_t *n,
				     uint64_t *bytes, struct lmd_error *err)
{
	struct folder f;
	enum lmd_status st = list(s, heads, own_rows, &f, err);

	if (st == LMD_OK) {
		*n = f.n;
		*bytes = f.bytes;
	}
	return st;
}

/* Calls fn for the folder of each owner. */
static void each_owner(const struct lmi_svc_sessions *s,
		       void (*fn)(const struct lmi_svc_sessions *s, DIR *d, void *arg), void *arg)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *all, *d;

	if (snprintf(path, sizeof(path), "%s/sessions", s->state_dir) >= (int)sizeof(path) ||
	    !(all = open_folder(AT_FDCWD, path)))
		return;
	while ((e = readdir(all))) {
		if (*e->d_name == '.' || !(d = open_folder(dirfd(all), e->d_name)))
			continue;
		fn(s, d, arg);
		(void)closedir(d);
	}
	(void)closedir(all);
}

static void add_bytes(const struct lmi_svc_sessions *s, DIR *d, void *arg)
{
	struct folder f;

	read_folder(s, d, NULL, &f);
	*(uint64_t *)arg += f.bytes;
}

static void clean_folder(const struct lmi_svc_sessions *s, DIR *d, void *arg)
{
	char name[LMI_SVC_SESSION_NAME + 1];
	const struct dirent *e;
	struct stat sb;

	(void)arg;
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW) ||
		    (session_name(name, e->d_name, SUFFIX) && !is_old(s, &sb)))
			continue;
		(void)unlinkat(dirfd(d), e->d_name, 0);
	}
}

void lmi_svc_session_clean(const struct lmi_svc_sessions *s)
{
	each_owner(s, clean_folder, NULL);
}

void lmi_svc_session_rm_all(const struct lmi_svc_sessions *s)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d;

	if (path_of(path, s, "", "", NULL) != LMD_OK || !(d = open_folder(AT_FDCWD, path)))
		return;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	(void)closedir(d);
	(void)rmdir(path);
}

/* ---- room ---- */

static enum lmd_status make_folders(const struct lmi_svc_sessions *s, const char *name,
				    struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st;

	if (snprintf(path, sizeof(path), "%s/sessions", s->state_dir) >= (int)sizeof(path))
		return lmd_fail(err, LMD_INVALID, "the path of the state folder is too long");
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_errno(err, name);
	st = path_of(path, s, "", "", err);
	if (st == LMD_OK && mkdir(path, 0700) && errno != EEXIST)
		st = fail_errno(err, name);
	return st;
}

enum lmd_status lmi_svc_session_room(const struct lmi_svc_sessions *s, const char *name,
				     uint64_t bytes, struct lmd_error *err)
{
	struct lmi_svc_session_row *rows;
	uint64_t used, all = 0, old = 0;
	char part[PATH_MAX];
	uint32_t others;
	struct folder f;
	enum lmd_status st = make_folders(s, name, err);

	if (st == LMD_OK)
		st = path_of(part, s, name, PART, err);
	if (st == LMD_OK)
		st = list(s, false, &rows, &f, err);
	if (st != LMD_OK)
		return st;
	used = f.bytes;
	/* what was begun and not ended takes a place as well */
	others = f.n_part - (f.n_part && !access(part, F_OK));
	for (uint32_t i = 0; i < f.n; i++) {
		if (!strcmp(rows[i].name, name))
			old = rows[i].bytes;
		else
			others++;
	}
	lmi_free(rows);
	if (s->max_bytes_all)
		each_owner(s, add_bytes, &all);
	if (bytes > s->max_bytes || used - old > s->max_bytes - bytes)
		return lmd_fail(err, LMD_BUSY,
				"session %s: %llu bytes besides %llu of your other sessions exceed "
				"the limit session_bytes of %llu",
				name, (unsigned long long)bytes, (unsigned long long)(used - old),
				(unsigned long long)s->max_bytes);
	if (others >= s->max_number)
		return lmd_fail(err, LMD_BUSY,
				"session %s: you have %u others, the limit session_number is %llu",
				name, others, (unsigned long long)s->max_number);
	if (s->max_bytes_all && all - old + bytes > s->max_bytes_all)
		return lmd_fail(err, LMD_BUSY,
				"session %s: %llu bytes exceed what the sessions of all users may "
				"have (limit session_bytes_all)",
				name, (unsigned long long)bytes);
	return LMD_OK;
}

/* ---- single sessions ---- */

enum lmd_status lmi_svc_session_rm(const struct lmi_svc_sessions *s, const char *name, bool *found,
				   struct lmd_error *err)
{
	static const char *const suffixes[] = {PART, SUFFIX};
	char path[PATH_MAX];
	enum lmd_status st = LMD_OK;

	*found = false;
	for (size_t i = 0; i < LMD_LEN(suffixes) && st == LMD_OK; i++) {
		st = path_of(path, s, name, suffixes[i], err);
		if (st == LMD_OK && !unlink(path))
			*found = true;
		else if (st == LMD_OK && errno != ENOENT)
			st = fail_errno(err, name);
	}
	return st;
}

static enum lmd_status open_session(struct lmi_file *f, const struct lmi_svc_sessions *s,
				    const char *name, struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st = lmi_svc_session_path(path, s, name, err);

	if (st == LMD_OK)
		st = lmi_file_open(f, path, err);
	return st == LMD_NOTFOUND ? not_found(err, name) : st;
}

enum lmd_status lmi_svc_session_read(const struct lmi_svc_sessions *s, const char *name,
				     uint64_t offset, void *out, size_t *n, uint64_t *bytes,
				     struct lmd_error *err)
{
	struct lmi_file f;
	enum lmd_status st = open_session(&f, s, name, err);

	if (st != LMD_OK)
		return st;
	*bytes = f.bytes;
	if (offset > f.bytes)
		st = lmd_fail(err, LMD_INVALID, "session %s: offset %llu, it has %llu bytes", name,
			      (unsigned long long)offset, (unsigned long long)f.bytes);
	else if (*n > f.bytes - offset)
		*n = (size_t)(f.bytes - offset);
	if (st == LMD_OK)
		st = lmi_file_read(&f, offset, out, *n, err);
	lmi_file_close(&f);
	return st;
}

static enum lmd_status copy(const struct lmi_file *f, struct lmi_new_file *to, struct lmd_error *err)
{
	uint8_t *b = lmi_alloc(1, COPY_BYTES);
	enum lmd_status st = b ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for a copy");

	for (uint64_t at = 0; at < f->bytes && st == LMD_OK; at += COPY_BYTES) {
		uint64_t n = f->bytes - at < COPY_BYTES ? f->bytes - at : COPY_BYTES;

		st = lmi_file_read(f, at, b, (size_t)n, err);
		if (st == LMD_OK)
			st = lmi_new_file_write(to, b, (size_t)n, err);
	}
	lmi_free(b);
	return st;
}

enum lmd_status lmi_svc_session_fork(const struct lmi_svc_sessions *s, const char *from,
				     const char *to, uint32_t *n_token, uint64_t *bytes,
				     struct lmd_error *err)
{
	struct lmi_engine_saved_head head;
	struct lmi_new_file out;
	char path[PATH_MAX];
	struct lmi_file f;
	enum lmd_status st = open_session(&f, s, from, err);

	if (st != LMD_OK)
		return st;
	st = lmi_svc_session_path(path, s, from, err);
	if (st == LMD_OK)
		st = lmi_engine_saved_read_head(path, &head, NULL, err);
	if (st == LMD_OK)
		st = lmi_svc_session_room(s, to, f.bytes, err);
	if (st == LMD_OK)
		st = lmi_svc_session_path(path, s, to, err);
	if (st == LMD_OK)
		st = lmi_new_file_open(&out, path, 0600, err);
	if (st == LMD_OK) {
		st = copy(&f, &out, err);
		if (st == LMD_OK)
			st = lmi_new_file_commit(&out, err);
		else
			lmi_new_file_abort(&out);
	}
	if (st == LMD_OK) {
		*n_token = head.n_token;
		*bytes = f.bytes;
	}
	lmi_file_close(&f);
	return st;
}

/* ---- from elsewhere ---- */

/* Checks a complete file and gives it its name. */
static enum lmd_status accept(const struct lmi_svc_sessions *s, const char *name, const char *part,
			      uint32_t *n_token, struct lmd_error *err)
{
	struct lmi_engine_saved *saved = NULL;
	char path[PATH_MAX];
	enum lmd_status st = lmi_engine_saved_read(part, NULL, s->max_bytes, &saved, err);

	if (st == LMD_OK)
		st = lmi_svc_session_path(path, s, name, err);
	if (st == LMD_OK && rename(part, path))
		st = fail_errno(err, name);
	if (st == LMD_OK) {
		lmi_file_sync_folder(path);
		*n_token = saved->n_token;
	}
	lmi_engine_saved_destroy(saved);
	return st;
}

enum lmd_status lmi_svc_session_write(const struct lmi_svc_sessions *s, const char *name,
				      uint64_t offset, const void *bytes, size_t n, bool last,
				      uint32_t *n_token, struct lmd_error *err)
{
	char part[PATH_MAX];
	struct stat sb;
	enum lmd_status st = path_of(part, s, name, PART, err);
	int fd;

	if (st == LMD_OK && !offset && unlink(part) && errno != ENOENT)
		st = fail_errno(err, name);
	if (st == LMD_OK)
		st = lmi_svc_session_room(s, name, n, err);
	if (st != LMD_OK)
		return st;
	fd = open(part,
		  O_WRONLY | (offset ? 0 : O_CREAT) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ENOENT)
		return lmd_fail(err, LMD_INVALID, "session %s: offset %llu, received so far are 0 bytes",
				name, (unsigned long long)offset);
	if (fd < 0)
		return fail_errno(err, name);
	if (fstat(fd, &sb) || !S_ISREG(sb.st_mode))
		st = lmd_fail(err, LMD_IO, "session %s: its file is not a regular one", name);
	else if ((uint64_t)sb.st_size != offset)
		st = lmd_fail(err, LMD_INVALID,
			      "session %s: offset %llu, received so far are %llu bytes", name,
			      (unsigned long long)offset, (unsigned long long)sb.st_size);
	else if (lseek(fd, (off_t)offset, SEEK_SET) < 0 || !lmi_file_write_all(fd, bytes, n) ||
		 (last && fsync(fd)))
		st = fail_errno(err, name);
	if (close(fd) && st == LMD_OK)
		st = fail_errno(err, name);
	if (st == LMD_OK && last) {
		st = accept(s, name, part, n_token, err);
		if (st != LMD_OK)
			(void)unlink(part);
	}
	return st;
}
