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
/* Adds an adapter to a list of fewer than LMI_SVC_ADAPTERS_MAX. The texts are copied. */
enum lmd_status lmi_svc_adapters_add(struct lmi_svc_adapters *a, const char *name, const char *path,
				     float scale, struct lmd_error *err);
/* Finds the slot of the engine for this file with the scale 1; 0: there is none. */
int32_t lmi_svc_adapters_slot_of_file(const struct lmi_svc_adapters *a, const char *path);

/* Writes what the engine knows of the adapter in a slot, "" for slot 0: the file and its scale. */
#define LMI_SVC_ADAPTER_TEXT (LMI_STORE_PATH_MAX + 32)
void lmi_svc_adapters_text(const struct lmi_svc_adapters *a, int32_t slot,
			   char out[LMI_SVC_ADAPTER_TEXT]);

/* Finds the slot of the engine for an adapter's name, or its number in the list if no adapter has
 * that name.  LMD_INVALID: the model has no adapter of
 * that name, with the names that it has; `model` is named in the message. */
enum lmd_status lmi_svc_adapters_find(const struct lmi_svc_adapters *a, const char *model,
				      const struct lmd_str *name, int32_t *slot,
				      struct lmd_error *err);

#endif /* LLAMAD_SERVICE_ADAPTERS_H */
