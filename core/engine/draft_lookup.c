/* SPDX-License-Identifier: MIT
 *
 * Prompt lookup: guesses that the sequence goes on as it did where its last tokens occurred before,
 * in the prompt, in the answer so far or in a text that the answer is expected to resemble.
 *
 * Places are numbered through that text and then the sequence. The places where the same two tokens
 * end form a chain, the latest first; the place before which most tokens agree wins. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft.h"

/* Places of a chain that are examined, and tokens that are compared before each. */
#define PLACES_MAX 32u
#define MATCH_MAX  24u
#define NONE	   UINT32_MAX

struct lookup {
	lmd_token *hint; /* [n_hint] */
	uint32_t n_hint;
	uint32_t *head; /* [n_head] by hash: the latest place, or NONE */
	uint32_t *prev; /* [n_hint + cap] the place before in the chain, or NONE */
	uint32_t n_head;
	uint32_t n_seen; /* tokens of the sequence whose places are in chains */
};

static uint32_t hash(const struct lookup *l, lmd_token a, lmd_token b)
{
	uint32_t h = ((uint32_t)a * 0x9e3779b1u) ^ ((uint32_t)b * 0x85ebca6bu);

	return (h ^ h >> 15) & (l->n_head - 1);
}

/* Adds the places [from, to) of a text, which are numbered from `base` on. */
static void add(struct lookup *l, const lmd_token *text, uint32_t base, uint32_t from, uint32_t to)
{
	for (uint32_t i = from ? from : 1; i < to; i++) {
		uint32_t h = hash(l, text[i - 1], text[i]);

		l->prev[base + i] = l->head[h];
		l->head[h] = base + i;
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

/* Returns the place whose past resembles the sequence most, or NONE. */
static uint32_t find(const struct lookup *l, const lmd_token *tokens, uint32_t n, uint32_t *length)
{
	uint32_t at = l->head[hash(l, tokens[n - 2], tokens[n - 1])], best = NONE;

	*length = 1;
	for (uint32_t i = 0; i < PLACES_MAX && at != NONE; i++, at = l->prev[at]) {
		uint32_t k;

		if (at + 1 == l->n_hint)
			continue; /* nothing follows */
		k = at < l->n_hint ? match(l->hint, at, tokens, n)
				   : match(tokens, at - l->n_hint, tokens, n);
		if (k > *length) {
			*length = k;
			best = at;
		}
	}
	return best;
}

/* The text after the end of the sequence is what was guessed: a repetition goes on. */
static uint32_t copy_after(const struct lookup *l, uint32_t at, const lmd_token *tokens, uint32_t n,
			   uint32_t most, lmd_token *out)
{
	uint32_t i;

	for (i = 0; i < most; i++) {
		uint32_t from = at + 1 + i;

		if (at < l->n_hint) {
			if (from == l->n_hint)
				break;
			out[i] = l->hint[from];
			continue;
		}
		from -= l->n_hint;
		out[i] = from < n ? tokens[from] : out[from - n];
	}
	return i;
}

static uint32_t trust_of(uint32_t length)
{
	return length <= 2 ? 0 : length <= 4 ? 1 : length <= 8 ? 2 : 3;
}

static uint32_t guess(void *drafter, const lmd_token *tokens, uint32_t n, uint32_t most,
		      lmd_token *out, uint32_t *trust)
{
	struct lookup *l = drafter;
	uint32_t at, length;

	if (n < 2)
		return 0;
	/* the last place is left out: nothing follows it */
	add(l, tokens, l->n_hint, l->n_seen, n - 1);
	l->n_seen = n - 1;
	at = find(l, tokens, n, &length);
	if (at == NONE)
		return 0;
	*trust = trust_of(length);
	return copy_after(l, at, tokens, n, most, out);
}

static void destroy(void *drafter)
{
	struct lookup *l = drafter;

	if (!l)
		return;
	lmi_free(l->hint);
	lmi_free(l->head);
	lmi_free(l->prev);
	lmi_free(l);
}

/* Forgets the places of the sequence. */
static void restart(void *drafter)
{
	struct lookup *l = drafter;

	memset(l->head, 0xff, l->n_head * sizeof(*l->head));
	add(l, l->hint, 0, 0, l->n_hint);
	l->n_seen = 0;
}

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	uint64_t n = (uint64_t)o->n_hint + o->cap;
	struct lookup *l = n < NONE ? lmi_alloc(1, sizeof(*l)) : NULL;

	if (!l)
		return lmd_fail(err, LMD_NOMEM, "no memory to look up %llu tokens",
				(unsigned long long)n);
	l->n_head = 1024;
	while (l->n_head < n / 2 && l->n_head < 1u << 17)
		l->n_head *= 2;
	l->n_hint = o->n_hint;
	l->hint = lmi_alloc((size_t)o->n_hint + 1, sizeof(*l->hint));
	l->head = lmi_alloc(l->n_head, sizeof(*l->head));
	l->prev = lmi_alloc((size_t)n, sizeof(*l->prev));
	if (!l->hint || !l->head || !l->prev) {
		destroy(l);
		return lmd_fail(err, LMD_NOMEM, "no memory to look up %llu tokens",
				(unsigned long long)n);
	}
	memset(l->head, 0xff, l->n_head * sizeof(*l->head));
	if (o->n_hint)
		memcpy(l->hint, o->hint, o->n_hint * sizeof(*l->hint));
	add(l, l->hint, 0, 0, o->n_hint);
	if (o->n_prompt > 1) {
		add(l, o->prompt, o->n_hint, 0, o->n_prompt - 1);
		l->n_seen = o->n_prompt - 1;
	}
	*out = l;
	return LMD_OK;
}

const struct lmi_engine_drafter lmi_engine_drafter_lookup = {
	.name = "lookup", .create = create, .guess = guess, .destroy = destroy,
	.restart = restart};
