/* SPDX-License-Identifier: MIT
 *
 * names.h - from the name in a request to a model: what the registry said is remembered until
 * the registry changes. */
#ifndef LLAMAD_SERVICE_NAMES_H
#define LLAMAD_SERVICE_NAMES_H

#include "service/model.h"

/* A look-up; a member of a larger object, which lives until `found` was called. */
struct lmi_lookup {
	/* m NULL: err says why.  The model lives at least as long as the call. */
	void (*found)(struct lmi_lookup *l, uint64_t now, struct lmi_model *m,
		      const struct lmd_error *err);
	/* its own */
	struct lmi_service *svc;
	struct lmi_job job;
	char name[LMI_STORE_NAME_MAX + 1];
	struct lmi_row *row;
	struct lmd_error err;
	uint64_t epoch;
};

/* Calls found, now or later. */
void lmi_lookup_start(struct lmi_service *svc, uint64_t now, struct lmi_lookup *l,
		      const struct lmd_str *name);
/* The registry changed: names are asked for again. */
void lmi_names_forget(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_NAMES_H */
