/* SPDX-License-Identifier: MIT
 *
 * lora.h - the adapters bound to a device, for backends that compute in host memory.
 *
 * Not thread-safe: all functions are called on the thread that calls the device. */
#ifndef LLAMAD_PLUGINS_COMMON_LORA_H
#define LLAMAD_PLUGINS_COMMON_LORA_H

#include <stdint.h>

#include "llamad/backend.h"

/* One bound adapter with its own copies of A and B. */
struct lmi_lora {
	uint32_t slot, site;
	uint32_t rank, n, k, n_stack;
	float scale;
	float *a; /* [n_stack][rank][k] */
	float *b; /* [n_stack][n][rank] */
};

/* A zeroed struct is an empty table. */
struct lmi_lora_table {
	struct lmi_lora *v; /* [n] sorted by site, then slot */
	uint32_t n, cap;
};

/* Returns the adapter of a site for a slot, or NULL if none is bound. */
const struct lmi_lora *lmi_lora_find(const struct lmi_lora_table *t, uint32_t slot, uint32_t site);
/* Implements adapter_bind of backend.h. */
enum lmd_status lmi_lora_bind(struct lmi_lora_table *t, const struct lmd_host *host,
			      const struct lmd_adapter_bind *b, struct lmd_error *err);
void lmi_lora_fini(struct lmi_lora_table *t, const struct lmd_host *host);

/* A place in a plan where adapters apply, and the shape of the weight there. */
struct lmi_lora_site {
	uint32_t site, n, k, n_stack;
	const char *name; /* name of the weight; must outlive the list */
};

/* A zeroed struct is an empty list. */
struct lmi_lora_sites {
	struct lmi_lora_site *v; /* [n] */
	uint32_t n, cap;
};

enum lmd_status lmi_lora_sites_add(struct lmi_lora_sites *s, const struct lmd_host *host,
				   const struct lmi_lora_site *site, struct lmd_error *err);
void lmi_lora_sites_fini(struct lmi_lora_sites *s, const struct lmd_host *host);

/* Returns LMD_INVALID unless the adapters of all slots that a step uses fit the sites of its plan.
 * An adapter with one slice applies to every slice of a stack. slots: [n_tok]. */
enum lmd_status lmi_lora_check(const struct lmi_lora_table *t, const struct lmi_lora_sites *s,
			       const int32_t *slots, uint32_t n_tok, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_COMMON_LORA_H */
