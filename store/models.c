/* SPDX-License-Identifier: MIT
 *
 * Adds, removes and changes rows of models; models_read.c reads them. */
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/json_tree.h"
#include "store/blob.h"
#include "store/db.h"

/* Stores unsigned 64-bit identifiers (dev, ino) as the signed number with the same bits. */
static int64_t bits(uint64_t u)
{
	int64_t i;

	memcpy(&i, &u, sizeof(i));
	return i;
}

static enum lmd_status check_facts(const char *facts, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_text_check("facts", facts, 2, LMI_STORE_VALUE_MAX, err);
	struct lmi_json_tree t;
	bool object;

	if (st != LMD_OK)
		return st;
	st = lmi_json_tree_parse(&t, facts, strlen(facts), NULL, err);
	if (st == LMD_NOMEM)
		return st;
	if (st != LMD_OK) {
		lmd_error_prefix(err, "facts");
		if (err)
			err->status = LMD_INVALID;
		return LMD_INVALID;
	}
	object = lmi_json_node_is(t.root, LMI_JSON_OBJECT);
	lmi_json_tree_fini(&t);
	return object ? LMD_OK : lmd_fail(err, LMD_INVALID, "facts: not a JSON object");
}

static enum lmd_status check_files(const struct lmi_store_file *f, uint32_t n, bool imported,
				   uint64_t *size, struct lmd_error *err)
{
	uint64_t sum = 0;

	if (n < 1 || n > LMI_STORE_FILES_MAX)
		return lmd_fail(err, LMD_INVALID, "model of %u files, allowed are 1 to %d", n,
				LMI_STORE_FILES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		enum lmd_status st = LMD_OK;

		if (!imported)
			st = lmi_store_text_check("path", f[i].path, 1, LMI_STORE_PATH_MAX, err);
		if (st != LMD_OK)
			return st;
		if (!imported && f[i].path[0] != '/')
			return lmd_fail(err, LMD_INVALID, "path: is not absolute");
		if (!lmi_store_digest_ok(f[i].digest))
			return lmd_fail(err, LMD_INVALID,
					"digest of file %u: not 64 lower-case hexadecimal digits",
					i);
		if (!lmi_add_ok(sum, f[i].size, &sum) || sum > INT64_MAX)
			return lmd_fail(err, LMD_INVALID,
					"size of file %u: %llu bytes is too large", i,
					(unsigned long long)f[i].size);
	}
	*size = sum;
	return LMD_OK;
}

/* Checks that all imported files exist and have not changed since they were imported. */
static enum lmd_status check_blobs(struct lmi_store *s, const struct lmi_store_model *m,
				   struct lmd_error *err)
{
	char name[LMI_STORE_BLOB_NAME];
	enum lmd_status st;
	int folder, fd;

	st = lmi_store_blob_folder(&folder, s->dir_fd, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; st == LMD_OK && i < m->n_files; i++) {
		struct lmi_store_file now;

		lmi_store_blob_name(name, m->files[i].digest);
		st = lmi_store_file_open(&fd, folder, name, &now, err);
		if (st != LMD_OK)
			break;
		close(fd);
		if (!lmi_store_same_identity(&now, &m->files[i]))
			st = lmd_fail(err, LMD_NOTFOUND,
				      LMI_STORE_BLOB_FOLDER "/%s: is not the file "
							    "that was imported",
				      name);
	}
	close(folder);
	return st;
}

static enum lmd_status put_files(struct lmi_store *s, int64_t id, const struct lmi_store_file *f,
				 uint32_t n, bool imported, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		st = lmi_store_db_run(
			s, err,
			"INSERT INTO model_files (model_id, part, path, digest, size, dev, "
			"ino, mtime_ns, ctime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
			"iittiiiii", id, (int64_t)i, imported ? "" : f[i].path, f[i].digest,
			(int64_t)f[i].size, bits(f[i].dev), bits(f[i].ino), f[i].mtime_ns,
			f[i].ctime_ns);
	return st;
}

