/* SPDX-License-Identifier: MIT
 *
 * infill: for text in the middle of a file, where it is most important to stop in time.
 *
 *   1. If the end-of-generation tokens together are more likely than 1 / (3 n) times all text
 *      tokens, with n candidates, only they are kept.
 *   2. A candidate whose text begins with the text of another one is merged with it: the more
 *      likely of the two gets both probabilities.
 *   3. Text tokens below 0.2 are removed, then those below 1 / (text tokens left + 1) of the rest.
 *   4. If no text token reaches 0.2, the end of turn is chosen.
 *
 * Merging compares all pairs, so only the CAND_MAX most likely candidates are considered; a top_k
 * or top_p belongs before this sampler anyway. */
#include "common.h"

#include <string.h>

#define CAND_MAX  512
#define PIECE_MAX 256
#define KEEP_FROM 0.2f

struct state {
	const struct lmd_sample_vocab *vocab;
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	(void)in;
	return sizeof(struct state);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	if (!in->vocab || !in->vocab->piece)
		return lmd_fail(err, LMD_INVALID,
				"infill: needs a vocabulary with the text of tokens");
	s->vocab = in->vocab;
	return LMD_OK;
}

static bool is_eog(const struct lmd_sample_vocab *vocab, lmd_token id)
{
	uint32_t lo = 0, hi = vocab->n_eog;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (vocab->eog[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < vocab->n_eog && vocab->eog[lo] == id;
}

static void normalise(struct lmd_cands *c)
{
	float sum = 0.0f;

	for (size_t i = 0; i < c->n; i++)
		sum += c->v[i].p;
	for (size_t i = 0; i < c->n; i++)
		c->v[i].p /= sum;
}

/* Removes text tokens below `from`; returns the number of text tokens left.  c->n may become 0. */
static size_t remove_unlikely(const struct state *s, struct lmd_cands *c, float from)
{
	size_t n = 0, n_text = 0;

	for (size_t i = 0; i < c->n; i++) {
		bool eog = is_eog(s->vocab, c->v[i].id);

		if (!eog && c->v[i].p < from)
			continue;
		n_text += !eog;
		c->v[n++] = c->v[i];
	}
	c->n = n;
	return n_text;
}

/* Step 1; returns false if the text tokens stay. */
static bool end_wins(const struct state *s, struct lmd_cands *c)
{
	float p_text = 0.0f, p_end = 0.0f;

	for (size_t i = 0; i < c->n; i++) {
		if (is_eog(s->vocab, c->v[i].id))
			p_end += c->v[i].p;
		else
			p_text += c->v[i].p;
	}
	if (!(3.0f * p_end * (float)c->n > p_text))
		return false;
	(void)remove_unlikely(s, c, INFINITY); /* removes all text tokens */
	normalise(c);
	return true;
}

/* Merges two candidates; the more likely one gets both probabilities. */
static void merge(struct lmd_cand *i, struct lmd_cand *j)
{
	struct lmd_cand *to = j->p > i->p ? j : i, *from = to == i ? j : i;

	to->p += from->p;
	from->p = 0.0f;
	from->logit = -INFINITY;
}

static void merge_all(const struct state *s, struct lmd_cands *c)
{
	const struct lmd_sample_vocab *vocab = s->vocab;

	for (size_t i = 0; i < c->n; i++) {
		char a[PIECE_MAX], b[PIECE_MAX];
		size_t n_a = vocab->piece(vocab->ctx, c->v[i].id, a, sizeof(a));

		if (!n_a || n_a > sizeof(a))
			continue;
		for (size_t j = 0; j < c->n && c->v[i].logit > -INFINITY; j++) {
			size_t n_b;

			if (i == j || !(c->v[j].logit > -INFINITY))
				continue;
			n_b = vocab->piece(vocab->ctx, c->v[j].id, b, sizeof(b));
			if (n_a <= n_b && !memcmp(a, b, n_a))
				merge(&c->v[i], &c->v[j]);
		}
	}
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	size_t n_text;

	if (!c->sorted)
		sampler_cands_top(c->v, c->n, c->n < CAND_MAX ? c->n : CAND_MAX);
	if (c->n > CAND_MAX)
		c->n = CAND_MAX;
	c->sorted = true;
	(void)sampler_cands_softmax(c); /* only for its effect on p */
	if (end_wins(s, c))
		return;
	merge_all(s, c);
	n_text = remove_unlikely(s, c, KEEP_FROM);
	c->sorted = false;
	if (!n_text) {
		c->n = 1;
		c->v[0].id = s->vocab->eot >= 0 ? s->vocab->eot : s->vocab->eos;
		c->v[0].logit = 1.0f;
		return;
	}
	normalise(c);
	(void)remove_unlikely(s, c, 1.0f / (float)(n_text + 1)); /* always keeps the largest */
	normalise(c);
}

const struct lmd_sampler_ops sampler_infill = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
