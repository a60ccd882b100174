/* SPDX-License-Identifier: MIT
 *
 * db.h - shared by the files of this folder: the handle, statements, transactions. */
#ifndef LLAMAD_STORE_DB_H
#define LLAMAD_STORE_DB_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "store/store.h"

/* "lmad" */
#define LMI_STORE_APPLICATION_ID 0x6c6d6164

struct lmi_store {
	sqlite3 *db;
	char *dir;
	int dir_fd;
	int lock_fd;
	struct lmi_store_opts opts; /* of open; vfs is borrowed */
	struct lmi_store_report replacement; /* the latest one, if moved_aside is set */
	_Atomic uint32_t n_replaced; /* databases that were moved aside in use */
	bool corrupt; /* a call returned LMD_CORRUPT, so close does not mark the store as clean */
	bool opening; /* the database is being opened, checked or replaced */
};

/* The migrations, generated from store/sql: element i changes schema i to i + 1. */
struct lmi_store_text {
	const char *name, *text;
};
extern const struct lmi_store_text lmi_store_sql[];
extern const unsigned lmi_store_sql_n;

/* Applies all migrations up to schema `upto` (at most lmi_store_sql_n), or none. */
LMD_NODISCARD enum lmd_status lmi_store_migrate(struct lmi_store *s, uint32_t upto,
						struct lmd_error *err);

/* Replaces a database that turned out to be corrupt, if no statement or transaction is active.
 * Called before each statement. */
LMD_NODISCARD enum lmd_status lmi_store_heal(struct lmi_store *s, struct lmd_error *err);

/* Checks the structure of the main database, or of the attached one of that name. */
LMD_NODISCARD enum lmd_status lmi_store_check(struct lmi_store *s, const char *schema,
					      struct lmd_error *err);

/* Converts the last error of sqlite. */
enum lmd_status lmi_store_db_fail(struct lmi_store *s, int rc, struct lmd_error *err);

/* Prepares a statement with bound values, one letter each in fmt:
 *     t  const char *      i  int64_t      d  double
 * Texts are borrowed until the statement is finalized. */
LMD_NODISCARD enum lmd_status lmi_store_db_query(struct lmi_store *s, sqlite3_stmt **out,
						 struct lmd_error *err, const char *sql,
						 const char *fmt, ...);

/* Steps to the next row; sets *row to false if there is none. */
LMD_NODISCARD enum lmd_status lmi_store_db_step(struct lmi_store *s, sqlite3_stmt *q, bool *row,
						struct lmd_error *err);

/* Runs a statement that returns no rows. */
LMD_NODISCARD enum lmd_status lmi_store_db_run(struct lmi_store *s, struct lmd_error *err,
					       const char *sql, const char *fmt, ...);

/* Reads a number from the first row; sets *found to false if there is no row. */
LMD_NODISCARD enum lmd_status lmi_store_db_number(struct lmi_store *s, struct lmd_error *err,
						  int64_t *out, bool *found, const char *sql,
						  const char *fmt, ...);

/* Begin and end a writing transaction.  lmi_store_db_end commits if st is LMD_OK, otherwise it
 * rolls back; it returns st or the error of the commit. */
LMD_NODISCARD enum lmd_status lmi_store_db_begin(struct lmi_store *s, struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_db_end(struct lmi_store *s, enum lmd_status st,
					       struct lmd_error *err);

/* Copies a text of the current row ("" for NULL); returns NULL if out of memory. */
const char *lmi_store_db_text(struct lmd_arena *a, sqlite3_stmt *q, int column);

/* An array for all rows of a table, and an arena for their texts. */
struct lmi_store_rows {
	struct lmd_arena *arena;
	uint32_t n_max;
	void *v; /* n_max zeroed items; NULL if the table is empty */
};

LMD_NODISCARD enum lmd_status lmi_store_rows_begin(struct lmi_store_rows *r, struct lmi_store *s,
						   const char *table, size_t item_bytes,
						   struct lmd_error *err);
enum lmd_status lmi_store_rows_nomem(struct lmd_error *err);

/* Checks a text argument: not NULL, min..max bytes.  `what` names it in the error message. */
LMD_NODISCARD enum lmd_status lmi_store_text_check(const char *what, const char *text, size_t min,
						   size_t max, struct lmd_error *err);

/* Finds the row id of a model by name or, if or_alias, also by alias.  LMD_NOTFOUND. */
LMD_NODISCARD enum lmd_status lmi_store_model_id(struct lmi_store *s, const char *name,
						 bool or_alias, int64_t *id, struct lmd_error *err);

/* Sets or moves an alias; within a transaction. */
LMD_NODISCARD enum lmd_status lmi_store_alias_write(struct lmi_store *s, const char *alias,
						    const char *name, struct lmd_error *err);
/* Removes the presets whose aliases are gone; within a transaction. */
LMD_NODISCARD enum lmd_status lmi_store_presets_collect(struct lmi_store *s, struct lmd_error *err);

/* Returns LMD_INVALID if a model or an alias has the name. */
LMD_NODISCARD enum lmd_status lmi_store_name_free(struct lmi_store *s, const char *name,
						  struct lmd_error *err);

#endif /* LLAMAD_STORE_DB_H */
