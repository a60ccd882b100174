/* SPDX-License-Identifier: MIT
 *
 * API keys, identified by the digest of their secret. */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/comma_list.h"
#include "store/db.h"
#include "store/digest.h"

void lmi_store_keys_fini(struct lmi_store_keys *k)
{
	lmi_arena_destroy(k->arena);
	*k = (struct lmi_store_keys){0};
}

static enum lmd_status check_hash(const char *hash, struct lmd_error *err)
{
	if (!hash || !lmi_store_digest_ok(hash))
		return lmd_fail(err, LMD_INVALID,
				"hash of a key: not 64 lower-case hexadecimal digits");
	return LMD_OK;
}

static enum lmd_status check_quota(const struct lmi_store_quota *q, struct lmd_error *err)
{
	const struct {
		const char *name;
		uint64_t value;
	} v[] = {{"rpm", q->rpm}, {"tpm", q->tpm}, {"tpd", q->tpd}};

	for (size_t i = 0; i < LMD_LEN(v); i++)
		if (v[i].value > LMI_STORE_QUOTA_MAX)
			return lmd_fail(err, LMD_INVALID, "quota %s: %llu, the maximum is %llu",
					v[i].name, (unsigned long long)v[i].value,
					(unsigned long long)LMI_STORE_QUOTA_MAX);
	return q->models ? lmi_store_text_check("models of a quota", q->models, 0,
						LMI_STORE_QUOTA_MODELS_MAX, err)
			 : LMD_OK;
}

enum lmd_status lmi_store_quota_models_check(struct lmi_store *s, const char *models,
					     struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(models);
	struct lmi_store_models found;
	enum lmd_status st = LMD_OK;
	char name[LMI_STORE_NAME_MAX + 1];
	struct lmd_str word;

	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		if (!word.len)
			return lmd_fail(err, LMD_INVALID, "models '%.200s': a name is empty", models);
		(void)snprintf(name, sizeof(name), "%.*s", (int)word.len, word.ptr);
		st = lmi_store_model_find(s, name, &found, err);
		if (st == LMD_OK)
			lmi_store_models_fini(&found);
		else if (st == LMD_NOTFOUND)
			st = lmd_fail(err, LMD_INVALID,
				      "models: '%.128s' is neither a model nor an alias", name);
	}
	return st;
}

static enum lmd_status add(struct lmi_store *s, const struct lmi_store_key *k,
			   struct lmd_error *err)
{
	bool found = false, other = false;
	int64_t one, same = 0;
	enum lmd_status st =
		lmi_store_db_number(s, err, &same, &found,
				    "SELECT label = ?2 AND role = ?3 AND expires_at = ?4 AND rpm = ?5 "
				    "AND tpm = ?6 AND tpd = ?7 AND models = ?8 FROM keys WHERE hash = ?1",
				    "ttiiiiit", k->hash, k->label, (int64_t)k->role, k->expires_at,
				    (int64_t)k->quota.rpm, (int64_t)k->quota.tpm,
				    (int64_t)k->quota.tpd, k->quota.models ? k->quota.models : "");

	if (st == LMD_OK && found && same)
		return LMD_OK;
	if (st == LMD_OK && found)
		st = lmd_fail(err, LMD_INVALID, "key %.8s...: already exists", k->hash);
	if (st == LMD_OK)
		st = lmi_store_db_number(s, err, &one, &other,
					 "SELECT 1 FROM keys WHERE label = ?1", "t", k->label);
	if (st == LMD_OK && other)
		st = lmd_fail(err, LMD_INVALID, "label '%.64s': already used by another key",
			      k->label);
	if (st == LMD_OK)
		st = lmi_store_db_run(
			s, err,
			"INSERT INTO keys (hash, label, role, created_at, expires_at, rpm, tpm, tpd, "
			"models) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
			"ttiiiiiit", k->hash, k->label, (int64_t)k->role, k->created_at,
			k->expires_at, (int64_t)k->quota.rpm, (int64_t)k->quota.tpm,
			(int64_t)k->quota.tpd, k->quota.models ? k->quota.models : "");
	return st;
}

enum lmd_status lmi_store_key_add(struct lmi_store *s, const struct lmi_store_key *k,
				  struct lmd_error *err)
{
	enum lmd_status st = check_hash(k->hash, err);