static enum lmd_status insert(struct lmi_store *s, const struct lmi_store_model *m,
			      const char *digest, uint64_t size, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_name_free(s, m->name, err);

	if (st == LMD_OK && m->imported)
		st = check_blobs(s, m, err);
	if (st == LMD_OK)
		st = lmi_store_db_run(
			s, err,
			"INSERT INTO models (name, digest, size, format, arch, facts, state, "
			"added_at, imported) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
			"ttitttii", m->name, digest, (int64_t)size, m->format, m->arch,
			m->facts ? m->facts : "{}", m->added_at, (int64_t)m->imported);
	if (st == LMD_OK)
		st = put_files(s, sqlite3_last_insert_rowid(s->db), m->files, m->n_files,
			       m->imported, err);
	return st;
}

/* Checks a row as far as possible without the database; computes its digest and size. */
static enum lmd_status check_model(const struct lmi_store_model *m,
				   char digest[LMI_STORE_DIGEST_HEX], uint64_t *size,
				   struct lmd_error *err)
{
	enum lmd_status st = check_files(m->files, m->n_files, m->imported, size, err);

	if (st == LMD_OK)
		st = lmi_store_text_check("format", m->format, 0, LMI_STORE_WORD_MAX, err);
	if (st == LMD_OK)
		st = lmi_store_text_check("arch", m->arch, 0, LMI_STORE_WORD_MAX, err);
	if (st == LMD_OK && m->facts)
		st = check_facts(m->facts, err);
	return st == LMD_OK ? lmi_store_digest_join(digest, m->files, m->n_files, err) : st;
}

enum lmd_status lmi_store_model_add(struct lmi_store *s, const struct lmi_store_model *m,
				    struct lmd_error *err)
{
	char digest[LMI_STORE_DIGEST_HEX];
	uint64_t size;
	enum lmd_status st = check_model(m, digest, &size, err);

	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	return lmi_store_db_end(s, insert(s, m, digest, size, err), err);
}

/* Finds the digests of imported files that only this model has. */
struct unused_files {
	struct lmd_arena *arena;
	uint32_t n, n_max;
	const char **digest;
};

static enum lmd_status find_unused_files(struct lmi_store *s, int64_t id, struct unused_files *d,
					 struct lmd_error *err)
{
	enum lmd_status st;
	sqlite3_stmt *q;
	bool row = true;

	d->n_max = LMI_STORE_FILES_MAX;
	d->digest = lmi_arena_array(d->arena, d->n_max, sizeof(*d->digest));
	if (!d->digest)
		return lmi_store_rows_nomem(err);
	st = lmi_store_db_query(
		s, &q, err,
		"SELECT DISTINCT f.digest FROM model_files f JOIN models m "
		"ON m.id = f.model_id WHERE m.id = ?1 AND m.imported AND NOT EXISTS "
		"(SELECT 1 FROM model_files o JOIN models n ON n.id = o.model_id "
		"WHERE o.digest = f.digest AND n.imported AND n.id <> ?1)",
		"i", id);
	if (st != LMD_OK)
		return st;
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row || d->n == d->n_max)
			break;
		d->digest[d->n] = lmi_store_db_text(d->arena, q, 0);
		if (!d->digest[d->n++])
			st = lmi_store_rows_nomem(err);
	}
	sqlite3_finalize(q);
	return st;
}

static enum lmd_status delete_row(struct lmi_store *s, const char *name, struct unused_files *d,
				  struct lmd_error *err)
{
	int64_t id;
	enum lmd_status st = lmi_store_model_id(s, name, false, &id, err);

	if (st == LMD_OK)
		st = find_unused_files(s, id, d, err);
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "DELETE FROM models WHERE id = ?1", "i", id);
	if (st == LMD_OK)
		st = lmi_store_presets_collect(s, err);
	return st;
}

/* Removes files that no row refers to any more; called after the transaction. */
static enum lmd_status remove_unused_files(struct lmi_store *s, struct unused_files *d,
					   enum lmd_status st)
{
	for (uint32_t i = 0; st == LMD_OK && i < d->n; i++)
		lmi_store_blob_remove(s->dir_fd, d->digest[i]);
	lmi_arena_destroy(d->arena);
	return st;
}

