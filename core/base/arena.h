/* SPDX-License-Identifier: MIT
 *
 * arena.h - memory that is freed as a whole, with the lifetime of a request, step or model. */
#ifndef LLAMAD_CORE_BASE_ARENA_H
#define LLAMAD_CORE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct lmd_arena;

/* limit_bytes bounds the total that may be allocated (0 = 1 GiB). Returns NULL if memory runs
 * out. */
struct lmd_arena *lmi_arena_create(uint64_t limit_bytes);
void lmi_arena_destroy(struct lmd_arena *a);

/* Returns zeroed memory; align is a power of two up to 64. Returns NULL beyond the limit or if
 * memory runs out. */
void *lmi_arena_alloc(struct lmd_arena *a, size_t bytes, size_t align);
/* Allocates n items of item_bytes each; returns NULL if the product overflows. */
void *lmi_arena_array(struct lmd_arena *a, size_t n, size_t item_bytes);
char *lmi_arena_strndup(struct lmd_arena *a, const char *s, size_t n);
char *lmi_arena_printf(struct lmd_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
uint64_t lmi_arena_used(const struct lmd_arena *a);

#endif /* LLAMAD_CORE_BASE_ARENA_H */
