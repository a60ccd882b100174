/* SPDX-License-Identifier: MIT
 *
 * string_map.h - hash maps from byte strings to numbers, and from pairs of numbers to numbers: open
 * addressing, no allocation per entry, seeded so that a file cannot choose the collisions.
 *
 * Any number of threads may read a finished map. */
#ifndef LLAMAD_PLUGINS_COMMON_STRING_MAP_H
#define LLAMAD_PLUGINS_COMMON_STRING_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llamad/host.h"
#include "llamad/types.h"

#define TOK_NONE UINT32_MAX

static inline uint64_t tok_mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Hash of n bytes. Hashes are comparable only for equal seeds. */
static inline uint64_t tok_hash(const char *s, size_t n, uint64_t seed)
{
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull), w = 0;

	while (n > 8) {
		memcpy(&w, s, 8);
		h = tok_mix(h ^ w, 0xa0761d6478bd642full);
		s += 8;
		n -= 8;
	}
	if (n >= 4) {
		uint32_t a, b;

		memcpy(&a, s, 4);
		memcpy(&b, s + n - 4, 4);
		w = (uint64_t)a << 32 | b;
	} else if (n) {
		const unsigned char *u = (const unsigned char *)s;

		w = (uint64_t)u[0] << 16 | (uint64_t)u[n / 2] << 8 | u[n - 1];
	}
	return tok_mix(h ^ w, 0xe7037ed1a0b428dbull);
}

/* A map of byte strings. Values are indices into an array of keys that the owner keeps:
 * keys[value]. Keys of up to eight bytes, as most tokens have, are stored in the map itself. For
 * longer keys the map stores a hash, and the bytes are compared in the owner's array. */
#define TOK_STRING_MAP_INLINE 8u
struct tok_string_map {
	struct tok_string_map_slot {
		uint64_t key;
		uint32_t len;
		uint32_t next;  /* value + 1; 0 = free */
	} * slot;
	uint32_t mask;
	uint32_t n;
	uint64_t seed;
};

/* A key prepared for a look-up. */
struct tok_string_map_key {
	uint64_t key, hash;
	const char *s;
	uint32_t len;
};

/* Makes room for n entries. Returns false if out of memory. */
bool tok_string_map_init(struct tok_string_map *m, const struct lmd_host *host, size_t n);
void tok_string_map_fini(struct tok_string_map *m, const struct lmd_host *host);

/* n < 2^32 */
static inline struct tok_string_map_key tok_string_map_key(const struct tok_string_map *m,
							   const char *s, size_t n)
{
	struct tok_string_map_key k = {.s = s, .len = (uint32_t)n};

	if (n > TOK_STRING_MAP_INLINE) {
		k.key = k.hash = tok_hash(s, n, m->seed);
		return k;
	}
	if (n >= 4) {
		uint32_t a, b;

		memcpy(&a, s, 4);
		memcpy(&b, s + n - 4, 4);
		k.key = (uint64_t)a << 32 | b;
	} else if (n) {
		const unsigned char *u = (const unsigned char *)s;

		k.key = (uint64_t)u[0] << 16 | (uint64_t)u[n / 2] << 8 | u[n - 1];
	}
	k.hash = tok_mix(k.key ^ m->seed ^ ((uint64_t)n << 56), 0xa0761d6478bd642full);
	return k;
}

/* The address of the first slot that a look-up reads, for the caller to prefetch ahead of time. It
 * returns an address because some compilers remove calls of a function that only prefetches. */
static inline const void *tok_string_map_prefetch_slot(const struct tok_string_map *m,
						       const struct tok_string_map_key *k)
{
	return &m->slot[(uint32_t)k->hash & m->mask];
}

/* The address that a look-up reads next, for the caller to prefetch: the bytes of a long key. */
static inline const void *tok_string_map_prefetch_entry(const struct tok_string_map *m,
							const struct lmd_str *keys,
							const struct tok_string_map_key *k)
{
	const struct tok_string_map_slot *e = tok_string_map_prefetch_slot(m, k);

	return k->len > TOK_STRING_MAP_INLINE && e->next ? (const void *)&keys[e->next - 1] : e;
}

