/* SPDX-License-Identifier: MIT
 *
 * registry_rows.h - the models and the aliases of the registry in memory, so that requests that list
 * or describe models need neither its thread nor its database.
 *
 * The rows are read by the first request that needs them and are valid until the registry changes,
 * which only the service does, or until a model has been loaded, which can change what the state
 * folder says about its quarantine.  Rows that were asked for before such a change and arrive after
 * it are used once. */
#ifndef LLAMAD_SERVICE_REGISTRY_ROWS_H
#define LLAMAD_SERVICE_REGISTRY_ROWS_H

#include "service/load_guard.h"
#include "store/store.h"

struct lmi_service;

/* Larger rows are not kept. */
#define LMI_SVC_REGISTRY_ROWS_BYTES (64u << 20)

/* Reference counted; immutable once they were read. */
struct lmi_svc_registry_rows {
	uint32_t n_user;
	uint64_t epoch;
	uint32_t n_replaced; /* lmi_store_n_replaced before they were read */
	struct lmi_store_models models;
	struct lmi_store_aliases aliases;
	struct lmi_svc_load_guard *guards; /* [models.n] */
	/* The aliases of model k, sorted, are aliases.v[alias_of[i]] for first_alias[k] <= i < first_alias[k + 1].
	 * Rows that were not read by lmi_svc_registry_rows_read have none: first_alias is NULL. */
	uint32_t *first_alias; /* [models.n + 1] */
	uint32_t *alias_of;    /* [aliases.n] */
};

/* Creates empty rows, with one reference.  Returns NULL if out of memory. */
struct lmi_svc_registry_rows *lmi_svc_registry_rows_create(const struct lmi_service *svc);
/* Reads the registry into empty rows, on its thread.  Returns the statuses of store.h. */
LMD_NODISCARD enum lmd_status lmi_svc_registry_rows_read(struct lmi_svc_registry_rows *rows,
							 struct lmi_store *store,
							 struct lmd_error *err);
/* Keeps rows that were read, unless something has changed since they were created. */
void lmi_svc_registry_rows_keep(struct lmi_service *svc, struct lmi_svc_registry_rows *rows);
/* Returns the rows that are kept, without a reference; NULL: none are valid. */
struct lmi_svc_registry_rows *lmi_svc_registry_rows_get(struct lmi_service *svc);
/* Forgets them. */
void lmi_svc_registry_rows_drop(struct lmi_service *svc);

void lmi_svc_registry_rows_take(struct lmi_svc_registry_rows *rows);
/* Frees them with the last reference.  NULL is allowed. */
void lmi_svc_registry_rows_give(struct lmi_svc_registry_rows *rows);

/* Finds the row of a model by its name or an alias.  Returns the statuses of lmi_store_model_find. */
LMD_NODISCARD enum lmd_status lmi_svc_registry_rows_find(const struct lmi_svc_registry_rows *rows,
							 const char *name, uint32_t *row,
							 struct lmd_error *err);

#endif /* LLAMAD_SERVICE_REGISTRY_ROWS_H */
