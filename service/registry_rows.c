/* SPDX-License-Identifier: MIT
 *
 * References are counted by the loop's thread.  The registry's thread writes rows that nobody else
 * has yet. */
#include "service/registry_rows.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "service/service_state.h"

struct lmi_svc_registry_rows *lmi_svc_registry_rows_create(const struct lmi_service *svc)
{
	struct lmi_svc_registry_rows *rows = lmi_alloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->n_user = 1;
	rows->epoch = svc->rows_epoch;
	rows->n_replaced = svc->o.store ? lmi_store_n_replaced(svc->o.store) : 0;
	return rows;
}

void lmi_svc_registry_rows_take(struct lmi_svc_registry_rows *rows)
{
	rows->n_user++;
}

void lmi_svc_registry_rows_give(struct lmi_svc_registry_rows *rows)
{
	if (!rows || --rows->n_user)
		return;
	lmi_store_models_fini(&rows->models);
	lmi_store_aliases_fini(&rows->aliases);
	lmi_free(rows);
}

enum lmd_status lmi_svc_registry_rows_read(struct lmi_svc_registry_rows *rows,
					   struct lmi_store *store, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_model_list(store, &rows->models, err);

	if (st == LMD_OK)
		st = lmi_store_alias_list(store, &rows->aliases, err);
	if (st != LMD_OK)
		return st;
	rows->guards = lmi_arena_array(rows->models.arena, rows->models.n + 1u, sizeof(*rows->guards));
	if (!rows->guards)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of models");
	for (uint32_t i = 0; i < rows->models.n; i++)
		lmi_svc_load_guard_read(&rows->guards[i], lmi_store_dir(store),
					rows->models.v[i].name);
	return LMD_OK;
}

static uint64_t bytes_of(const struct lmi_svc_registry_rows *rows)
{
	return lmi_arena_used(rows->models.arena) + lmi_arena_used(rows->aliases.arena);
}

static bool is_valid(const struct lmi_service *svc, const struct lmi_svc_registry_rows *rows)
{
	return rows->epoch == svc->rows_epoch &&
	       rows->n_replaced == lmi_store_n_replaced(svc->o.store);
}

void lmi_svc_registry_rows_keep(struct lmi_service *svc, struct lmi_svc_registry_rows *rows)
{
	if (svc->rows || !is_valid(svc, rows) || bytes_of(rows) > LMI_SVC_REGISTRY_ROWS_BYTES)
		return;
	lmi_svc_registry_rows_take(rows);
	svc->rows = rows;
}

struct lmi_svc_registry_rows *lmi_svc_registry_rows_get(struct lmi_service *svc)
{
	if (svc->rows && !is_valid(svc, svc->rows))
		lmi_svc_registry_rows_drop(svc);
	return svc->rows;
}

void lmi_svc_registry_rows_drop(struct lmi_service *svc)
{
	lmi_svc_registry_rows_give(svc->rows);
	svc->rows = NULL;
	svc->rows_epoch++;
}

enum lmd_status lmi_svc_registry_rows_find(const struct lmi_svc_registry_rows *rows,
					   const char *name, uint32_t *row, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_name_check(name, err);
	const char *model = name;

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < rows->aliases.n; i++)
		if (!strcmp(rows->aliases.v[i].alias, name))
			model = rows->aliases.v[i].name;
	for (uint32_t i = 0; i < rows->models.n; i++)
		if (!strcmp(rows->models.v[i].name, model)) {
			*row = i;
			return LMD_OK;
		}
	return lmd_fail(err, LMD_NOTFOUND, "model '%s' does not exist", name);
}
