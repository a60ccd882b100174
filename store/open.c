/* SPDX-License-Identifier: MIT
 *
 * Opens and closes the store.  registry.lock has two purposes: its lock keeps other processes out,
 * and its content shows that the store was not closed properly: it is written before the database
 * is used and emptied after the database is closed.  A system error never counts as corruption: a
 * file is moved aside only if sqlite reports it as corrupt or as not a database.
 *
 * The check reads the whole database.  It takes some 2 ms for a megabyte, so that it is done at each
 * open up to CHECK_BYTES; a larger database is checked after an unclean end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "store/blob.h"
#include "store/db.h"
#include "store/salvage.h"

#define DB_NAME   "registry.db"
#define LOCK_NAME "registry.lock"
#define BUSY_MS   5000
#define SHOW      128
#define CHECK_BYTES (16 << 20)

static enum lmd_status fail_at(const struct lmi_store *s, const char *name, const char *what,
			       struct lmd_error *err)
{
	int e = errno;
	char show[SHOW];

	return lmd_fail(err, e == ENOMEM ? LMD_NOMEM : LMD_IO, "%s%s%s: %s: %s",
			lmi_printable_path(show, sizeof(show), s->dir), *name ? "/" : "", name,
			what, strerror(e));
}

static enum lmd_status open_dir(struct lmi_store *s, struct lmd_error *err)
{
	if (!s->opts.read_only && mkdir(s->dir, 0700) < 0 && errno != EEXIST)
		return fail_at(s, "", "cannot create the folder", err);
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir_fd < 0 ? fail_at(s, "", "cannot open the folder", err) : LMD_OK;
}

static enum lmd_status lock(struct lmi_store *s, bool *unclean, struct lmd_error *err)
{
	const int how = s->opts.read_only ? O_RDONLY : O_RDWR | O_CREAT;
	char show[SHOW];
	struct stat sb;

	s->lock_fd = openat(s->dir_fd, LOCK_NAME, how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (s->lock_fd < 0 && s->opts.read_only && errno == ENOENT)
		return LMD_OK; /* no process has it open */
	if (s->lock_fd < 0)
		return fail_at(s, LOCK_NAME, s->opts.read_only ? "cannot read" : "cannot write", err);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? lmd_fail(err, LMD_BUSY,
					  "%s: the registry is open in another process",
					  lmi_printable_path(show, sizeof(show), s->dir))
			       : fail_at(s, LOCK_NAME, "cannot lock", err);
	if (fstat(s->lock_fd, &sb) < 0)
		return fail_at(s, LOCK_NAME, "fstat", err);
	*unclean = sb.st_size > 0;
	if (*unclean || s->opts.read_only)
		return LMD_OK;
	if (pwrite(s->lock_fd, "open\n", 5, 0) != 5 || fsync(s->lock_fd) < 0) {
		enum lmd_status st = fail_at(s, LOCK_NAME, "cannot write", err);

		(void)ftruncate(s->lock_fd, 0); /* if it fails, the next open does an unnecessary
						 * check */
		return st;
	}
	return LMD_OK;
}

static void unlock(struct lmi_store *s, bool clean)
{
	if (s->lock_fd < 0)
		return;
	if (clean && !s->opts.read_only && ftruncate(s->lock_fd, 0) == 0)
		(void)fsync(s->lock_fd); /* a failure may cause an unnecessary check, no more */
	close(s->lock_fd);
	s->lock_fd = -1;
}

/* Creates the file, so that it is private from the beginning; sqlite gives its log the same
 * mode. */
static enum lmd_status touch_db(struct lmi_store *s, struct lmd_error *err)
{
	int fd = openat(s->dir_fd, DB_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			0600);
	struct stat sb;

	if (fd < 0)
		return fail_at(s, DB_NAME, "cannot write", err);
	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode)) {
		close(fd);
		return lmd_fail(err, LMD_INVALID, DB_NAME ": is not a regular file");
	}
	close(fd);
	return LMD_OK;
}

/* The log is not modified until the database has been checked, since it may be the only good part
 * of a corrupt database. */
