/* SPDX-License-Identifier: MIT
 *
 * Modelfiles of names. They are rows of kv, whose key is the alias they belong to. */
#include <string.h>

#include "core/base/arena.h"
#include "store/db.h"

#define SPACE "preset"

static enum lmd_status preset_set(struct lmi_store *s, const char *name, const char *text,
				  struct lmd_error *err)
{
	enum lmd_status st =
		lmi_store_text_check("Modelfile", text, 1, LMI_STORE_VALUE_MAX, err);

	if (st != LMD_OK)
		return st;
	return lmi_store_db_run(s, err,
				"INSERT INTO kv (space, key, value) VALUES ('" SPACE
				"', ?1, CAST(?2 AS BLOB)) "
				"ON CONFLICT (space, key) DO UPDATE SET value = excluded.value",
				"tt", name, text);
}

enum lmd_status lmi_store_preset_set(struct lmi_store *s, const char *name, const char *model,
				     const char *text, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_alias_write(s, name, model, err);
	if (st == LMD_OK)
		st = preset_set(s, name, text, err);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_presets_collect(struct lmi_store *s, struct lmd_error *err)
{
	return lmi_store_db_run(s, err,
				"DELETE FROM kv WHERE space = '" SPACE
				"' AND key NOT IN (SELECT alias FROM aliases)",
				"");
}

void lmi_store_presets_fini(struct lmi_store_presets *p)
{
	lmi_arena_destroy(p->arena);
	*p = (struct lmi_store_presets){0};
}

enum lmd_status lmi_store_preset_list(struct lmi_store *s, struct lmi_store_presets *out,
				      struct lmd_error *err)
{
	struct lmi_store_presets p = {0};
	struct lmi_store_rows rows;
	sqlite3_stmt *q = NULL;
	bool row = true;
	enum lmd_status st = lmi_store_rows_begin(&rows, s, "kv", sizeof(*p.v), err);

	if (st != LMD_OK)
		return st;
	p.v = rows.v;
	p.arena = rows.arena;
	st = lmi_store_db_query(s, &q, err,
				"SELECT key, CAST(value AS TEXT) FROM kv WHERE space = '" SPACE
				"' ORDER BY key",
				"");
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row)
			break;
		if (p.n == rows.n_max) {
			st = lmd_fail(err, LMD_BUSY, "the presets changed meanwhile");
			break;
		}
		p.v[p.n] = (struct lmi_store_preset){.name = lmi_store_db_text(p.arena, q, 0),
						     .text = lmi_store_db_text(p.arena, q, 1)};
		if (!p.v[p.n].name || !p.v[p.n].text)
			st = lmi_store_rows_nomem(err);
		else
			p.n++;
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = p;
	else
		lmi_store_presets_fini(&p);
	return st;
}
