/* SPDX-License-Identifier: MIT
 *
 * binding.h - what the caller bound to a plan, found by its id.  All of it is in this header, for
 * backends that link nothing of this folder. */
#ifndef LLAMAD_BACKEND_COMMON_BINDING_H
#define LLAMAD_BACKEND_COMMON_BINDING_H

#include "llamad/backend.h"

/* The first binding of `id` in b[0..n) that has memory; NULL if there is none. */
static inline const struct lmd_binding *hm_binding(const struct lmd_binding *b, uint32_t n,
						   uint32_t id)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b[i].id == id && b[i].ptr)
			return &b[i];
	}
	return NULL;
}

#endif /* LLAMAD_BACKEND_COMMON_BINDING_H */
