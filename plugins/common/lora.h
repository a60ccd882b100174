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

/* A place of a plan where adapters act, and the shape that they have there. */
struct lmi_lora_site {
	uint32_t site, n, k, n_stack;
	const char *name; /* of the weight; outlives the list */
};

/* All zero is empty. */
struct lmi_lora_sites {
	struct lmi_lora_site *v; /* [n] */
	uint32_t n, cap;
};

enum lmd_status lmi_lora_sites_add(struct lmi_lora_sites *s, const struct lmd_host *host,
				   const struct lmi_lora_site *site, struct lmd_error *err);
void lmi_lora_sites_fini(struct lmi_lora_sites *s, const struct lmd_host *host);

/* LMD_INVALID unless the adapters of all slots that a step uses fit the sites of its plan; one
 * slice of weights stands for all of a stack.  slots: [n_tok]. */
enum lmd_status lmi_lora_check(const struct lmi_lora_table *t, const struct lmi_lora_sites *s,
			       const int32_t *slots, uint32_t n_tok, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_COMMON_LORA_H */
