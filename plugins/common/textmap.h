/* SPDX-License-Identifier: MIT
 *
 * textmap.h - hash maps from byte strings to numbers, and from pairs of numbers to numbers: open
 * addressing, no allocation per entry, seeded so that a file cannot choose the collisions.
 *
 * Any number of threads may read a finished map. */
#ifndef LLAMAD_PLUGINS_COMMON_TEXTMAP_H
#define LLAMAD_PLUGINS_COMMON_TEXTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llamad/host.h"
#include "llamad/types.h"

#define LMI_NONE UINT32_MAX

static inline uint64_t lmi_mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Hash of n bytes. Hashes are comparable only for equal seeds. */
static inline uint64_t lmi_hash(const char *s, size_t n, uint64_t seed)
{
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull), w = 0;

	while (n > 8) {
		memcpy(&w, s, 8);
		h = lmi_mix(h ^ w, 0xa0761d6478bd642full);
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
	return lmi_mix(h ^ w, 0xe7037ed1a0b428dbull);
}

/* A map of byte strings. Values are indices into an array of keys that the owner keeps:
 * keys[value]. Keys of up to eight bytes, as most tokens have, are stored in the map itself. For
 * longer keys the map stores a hash, and the bytes are compared in the owner's array. */
#define LMI_TEXT_INLINE 8u
struct lmi_textmap {
	struct lmi_textslot {
		uint64_t key;
		uint32_t len;
		uint32_t next;  /* value + 1; 0 = free */
	} *slot;
	uint32_t mask;
	uint32_t n;
	uint64_t seed;
};

/* A key prepared for a look-up. */
struct lmi_textkey {
	uint64_t key, hash;
	const char *s;
	uint32_t len;
};

/* Makes room for n entries. Returns false if out of memory. */
bool lmi_textmap_init(struct lmi_textmap *m, const struct lmd_host *host, size_t n);
void lmi_textmap_fini(struct lmi_textmap *m, const struct lmd_host *host);

/* n < 2^32 */
static inline struct lmi_textkey lmi_textmap_key(const struct lmi_textmap *m, const char *s,
						 size_t n)
{
	struct lmi_textkey k = {.s = s, .len = (uint32_t)n};

	if (n > LMI_TEXT_INLINE) {
		k.key = k.hash = lmi_hash(s, n, m->seed);
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
	k.hash = lmi_mix(k.key ^ m->seed ^ ((uint64_t)n << 56), 0xa0761d6478bd642full);
	return k;
}

/* The address of the first slot that a look-up reads, for the caller to prefetch ahead of time. It
 * returns an address because some compilers remove calls of a function that only prefetches. */
static inline const void *lmi_textmap_place(const struct lmi_textmap *m,
					    const struct lmi_textkey *k)
{
	return &m->slot[(uint32_t)k->hash & m->mask];
}

/* The address that a look-up reads next, for the caller to prefetch: the bytes of a long key. */
static inline const void *lmi_textmap_entry(const struct lmi_textmap *m, const struct lmd_str *keys,
					    const struct lmi_textkey *k)
{
	const struct lmi_textslot *e = lmi_textmap_place(m, k);

	return k->len > LMI_TEXT_INLINE && e->next ? (const void *)&keys[e->next - 1] : e;
}

/* Returns the slot of a key, or the free slot where it would be inserted. */
static inline uint32_t lmi_textmap_slot(const struct lmi_textmap *m, const struct lmd_str *keys,
					const struct lmi_textkey *k)
{
	uint32_t i = (uint32_t)k->hash & m->mask;

	for (;; i = (i + 1) & m->mask) {
		const struct lmi_textslot *e = &m->slot[i];

		if (!e->next || (e->key == k->key && e->len == k->len &&
				 (k->len <= LMI_TEXT_INLINE ||
				  !memcmp(keys[e->next - 1].ptr, k->s, k->len))))
			return i;
	}
}

/* Returns the value of a key, or LMI_NONE. */
static inline uint32_t lmi_textmap_find_key(const struct lmi_textmap *m, const struct lmd_str *keys,
					    const struct lmi_textkey *k)
{
	return m->slot[lmi_textmap_slot(m, keys, k)].next - 1; /* free slot: 0 - 1 is LMI_NONE */
}

static inline uint32_t lmi_textmap_find(const struct lmi_textmap *m, const struct lmd_str *keys,
					const char *s, size_t n)
{
	const struct lmi_textkey k = lmi_textmap_key(m, s, n);

	return lmi_textmap_find_key(m, keys, &k);
}

/* Adds keys[value]. Returns value, or the value of an equal key that was already present. The map
 * must have room (lmi_textmap_init). */
uint32_t lmi_textmap_add(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value);

/* Adds keys[0..n), skipping those without bytes (ptr NULL). Returns LMI_NONE, or the first index
 * whose key was already present; *other is then the index of the equal key. */
uint32_t lmi_textmap_add_all(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t n,
			     uint32_t *other);

/* Makes room for n entries in total. Returns false if out of memory; the map is then unchanged. */
bool lmi_textmap_grow(struct lmi_textmap *m, const struct lmd_host *host,
		      const struct lmd_str *keys, size_t n);

/* Map from a pair of ids to a rank and an id. */
struct lmi_pairmap {
	struct lmi_pairslot {
		uint64_t key;  /* left << 32 | right */
		uint32_t next; /* rank + 1; 0 = free */
		uint32_t id;
	} *slot;
	uint32_t mask;
	uint64_t mul;
};

bool lmi_pairmap_init(struct lmi_pairmap *m, const struct lmd_host *host, size_t n);
void lmi_pairmap_fini(struct lmi_pairmap *m, const struct lmd_host *host);

static inline uint32_t lmi_pair_start(const struct lmi_pairmap *m, uint64_t key)
{
	return (uint32_t)lmi_mix(key ^ 0x8ebc6af09c88c6e3ull, m->mul) & m->mask;
}

static inline const struct lmi_pairslot *lmi_pairmap_find(const struct lmi_pairmap *m,
							  uint32_t left, uint32_t right)
{
	uint64_t key = (uint64_t)left << 32 | right;

	for (uint32_t i = lmi_pair_start(m, key);; i = (i + 1) & m->mask) {
		const struct lmi_pairslot *e = &m->slot[i];

		if (!e->next)
			return NULL;
		if (e->key == key)
			return e;
	}
}

static inline const void *lmi_pairmap_place(const struct lmi_pairmap *m, uint32_t left,
					    uint32_t right)
{
	return &m->slot[lmi_pair_start(m, (uint64_t)left << 32 | right)];
}

/* Adds a pair; if it is already present, its entry is kept or replaced. rank < LMI_NONE. */
void lmi_pairmap_add(struct lmi_pairmap *m, uint32_t left, uint32_t right, uint32_t rank,
		     uint32_t id, bool replace);

#endif /* LLAMAD_PLUGINS_COMMON_TEXTMAP_H */
