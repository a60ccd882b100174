/* SPDX-License-Identifier: MIT
 *
 * A damaged page ends the walk over a table, so each table is walked from both ends.  Rows are
 * inserted one by one with INSERT OR IGNORE: the checks, keys and triggers of the schema refuse what
 * makes no sense, and the second walk repeats rows of the first. */
#include "store/salvage.h"

#include <stdio.h>
#include <string.h>

/* In the order of their references.  `by` has the columns of the primary key in both orders. */
static const struct {
	const char *name, *up, *down;
} tables[] = {
	{"models", "id", "id DESC"},
	{"model_files", "model_id, part", "model_id DESC, part DESC"},
	{"aliases", "alias", "alias DESC"},
	{"keys", "hash", "hash DESC"},
	{"usage", "day, principal, model", "day DESC, principal DESC, model DESC"},
	{"settings", "key", "key DESC"},
	{"kv", "rowid", "rowid DESC"},
};

static uint64_t copy_row(sqlite3_stmt *from, sqlite3_stmt *to)
{
	int n_column = sqlite3_column_count(from);
	bool ok = true;

	for (int i = 0; i < n_column && ok; i++)
		ok = sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i)) == SQLITE_OK;
	ok = ok && sqlite3_step(to) == SQLITE_DONE;
	(void)sqlite3_reset(to); /* repeats the error of the step */
	return ok && sqlite3_changes(sqlite3_db_handle(to)) ? 1 : 0;
}

/* Writes the statement that inserts the columns of `from`: the new ones of a later schema get their
 * defaults.  Returns false if a name is damaged. */
static bool write_insert(char *out, size_t size, const char *table, sqlite3_stmt *from)
{
	int n = sqlite3_column_count(from);
	size_t at = (size_t)snprintf(out, size, "INSERT OR IGNORE INTO %s (", table);

	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(from, i);

		if (!name || strspn(name, "abcdefghijklmnopqrstuvwxyz_") != strlen(name))
			return false;
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", name);
		if (at >= size)
			return false;
	}
	at += (size_t)snprintf(out + at, size - at, ") VALUES (");
	for (int i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, i ? ", ?" : "?");
	if (at < size)
		at += (size_t)snprintf(out + at, size - at, ")");
	return n && at < size;
}

static uint64_t copy_table(sqlite3 *from, sqlite3 *to, size_t table, bool down)
{
	sqlite3_stmt *in = NULL, *out = NULL;
	char select[128], insert[512];
	uint64_t n = 0;

	(void)snprintf(select, sizeof(select), "SELECT * FROM %s ORDER BY %s", tables[table].name,
		       down ? tables[table].down : tables[table].up);
	if (sqlite3_prepare_v2(from, select, -1, &in, NULL) == SQLITE_OK &&
	    write_insert(insert, sizeof(insert), tables[table].name, in) &&
	    sqlite3_prepare_v2(to, insert, -1, &out, NULL) == SQLITE_OK)
		while (sqlite3_step(in) == SQLITE_ROW)
			n += copy_row(in, out);
	sqlite3_finalize(in);
	sqlite3_finalize(out);
	return n;
}

/* A model without its files cannot be loaded. */
static void remove_incomplete(sqlite3 *db)
{
	(void)sqlite3_exec(db,
			   "DELETE FROM models WHERE id NOT IN (SELECT model_id FROM model_files)",
			   NULL, NULL, NULL);
}

uint64_t lmi_store_salvage(struct lmi_store *to, const char *path, const char *vfs)
{
	sqlite3 *from = NULL;
	uint64_t n = 0;

	/* for writing, since a database with a log cannot always be opened otherwise */
	if (sqlite3_open_v2(path, &from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs) !=
		    SQLITE_OK ||
	    sqlite3_db_config(from, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK ||
	    sqlite3_exec(to->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
		(void)sqlite3_close(from);
		return 0;
	}
	for (size_t i = 0; i < LMD_LEN(tables); i++)
		n += copy_table(from, to->db, i, false) + copy_table(from, to->db, i, true);
	remove_incomplete(to->db);
	if (sqlite3_exec(to->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
		(void)sqlite3_exec(to->db, "ROLLBACK", NULL, NULL, NULL);
		n = 0;
	}
	(void)sqlite3_close(from);
	return n;
}
