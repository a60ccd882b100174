/* SPDX-License-Identifier: MIT
 *
 * history.h - the last tokens of a sequence and how often each occurs among them.
 *
 * A ring of the last n tokens and an open-addressed table of counts (linear probing,
 * deletion by moving followers back), both in one block that holds no pointers, so that
 * it can be copied.  Adding a token is constant time on average. */
#ifndef LLAMAD_SAMPLER_HISTORY_H
#define LLAMAD_SAMPLER_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

/* The longest history that can be asked for. */
#define LMI_HISTORY_MAX (1 << 22)

struct lmi_history_count {
	lmd_token id;
	uint32_t n;           /* 0 = the entry is free */
};

struct lmi_history {
	uint32_t n_ring;      /* length of the ring, >= 1 */
	uint32_t n_table;     /* entries of the table, a power of two > n_ring */
	uint32_t used, next;  /* tokens in the ring; where the next one goes */
	uint32_t reserved[4];
	/* followed by the table, then the ring */
};

/* Bytes of a history of n tokens, 1 <= n <= LMI_HISTORY_MAX. */
size_t lmi_history_bytes(uint32_t n);

/* Entries of its table. */
uint32_t lmi_history_entries(uint32_t n);

/* h: zeroed, so many bytes. */
void lmi_history_init(struct lmi_history *h, uint32_t n);

/* Appends a token; the oldest one leaves a full ring. */
void lmi_history_add(struct lmi_history *h, lmd_token id);
void lmi_history_clear(struct lmi_history *h);

/* How often id is among the last n. */
uint32_t lmi_history_count(const struct lmi_history *h, lmd_token id);

/* Index in the table of the entry of id, or of a free one. */
uint32_t lmi_history_slot(const struct lmi_history *h, lmd_token id);

/* The table: n_table entries, those with n > 0 are the distinct tokens. */
static inline const struct lmi_history_count *lmi_history_table(const struct lmi_history *h)
{
	return (const struct lmi_history_count *)(h + 1);
}

/* The token `back` before the last one, back < used. */
static inline lmd_token lmi_history_back(const struct lmi_history *h, uint32_t back)
{
	const lmd_token *ring = (const lmd_token *)(lmi_history_table(h) + h->n_table);
	uint32_t at = h->next + (h->next > back ? 0 : h->n_ring) - 1 - back;

	return ring[at];
}

#endif /* LLAMAD_SAMPLER_HISTORY_H */