	if (st == LMD_OK)
		st = lmi_store_text_check("label of a key", k->label, 0, LMI_STORE_TEXT_MAX, err);
	if (st == LMD_OK && (unsigned)k->role > LMI_STORE_ADMIN)
		st = lmd_fail(err, LMD_INVALID,
			      "role of a key: %d, allowed are 0 (user) and 1 (admin)", (int)k->role);
	if (st == LMD_OK)
		st = check_quota(&k->quota, err);
	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	return lmi_store_db_end(s, add(s, k, err), err);
}

enum lmd_status lmi_store_key_remove(struct lmi_store *s, const char *label, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err, "DELETE FROM keys WHERE label = ?1", "t", label);
	if (st == LMD_OK && !sqlite3_changes(s->db))
		st = lmd_fail(err, LMD_NOTFOUND, "key '%.64s': does not exist", label);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_key_set_quota(struct lmi_store *s, const char *label,
					const struct lmi_store_quota *q, struct lmd_error *err)
{
	enum lmd_status st = check_quota(q, err);

	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err,
			      "UPDATE keys SET rpm = ?2, tpm = ?3, tpd = ?4, models = ?5 "
			      "WHERE label = ?1",
			      "tiiit", label, (int64_t)q->rpm, (int64_t)q->tpm, (int64_t)q->tpd,
			      q->models ? q->models : "");
	if (st == LMD_OK && !sqlite3_changes(s->db))
		st = lmd_fail(err, LMD_NOTFOUND, "key '%.64s': does not exist", label);
	return lmi_store_db_end(s, st, err);
}

static enum lmd_status get(struct lmd_arena *a, sqlite3_stmt *q, struct lmi_store_key *k,
			   struct lmd_error *err)
{
	const char *hash = (const char *)sqlite3_column_text(q, 0);

	k->label = lmi_store_db_text(a, q, 1);
	k->quota.models = lmi_store_db_text(a, q, 8);
	if (!hash || !k->label || !k->quota.models)
		return lmi_store_rows_nomem(err);
	(void)snprintf(k->hash, sizeof(k->hash), "%s", hash);
	k->role = (enum lmi_store_role)sqlite3_column_int(q, 2);
	k->created_at = sqlite3_column_int64(q, 3);
	k->expires_at = sqlite3_column_int64(q, 4);
	k->quota.rpm = (uint64_t)sqlite3_column_int64(q, 5);
	k->quota.tpm = (uint64_t)sqlite3_column_int64(q, 6);
	k->quota.tpd = (uint64_t)sqlite3_column_int64(q, 7);
	return LMD_OK;
}

/* Reads all keys (hash ""), or one. */
static enum lmd_status select_keys(struct lmi_store *s, const char *hash,
				   struct lmi_store_keys *out, struct lmd_error *err)
{
	struct lmi_store_keys k = {0};
	struct lmi_store_rows rows;
	sqlite3_stmt *q = NULL;
	enum lmd_status st;
	bool row;

	st = lmi_store_rows_begin(&rows, s, "keys", sizeof(*k.v), err);
	if (st != LMD_OK)
		return st;
	k = (struct lmi_store_keys){.v = rows.v, .arena = rows.arena};
	st = lmi_store_db_query(s, &q, err,
				"SELECT hash, label, role, created_at, expires_at, rpm, tpm, tpd, "
				"models FROM keys WHERE ?1 = '' OR hash = ?1 ORDER BY created_at, hash",
				"t", hash);
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row || k.n == rows.n_max)
			break;
		st = get(k.arena, q, &k.v[k.n++], err);
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = k;
	else
		lmi_store_keys_fini(&k);
	return st;
}

enum lmd_status lmi_store_key_find(struct lmi_store *s, const char *hash,
				   struct lmi_store_keys *out, struct lmd_error *err)
{
	struct lmi_store_keys k;
	enum lmd_status st = check_hash(hash, err);

	if (st == LMD_OK)
		st = select_keys(s, hash, &k, err);
	if (st != LMD_OK)
		return st;
	if (!k.n) {
		lmi_store_keys_fini(&k);
		return lmd_fail(err, LMD_NOTFOUND, "key %.8s...: does not exist", hash);
	}
	*out = k;
	return LMD_OK;
}

enum lmd_status lmi_store_key_list(struct lmi_store *s, struct lmi_store_keys *out,
				   struct lmd_error *err)
{
	return select_keys(s, "", out, err);
}
