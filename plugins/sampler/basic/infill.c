/* SPDX-License-Identifier: MIT
 *
 * infill: for text in the middle of a file, where stopping in time matters most.
 *
 *   1. If the ends of generation together weigh more than 1 / (3 n) of the text among n
 *      candidates, only they stay.
 *   2. A candidate whose text begins with that of another is merged with it: the more
 *      likely of the two gets both probabilities.
 *   3. Texts below 0.2 go, then those below 1 / (texts left + 1) of what is left.
 *   4. If no text is left after 0.2, the end of turn is taken.
 *
 * Merging compares all pairs, so more than CAND_MAX candidates are first cut to the
 * CAND_MAX most likely; a top_k or top_p belongs before this sampler anyway. */
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
		return lmd_fail(err, LMD_INVALID, "infill: there is no vocabulary with pieces");
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

/* Drops texts below `from`; returns the number of texts left.  n may become 0. */
static size_t keep(const struct state *s, struct lmd_cands *c, float from)
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

/* Step 1; false if the texts stay. */
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
	(void)keep(s, c, INFINITY); /* texts: none */
	normalise(c);
	return true;
}

/* Merges v[j] into v[i] or the other way round, if the text of i begins that of j. */
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
		lmi_cands_top(c->v, c->n, c->n < CAND_MAX ? c->n : CAND_MAX);
	if (c->n > CAND_MAX)
		c->n = CAND_MAX;
	c->sorted = true;
	(void)lmi_cands_softmax(c); /* the p are wanted */
	if (end_wins(s, c))
		return;
	merge_all(s, c);
	n_text = keep(s, c, KEEP_FROM);
	c->sorted = false;
	if (!n_text) {
		c->n = 1;
		c->v[0].id = s->vocab->eot >= 0 ? s->vocab->eot : s->vocab->eos;
		c->v[0].logit = 1.0f;
		return;
	}
	normalise(c);
	(void)keep(s, c, 1.0f / (float)(n_text + 1)); /* the greatest of n_text texts stays */
	normalise(c);
}

const struct lmd_sampler_ops lmi_sampler_infill = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
