/* SPDX-License-Identifier: MIT
 *
 * model_record.h - a model as the registry knows it. */
#ifndef LLAMAD_SERVICE_MODEL_RECORD_H
#define LLAMAD_SERVICE_MODEL_RECORD_H

#include <stdint.h>

#include "store/store.h"

/* Reference counted; only the loop's thread takes and gives references. */
struct lmi_svc_model_record {
	uint32_t n_user;
	struct lmi_store_models m; /* one model */
};

/* Describe a file that is in no registry. */
enum lmd_status lmi_svc_models_of_file(struct lmi_store_models *out, const char *name,
				       const char *path, struct lmd_error *err);
enum lmd_status lmi_svc_model_record_of_file(struct lmi_svc_model_record **out, const char *name,
					     const char *path, struct lmd_error *err);
struct lmi_svc_model_record *lmi_svc_model_record_take(struct lmi_svc_model_record *record);
/* Frees it if this was the last reference.  NULL is allowed. */
void lmi_svc_model_record_give(struct lmi_svc_model_record *record);
/* Returns the paths of a model's files in an array, which the caller frees with lmi_free; *n: their
 * number.  Returns NULL if it has one file, or if there is no memory (LMD_NOMEM in *err). */
const char **lmi_svc_model_paths(const struct lmi_store_model *m, uint32_t *n,
				 struct lmd_error *err);
const char *lmi_svc_model_record_name(const struct lmi_svc_model_record *record);

#endif /* LLAMAD_SERVICE_MODEL_RECORD_H */
