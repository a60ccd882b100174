/* SPDX-License-Identifier: MIT
 *
 * A damaged page ends the walk over a table, so each table is walked from both ends.  Rows are
 * inserted one by one with INSERT OR IGNORE: the checks, keys and triggers of the schema refuse what
 * makes no sense, and the second walk repeats rows of the first. */
#include "store/salvage.h"

#include <stdio.h>

/* In the order of their references.  `by` has the columns of the primary key in both orders. */
static const struct {
	const char *name, *up, *down;
	int n_column;
} tables[] = {
	{"models", "id", "id DESC", 16},
	{"model_files", "model_id, part", "model_id DESC, part DESC", 9},
	{"aliases", "alias", "alias DESC", 2},
	{"keys", "hash", "hash DESC", 5},
	{"usage", "principal, day", "principal DESC, day DESC", 3},
	{"settings", "key", "key DESC", 2},
	{"kv", "rowid", "rowid DESC", 3},
};

static uint64_t copy_row(sqlite3_stmt *from, sqlite3_stmt *to, int n_column)
{
	bool ok = sqlite3_column_count(from) == n_column;

	for (int i = 0; i < n_column && ok; i++)
		ok = sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i)) == SQLITE_OK;
	ok = ok && sqlite3_step(to) == SQLITE_DONE;
	(void)sqlite3_reset(to); /* repeats the error of the step */
	return ok && sqlite3_changes(sqlite3_db_handle(to)) ? 1 : 0;
}

static uint64_t copy_table(sqlite3 *from, sqlite3 *to, size_t table, bool down)
{
	sqlite3_stmt *in = NULL, *out = NULL;
	char select[128], insert[128];
	uint64_t n = 0;
	int at;

	(void)snprintf(select, sizeof(select), "SELECT * FROM %s ORDER BY %s", tables[table].name,
		       down ? tables[table].down : tables[table].up);
	at = snprintf(insert, sizeof(insert), "INSERT OR IGNORE INTO %s VALUES (?",
		      tables[table].name);
	for (int i = 1; i < tables[table].n_column; i++)
		at += snprintf(insert + at, sizeof(insert) - (size_t)at, ", ?");
	(void)snprintf(insert + at, sizeof(insert) - (size_t)at, ")");
	if (sqlite3_prepare_v2(from, select, -1, &in, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(to, insert, -1, &out, NULL) == SQLITE_OK)
		while (sqlite3_step(in) == SQLITE_ROW)
			n += copy_row(in, out, tables[table].n_column);
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
