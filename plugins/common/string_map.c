/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing. String maps are at most five eighths full, pair maps at
 * most two thirds. */
#include "common/string_map.h"

#include "common/mem.h"

/* Differs between processes and instances; affects only the order of slots. */
static uint64_t new_seed(const struct lmd_host *host, const void *p)
{
	uint64_t t = host->now_ns ? host->now_ns(host->ctx) : 0;

	return tok_mix(t ^ 0x2d358dccaa6c78a5ull, (uint64_t)(uintptr_t)p | 1);
}

/* Returns a power of two of slots such that n fills at most num/den of them. */
static uint32_t slots_for(size_t n, size_t num, size_t den)
{
	uint32_t size = 16;

	while (size / den * num < n && size < 1u << 31)
		size *= 2;
	return size;
}

static uint32_t text_slots(size_t n)
{
	return slots_for(n, 5, 8);
}

bool tok_string_map_init(struct tok_string_map *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = text_slots(n);

	m->slot = n < 1u << 30 ? tok_host_array(host, size, sizeof(*m->slot)) : NULL;
	if (!m->slot)
		return false;
	m->mask = size - 1;
	m->n = 0;
	m->seed = new_seed(host, m->slot);
	return true;
}

void tok_string_map_fini(struct tok_string_map *m, const struct lmd_host *host)
{
	if (m->slot)
		tok_host_free(host, m->slot);
	m->slot = NULL;
}

static inline uint32_t add_key(struct tok_string_map *m, const struct lmd_str *keys, uint32_t value,
			       const struct tok_string_map_key *k)
{
	struct tok_string_map_slot *e = &m->slot[tok_string_map_slot(m, keys, k)];

	if (e->next)
		return e->next - 1;
	*e = (struct tok_string_map_slot){k->key, k->len, value + 1};
	m->n++;
	return value;
}

uint32_t tok_string_map_add(struct tok_string_map *m, const struct lmd_str *keys, uint32_t value)
{
	const struct tok_string_map_key k = tok_string_map_key(m, keys[value].ptr, keys[value].len);

	return add_key(m, keys, value, &k);
}

#define AHEAD 16

uint32_t tok_string_map_add_all(struct tok_string_map *m, const struct lmd_str *keys, uint32_t n,
				uint32_t *other)
{
	struct tok_string_map_key key[AHEAD];

	for (uint32_t from = 0; from < n; from += AHEAD) {
		uint32_t many = n - from < AHEAD ? n - from : AHEAD;

		for (uint32_t i = 0; i < many; i++) {
			const struct lmd_str *k = &keys[from + i];

			key[i] = tok_string_map_key(m, k->ptr, k->ptr ? k->len : 0);
			__builtin_prefetch(tok_string_map_prefetch_slot(m, &key[i]), 1);
		}
		for (uint32_t i = 0; i < many; i++) {
			if (!keys[from + i].ptr)
				continue;
			*other = add_key(m, keys, from + i, &key[i]);
			if (*other != from + i)
				return from + i;
		}
	}
	return TOK_NONE;
}

bool tok_string_map_reserve(struct tok_string_map *m, const struct lmd_host *host,
			    const struct lmd_str *keys, size_t n)
{
	struct tok_string_map more;

	if (text_slots(n) <= m->mask + 1u)
		return true;
	if (!tok_string_map_init(&more, host, n + n / 2))
		return false;
	more.seed = m->seed; /* keys that callers have prepared stay valid */
	for (uint32_t i = 0; i <= m->mask; i++)
		if (m->slot[i].next)
			(void)tok_string_map_add(&more, keys, m->slot[i].next - 1);
	tok_string_map_fini(m, host);
	*m = more;
	return true;
}

bool tok_pairmap_init(struct tok_pairmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = slots_for(n, 2, 3);

	m->slot = n < 1u << 30 ? tok_host_array(host, size, sizeof(*m->slot)) : NULL;
	if (!m->slot)
		return false;
	m->mask = size - 1;
	m->mul = new_seed(host, m->slot) | 1;
	return true;
}

void tok_pairmap_fini(struct tok_pairmap *m, const struct lmd_host *host)
{
	if (m->slot)
		tok_host_free(host, m->slot);
	m->slot = NULL;
}

void tok_pairmap_add(struct tok_pairmap *m, uint32_t left, uint32_t right, uint32_t rank,
		     uint32_t id, bool replace)
{
	uint64_t key = (uint64_t)left << 32 | right;
	uint32_t i = tok_pair_start(m, key);

	for (; m->slot[i].next; i = (i + 1) & m->mask)
		if (m->slot[i].key == key) {
			if (!replace)
				return;
			break;
		}
	m->slot[i] = (struct tok_pairslot){key, rank + 1, id};
}