static enum lmd_status configure(struct lmi_store *s, uint32_t busy_ms, struct lmd_error *err)
{
	static const int on[] = {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_ENABLE_FKEY,
				 SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE};
	static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_DQS_DML,
				  SQLITE_DBCONFIG_DQS_DDL};
	int rc = sqlite3_extended_result_codes(s->db, 1);

	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(s->db, (int)(busy_ms ? busy_ms : BUSY_MS));
	for (size_t i = 0; i < LMD_LEN(on) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(s->db, on[i], 1, NULL);
	for (size_t i = 0; i < LMD_LEN(off) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(s->db, off[i], 0, NULL);
	return rc == SQLITE_OK ? LMD_OK : lmi_store_db_fail(s, rc, err);
}

/* Reads the application id and the schema number; writes nothing. */
static enum lmd_status identify(struct lmi_store *s, struct lmi_store_report *r,
				struct lmd_error *err)
{
	int64_t app = 0, version = 0, n_tables = 0;
	bool found;
	enum lmd_status st;

	st = lmi_store_db_number(s, err, &app, &found, "PRAGMA application_id", "");
	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, &version, &found, "PRAGMA user_version", "");
	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, &n_tables, &found,
					 "SELECT count(*) FROM sqlite_schema", "");
	if (st != LMD_OK)
		return st;
	if (app == 0 && version == 0 && n_tables == 0) {
		r->fresh = true;
		r->schema_from = 0;
		return LMD_OK;
	}
	if (app != LMI_STORE_APPLICATION_ID || version < 1)
		return lmd_fail(err, LMD_INVALID,
				DB_NAME ": another program's database (application id %lld, not "
					"%d)",
				(long long)app, LMI_STORE_APPLICATION_ID);
	if (version > lmi_store_sql_n)
		return lmd_fail(err, LMD_UNSUPPORTED,
				DB_NAME ": schema %lld was created by a newer llamad; this one "
					"supports schemas up to %u",
				(long long)version, lmi_store_sql_n);
	r->schema_from = (uint32_t)version;
	return LMD_OK;
}

static enum lmd_status set_journal(struct lmi_store *s, struct lmd_error *err)
{
	enum lmd_status st;
	sqlite3_stmt *q;
	bool row;

	st = lmi_store_db_query(s, &q, err, "PRAGMA journal_mode = WAL", "");
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_step(s, q, &row, err);
	if (st == LMD_OK) {
		const char *mode = row ? (const char *)sqlite3_column_text(q, 0) : NULL;

		if (!mode || strcmp(mode, "wal") != 0)
			st = lmd_fail(err, LMD_IO, DB_NAME ": its folder cannot hold a log (WAL)");
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "PRAGMA synchronous = FULL", "");
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "PRAGMA cell_size_check = ON", "");
	return st;
}

static bool is_small(const struct lmi_store *s)
{
	struct stat sb;

	return !fstatat(s->dir_fd, DB_NAME, &sb, AT_SYMLINK_NOFOLLOW) && sb.st_size <= CHECK_BYTES;
}

static enum lmd_status open_db(struct lmi_store *s, struct lmi_store_report *r,
			       struct lmd_error *err)
{
	char path[LMI_STORE_PATH_MAX + 16];
	enum lmd_status st = touch_db(s, err);
	int rc;

	if (st != LMD_OK)
		return st;
	(void)snprintf(path, sizeof(path), "%s/" DB_NAME, s->dir);
	rc = sqlite3_open_v2(path, &s->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			     s->opts.vfs);
	st = rc == SQLITE_OK ? configure(s, s->opts.busy_ms, err) : lmi_store_db_fail(s, rc, err);
	if (st == LMD_OK)
		st = identify(s, r, err);
	r->checked = r->unclean || is_small(s);
	if (st == LMD_OK && r->checked && !r->fresh)
		st = lmi_store_check(s, "main", err);
	if (st == LMD_OK)
		st = set_journal(s, err);
	if (st == LMD_OK)
		st = lmi_store_migrate(s, lmi_store_sql_n, err);
	if (st == LMD_OK)
		(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	if (st != LMD_OK) {
		(void)sqlite3_close(s->db);
		s->db = NULL;
	}
	return st;
}

/* ---- reading only ---- */

/* Writes the URI of the database. Without a log sqlite is told that nothing changes the file, so that it
 * creates none. */
static void make_uri(const struct lmi_store *s, char *uri, size_t n)
{
	struct stat sb;
	bool has_log = !fstatat(s->dir_fd, DB_NAME "-wal", &sb, AT_SYMLINK_NOFOLLOW) && sb.st_size > 0;
	size_t at = (size_t)snprintf(uri, n, "file:%s", s->dir[0] == '/' ? "//" : "");

	for (const char *p = s->dir; *p && at + 4 < n; p++)
		at += (size_t)snprintf(uri + at, n - at, strchr("%?#", *p) ? "%%%02x" : "%c",
				       (unsigned char)*p);
	(void)snprintf(uri + at, n - at, "/" DB_NAME "%s", has_log ? "" : "?immutable=1");
}

static enum lmd_status open_to_read(struct lmi_store *s, struct lmi_store_report *r,
				    struct lmd_error *err)
{
	char uri[3 * LMI_STORE_PATH_MAX + 64];
	enum lmd_status st;
	int rc;

