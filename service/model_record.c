/* SPDX-License-Identifier: MIT
 *
 * References to records of the registry. */
#include "service/model_record.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"

enum lmd_status lmi_svc_models_of_file(struct lmi_store_models *out, const char *name,
				       const char *path, struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_store_model *m = arena ? lmi_arena_array(arena, 1, sizeof(*m)) : NULL;
	struct lmi_store_file *file = m ? lmi_arena_array(arena, 1, sizeof(*file)) : NULL;

	name = file ? lmi_arena_strndup(arena, name, strlen(name)) : NULL;
	path = name ? lmi_arena_strndup(arena, path, strlen(path)) : NULL;
	if (!path) {
		lmi_arena_destroy(arena);
		return lmd_fail(err, LMD_NOMEM, "no memory for a model");
	}
	*file = (struct lmi_store_file){.path = path};
	*m = (struct lmi_store_model){
		.name = name, .format = "", .arch = "", .facts = "{}", .n_files = 1, .files = file};
	*out = (struct lmi_store_models){.n = 1, .v = m, .arena = arena};
	return LMD_OK;
}

enum lmd_status lmi_svc_model_record_of_file(struct lmi_svc_model_record **out, const char *name,
					     const char *path, struct lmd_error *err)
{
	struct lmi_svc_model_record *record = lmi_alloc(1, sizeof(*record));
	enum lmd_status st;

	if (!record)
		return lmd_fail(err, LMD_NOMEM, "no memory for a model");
	record->n_user = 1;
	st = lmi_svc_models_of_file(&record->m, name, path, err);
	if (st == LMD_OK)
		*out = record;
	else
		lmi_free(record);
	return st;
}

struct lmi_svc_model_record *lmi_svc_model_record_take(struct lmi_svc_model_record *record)
{
	record->n_user++;
	return record;
}

void lmi_svc_model_record_give(struct lmi_svc_model_record *record)
{
	if (!record || --record->n_user)
		return;
	lmi_store_models_fini(&record->m);
	lmi_free(record);
}

const char *lmi_svc_model_record_name(const struct lmi_svc_model_record *record)
{
	return record->m.v[0].name;
}

const char **lmi_svc_model_paths(const struct lmi_store_model *m, uint32_t *n,
				 struct lmd_error *err)
{
	const char **paths;

	*n = 0;
	*err = (struct lmd_error){0};
	if (m->n_files < 2)
		return NULL;
	paths = lmi_alloc(m->n_files, sizeof(*paths));
	if (!paths) {
		(void)lmd_fail(err, LMD_NOMEM, "no memory for the paths of %u files", m->n_files);
		return NULL;
	}
	for (uint32_t i = 0; i < m->n_files; i++)
		paths[i] = m->files[i].path;
	*n = m->n_files;
	return paths;
}
