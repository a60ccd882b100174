/* SPDX-License-Identifier: MIT
 *
 * penalties: makes the tokens of the recent text less likely.
 *
 * For a token that occurs c > 0 times among the last last_n tokens:
 *     l = l > 0 ? l / repeat : l * repeat   (Keskar et al., "CTRL")
 *     l = l - c * freq - present */
#include "common.h"
#include "history.h"

enum { P_LAST_N, P_REPEAT, P_FREQ, P_PRESENT };

struct state {
	float repeat, freq, present;
	uint32_t on;
	struct sampler_history history; /* followed by its arrays; only if on */
};

static const struct lmd_param params[] = {
	[P_LAST_N] = SAMPLER_PARAM_penalties_last_n,
	[P_REPEAT] = SAMPLER_PARAM_penalties_repeat,
	[P_FREQ] = SAMPLER_PARAM_penalties_freq,
	[P_PRESENT] = SAMPLER_PARAM_penalties_present,
};

static bool is_on(const struct lmd_param_value *p)
{
	return p[P_LAST_N].i > 0 && ((float)p[P_REPEAT].f != 1.0f || (float)p[P_FREQ].f != 0.0f ||
				     (float)p[P_PRESENT].f != 0.0f);
}

static size_t bytes(const struct lmd_sampler_init *in)
{
	return offsetof(struct state, history) +
	       (is_on(in->params) ? sampler_history_bytes((uint32_t)in->params[P_LAST_N].i) : 0);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->repeat = (float)in->params[P_REPEAT].f;
	s->freq = (float)in->params[P_FREQ].f;
	s->present = (float)in->params[P_PRESENT].f;
	s->on = is_on(in->params);
	if (s->on)
		sampler_history_init(&s->history, (uint32_t)in->params[P_LAST_N].i);
	return LMD_OK;
}

static void penalise(const struct state *s, struct lmd_cand *c, uint32_t count)
{
	float l = c->logit <= 0.0f ? c->logit * s->repeat : c->logit / s->repeat;

	c->logit = l - ((float)count * s->freq + s->present);
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	const struct sampler_history_count *t;
	uint32_t missed = 0;

	if (!s->on || !s->history.used)
		return;
	/* In a complete row of logits the candidate for a token is at the token's index. */
	t = sampler_history_table(&s->history);
	for (uint32_t i = 0; i < s->history.n_table; i++) {
		if (!t[i].n)
			continue;
		if (sampler_cand_is_at_own_index(c, t[i].id))
			penalise(s, &c->v[t[i].id], t[i].n);
		else
			missed++;
	}
	for (size_t i = 0; missed && i < c->n; i++) {
		uint32_t n;

		if (sampler_cand_is_at_own_index(c, c->v[i].id))
			continue;
		n = sampler_history_count(&s->history, c->v[i].id);
		if (n)
			penalise(s, &c->v[i], n);
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

const struct lmd_sampler_ops sampler_penalties = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
	.accept = accept,
	.reset = reset,
};
