/* SPDX-License-Identifier: MIT
 *
 * names.h - looks up the model of a name.  Results are cached until the registry changes their names, so that
 * requests for other models do not wait for its thread. */
#ifndef LLAMAD_SERVICE_NAMES_H
#define LLAMAD_SERVICE_NAMES_H

#include "service/model.h"

/* A lookup; a member of a larger object, which must live until `found` has been called. */
struct lmi_svc_lookup {
	/* If m is NULL, err gives the reason.  The model is valid during the call. */
	void (*found)(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		      const struct lmd_error *err);
	/* whose quota may exclude the model, which is then unknown to them; NULL: nobody's */
	const struct lmi_svc_principal *principal;
	/* private */
	struct lmi_service *svc;
	struct lmi_job job;
	char name[LMI_STORE_NAME_MAX + 1];
	struct lmi_svc_model_record *record;
	struct lmd_error err;
	uint64_t epoch;
};

/* Calls l->found, during the call or later. */
void lmi_svc_lookup_start(struct lmi_service *svc, uint64_t now, struct lmi_svc_lookup *l,
			  const struct lmd_str *name);
/* Returns the file that the caller of an embedded service has given that name, or NULL. */
const struct lmi_service_named_file *lmi_svc_named_file(const struct lmi_service *svc,
							const char *name);
/* After a change of what the registry has under a name, of a model or not: forgets it and the other names of that
 * model, and clears the cache of registry_rows.h. */
void lmi_svc_names_change(struct lmi_service *svc, const char *name);
/* After any change: clears both caches. */
void lmi_svc_names_clear(struct lmi_service *svc);
/* Returns whether the model of a cached result is m. */
bool lmi_svc_names_refer_to(const struct lmi_service *svc, const struct lmi_svc_model *m);

#endif /* LLAMAD_SERVICE_NAMES_H */
