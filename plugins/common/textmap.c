/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing, at most half full. */
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
	memset(m->slot, 0xff, size * sizeof(*m->slot));
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

uint32_t lmi_textmap_add(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value)
{
	const struct lmd_str *k = &keys[value];
	uint64_t h = lmi_hash(k->ptr, k->len, m->seed);
	uint32_t tag = (uint32_t)(h >> 32), i = (uint32_t)h & m->mask;

	for (; m->slot[i].value != LMI_NONE; i = (i + 1) & m->mask) {
		const struct lmd_str *o = &keys[m->slot[i].value];

		if (m->slot[i].tag == tag && o->len == k->len &&
		    (!k->len || !memcmp(o->ptr, k->ptr, k->len)))
			return m->slot[i].value;
	}
	m->slot[i].tag = tag;
	m->slot[i].value = value;
	m->n++;
	return value;
}

bool lmi_textmap_grow(struct lmi_textmap *m, const struct lmd_host *host, const struct lmd_str *keys,
		     size_t n)
{
	struct lmi_textmap more;

	if (n <= (m->mask + 1u) / 2)
		return true;
	if (!lmi_textmap_init(&more, host, n + n / 2))
		return false;
	for (uint32_t i = 0; i <= m->mask; i++)
		if (m->slot[i].value != LMI_NONE)
			(void)lmi_textmap_add(&more, keys, m->slot[i].value);
	lmi_textmap_fini(m, host);
	*m = more;
	return true;
}

bool lmi_pairmap_init(struct lmi_pairmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = slots_for(n);

	m->slot = n < 1u << 30 ? lmi_host_array(host, size, sizeof(*m->slot)) : NULL;
	if (!m->slot)
		return false;
	memset(m->slot, 0xff, size * sizeof(*m->slot));
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

void lmi_pairmap_add(struct lmi_pairmap *m, uint32_t left, uint32_t right, uint32_t rank,
		     uint32_t id)
{
	uint64_t key = (uint64_t)left << 32 | right;
	uint32_t i = lmi_pair_start(m, key);

	for (; m->slot[i].rank != LMI_NONE; i = (i + 1) & m->mask)
		if (m->slot[i].key == key)
			return;
	m->slot[i] = (struct lmi_pairslot){key, rank, id};
}
