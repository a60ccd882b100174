/* SPDX-License-Identifier: MIT
 *
 * Prompt lookup: guesses that the sequence goes on as it did where its last tokens occurred before,
 * in the prompt, in the answer so far, in a text that the answer is expected to resemble, in earlier
 * answers of the tenant or in the model's lookup file.
 *
 * The place before which most tokens agree wins; of equal ones the first in this order. Texts that do
 * not belong to the request have to agree in more tokens, and have trust levels of their own. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/answer_history.h"
#include "core/engine/draft.h"
#include "core/engine/draft_tree.h"
#include "core/engine/lookup_file.h"
#include "core/engine/token_index.h"

/* Tokens of another text that have to agree are more than this. */
#define OTHER_LENGTH 2u
/* Trust levels for texts of the request; those of other texts follow. */
#define N_LEVEL (LMI_ENGINE_DRAFT_N_TRUST / 2)

struct lookup {
	lmd_token *hint; /* [n_hint] */
	uint32_t n_hint;
	struct lmi_engine_token_index in_hint, in_sequence;
	uint32_t n_seen; /* tokens of the sequence whose places are in the index */
	const struct lmi_engine_history *history; /* NULL: none */
	uint64_t tenant;
	const struct lmi_engine_lookup_file *file; /* NULL: none */
};

static uint32_t level(uint32_t length)
{
	return length <= 2 ? 0 : length <= 4 ? 1 : length <= 8 ? 2 : 3;
}

/* Guesses from the sequence, whose text after its end is what was guessed: a repetition goes on. */
static uint32_t guess_from_sequence(const struct lookup *l, const lmd_token *tokens, uint32_t n,
				    uint32_t most, lmd_token *out, uint32_t *length)
{
	uint32_t at = lmi_engine_token_index_find(&l->in_sequence, tokens, n, tokens, n, length);

	if (at == LMI_ENGINE_NO_PLACE)
		return 0;
	for (uint32_t i = 0; i < most; i++) {
		uint32_t from = at + 1 + i;

		out[i] = from < n ? tokens[from] : out[from - n];
	}
	return most;
}

/* Replaces n_out guesses if more tokens of the expected text agree. */
static uint32_t guess_from_hint(const struct lookup *l, const lmd_token *tokens, uint32_t n,
				uint32_t most, lmd_token *out, uint32_t n_out, uint32_t *length)
{
	uint32_t at = lmi_engine_token_index_find(&l->in_hint, l->hint, l->n_hint, tokens, n, length);

	if (at == LMI_ENGINE_NO_PLACE)
		return n_out;
	for (n_out = 0; n_out < most && ++at < l->n_hint; n_out++)
		out[n_out] = l->hint[at];
	return n_out;
}

static uint32_t guess(void *drafter, const lmd_token *tokens, uint32_t n, uint32_t most,
		      lmd_token *out, uint32_t *trust)
{
	struct lookup *l = drafter;
	uint32_t length = 1, n_out, n_other = 0;

	if (n < 2)
		return 0;
	/* the last place is left out: nothing follows it */
	lmi_engine_token_index_add(&l->in_sequence, tokens, l->n_seen, n - 1);
	l->n_seen = n - 1;
	n_out = guess_from_sequence(l, tokens, n, most, out, &length);
	n_out = guess_from_hint(l, tokens, n, most, out, n_out, &length);
	*trust = level(length);
	if (length < OTHER_LENGTH)
		length = OTHER_LENGTH;
	if (l->history)
		n_other = lmi_engine_history_guess(l->history, l->tenant, tokens, n, most, out,
						   &length);
	if (l->file) {
		uint32_t k = lmi_engine_lookup_file_guess(l->file, tokens, n, most, out, &length);

		n_other = k ? k : n_other;
	}
	if (n_other)
		*trust = N_LEVEL + level(length);
	return n_other ? n_other : n_out;
}

/* In the texts of the request; a guess that came from another one has next best ones here as well. */
static void others(void *drafter, const lmd_token *tokens, uint32_t n, lmd_token first, lmd_token *out)
{
	const struct lookup *l = drafter;
	lmd_token avoid[1 + LMI_ENGINE_TREE_OTHERS] = {first};

	for (uint32_t i = 0; i < LMI_ENGINE_TREE_OTHERS; i++) {
		uint32_t length = 1;
		lmd_token b, a = lmi_engine_token_index_other(&l->in_sequence, tokens, n, tokens, n, avoid,
							      1 + i, &length);

		b = lmi_engine_token_index_other(&l->in_hint, l->hint, l->n_hint, tokens, n, avoid, 1 + i,
						 &length);
		out[i] = b >= 0 ? b : a;
		if (out[i] < 0)
			return;
		avoid[1 + i] = out[i];
	}
}

static void destroy(void *drafter)
{
	struct lookup *l = drafter;

	if (!l)
		return;
	lmi_free(l->hint);
	lmi_engine_token_index_fini(&l->in_hint);
	lmi_engine_token_index_fini(&l->in_sequence);
	lmi_free(l);
}

/* Forgets the places of the sequence. */
static void restart(void *drafter)
{
	struct lookup *l = drafter;

	lmi_engine_token_index_clear(&l->in_sequence);
	l->n_seen = 0;
}

static enum lmd_status add_hint(struct lookup *l, const struct lmi_engine_draft_opts *o)
{
	if (!o->n_hint)
		return LMD_OK;
	l->hint = lmi_alloc(o->n_hint, sizeof(*l->hint));
	if (!l->hint || lmi_engine_token_index_init(&l->in_hint, o->n_hint) != LMD_OK)
		return LMD_NOMEM;
	memcpy(l->hint, o->hint, o->n_hint * sizeof(*l->hint));
	l->n_hint = o->n_hint;
	lmi_engine_token_index_add(&l->in_hint, l->hint, 0, l->n_hint);
	return LMD_OK;
}

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	uint64_t n = (uint64_t)o->n_hint + o->cap;
	struct lookup *l = n < LMI_ENGINE_NO_PLACE ? lmi_alloc(1, sizeof(*l)) : NULL;

	if (!l || add_hint(l, o) != LMD_OK ||
	    lmi_engine_token_index_init(&l->in_sequence, o->cap) != LMD_OK) {
		destroy(l);
		return lmd_fail(err, LMD_NOMEM, "no memory to look up %llu tokens",
				(unsigned long long)n);
	}
	if (o->n_prompt > 1) {
		lmi_engine_token_index_add(&l->in_sequence, o->prompt, 0, o->n_prompt - 1);
		l->n_seen = o->n_prompt - 1;
	}
	l->history = o->caches ? o->history : NULL;
	l->tenant = o->tenant;
	l->file = o->file;
	*out = l;
	return LMD_OK;
}

/* From greedy answers of SmolLM2 about code: the more tokens agree, the more often a guess is right. */
#define PRIORS {4, 2.0}, {4, 2.8}, {4, 3.4}, {4, 3.8}

const struct lmi_engine_drafter lmi_engine_drafter_lookup = {
	.prior = {PRIORS, PRIORS},
	.name = "lookup", .create = create, .guess = guess, .others = others, .destroy = destroy,
	.restart = restart};
