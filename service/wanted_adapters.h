/* SPDX-License-Identifier: MIT
 *
 * wanted_adapters.h - the adapters of names that op create made (ADAPTER of a Modelfile), and those in
 * a model's adapters_dir.
 *
 * A model is loaded with the adapters of the configuration. One of such a name is wanted from the
 * first request for that name on: the model is then loaded again with it, beside the engine that
 * other requests use until the new one is ready. The adapters that were requested last are kept. A
 * zeroed list is empty. The loop's thread only. */
#ifndef LLAMAD_SERVICE_WANTED_ADAPTERS_H
#define LLAMAD_SERVICE_WANTED_ADAPTERS_H

#include "service/adapters.h"

struct lmi_svc_wanted_adapter {
	char *name, *path;
};

struct lmi_svc_wanted_adapters {
	struct lmi_svc_wanted_adapter v[LMI_SVC_ADAPTERS_MAX]; /* [n], that of the last request first */
	uint32_t n;
};

/* Puts an adapter first; the last one leaves a full list. LMD_NOMEM: the list is as before. */
LMD_NODISCARD enum lmd_status lmi_svc_wanted_adapters_put(struct lmi_svc_wanted_adapters *w,
							  const char *name, const char *path,
							  struct lmd_error *err);
/* Adds to the adapters of a load those that they leave room for. */
LMD_NODISCARD enum lmd_status
lmi_svc_wanted_adapters_append(const struct lmi_svc_wanted_adapters *w,
			       struct lmi_svc_adapters *out, struct lmd_error *err);
void lmi_svc_wanted_adapters_clear(struct lmi_svc_wanted_adapters *w);

#endif /* LLAMAD_SERVICE_WANTED_ADAPTERS_H */
