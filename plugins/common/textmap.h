/* SPDX-License-Identifier: MIT
 *
 * textmap.h - byte strings to numbers, and pairs of numbers to numbers: open addressing,
 * no allocation per entry, seeded so that a file cannot choose the collisions.
 *
 * Readers of a finished map may be many at the same time. */
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

/* Hash of n bytes; equal for equal seeds only. */
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

/* Values are indices into an array of keys that the owner keeps: keys[value]. */
struct lmi_textmap {
	struct lmi_textslot {
		uint32_t tag;   /* upper half of the hash */
		uint32_t next;  /* value + 1; 0 = free */
	} *slot;
	uint32_t mask;
	uint32_t n;
	uint64_t seed;
};

/* Room for n entries; *key of entry i is found at keys[i] later.  False without memory. */
bool lmi_textmap_init(struct lmi_textmap *m, const struct lmd_host *host, size_t n);
void lmi_textmap_fini(struct lmi_textmap *m, const struct lmd_host *host);

static inline uint64_t lmi_textmap_hash(const struct lmi_textmap *m, const char *s, size_t n)
{
	return lmi_hash(s, n, m->seed);
}

/* Brings the place of a hash into the cache, some work before it is looked at. */
static inline void lmi_textmap_prefetch(const struct lmi_textmap *m, uint64_t hash)
{
	__builtin_prefetch(&m->slot[(uint32_t)hash & m->mask]);
}

/* The same for what is looked at next: the key at that place, then its bytes. */
static inline void lmi_textmap_prefetch_key(const struct lmi_textmap *m, const struct lmd_str *keys,
					    uint64_t hash)
{
	uint32_t next = m->slot[(uint32_t)hash & m->mask].next;

	if (next)
		__builtin_prefetch(&keys[next - 1]);
}

static inline void lmi_textmap_prefetch_text(const struct lmi_textmap *m, const struct lmd_str *keys,
					     uint64_t hash)
{
	uint32_t next = m->slot[(uint32_t)hash & m->mask].next;

	if (next)
		__builtin_prefetch(keys[next - 1].ptr);
}

/* The value of a key whose hash is known, or LMI_NONE. */
static inline uint32_t lmi_textmap_find_hash(const struct lmi_textmap *m, const struct lmd_str *keys,
					     const char *s, size_t n, uint64_t h)
{
	uint32_t tag = (uint32_t)(h >> 32);

	for (uint32_t i = (uint32_t)h & m->mask;; i = (i + 1) & m->mask) {
		const struct lmi_textslot *e = &m->slot[i];

		if (!e->next)
			return LMI_NONE;
		if (e->tag == tag && keys[e->next - 1].len == n &&
		    (!n || !memcmp(keys[e->next - 1].ptr, s, n)))
			return e->next - 1;
	}
}

/* The value of a key, or LMI_NONE. */
static inline uint32_t lmi_textmap_find(const struct lmi_textmap *m, const struct lmd_str *keys,
					const char *s, size_t n)
{
	return lmi_textmap_find_hash(m, keys, s, n, lmi_textmap_hash(m, s, n));
}

/* Adds keys[value]; returns value, or the value of the equal key that is there already.
 * The caller made room for it in init. */
uint32_t lmi_textmap_add(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value);

/* Adds keys[0..n), leaving out those without bytes (ptr NULL).  Returns LMI_NONE, or the first
 * index whose key was there already; *other is its equal. */
uint32_t lmi_textmap_add_all(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t n,
			     uint32_t *other);

/* Makes room for n entries in all.  False without memory; the map is unchanged then. */
bool lmi_textmap_grow(struct lmi_textmap *m, const struct lmd_host *host, const struct lmd_str *keys,
		     size_t n);

/* Pairs of ids to two numbers. */
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

static inline const struct lmi_pairslot *lmi_pairmap_find(const struct lmi_pairmap *m, uint32_t left,
							  uint32_t right)
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

static inline void lmi_pairmap_prefetch(const struct lmi_pairmap *m, uint32_t left, uint32_t right)
{
	__builtin_prefetch(&m->slot[lmi_pair_start(m, (uint64_t)left << 32 | right)]);
}

/* Adds a pair; one that is there already stays, or is replaced.  rank < LMI_NONE. */
void lmi_pairmap_add(struct lmi_pairmap *m, uint32_t left, uint32_t right, uint32_t rank, uint32_t id,
		     bool replace);

#endif /* LLAMAD_PLUGINS_COMMON_TEXTMAP_H */
