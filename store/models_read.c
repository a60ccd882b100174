/* SPDX-License-Identifier: MIT
 *
 * Reads rows of models into the caller's arena. */
#include <stdio.h>

#include "core/base/arena.h"
#include "store/blob.h"
#include "store/db.h"

#define COLUMNS                                                                                    \
	"m.name, m.digest, m.size, m.format, m.arch, m.facts, m.added_at, "                         \
	"m.imported, m.memory_bytes, m.load_ns, m.prefill_tps, m.decode_tps, m.measured_at, "      \
	"m.id, "                                                                                   \
	"(SELECT count(*) FROM model_files f WHERE f.model_id = m.id)"

void lmi_store_models_fini(struct lmi_store_models *m)
{
	lmi_arena_destroy(m->arena);
	*m = (struct lmi_store_models){0};
}

static enum lmd_status get_digest(char out[LMI_STORE_DIGEST_HEX], sqlite3_stmt *q, int column,
				  struct lmd_error *err)
{
	const char *p = (const char *)sqlite3_column_text(q, column);

	if (!p)
		return lmi_store_rows_nomem(err);
	(void)snprintf(out, LMI_STORE_DIGEST_HEX, "%s", p);
	return LMD_OK;
}

static enum lmd_status get_file(struct lmi_store *s, struct lmd_arena *a, sqlite3_stmt *q,
				bool imported, struct lmi_store_file *f, struct lmd_error *err)
{
	enum lmd_status st = get_digest(f->digest, q, 1, err);

	if (st != LMD_OK)
		return st;
	f->path = imported ? lmi_arena_printf(a, "%s/" LMI_STORE_BLOB_FOLDER "/sha256-%s", s->dir,
					      f->digest)
			   : lmi_store_db_text(a, q, 0);
	if (!f->path)
		return lmi_store_rows_nomem(err);
	f->size = (uint64_t)sqlite3_column_int64(q, 2);
	f->dev = (uint64_t)sqlite3_column_int64(q, 3);
	f->ino = (uint64_t)sqlite3_column_int64(q, 4);
	f->mtime_ns = sqlite3_column_int64(q, 5);
	f->ctime_ns = sqlite3_column_int64(q, 6);
	return LMD_OK;
}

static enum lmd_status get_files(struct lmi_store *s, struct lmd_arena *a, int64_t id,
				 struct lmi_store_model *m, struct lmd_error *err)
{
	struct lmi_store_file *f = lmi_arena_array(a, m->n_files, sizeof(*f));
	enum lmd_status st;
	sqlite3_stmt *q;
	bool row;

	if (!f)
		return m->n_files ? lmi_store_rows_nomem(err)
				  : lmd_fail(err, LMD_CORRUPT, "model '%s' has no files", m->name);
	st = lmi_store_db_query(
		s, &q, err,
		"SELECT path, digest, size, dev, ino, mtime_ns, ctime_ns FROM model_files "
		"WHERE model_id = ?1 ORDER BY part",
		"i", id);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; st == LMD_OK && i < m->n_files; i++) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st == LMD_OK && row)
			st = get_file(s, a, q, m->imported, &f[i], err);
	}
	sqlite3_finalize(q);
	m->files = f;
	return st;
}

static enum lmd_status get_model(struct lmi_store *s, struct lmd_arena *a, sqlite3_stmt *q,
				 struct lmi_store_model *m, struct lmd_error *err)
{
	enum lmd_status st = get_digest(m->digest, q, 1, err);

	if (st != LMD_OK)
		return st;
	m->name = lmi_store_db_text(a, q, 0);
	m->size = (uint64_t)sqlite3_column_int64(q, 2);
	m->format = lmi_store_db_text(a, q, 3);
	m->arch = lmi_store_db_text(a, q, 4);
	m->facts = lmi_store_db_text(a, q, 5);
	m->added_at = sqlite3_column_int64(q, 6);
	m->imported = sqlite3_column_int(q, 7);
	m->measured = (struct lmi_store_measured){
		.memory_bytes = (uint64_t)sqlite3_column_int64(q, 8),
		.load_ns = (uint64_t)sqlite3_column_int64(q, 9),
		.prefill_tps = sqlite3_column_double(q, 10),
		.decode_tps = sqlite3_column_double(q, 11),
		.at_ns = sqlite3_column_int64(q, 12),
	};
	m->n_files = (uint32_t)sqlite3_column_int(q, 14);
	if (!m->name || !m->format || !m->arch || !m->facts)
		return lmi_store_rows_nomem(err);
	return get_files(s, a, sqlite3_column_int64(q, 13), m, err);
}

enum lmd_status lmi_store_model_list(struct lmi_store *s, struct lmi_store_models *out,
				     struct lmd_error *err)
{
	struct lmi_store_models m = {0};
	struct lmi_store_rows rows;
	sqlite3_stmt *q = NULL;
	enum lmd_status st;
	bool row;

	st = lmi_store_rows_begin(&rows, s, "models", sizeof(*m.v), err);
	if (st != LMD_OK)
		return st;
	m = (struct lmi_store_models){.v = rows.v, .arena = rows.arena};
	st = lmi_store_db_query(s, &q, err, "SELECT " COLUMNS " FROM models m ORDER BY m.name", "");
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row || m.n == rows.n_max)
			break;
		st = get_model(s, m.arena, q, &m.v[m.n++], err);
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = m;
	else
		lmi_store_models_fini(&m);
	return st;
}

enum lmd_status lmi_store_model_find(struct lmi_store *s, const char *name,
				     struct lmi_store_models *out, struct lmd_error *err)
{
	struct lmi_store_models m = {.n = 1};
	sqlite3_stmt *q = NULL;
	enum lmd_status st;
	int64_t id;
	bool row;

	st = lmi_store_model_id(s, name, true, &id, err);
	if (st != LMD_OK)
		return st;
	m.arena = lmi_arena_create(0);
	m.v = m.arena ? lmi_arena_array(m.arena, 1, sizeof(*m.v)) : NULL;
	st = m.v ? lmi_store_db_query(s, &q, err,
				      "SELECT " COLUMNS " FROM models m WHERE m.id = ?1", "i", id)
		 : lmi_store_rows_nomem(err);
	if (st == LMD_OK)
		st = lmi_store_db_step(s, q, &row, err);
	if (st == LMD_OK)
		st = row ? get_model(s, m.arena, q, m.v, err)
			 : lmd_fail(err, LMD_NOTFOUND, "model '%s' does not exist", name);
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = m;
	else
		lmi_store_models_fini(&m);
	return st;
}
