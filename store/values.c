/* SPDX-License-Identifier: MIT
 *
 * Settings and kv: maps from keys to values. */
#include <string.h>

#include "core/base/alloc.h"
#include "store/db.h"

void lmi_store_value_fini(struct lmi_store_value *v)
{
	lmi_free(v->bytes);
	*v = (struct lmi_store_value){0};
}

static enum lmd_status check_key(const char *key, struct lmd_error *err)
{
	return lmi_store_text_check("key", key, 1, LMI_STORE_TEXT_MAX, err);
}

static enum lmd_status check_space(const char *space, const char *key, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_text_check("space", space, 1, LMI_STORE_TEXT_MAX, err);

	return st == LMD_OK ? check_key(key, err) : st;
}

/* Reads the value of the next row of q and finalizes q. */
static enum lmd_status get(struct lmi_store *s, sqlite3_stmt *q, const char *key,
			   struct lmi_store_value *out, struct lmd_error *err)
{
	struct lmi_store_value v = {0};
	enum lmd_status st;
	bool row = false;

	st = lmi_store_db_step(s, q, &row, err);
	if (st == LMD_OK && !row)
		st = lmd_fail(err, LMD_NOTFOUND, "'%s' is not set", key);
	if (st == LMD_OK) {
		const void *p = sqlite3_column_blob(q, 0);

		v.n = (size_t)sqlite3_column_bytes(q, 0);
		v.bytes = p || !v.n ? lmi_alloc(v.n + 1, 1) : NULL;
		if (!v.bytes)
			st = lmi_store_rows_nomem(err);
		else if (v.n)
			memcpy(v.bytes, p, v.n);
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = v;
	return st;
}

/* Ends a transaction whose last statement deletes a row. */
static enum lmd_status removed(struct lmi_store *s, enum lmd_status st, const char *key,
			       struct lmd_error *err)
{
	if (st == LMD_OK && !sqlite3_changes(s->db))
		st = lmd_fail(err, LMD_NOTFOUND, "'%s' is not set", key);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_setting_set(struct lmi_store *s, const char *key, const char *value,
				      struct lmd_error *err)
{
	enum lmd_status st = check_key(key, err);

	if (st == LMD_OK)
		st = lmi_store_text_check("setting", value, 0, LMI_STORE_VALUE_MAX, err);
	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err,
			      "INSERT INTO settings (key, value) VALUES (?1, ?2) "
			      "ON CONFLICT (key) DO UPDATE SET value = ?2",
			      "tt", key, value);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_setting_get(struct lmi_store *s, const char *key,
				      struct lmi_store_value *out, struct lmd_error *err)
{
	enum lmd_status st = check_key(key, err);
	sqlite3_stmt *q;

	if (st == LMD_OK)
		st = lmi_store_db_query(s, &q, err, "SELECT value FROM settings WHERE key = ?1",
					"t", key);
	return st == LMD_OK ? get(s, q, key, out, err) : st;
}

enum lmd_status lmi_store_setting_remove(struct lmi_store *s, const char *key,
					 struct lmd_error *err)
{
	enum lmd_status st = check_key(key, err);

	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err, "DELETE FROM settings WHERE key = ?1", "t", key);
	return removed(s, st, key, err);
}

enum lmd_status lmi_store_kv_set(struct lmi_store *s, const char *space, const char *key,
				 const void *bytes, size_t n, struct lmd_error *err)
{
	enum lmd_status st = check_space(space, key, err);

	if (st == LMD_OK && n > LMI_STORE_VALUE_MAX)
		st = lmd_fail(err, LMD_INVALID, "value of '%s': %zu bytes, the maximum is %d", key, n,
			      LMI_STORE_VALUE_MAX);
	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err,
			      "INSERT INTO kv (space, key, value) VALUES (?1, ?2, ?3) "
			      "ON CONFLICT (space, key) DO UPDATE SET value = ?3",
			      "ttb", space, key, bytes, n);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_kv_get(struct lmi_store *s, const char *space, const char *key,
				 struct lmi_store_value *out, struct lmd_error *err)
{
	enum lmd_status st = check_space(space, key, err);
	sqlite3_stmt *q;

	if (st == LMD_OK)
		st = lmi_store_db_query(s, &q, err,
					"SELECT value FROM kv WHERE space = ?1 AND key = ?2", "tt",
					space, key);
	return st == LMD_OK ? get(s, q, key, out, err) : st;
}

enum lmd_status lmi_store_kv_remove(struct lmi_store *s, const char *space, const char *key,
				    struct lmd_error *err)
{
	enum lmd_status st = check_space(space, key, err);

	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err, "DELETE FROM kv WHERE space = ?1 AND key = ?2", "tt", space,
			      key);
	return removed(s, st, key, err);
}
