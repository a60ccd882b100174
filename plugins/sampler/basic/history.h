/* SPDX-License-Identifier: MIT
 *
 * history.h - the last tokens of a sequence, and how often each of them occurs.
 *
 * A ring of the last n tokens and an open-addressed table of counts (linear probing,
 * backward-shift deletion), both in one block without pointers, so that it can be copied.  Adding
 * a token takes constant time on average. */
#ifndef LLAMAD_SAMPLER_HISTORY_H
#define LLAMAD_SAMPLER_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

/* Largest length of a history. */
#define SAMPLER_HISTORY_MAX (1 << 22)

struct sampler_history_count {
	lmd_token id;
	uint32_t n;           /* 0 = free entry */
};

struct sampler_history {
	uint32_t n_ring;      /* length of the ring, at least 1 */
	uint32_t n_table;     /* number of entries of the table, a power of two > n_ring */
	uint32_t used, next;  /* tokens in the ring; index where the next one goes */
	uint32_t reserved[4];
	/* Followed by the table and then the ring. */
};

/* Size in bytes of a history of n tokens, 1 <= n <= SAMPLER_HISTORY_MAX. */
size_t sampler_history_bytes(uint32_t n);

/* Number of entries of the table of a history of n tokens. */
uint32_t sampler_history_entries(uint32_t n);

/* h: sampler_history_bytes(n) zeroed bytes. */
void sampler_history_init(struct sampler_history *h, uint32_t n);

/* Appends a token; if the ring is full, its oldest token is dropped. */
void sampler_history_add(struct sampler_history *h, lmd_token id);
void sampler_history_clear(struct sampler_history *h);

/* Number of occurrences of id among the last n tokens. */
uint32_t sampler_history_count(const struct sampler_history *h, lmd_token id);

/* Index of the table entry of id, or of the free entry where it would go. */
uint32_t sampler_history_slot(const struct sampler_history *h, lmd_token id);

/* The table has n_table entries; those with n > 0 are the distinct tokens. */
static inline const struct sampler_history_count *
sampler_history_table(const struct sampler_history *h)
{
	return (const struct sampler_history_count *)(h + 1);
}

/* The token that is `back` positions before the last one, back < used. */
static inline lmd_token sampler_history_back(const struct sampler_history *h, uint32_t back)
{
	const lmd_token *ring = (const lmd_token *)(sampler_history_table(h) + h->n_table);
	uint32_t at = h->next + (h->next > back ? 0 : h->n_ring) - 1 - back;

	return ring[at];
}

#endif /* LLAMAD_SAMPLER_HISTORY_H */
