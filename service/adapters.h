/* SPDX-License-Identifier: MIT
 *
 * adapters.h - the adapters of a model, which requests choose by name: LoRA files and control
 * vectors that the configuration names and that are loaded with the model. */
#ifndef LLAMAD_SERVICE_ADAPTERS_H
#define LLAMAD_SERVICE_ADAPTERS_H

#include "core/engine/engine.h"
#include "llamad/types.h"
#include "store/store.h"

/* Adapters of one model. */
#define LMI_SVC_ADAPTERS_MAX 16
/* Bytes of a name. */
#define LMI_SVC_ADAPTER_NAME 63

struct lmi_svc_adapters {
	struct lmd_str *names;		     /* [n] */
	struct lmi_engine_adapter_ref *refs; /* [n] */
	uint32_t n;
};

/* Parses "NAME=FILE[:SCALE],...", each file as lmi_engine_adapter_ref_parse does.  Names have letters, digits, "-", "_" and "."; paths are absolute and have no commas.
 * *out is empty if text is NULL.  LMD_INVALID names the entry at fault; then *out is empty. */
enum lmd_status lmi_svc_adapters_parse(struct lmi_svc_adapters *out, const char *text,
				       struct lmd_error *err);
void lmi_svc_adapters_fini(struct lmi_svc_adapters *a);

/* Can this be the name of an adapter? */
bool lmi_svc_adapters_is_name(const struct lmd_str *name);
/* Find the number of the adapter of a name, or of the name that is a number in the list. Return false if
 * there is none. */
bool lmi_svc_adapters_find(const struct lmi_svc_adapters *a, const struct lmd_str *name, uint32_t *i);
bool lmi_svc_adapters_find_number(const struct lmi_svc_adapters *a, const struct lmd_str *name,
				  uint32_t *i);

#endif /* LLAMAD_SERVICE_ADAPTERS_H */
