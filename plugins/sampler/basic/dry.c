/* SPDX-License-Identifier: MIT
 *
 * dry ("don't repeat yourself"): penalises a token that would continue a stretch of text which
 * occurred before by multiplier * base^(length - allowed_length), with the length of the stretch
 * that it would continue.
 *
 * The Z-algorithm on the reversed window finds, for each position of the window, the length of the
 * text that ends there and also ends the window; so a step takes time in proportion to the window.
 * A sequence breaker interrupts the text: no stretch extends over one, and a token that is a
 * breaker is never penalised.  Breakers are texts but the window is tokens, and one token can
 * contain a breaker or begin one; dry_breakers.c converts breakers to token sequences when the
 * sampler is created. */
#include "dry.h"

enum { P_MULTIPLIER, P_BASE, P_ALLOWED, P_LAST_N, P_BREAKERS };

/* ln of the largest float: base^x overflows if x > LOG_MAX / ln(base). */
#define LOG_MAX 88.7228391f

/* Followed by three blocks, each aligned to 16: the rest of the history, `length` and `best` of
 * struct view, and the breakers. */
struct state {
	float multiplier, base, max_exponent;
	uint32_t on;
	int64_t allowed;
	uint64_t at_length, at_best, at_breakers; /* offsets in bytes from the start of the state */
	struct sampler_history history;           /* followed by its arrays; only if on */
};

static const struct lmd_param params[] = {
	[P_MULTIPLIER] = SAMPLER_PARAM_dry_multiplier,
	[P_BASE] = SAMPLER_PARAM_dry_base,
	[P_ALLOWED] = SAMPLER_PARAM_dry_allowed_length,
	[P_LAST_N] = SAMPLER_PARAM_dry_last_n,
	[P_BREAKERS] = SAMPLER_PARAM_dry_breakers,
};

static bool is_on(const struct lmd_param_value *p)
{
	return (float)p[P_MULTIPLIER].f != 0.0f && (float)p[P_BASE].f >= 1.0f && p[P_LAST_N].i > 0;
}

/* Sets the offsets of the blocks; returns the size of all of them. */
static size_t state_layout(const struct lmd_sampler_init *in, struct state *s)
{
	uint32_t n = (uint32_t)in->params[P_LAST_N].i;
	size_t at = offsetof(struct state, history);

	if (!is_on(in->params))
		return at;
	at = (at + sampler_history_bytes(n) + 15) & ~(size_t)15;
	s->at_length = at;
	at = (at + n * sizeof(uint32_t) + 15) & ~(size_t)15;
	s->at_best = at;
	at = (at + sampler_history_entries(n) * sizeof(uint32_t) + 15) & ~(size_t)15;
	s->at_breakers = at;
	return at + sampler_breakers_bytes(in->vocab, &in->params[P_BREAKERS]);
}

static size_t bytes(const struct lmd_sampler_init *in)
{
	struct state s;

	return state_layout(in, &s);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	const struct lmd_param_value *p = in->params;
	struct state *s = state;

	s->on = is_on(p);
	if (!s->on)
		return LMD_OK;
	if (p[P_BREAKERS].n && !in->vocab)
		return lmd_fail(err, LMD_INVALID,
				"dry: %u sequence breakers need a vocabulary, but there is none",
				p[P_BREAKERS].n);
	(void)state_layout(in, s); /* only for its effect on s */
	s->multiplier = (float)p[P_MULTIPLIER].f;
	s->base = (float)p[P_BASE].f;
	s->max_exponent = s->base > 1.000001f ? LOG_MAX / logf(s->base) : INFINITY;
	s->allowed = p[P_ALLOWED].i;
	sampler_history_init(&s->history, (uint32_t)p[P_LAST_N].i);
	if (p[P_BREAKERS].n)
		sampler_breakers_init((void *)((char *)state + s->at_breakers), in->vocab,
				      &p[P_BREAKERS]);
	return LMD_OK;
}

/* z[k] = length of the common suffix of the texts that end at the last token and k tokens before
 * it, at most `limit`. */
static void match_lengths(const struct sampler_history *h, uint32_t *z, uint32_t limit)
{
	uint32_t n = h->used, left = 0, right = 0; /* [left, right): the farthest match */

	for (uint32_t k = 1; k < n; k++) {
		uint32_t len = 0;

		if (k < right) {
			len = z[k - left];
			if (len < right - k) {
				z[k] = len;
				continue;
			}
			len = right - k;
		}
		while (k + len < n &&
		       sampler_history_back(h, len) == sampler_history_back(h, k + len))
			len++;
		if (k + len > right) {
			left = k;
			right = k + len;
		}
		z[k] = len;
	}
	for (uint32_t k = 1; k < n; k++)
		z[k] = z[k] < limit ? z[k] : limit;
}

static void penalise(const struct state *s, struct lmd_cand *c, uint32_t length)
{
	float exponent = (float)((int64_t)length - s->allowed);

	if (exponent > s->max_exponent)
		exponent = s->max_exponent;
	c->logit -= s->multiplier * powf(s->base, exponent);
}

static void apply(void *state, struct lmd_cands *c)
{
	struct state *s = state;
	const struct sampler_history *h = &s->history;
	const struct sampler_breakers *breakers;
	uint32_t *z, *best, limit;

	if (!s->on || h->used <= s->allowed)
		return;
	breakers = (void *)((char *)state + s->at_breakers);
	limit = sampler_breakers_limit(breakers, h);
	if (limit < s->allowed)
		return;
	z = (void *)((char *)state + s->at_length);
	best = (void *)((char *)state + s->at_best);
	match_lengths(h, z, limit);
	/* best[slot of a token] = 1 + the longest stretch that the token would continue. */
	memset(best, 0, h->n_table * sizeof(*best));
	for (uint32_t k = 1; k < h->used; k++) {
		uint32_t slot;

		if (z[k] < s->allowed)
			continue;
		slot = sampler_history_slot(h, sampler_history_back(h, k - 1));
		if (best[slot] <= z[k])
			best[slot] = z[k] + 1;
	}
	for (size_t i = 0; i < c->n; i++) {
		uint32_t slot = sampler_history_slot(h, c->v[i].id);

		if (sampler_history_table(h)[slot].n && best[slot] &&
		    !sampler_breakers_has(breakers, c->v[i].id))
			penalise(s, &c->v[i], best[slot] - 1);
	}
	sampler_cands_check_sorted(c);
}

static void accept(void *state, lmd_token token, bool prompt)
{
	struct state *s = state;

	(void)prompt;
	if (s->on)
		sampler_history_add(&s->history, token);
}

static void reset(void *state)
{
	struct state *s = state;

	if (s->on)
		sampler_history_clear(&s->history);
}

const struct lmd_sampler_ops sampler_dry = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
	.accept = accept,
	.reset = reset,
};
