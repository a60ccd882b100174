/* SPDX-License-Identifier: MIT
 *
 * References are counted by the loop's thread.  The registry's thread writes rows that nobody else
 * has yet. */
#include "service/registry_rows.h"

#include <stdlib.h>
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

/* ---- looking for names ---- */

static int compare_model(const void *name, const void *model)
{
	return strcmp(name, ((const struct lmi_store_model *)model)->name);
}

static int compare_alias(const void *name, const void *alias)
{
	return strcmp(name, ((const struct lmi_store_alias *)alias)->alias);
}

/* Returns the row of a model, whose rows are sorted by name; NULL: there is none. */
static const struct lmi_store_model *find_model(const struct lmi_svc_registry_rows *rows, const char *name)
{
	return rows->models.n ? bsearch(name, rows->models.v, rows->models.n, sizeof(*rows->models.v),
					compare_model)
			      : NULL;
}

/* Groups the aliases by their models: counts those of each, then gives each its place.  An alias of a
 * model that is not there belongs to none. */
static bool group_aliases(struct lmi_svc_registry_rows *rows)
{
	const uint32_t n_model = rows->models.n, n = rows->aliases.n;
	uint32_t *model = lmi_alloc(n + 1u, sizeof(*model));

	rows->first_alias = lmi_arena_array(rows->models.arena, n_model + 2u, sizeof(*rows->first_alias));
	rows->alias_of = lmi_arena_array(rows->models.arena, n + 1u, sizeof(*rows->alias_of));
	if (!model || !rows->first_alias || !rows->alias_of) {
		lmi_free(model);
		return false;
	}
	memset(rows->first_alias, 0, (n_model + 2u) * sizeof(*rows->first_alias));
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_store_model *m = find_model(rows, rows->aliases.v[i].name);

		model[i] = m ? (uint32_t)(m - rows->models.v) : n_model;
		if (m)
			rows->first_alias[model[i] + 2]++;
	}
	for (uint32_t k = 2; k < n_model + 2; k++)
		rows->first_alias[k] += rows->first_alias[k - 1];
	/* first_alias[k + 1] is now where the next alias of model k goes; in the end it is their end */
	for (uint32_t i = 0; i < n; i++)
		if (model[i] < n_model)
			rows->alias_of[rows->first_alias[model[i] + 1]++] = i;
	lmi_free(model);
	return true;
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
	if (!rows->guards || !group_aliases(rows))
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
	const struct lmi_store_alias *alias = NULL;
	const struct lmi_store_model *m;

	if (st != LMD_OK)
		return st;
	if (rows->aliases.n)
		alias = bsearch(name, rows->aliases.v, rows->aliases.n, sizeof(*alias), compare_alias);
	m = find_model(rows, alias ? alias->name : name);
	if (!m)
		return lmd_fail(err, LMD_NOTFOUND, "model '%s' does not exist", name);
	*row = (uint32_t)(m - rows->models.v);
	return LMD_OK;
}