enum lmd_status lmi_store_model_remove(struct lmi_store *s, const char *name, struct lmd_error *err)
{
	struct unused_files d = {.arena = lmi_arena_create(0)};
	enum lmd_status st;

	if (!d.arena)
		return lmi_store_rows_nomem(err);
	st = lmi_store_db_begin(s, err);
	if (st == LMD_OK)
		st = lmi_store_db_end(s, delete_row(s, name, &d, err), err);
	return remove_unused_files(s, &d, st);
}

/* Renames the row `old` to a name that no model can have; it is deleted after its aliases have been
 * moved to the new row. */
static enum lmd_status exchange(struct lmi_store *s, int64_t old, const struct lmi_store_model *m,
				const char *digest, uint64_t size, struct unused_files *d,
				struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_run(
		s, err, "UPDATE models SET name = '#' || id WHERE id = ?1", "i", old);

	if (st == LMD_OK)
		st = insert(s, m, digest, size, err);
	if (st == LMD_OK)
		st = find_unused_files(s, old, d, err);
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err,
				      "UPDATE aliases SET model_id = (SELECT id FROM models WHERE "
				      "name = ?2) WHERE model_id = ?1",
				      "it", old, m->name);
	if (st == LMD_OK)
		st = lmi_store_db_run(s, err, "DELETE FROM models WHERE id = ?1", "i", old);
	return st;
}

static enum lmd_status replace_row(struct lmi_store *s, const struct lmi_store_model *m,
				   const char *digest, uint64_t size, struct unused_files *d,
				   struct lmd_error *err)
{
	int64_t old;
	enum lmd_status st = lmi_store_model_id(s, m->name, false, &old, err);

	if (st == LMD_NOTFOUND)
		return insert(s, m, digest, size, err);
	return st == LMD_OK ? exchange(s, old, m, digest, size, d, err) : st;
}

enum lmd_status lmi_store_model_replace(struct lmi_store *s, const struct lmi_store_model *m,
					struct lmd_error *err)
{
	struct unused_files d = {.arena = lmi_arena_create(0)};
	char digest[LMI_STORE_DIGEST_HEX];
	uint64_t size;
	enum lmd_status st =
		d.arena ? check_model(m, digest, &size, err) : lmi_store_rows_nomem(err);

	if (st == LMD_OK)
		st = lmi_store_db_begin(s, err);
	if (st == LMD_OK)
		st = lmi_store_db_end(s, replace_row(s, m, digest, size, &d, err), err);
	return remove_unused_files(s, &d, st);
}

enum lmd_status lmi_store_model_measured(struct lmi_store *s, const char *name,
					 const struct lmi_store_measured *m, struct lmd_error *err)
{
	enum lmd_status st;
	int64_t id;

	if (m->memory_bytes > INT64_MAX || m->load_ns > INT64_MAX)
		return lmd_fail(
			err, LMD_INVALID, "measured: %llu bytes, %llu ns: the maximum is 2^63 - 1",
			(unsigned long long)m->memory_bytes, (unsigned long long)m->load_ns);
	if (!isfinite(m->prefill_tps) || m->prefill_tps < 0 || !isfinite(m->decode_tps) ||
	    m->decode_tps < 0)
		return lmd_fail(err, LMD_INVALID, "measured: %g and %g tokens/s: the minimum is 0",
				m->prefill_tps, m->decode_tps);
	st = lmi_store_db_begin(s, err);
	if (st != LMD_OK)
		return st;
	st = lmi_store_model_id(s, name, true, &id, err);
	if (st == LMD_OK)
		st = lmi_store_db_run(
			s, err,
			"UPDATE models SET memory_bytes = ?2, load_ns = ?3, prefill_tps = ?4, "
			"decode_tps = ?5, measured_at = ?6 WHERE id = ?1",
			"iiiddi", id, (int64_t)m->memory_bytes, (int64_t)m->load_ns, m->prefill_tps,
			m->decode_tps, m->at_ns);
	return lmi_store_db_end(s, st, err);
}
