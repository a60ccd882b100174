/* SPDX-License-Identifier: MIT
 *
 * arena.h - memory that is freed as a whole: a request's, a step's, a model's. */
#ifndef LLAMAD_CORE_BASE_ARENA_H
#define LLAMAD_CORE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct lmd_arena;

/* limit_bytes bounds the sum of what may be taken (0 = 1 GiB).  NULL without memory. */
struct lmd_arena *lmi_arena_create(uint64_t limit_bytes);
void lmi_arena_destroy(struct lmd_arena *a);

/* Zeroed; align is a power of two up to 64; NULL beyond the limit or without memory. */
void *lmi_arena_alloc(struct lmd_arena *a, size_t bytes, size_t align);
/* n items of item_bytes, overflow-checked. */
void *lmi_arena_array(struct lmd_arena *a, size_t n, size_t item_bytes);
char *lmi_arena_strndup(struct lmd_arena *a, const char *s, size_t n);
char *lmi_arena_printf(struct lmd_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
uint64_t lmi_arena_used(const struct lmd_arena *a);

#endif /* LLAMAD_CORE_BASE_ARENA_H */
