/* SPDX-License-Identifier: MIT
 *
 * binding.h - finds what the caller bound to a plan by its id.  Header-only, so that backends that
 * do not link this folder can use it. */
#ifndef LLAMAD_BACKEND_COMMON_BINDING_H
#define LLAMAD_BACKEND_COMMON_BINDING_H

#include "llamad/backend.h"

/* Returns the first binding of `id` in b[0..n) that has memory, NULL if there is none. */
static inline const struct lmd_binding *host_mem_binding(const struct lmd_binding *b, uint32_t n,
							 uint32_t id)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b[i].id == id && b[i].ptr)
			return &b[i];
	}
	return NULL;
}

#endif /* LLAMAD_BACKEND_COMMON_BINDING_H */