/* Returns the slot of a key, or the free slot where it would be inserted. */
static inline uint32_t tok_string_map_slot(const struct tok_string_map *m,
					   const struct lmd_str *keys,
					   const struct tok_string_map_key *k)
{
	uint32_t i = (uint32_t)k->hash & m->mask;

	for (;; i = (i + 1) & m->mask) {
		const struct tok_string_map_slot *e = &m->slot[i];

		if (!e->next || (e->key == k->key && e->len == k->len &&
				 (k->len <= TOK_STRING_MAP_INLINE ||
				  !memcmp(keys[e->next - 1].ptr, k->s, k->len))))
			return i;
	}
}

/* Returns the value of a key, or TOK_NONE. */
static inline uint32_t tok_string_map_find_key(const struct tok_string_map *m,
					       const struct lmd_str *keys,
					       const struct tok_string_map_key *k)
{
	return m->slot[tok_string_map_slot(m, keys, k)].next - 1; /* free slot: 0 - 1 is TOK_NONE */
}

static inline uint32_t tok_string_map_find(const struct tok_string_map *m,
					   const struct lmd_str *keys, const char *s, size_t n)
{
	const struct tok_string_map_key k = tok_string_map_key(m, s, n);

	return tok_string_map_find_key(m, keys, &k);
}

/* Adds keys[value]. Returns value, or the value of an equal key that was already present. The map
 * must have room (tok_string_map_init). */
uint32_t tok_string_map_add(struct tok_string_map *m, const struct lmd_str *keys, uint32_t value);

/* Adds keys[0..n), skipping those without bytes (ptr NULL). Returns TOK_NONE, or the first index
 * whose key was already present; *other is then the index of the equal key. */
uint32_t tok_string_map_add_all(struct tok_string_map *m, const struct lmd_str *keys, uint32_t n,
				uint32_t *other);

/* Makes room for n entries in total. Returns false if out of memory; the map is then unchanged. */
bool tok_string_map_reserve(struct tok_string_map *m, const struct lmd_host *host,
			    const struct lmd_str *keys, size_t n);

/* Map from a pair of ids to a rank and an id. */
struct tok_pairmap {
	struct tok_pairslot {
		uint64_t key;  /* left << 32 | right */
		uint32_t next; /* rank + 1; 0 = free */
		uint32_t id;
	} * slot;
	uint32_t mask;
	uint64_t mul;
};

bool tok_pairmap_init(struct tok_pairmap *m, const struct lmd_host *host, size_t n);
void tok_pairmap_fini(struct tok_pairmap *m, const struct lmd_host *host);

static inline uint32_t tok_pair_start(const struct tok_pairmap *m, uint64_t key)
{
	return (uint32_t)tok_mix(key ^ 0x8ebc6af09c88c6e3ull, m->mul) & m->mask;
}

static inline const struct tok_pairslot *tok_pairmap_find(const struct tok_pairmap *m,
							  uint32_t left, uint32_t right)
{
	uint64_t key = (uint64_t)left << 32 | right;

	for (uint32_t i = tok_pair_start(m, key);; i = (i + 1) & m->mask) {
		const struct tok_pairslot *e = &m->slot[i];

		if (!e->next)
			return NULL;
		if (e->key == key)
			return e;
	}
}

static inline const void *tok_pairmap_place(const struct tok_pairmap *m, uint32_t left,
					    uint32_t right)
{
	return &m->slot[tok_pair_start(m, (uint64_t)left << 32 | right)];
}

/* Adds a pair; if it is already present, its entry is kept or replaced. rank < TOK_NONE. */
void tok_pairmap_add(struct tok_pairmap *m, uint32_t left, uint32_t right, uint32_t rank,
		     uint32_t id, bool replace);

#endif /* LLAMAD_PLUGINS_COMMON_STRING_MAP_H */
