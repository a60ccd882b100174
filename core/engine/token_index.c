/* SPDX-License-Identifier: MIT
 *
 * An index of a text of tokens: chains of the places where the same two tokens end. */
#include "core/engine/token_index.h"

#include <string.h>

#include "core/base/alloc.h"

/* Places of a chain that are examined, and tokens that are compared before each. */
#define PLACES_MAX 32u
#define MATCH_MAX  24u

static uint32_t hash(const struct lmi_engine_token_index *x, lmd_token a, lmd_token b)
{
	uint32_t h = ((uint32_t)a * 0x9e3779b1u) ^ ((uint32_t)b * 0x85ebca6bu);

	return (h ^ h >> 15) & (x->n_head - 1);
}

enum lmd_status lmi_engine_token_index_init(struct lmi_engine_token_index *x, uint32_t cap)
{
	uint32_t n_head = 1024;

	while (n_head < cap / 2 && n_head < 1u << 20)
		n_head *= 2;
	*x = (struct lmi_engine_token_index){.head = lmi_alloc(n_head, sizeof(*x->head)),
					     .prev = lmi_alloc((size_t)cap + 1, sizeof(*x->prev)),
					     .n_head = n_head,
					     .cap = cap};
	if (x->head && x->prev)
		return LMD_OK;
	lmi_engine_token_index_fini(x);
	return LMD_NOMEM;
}

void lmi_engine_token_index_fini(struct lmi_engine_token_index *x)
{
	lmi_free(x->head);
	lmi_free(x->prev);
	*x = (struct lmi_engine_token_index){0};
}

void lmi_engine_token_index_clear(struct lmi_engine_token_index *x)
{
	memset(x->head, 0, x->n_head * sizeof(*x->head));
}

void lmi_engine_token_index_add(struct lmi_engine_token_index *x, const lmd_token *text,
				uint32_t from, uint32_t to)
{
	for (uint32_t i = from ? from : 1; i < to; i++) {
		uint32_t h = hash(x, text[i - 1], text[i]);

		x->prev[i] = x->head[h];
		x->head[h] = i + 1;
	}
}

/* Returns how many tokens up to text[at] equal the last ones of the sequence. */
static uint32_t match(const lmd_token *text, uint32_t at, const lmd_token *tokens, uint32_t n)
{
	uint32_t k = 0;

	while (k <= at && k < n && k < MATCH_MAX && text[at - k] == tokens[n - 1 - k])
		k++;
	return k;
}

/* Finds the best place after which none of avoid[n_avoid] follows. */
static uint32_t find(const struct lmi_engine_token_index *x, const lmd_token *text, uint32_t n_text,
		     const lmd_token *tokens, uint32_t n, const lmd_token *avoid, uint32_t n_avoid,
		     uint32_t *length)
{
	uint32_t best = LMI_ENGINE_NO_PLACE;
	uint32_t at;

	if (n < 2 || !x->head)
		return best;
	at = x->head[hash(x, tokens[n - 2], tokens[n - 1])];
	for (uint32_t i = 0; i < PLACES_MAX && at; i++, at = x->prev[at - 1]) {
		uint32_t k = 0;

		if (at == n_text)
			continue; /* nothing follows */
		while (k < n_avoid && text[at] != avoid[k])
			k++;
		if (k < n_avoid)
			continue;
		k = match(text, at - 1, tokens, n);
		if (k > *length) {
			*length = k;
			best = at - 1;
		}
	}
	return best;
}

uint32_t lmi_engine_token_index_find(const struct lmi_engine_token_index *x, const lmd_token *text,
				     uint32_t n_text, const lmd_token *tokens, uint32_t n,
				     uint32_t *length)
{
	return find(x, text, n_text, tokens, n, NULL, 0, length);
}

lmd_token lmi_engine_token_index_other(const struct lmi_engine_token_index *x, const lmd_token *text,
				       uint32_t n_text, const lmd_token *tokens, uint32_t n,
				       const lmd_token *avoid, uint32_t n_avoid, uint32_t *length)
{
	uint32_t at = find(x, text, n_text, tokens, n, avoid, n_avoid, length);

	return at == LMI_ENGINE_NO_PLACE ? -1 : text[at + 1];
}
