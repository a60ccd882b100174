/* SPDX-License-Identifier: MIT
 *
 * Statements and transactions on top of sqlite, and the mapping of its result codes to ours.
 * Statements are prepared again for each call, since calls are rare and end in an fsync. */
#include "store/db.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"

static enum lmd_status status_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return LMD_OK;
	case SQLITE_NOMEM:
		return LMD_NOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return LMD_BUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return LMD_CORRUPT;
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_PROTOCOL:
	case SQLITE_NOLFS:
		return (rc == SQLITE_IOERR_NOMEM) ? LMD_NOMEM : LMD_IO;
	case SQLITE_TOOBIG:
		return LMD_INVALID;
	default:
		return LMD_INTERNAL;
	}
}

enum lmd_status lmi_store_db_fail(struct lmi_store *s, int rc, struct lmd_error *err)
{
	enum lmd_status st = status_of(rc);
	int sys = s->db ? sqlite3_system_errno(s->db) : 0;

	if (st == LMD_CORRUPT)
		s->corrupt = true;
	if ((rc & 0xff) == SQLITE_FULL)
		return lmd_fail(err, st,
				"registry: the disk or its quota is full; nothing was "
				"changed");
	if ((rc & 0xff) == SQLITE_READONLY)
		return lmd_fail(err, st, "registry: cannot write (%s); nothing was changed",
				sqlite3_errstr(rc));
	if (st == LMD_IO && sys)
		return lmd_fail(err, st, "registry: %s (%d): %s", sqlite3_errstr(rc), rc,
				strerror(sys));
	return lmd_fail(err, st, "registry: %s (%d)%s%s", sqlite3_errstr(rc), rc,
			st == LMD_INTERNAL && s->db ? ": " : "",
			st == LMD_INTERNAL && s->db ? sqlite3_errmsg(s->db) : "");
}

static int bind(sqlite3_stmt *q, const char *fmt, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 1; *fmt && rc == SQLITE_OK; fmt++, i++) {
		if (*fmt == 't') {
			rc = sqlite3_bind_text(q, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
		} else if (*fmt == 'i') {
			rc = sqlite3_bind_int64(q, i, va_arg(ap, int64_t));
		} else {
			rc = sqlite3_bind_double(q, i, va_arg(ap, double));
		}
	}
	return rc;
}

static enum lmd_status query(struct lmi_store *s, sqlite3_stmt **out, struct lmd_error *err,
			     const char *sql, const char *fmt, va_list ap)
{
	sqlite3_stmt *q = NULL;
	enum lmd_status healed = lmi_store_heal(s, err);
	int rc;

	if (healed != LMD_OK)
		return healed;
	rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
	if (rc == SQLITE_OK)
		rc = bind(q, fmt, ap);
	if (rc != SQLITE_OK) {
		enum lmd_status st = lmi_store_db_fail(s, rc, err);

		sqlite3_finalize(q);
		return st;
	}
	*out = q;
	return LMD_OK;
}

enum lmd_status lmi_store_db_query(struct lmi_store *s, sqlite3_stmt **out, struct lmd_error *err,
				   const char *sql, const char *fmt, ...)
{
	enum lmd_status st;
	va_list ap;

	va_start(ap, fmt);
	st = query(s, out, err, sql, fmt, ap);
	va_end(ap);
	return st;
}

enum lmd_status lmi_store_db_step(struct lmi_store *s, sqlite3_stmt *q, bool *row,
				  struct lmd_error *err)
{
	int rc = sqlite3_step(q);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return lmi_store_db_fail(s, rc, err);
	*row = rc == SQLITE_ROW;
	return LMD_OK;
}

enum lmd_status lmi_store_db_run(struct lmi_store *s, struct lmd_error *err, const char *sql,
				 const char *fmt, ...)
{
	bool row = true;
	enum lmd_status st;
	sqlite3_stmt *q;
	va_list ap;

	va_start(ap, fmt);
	st = query(s, &q, err, sql, fmt, ap);
	va_end(ap);
	if (st != LMD_OK)
		return st;
	while (st == LMD_OK && row)
		st = lmi_store_db_step(s, q, &row, err);
	sqlite3_finalize(q);
	return st;
}

enum lmd_status lmi_store_db_number(struct lmi_store *s, struct lmd_error *err, int64_t *out,
				    bool *found, const char *sql, const char *fmt, ...)
{
	enum lmd_status st;
	sqlite3_stmt *q;
	va_list ap;

	va_start(ap, fmt);
	st = query(s, &q, err, sql, fmt, ap);
	va_end(ap);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_step(s, q, found, err);
	if (st == LMD_OK && *found)
		*out = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return st;
}

enum lmd_status lmi_store_db_begin(struct lmi_store *s, struct lmd_error *err)
{
	return lmi_store_db_run(s, err, "BEGIN IMMEDIATE", "");
}

enum lmd_status lmi_store_db_end(struct lmi_store *s, enum lmd_status st, struct lmd_error *err)
{
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "COMMIT", "");
	/* Some errors end the transaction, others leave it open. */
	if (st != LMD_OK && !sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return st;
}

const char *lmi_store_db_text(struct lmd_arena *a, sqlite3_stmt *q, int column)
{
	const char *p = (const char *)sqlite3_column_text(q, column);

	if (!p)
		return sqlite3_column_type(q, column) == SQLITE_NULL ? "" : NULL;
	return lmi_arena_strndup(a, p, (size_t)sqlite3_column_bytes(q, column));
}

enum lmd_status lmi_store_rows_nomem(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "registry: no memory for the rows of a result");
}

enum lmd_status lmi_store_rows_begin(struct lmi_store_rows *r, struct lmi_store *s,
				     const char *table, size_t item_bytes, struct lmd_error *err)
{
	int64_t n = 0;
	enum lmd_status st;
	char sql[64];
	bool found;

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	st = lmi_store_db_number(s, err, &n, &found, sql, "");
	if (st != LMD_OK)
		return st;
	*r = (struct lmi_store_rows){.n_max = (uint32_t)n};
	r->arena = n <= UINT32_MAX ? lmi_arena_create(0) : NULL;
	if (r->arena && n)
		r->v = lmi_arena_array(r->arena, (size_t)n, item_bytes);
	if (r->arena && (r->v || !n))
		return LMD_OK;
	lmi_arena_destroy(r->arena);
	return lmi_store_rows_nomem(err);
}

enum lmd_status lmi_store_text_check(const char *what, const char *text, size_t min, size_t max,
				     struct lmd_error *err)
{
	size_t n;

	if (!text)
		return lmd_fail(err, LMD_INVALID, "%s: missing", what);
	n = strnlen(text, max + 1);
	if (n > max)
		return lmd_fail(err, LMD_INVALID, "%s: longer than the maximum of %zu bytes", what,
				max);
	if (n < min)
		return lmd_fail(err, LMD_INVALID, "%s: empty", what);
	return LMD_OK;
}
