/* SPDX-License-Identifier: MIT
 *
 * strmap.h - names to numbers: a hash table for names that come from outside.
 *
 * The hash (SipHash-1-3) is keyed by a random number, so that nobody can choose names that
 * collide.  The table lives in an arena and keeps the pointers that it is given. */
#ifndef LLAMAD_CORE_BASE_STRMAP_H
#define LLAMAD_CORE_BASE_STRMAP_H

#include <stdbool.h>
#include <stdint.h>

struct lmd_arena;
struct lmi_strmap_slot;

struct lmi_strmap {
	struct lmi_strmap_slot *slots; /* NULL: empty map, find works */
	uint32_t mask;                 /* number of slots - 1 */
	uint64_t key[2];
};

/* Room for n_max names (at most 2^28).  False without memory. */
bool lmi_strmap_init(struct lmi_strmap *m, struct lmd_arena *a, uint32_t n_max);

/* False when the name is there already. */
bool lmi_strmap_add(struct lmi_strmap *m, const char *name, uint32_t value);

/* Any thread, once nobody adds.  False when there is none of that name. */
bool lmi_strmap_find(const struct lmi_strmap *m, const char *name, uint32_t *value);

#endif /* LLAMAD_CORE_BASE_STRMAP_H */
