/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing: texts at most half full, pairs at most two thirds. */
#include "common/textmap.h"

#include "common/mem.h"

/* Differs between processes and instances; only the order of slots depends on it. */
static uint64_t new_seed(const struct lmd_host *host, const void *p)
{
	uint64_t t = host->now_ns ? host->now_ns(host->ctx) : 0;

	return lmi_mix(t ^ 0x2d358dccaa6c78a5ull, (uint64_t)(uintptr_t)p | 1);
}

static uint32_t slots_for(size_t n)
{
	uint32_t size = 16;

	while (size / 2 < n && size < 1u << 31)
		size *= 2;
	return size;
}

bool lmi_textmap_init(struct lmi_textmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = slots_for(n);

	m->slot = n < 1u << 30 ? lmi_host_array(host, size, sizeof(*m->slot)) : NULL;
	if (!m->slot)
		return false;
	m->mask = size - 1;
	m->n = 0;
	m->seed = new_seed(host, m->slot);
	return true;
}

void lmi_textmap_fini(struct lmi_textmap *m, const struct lmd_host *host)
{
	if (m->slot)
		lmi_host_free(host, m->slot);
	m->slot = NULL;
}

static uint32_t add_hash(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value, uint64_t h)
{
	const struct lmd_str *k = &keys[value];
	uint32_t tag = (uint32_t)(h >> 32), i = (uint32_t)h & m->mask;

	for (; m->slot[i].next; i = (i + 1) & m->mask) {
		uint32_t old = m->slot[i].next - 1;

		if (m->slot[i].tag == tag && keys[old].len == k->len &&
		    (!k->len || !memcmp(keys[old].ptr, k->ptr, k->len)))
			return old;
	}
	m->slot[i].tag = tag;
	m->slot[i].next = value + 1;
	m->n++;
	return value;
}

uint32_t lmi_textmap_add(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value)
{
	return add_hash(m, keys, value, lmi_hash(keys[value].ptr, keys[value].len, m->seed));
}

#define AHEAD 16

uint32_t lmi_textmap_add_all(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t n,
			     uint32_t *other)
{
	uint64_t hash[AHEAD];

	for (uint32_t from = 0; from < n; from += AHEAD) {
		uint32_t many = n - from < AHEAD ? n - from : AHEAD;

		for (uint32_t i = 0; i < many; i++) {
			const struct lmd_str *k = &keys[from + i];

			hash[i] = k->ptr ? lmi_hash(k->ptr, k->len, m->seed) : 0;
			lmi_textmap_prefetch(m, hash[i]);
		}
		for (uint32_t i = 0; i < many; i++) {
			if (!keys[from + i].ptr)
				continue;
			*other = add_hash(m, keys, from + i, hash[i]);
			if (*other != from + i)
				return from + i;
		}
	}
	return LMI_NONE;
}

bool lmi_textmap_grow(struct lmi_textmap *m, const struct lmd_host *host, const struct lmd_str *keys,
		     size_t n)
{
	struct lmi_textmap more;

	if (n <= (m->mask + 1u) / 2)
		return true;
	if (!lmi_textmap_init(&more, host, n + n / 2))
		return false;
	more.seed = m->seed; /* hashes that callers keep stay right */
	for (uint32_t i = 0; i <= m->mask; i++)
		if (m->slot[i].next)
			(void)lmi_textmap_add(&more, keys, m->slot[i].next - 1);
	lmi_textmap_fini(m, host);
	*m = more;
	return true;
}

bool lmi_pairmap_init(struct lmi_pairmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = slots_for(n);

	if (size > 16 && n <= size / 3)
		size /= 2;
	m->slot = n < 1u << 30 ? lmi_host_array(host, size, sizeof(*m->slot)) : NULL;
	if (!m->slot)
		return false;
	m->mask = size - 1;
	m->mul = new_seed(host, m->slot) | 1;
	return true;
}

void lmi_pairmap_fini(struct lmi_pairmap *m, const struct lmd_host *host)
{
	if (m->slot)
		lmi_host_free(host, m->slot);
	m->slot = NULL;
}

void lmi_pairmap_add(struct lmi_pairmap *m, uint32_t left, uint32_t right, uint32_t rank, uint32_t id,
		     bool replace)
{
	uint64_t key = (uint64_t)left << 32 | right;
	uint32_t i = lmi_pair_start(m, key);

	for (; m->slot[i].next; i = (i + 1) & m->mask)
		if (m->slot[i].key == key) {
			if (!replace)
				return;
			break;
		}
	m->slot[i] = (struct lmi_pairslot){key, rank + 1, id};
}
