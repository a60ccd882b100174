/* SPDX-License-Identifier: MIT
 *
 * lora.h - the adapters that are bound to a device, for backends that compute in host memory.
 *
 * Belongs to the thread that calls the device. */
#ifndef LLAMAD_PLUGINS_COMMON_LORA_H
#define LLAMAD_PLUGINS_COMMON_LORA_H

#include <stdint.h>

#include "llamad/backend.h"

/* One bound adapter: copies of A and B. */
struct lmi_lora {
	uint32_t slot, site;
	uint32_t rank, n, k, n_stack;
	float scale;
	float *a; /* [n_stack][rank][k] */
	float *b; /* [n_stack][n][rank] */
};

/* All zero is empty. */
struct lmi_lora_table {
	struct lmi_lora *v; /* [n] ordered by site, then slot */
	uint32_t n, cap;
};

/* The adapter of a site for a slot; NULL if none is bound. */
const struct lmi_lora *lmi_lora_find(const struct lmi_lora_table *t, uint32_t slot, uint32_t site);
/* What adapter_bind of backend.h asks for. */
enum lmd_status lmi_lora_bind(struct lmi_lora_table *t, const struct lmd_host *host,
			      const struct lmd_adapter_bind *b, struct lmd_error *err);
void lmi_lora_fini(struct lmi_lora_table *t, const struct lmd_host *host);

#endif /* LLAMAD_PLUGINS_COMMON_LORA_H */
