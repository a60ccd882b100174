/* SPDX-License-Identifier: MIT
 *
 * The table has more entries than the ring, and is at most half full when the ring is full, so
 * probing always ends. */
#include "history.h"

#include <string.h>

uint32_t sampler_history_entries(uint32_t n)
{
	uint32_t t = 2;

	while (t < 2 * n)
		t *= 2;
	return t;
}

static struct sampler_history_count *table(struct sampler_history *h)
{
	return (struct sampler_history_count *)(h + 1);
}

static lmd_token *ring(struct sampler_history *h)
{
	return (lmd_token *)(table(h) + h->n_table);
}

size_t sampler_history_bytes(uint32_t n)
{
	return sizeof(struct sampler_history) + n * sizeof(lmd_token) +
	       sampler_history_entries(n) * sizeof(struct sampler_history_count);
}

void sampler_history_init(struct sampler_history *h, uint32_t n)
{
	h->n_ring = n;
	h->n_table = sampler_history_entries(n);
}

static uint32_t home_slot(const struct sampler_history *h, lmd_token id)
{
	return ((uint32_t)id * 0x9E3779B1u >> 7) & (h->n_table - 1);
}

uint32_t sampler_history_slot(const struct sampler_history *h, lmd_token id)
{
	const struct sampler_history_count *t = sampler_history_table(h);
	uint32_t i = home_slot(h, id);

	while (t[i].n && t[i].id != id)
		i = (i + 1) & (h->n_table - 1);
	return i;
}

static void forget(struct sampler_history *h, lmd_token id)
{
	struct sampler_history_count *t = table(h);
	uint32_t mask = h->n_table - 1, hole = sampler_history_slot(h, id);

	if (--t[hole].n)
		return;
	/* An entry moves into the hole if the hole is on the way from its home to it. */
	for (uint32_t i = (hole + 1) & mask; t[i].n; i = (i + 1) & mask) {
		if (((i - home_slot(h, t[i].id)) & mask) >= ((i - hole) & mask)) {
			t[hole] = t[i];
			t[i].n = 0;
			hole = i;
		}
	}
}

void sampler_history_add(struct sampler_history *h, lmd_token id)
{
	lmd_token *r = ring(h);
	struct sampler_history_count *c;

	if (h->used == h->n_ring)
		forget(h, r[h->next]);
	else
		h->used++;
	r[h->next] = id;
	h->next = h->next + 1 == h->n_ring ? 0 : h->next + 1;
	c = &table(h)[sampler_history_slot(h, id)];
	c->id = id;
	c->n++;
}

void sampler_history_clear(struct sampler_history *h)
{
	memset(table(h), 0, h->n_table * sizeof(struct sampler_history_count));
	h->used = 0;
	h->next = 0;
}

uint32_t sampler_history_count(const struct sampler_history *h, lmd_token id)
{
	return sampler_history_table(h)[sampler_history_slot(h, id)].n;
}
