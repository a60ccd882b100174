/* SPDX-License-Identifier: MIT
 *
 * strmap.h - a hash table from names to numbers, for names that come from outside.
 *
 * The hash (SipHash-1-3) has a random key, so that nobody can choose names that collide. The table
 * lies in an arena and keeps the pointers it is given. */
#ifndef LLAMAD_CORE_BASE_STRMAP_H
#define LLAMAD_CORE_BASE_STRMAP_H

#include <stdbool.h>
#include <stdint.h>

struct lmd_arena;
struct lmi_strmap_slot;

struct lmi_strmap {
	struct lmi_strmap_slot *slots; /* NULL: empty map, find still works */
	uint32_t mask;                 /* number of slots - 1 */
	uint64_t key[2];
};

/* Makes room for n_max names (at most 2^28). Returns false if memory runs out. */
bool lmi_strmap_init(struct lmi_strmap *m, struct lmd_arena *a, uint32_t n_max);

/* Returns false if the name is already there. */
bool lmi_strmap_add(struct lmi_strmap *m, const char *name, uint32_t value);

/* Any thread, once no more names are added. Returns false if there is no such name. */
bool lmi_strmap_find(const struct lmi_strmap *m, const char *name, uint32_t *value);

#endif /* LLAMAD_CORE_BASE_STRMAP_H */
