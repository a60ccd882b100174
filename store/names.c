/* SPDX-License-Identifier: MIT
 *
 * Names and aliases.  Models and aliases share one namespace; triggers of the schema enforce that
 * as well, but the checks here give better error messages. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/printable.h"
#include "store/db.h"

#define SHOW 160

static bool name_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:/-", c));
}

enum lmd_status lmi_store_name_check(const char *name, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_text_check("model name", name, 1, LMI_STORE_NAME_MAX, err);
	char show[SHOW];
	size_t n;

	if (st != LMD_OK)
		return st;
	n = strlen(name);
	(void)lmi_printable(show, sizeof(show), name, n);
	for (size_t i = 0; i < n; i++)
		if (!name_byte((unsigned char)name[i]))
			return lmd_fail(
				err, LMD_INVALID,
				"model name '%s': byte %zu is not one of A-Z a-z 0-9 . _ : / -", show,
				i);
	if (name[0] == '/')
		return lmd_fail(err, LMD_INVALID, "model name '%s': begins with '/'", show);
	if (strstr(name, ".."))
		return lmd_fail(err, LMD_INVALID, "model name '%s': contains '..'", show);
	return LMD_OK;
}

enum lmd_status lmi_store_model_id(struct lmi_store *s, const char *name, bool or_alias,
				   int64_t *id, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_name_check(name, err);
	int64_t alias_of = 0;
	bool found = false;

	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, id, &found,
					 "SELECT id FROM models WHERE name = ?1", "t", name);
	if (st != LMD_OK || found)
		return st;
	st = lmi_store_db_number(s, err, &alias_of, &found,
				 "SELECT model_id FROM aliases WHERE alias = ?1", "t", name);
	if (st != LMD_OK)
		return st;
	if (!found)
		return lmd_fail(err, LMD_NOTFOUND, "model '%s' does not exist", name);
	if (!or_alias)
		return lmd_fail(err, LMD_INVALID, "'%s' is an alias, not the name of a model",
				name);
	*id = alias_of;
	return LMD_OK;
}

enum lmd_status lmi_store_name_free(struct lmi_store *s, const char *name, struct lmd_error *err)
{
	static const char *const sql[] = {"SELECT 1 FROM models WHERE name = ?1",
					  "SELECT 1 FROM aliases WHERE alias = ?1"};
	enum lmd_status st = lmi_store_name_check(name, err);
	bool found = false;
	int64_t one;

	for (int i = 0; st == LMD_OK && i < 2; i++) {
		st = lmi_store_db_number(s, err, &one, &found, sql[i], "t", name);
		if (st == LMD_OK && found)
			st = lmd_fail(err, LMD_INVALID, "'%s' is already the name of %s", name,
				      i ? "an alias" : "a model");
	}
	return st;
}

enum lmd_status lmi_store_alias_write(struct lmi_store *s, const char *alias, const char *name,
				      struct lmd_error *err)
{
	enum lmd_status st = lmi_store_name_check(alias, err);
	bool found = false;
	int64_t id, one;

	if (st == LMD_OK)
		st = lmi_store_model_id(s, name, true, &id, err);
	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, &one, &found,
					 "SELECT 1 FROM models WHERE name = ?1", "t", alias);
	if (st == LMD_OK && found)
		st = lmd_fail(err, LMD_INVALID, "'%s' is already the name of a model", alias);
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err,
				      "INSERT INTO aliases (alias, model_id) VALUES (?1, ?2) "
				      "ON CONFLICT (alias) DO UPDATE SET model_id = ?2",
				      "ti", alias, id);
	return st;
}

enum lmd_status lmi_store_alias_set(struct lmi_store *s, const char *alias, const char *name,
				    struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	return lmi_store_db_end(s, lmi_store_alias_write(s, alias, name, err), err);
}

static enum lmd_status alias_remove(struct lmi_store *s, const char *alias, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_name_check(alias, err);

	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "DELETE FROM aliases WHERE alias = ?1", "t", alias);
	if (st == LMD_OK && !sqlite3_changes(s->db))
		st = lmd_fail(err, LMD_NOTFOUND, "alias '%s' does not exist", alias);
	if (st == LMD_OK)
		st = lmi_store_presets_collect(s, err);
	return st;
}

enum lmd_status lmi_store_alias_remove(struct lmi_store *s, const char *alias,
				       struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	return lmi_store_db_end(s, alias_remove(s, alias, err), err);
}

void lmi_store_aliases_fini(struct lmi_store_aliases *a)
{
	lmi_arena_destroy(a->arena);
	*a = (struct lmi_store_aliases){0};
}

enum lmd_status lmi_store_alias_list(struct lmi_store *s, struct lmi_store_aliases *out,
				     struct lmd_error *err)
{
	struct lmi_store_aliases a = {0};
	sqlite3_stmt *q = NULL;
	enum lmd_status st;
	bool row = true;
	struct lmi_store_rows rows;

	st = lmi_store_rows_begin(&rows, s, "aliases", sizeof(*a.v), err);
	if (st != LMD_OK)
		return st;
	a.v = rows.v;
	st = lmi_store_db_query(s, &q, err,
				"SELECT alias, name FROM aliases JOIN models ON id = model_id "
				"ORDER BY alias",
				"");
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row || a.n == rows.n_max)
			break;
		a.v[a.n].alias = lmi_store_db_text(rows.arena, q, 0);
		a.v[a.n].name = lmi_store_db_text(rows.arena, q, 1);
		if (!a.v[a.n].alias || !a.v[a.n].name)
			st = lmi_store_rows_nomem(err);
		a.n++;
	}
	sqlite3_finalize(q);
	a.arena = rows.arena;
	if (st == LMD_OK)
		*out = a;
	else
		lmi_arena_destroy(rows.arena);
	return st;
}
