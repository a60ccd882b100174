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
struct lora {
	uint32_t slot, site;
	uint32_t rank, n, k, n_stack;
	float scale;
	float *a; /* [n_stack][rank][k] */
	float *b; /* [n_stack][n][rank] */
	float *gain; /* [n_stack][n]; NULL: 1 */
};

/* A zeroed struct is an empty table. */
struct lora_table {
	struct lora *v; /* [n] sorted by site, then slot */
	uint32_t n, cap;
};

/* Returns the adapter of a site for a slot, or NULL if none is bound. */
const struct lora *lora_find(const struct lora_table *t, uint32_t slot, uint32_t site);
/* Implements adapter_bind of backend.h. */
enum lmd_status lora_bind(struct lora_table *t, const struct lmd_host *host,
			  const struct lmd_adapter_bind *b, struct lmd_error *err);
void lora_fini(struct lora_table *t, const struct lmd_host *host);

/* Fills in the factors of a slice, out[n]; ad may be NULL. */
void lora_gain(const struct lora *ad, uint32_t slice, uint32_t n, float *out);
/* Returns y with what an adapter adds, and its factor: at[0] and at[n], as the backends store them for each
 * output. */
static inline float lora_apply(float y, const float *at, size_t n)
{
	return (y + at[0]) * at[n];
}

/* A place in a plan where adapters apply, and the shape of the weight there. */
struct lora_site {
	uint32_t site, n, k, n_stack;
	const char *name; /* name of the weight; must outlive the list */
};

/* A zeroed struct is an empty list. */
struct lora_sites {
	struct lora_site *v; /* [n] */
	uint32_t n, cap;
};

enum lmd_status lora_sites_add(struct lora_sites *s, const struct lmd_host *host,
			       const struct lora_site *site, struct lmd_error *err);
void lora_sites_fini(struct lora_sites *s, const struct lmd_host *host);

/* Returns LMD_INVALID unless the adapters of all slots that a step uses fit the sites of its plan.
 * An adapter with one slice applies to every slice of a stack. slots: [n_tok]. */
enum lmd_status lora_check(const struct lora_table *t, const struct lora_sites *s,
			   const int32_t *slots, uint32_t n_tok, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_COMMON_LORA_H */
