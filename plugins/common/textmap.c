/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing. String maps are at most five eighths full, pair maps at
 * most two thirds. */
#include "common/textmap.h"

#include "common/mem.h"

/* Differs between processes and instances; affects only the order of slots. */
static uint64_t new_seed(const struct lmd_host *host, const void *p)
{
	uint64_t t = host->now_ns ? host->now_ns(host->ctx) : 0;

	return lmi_mix(t ^ 0x2d358dccaa6c78a5ull, (uint64_t)(uintptr_t)p | 1);
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

bool lmi_textmap_init(struct lmi_textmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = text_slots(n);

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

static inline uint32_t add_key(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value,
			       const struct lmi_textkey *k)
{
	struct lmi_textslot *e = &m->slot[lmi_textmap_slot(m, keys, k)];

	if (e->next)
		return e->next - 1;
	*e = (struct lmi_textslot){k->key, k->len, value + 1};
	m->n++;
	return value;
}

uint32_t lmi_textmap_add(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t value)
{
	const struct lmi_textkey k = lmi_textmap_key(m, keys[value].ptr, keys[value].len);

	return add_key(m, keys, value, &k);
}

#define AHEAD 16

uint32_t lmi_textmap_add_all(struct lmi_textmap *m, const struct lmd_str *keys, uint32_t n,
			     uint32_t *other)
{
	struct lmi_textkey key[AHEAD];

	for (uint32_t from = 0; from < n; from += AHEAD) {
		uint32_t many = n - from < AHEAD ? n - from : AHEAD;

		for (uint32_t i = 0; i < many; i++) {
			const struct lmd_str *k = &keys[from + i];

			key[i] = lmi_textmap_key(m, k->ptr, k->ptr ? k->len : 0);
			__builtin_prefetch(lmi_textmap_place(m, &key[i]), 1);
		}
		for (uint32_t i = 0; i < many; i++) {
			if (!keys[from + i].ptr)
				continue;
			*other = add_key(m, keys, from + i, &key[i]);
			if (*other != from + i)
				return from + i;
		}
	}
	return LMI_NONE;
}

bool lmi_textmap_grow(struct lmi_textmap *m, const struct lmd_host *host,
		      const struct lmd_str *keys, size_t n)
{
	struct lmi_textmap more;

	if (text_slots(n) <= m->mask + 1u)
		return true;
	if (!lmi_textmap_init(&more, host, n + n / 2))
		return false;
	more.seed = m->seed; /* keys that callers have prepared stay valid */
	for (uint32_t i = 0; i <= m->mask; i++)
		if (m->slot[i].next)
			(void)lmi_textmap_add(&more, keys, m->slot[i].next - 1);
	lmi_textmap_fini(m, host);
	*m = more;
	return true;
}

bool lmi_pairmap_init(struct lmi_pairmap *m, const struct lmd_host *host, size_t n)
{
	uint32_t size = slots_for(n, 2, 3);

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

void lmi_pairmap_add(struct lmi_pairmap *m, uint32_t left, uint32_t right, uint32_t rank,
		     uint32_t id, bool replace)
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