	make_uri(s, uri, sizeof(uri));
	rc = sqlite3_open_v2(uri, &s->db,
			     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
				     SQLITE_OPEN_PRIVATECACHE,
			     s->opts.vfs);
	st = rc == SQLITE_OK ? configure(s, s->opts.busy_ms, err) : lmi_store_db_fail(s, rc, err);
	if (st == LMD_OK)
		st = identify(s, r, err);
	if (st == LMD_OK && r->fresh)
		st = lmd_fail(err, LMD_INVALID, DB_NAME ": is empty");
	r->checked = r->unclean || is_small(s);
	if (st == LMD_OK && r->checked)
		st = lmi_store_check(s, "main", err);
	if (st != LMD_OK) {
		(void)sqlite3_close(s->db);
		s->db = NULL;
	}
	return st;
}

/* ---- a damaged database ---- */

/* Finds an unused name in the state folder: DB_NAME ".corrupt-20260131T235959Z", ".2" and so on. */
static bool moved_name(const struct lmi_store *s, int64_t now_ns, char *name, size_t n)
{
	time_t t = (time_t)(now_ns / 1000000000);
	char stamp[32];
	struct tm tm;
	struct stat sb;

	if (!gmtime_r(&t, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm))
		(void)snprintf(stamp, sizeof(stamp), "%lld", (long long)t);
	for (unsigned i = 1; i < 1000; i++) {
		char suffix[8] = "";

		if (i > 1)
			(void)snprintf(suffix, sizeof(suffix), ".%u", i);
		(void)snprintf(name, n, DB_NAME ".corrupt-%s%s", stamp, suffix);
		if (fstatat(s->dir_fd, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
			return true;
	}
	return false;
}

/* Moves the database aside, its log first: with NAME-wal beside NAME the usual tools can read as
 * much as possible.  The index (-shm) contains no data. */
static enum lmd_status move_aside(struct lmi_store *s, int64_t now_ns, struct lmi_store_report *r,
				  struct lmd_error *err)
{
	char name[sizeof(r->moved_to)], wal[sizeof(r->moved_to) + 4];

	if (!moved_name(s, now_ns, name, sizeof(name)))
		return lmd_fail(err, LMD_IO, DB_NAME ": no free name to move it aside");
	(void)snprintf(wal, sizeof(wal), "%s-wal", name);
	if (renameat(s->dir_fd, DB_NAME "-wal", s->dir_fd, wal) < 0 && errno != ENOENT)
		return fail_at(s, DB_NAME "-wal", "cannot move it aside", err);
	if (unlinkat(s->dir_fd, DB_NAME "-shm", 0) < 0 && errno != ENOENT)
		return fail_at(s, DB_NAME "-shm", "cannot be removed", err);
	if (renameat(s->dir_fd, DB_NAME, s->dir_fd, name) < 0)
		return fail_at(s, DB_NAME, "cannot be moved aside", err);
	(void)fsync(s->dir_fd); /* not supported by all file systems */
	(void)snprintf(r->moved_to, sizeof(r->moved_to), "%s", name);
	r->moved_aside = true;
	return LMD_OK;
}

/* Checks that all bytes can be read, before a database is declared corrupt. */
static enum lmd_status readable(struct lmi_store *s, struct lmd_error *err)
{
	int fd = openat(s->dir_fd, DB_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum lmd_status st = LMD_OK;
	char buf[16384];
	ssize_t n = 1;

	if (fd < 0)
		return fail_at(s, DB_NAME, "cannot be opened", err);
	while (n > 0)
		n = read(fd, buf, sizeof(buf));
	if (n < 0)
		st = fail_at(s, DB_NAME, "cannot be read", err);
	close(fd);
	return st;
}

/* Copies what can still be read from the database that was moved aside. */
static void salvage(struct lmi_store *s, struct lmi_store_report *r)
{
	char path[LMI_STORE_PATH_MAX + 80], shm[sizeof(r->moved_to) + 4];

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, r->moved_to);
	r->n_rows_kept = lmi_store_salvage(s, path, s->opts.vfs);
	(void)snprintf(shm, sizeof(shm), "%s-shm", r->moved_to);
	(void)unlinkat(s->dir_fd, shm, 0); /* an index that sqlite has made for reading */
}

/* Moves the closed database aside and opens a new one. */
static enum lmd_status replace(struct lmi_store *s, struct lmi_store_report *r,
			       struct lmd_error *err)
{
	enum lmd_status st = readable(s, err);

	if (st == LMD_OK)
		st = move_aside(s, s->opts.now_ns, r, err);
	if (st == LMD_OK)
		st = open_db(s, r, err);
	if (st == LMD_OK) {
		salvage(s, r);
		s->replacement = *r;
	}
	return st;
}

static enum lmd_status open_or_begin(struct lmi_store *s, struct lmi_store_report *r,
				     struct lmd_error *err)
{
	struct lmd_error why = {0};
	enum lmd_status st;

	s->opening = true;
	st = s->opts.read_only ? open_to_read(s, r, &why) : open_db(s, r, &why);
	if (st == LMD_CORRUPT && !s->opts.read_only) {
		(void)snprintf(r->reason, sizeof(r->reason), "%.*s", (int)sizeof(r->reason) - 1,
			       why.text);
		st = replace(s, r, &why);
		s->corrupt = false;
	}
	s->opening = false;
	if (st != LMD_OK && err)
		*err = why;
	return st;
}

enum lmd_status lmi_store_heal(struct lmi_store *s, struct lmd_error *err)
{
	struct lmi_store_report r = {.schema = lmi_store_sql_n, .unclean = true};
	enum lmd_status st;

	if (s->opening || s->opts.read_only || (s->db && (!s->corrupt || sqlite3_next_stmt(s->db, NULL) ||
				     !sqlite3_get_autocommit(s->db))))
		return LMD_OK;
	/* the log belongs to the file that is moved aside */
	if (s->db) {
		(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		(void)sqlite3_close(s->db);
		s->db = NULL;
	}
	s->opening = true;
	(void)snprintf(r.reason, sizeof(r.reason), "it turned out to be damaged in use");
	st = s->corrupt ? replace(s, &r, err) : open_db(s, &r, err);
	s->opening = false;
	if (st != LMD_OK)
		return st;
	s->corrupt = false;
	if (r.moved_aside)
		atomic_fetch_add(&s->n_replaced, 1);
	if (r.moved_aside && s->opts.replaced)
		s->opts.replaced(s->opts.arg, &r);
	return LMD_OK;
}

static void destroy(struct lmi_store *s, bool clean)
{
	if (s->db && s->corrupt)
		(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (s->db && sqlite3_close(s->db) != SQLITE_OK)
		clean = false;
	unlock(s, clean);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	lmi_free(s->dir);
	lmi_free(s);
}

enum lmd_status lmi_store_open(struct lmi_store **out, const char *dir,
			       const struct lmi_store_opts *opts, struct lmi_store_report *report,
			       struct lmd_error *err)
{
	struct lmi_store_report r = {.schema = lmi_store_sql_n};
	enum lmd_status st =
		lmi_store_text_check("state folder", dir, 1, LMI_STORE_PATH_MAX - 128, err);
	struct lmi_store *s;

	if (st != LMD_OK)
		return st;
	s = lmi_alloc(1, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "registry: no memory");
	s->dir_fd = s->lock_fd = -1;
	s->opts = *opts;
	s->dir = lmi_strndup(dir, strlen(dir));
	st = s->dir ? open_dir(s, err) : lmd_fail(err, LMD_NOMEM, "registry: no memory");
	if (st == LMD_OK)
		st = lock(s, &r.unclean, err);
	if (st == LMD_OK) {
		r.n_parts_removed = s->opts.read_only ? 0 : lmi_store_blob_sweep(s->dir_fd);
		st = open_or_begin(s, &r, err);
		if (st != LMD_OK) { /* restore the state of the lock file */
			destroy(s, !r.unclean && st != LMD_CORRUPT);
			return st;
		}
		*out = s;
		if (report)
			*report = r;
		return LMD_OK;
	}
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	s->lock_fd = -1;
	destroy(s, false);
	return st;
}

void lmi_store_close(struct lmi_store *s)
{
	if (s)
		destroy(s, !s->corrupt);
}

uint32_t lmi_store_n_replaced(const struct lmi_store *s)
{
	return atomic_load(&s->n_replaced);
}

const struct lmi_store_report *lmi_store_replacement(const struct lmi_store *s)
{
	return s->replacement.moved_aside ? &s->replacement : NULL;
}

const char *lmi_store_dir(const struct lmi_store *s)
{
	return s->dir;
}
