/* SPDX-License-Identifier: MIT
 *
 * What each drafter offers, how much of it is worth its time, and who guesses. See speculate.c. */
#include "core/engine/speculate_impl.h"

/* The longest pause between guesses that do not seem to help. */
#define PAUSE_MAX 128u
/* Tokens of such a guess, and the part of the time since the last one that it may take. */
#define N_PROBE     2u
#define PROBE_SHARE 0.02

/* Tokens that a model guesses as long as its time is unknown. */
#define FIRST_LENGTH 4u

bool lmi_engine_offer_is_due(const struct lmi_engine_guess_source *x, uint32_t n_paused,
			     double cost_ns, const struct lmi_engine_step_times *t)
{
	double now = t->now_ns, with = t->ns(t->arg, t->n_row + N_PROBE);
	double ns = N_PROBE * cost_ns + (with > now ? with - now : 0);

	return n_paused >= x->pause && (now <= 0 || n_paused * now * PROBE_SHARE >= ns);
}

/* Counts a token without a guess. Returns true if one is to be tried now. */
static bool is_probe(struct lmi_engine_guess_source *x, double cost_ns,
		     const struct lmi_engine_step_times *t)
{
	if (!lmi_engine_offer_is_due(x, ++x->n_paused, cost_ns, t))
		return false;
	x->n_paused = 0;
	x->pause = x->pause < PAUSE_MAX ? 2 * x->pause : PAUSE_MAX;
	return true;
}

/* ---- windows ---- */

/* What a step with a window has to gain, how many of them are tried after a pause, and the part of the time since the
 * last ones that those may take. */
#define WINDOW_GAIN  1.05
#define WINDOW_TRIAL 8u
#define WINDOW_SHARE 0.01
/* The shortest and the longest pause, in tokens. */
#define WINDOW_PAUSE_MIN 64u
#define WINDOW_PAUSE_MAX 1024u

static double chance(const struct lmi_engine_guess_record *r)
{
	return r->right / r->tested;
}

bool lmi_engine_offer_window(struct lmi_engine_speculation *s, struct lmi_engine_guess_source *x,
			     uint32_t n_guess, const struct lmi_engine_step_times *times)
{
	double now = times->now_ns, without,
	       with = times->ns(times->arg, times->n_row + n_guess + x->ops->n_window);

	if (s->always)
		return true;
	if (!(now > 0) && s->n_unmeasured > LMI_ENGINE_PAUSE_MIN)
		now = times->ns(times->arg, times->n_row);
	if (!(now > 0))
		return false;
	without = n_guess ? times->ns(times->arg, times->n_row + n_guess) : now;
	without = without > now ? without : now;
	with += n_guess ? 0 : times->host_ns;
	with = with > without ? with : without;
	if ((times->n_row + chance(&x->window)) * without > WINDOW_GAIN * times->n_row * with) {
		x->window_pause = WINDOW_PAUSE_MIN;
		return true;
	}
	if (x->n_trial) {
		x->n_trial--;
		return true;
	}
	if (++x->n_without < x->window_pause ||
	    x->n_without * now * WINDOW_SHARE < WINDOW_TRIAL * (with - without))
		return false;
	x->n_without = 0;
	x->n_trial = WINDOW_TRIAL - 1;
	x->window_pause =
		x->window_pause < WINDOW_PAUSE_MAX ? 2 * x->window_pause : WINDOW_PAUSE_MAX;
	return true;
}

/* ---- guesses ---- */

/* Guesses as much as possible: for tests. */
static void choose_all(struct lmi_engine_guess_offer *o, const struct lmi_engine_tree_chances *c,
		       uint32_t most)
{
	uint32_t n = c->n_others && o->n > 1 ? (o->n + 1) / 2 : o->n;

	lmi_engine_tree_clear_shape(&o->tree);
	o->length = o->tree.n_chain = n;
	for (uint32_t i = 0; i < n && i < c->n_beside; i++)
		while (o->length < most && o->tree.n_other[i] < c->n_others) {
			o->tree.n_other[i]++;
			o->length++;
		}
}

/* Chooses how much of an offer is guessed. */
static void choose_length(struct lmi_engine_speculation *s, const struct lmi_engine_guess_source *x,
			  struct lmi_engine_guess_offer *o, uint32_t most, bool branches,
			  const struct lmi_engine_step_times *times)
{
	struct lmi_engine_step_times t = *times;
	struct lmi_engine_tree_chances c = {.chain = chance(&x->trust[o->trust]), .n_chain = o->n};
	struct lmi_engine_tree idle;
	double gain;

	for (uint32_t k = 0; k < LMI_ENGINE_TREE_OTHERS; k++)
		c.other[k] = chance(&x->other[o->trust][k]);
	if (branches && !x->ops->guess) {
		c.n_beside = o->n;
		c.n_others = LMI_ENGINE_TREE_OTHERS;
	}
	while (branches && x->ops->guess && c.n_others < LMI_ENGINE_TREE_OTHERS &&
	       o->tree.other[0][c.n_others] >= 0) {
		c.n_beside = 1;
		c.n_others++;
	}
	/* steps that are complete before they are waited for are never measured */
	if (!(t.now_ns > 0) && s->n_unmeasured > LMI_ENGINE_PAUSE_MIN)
		t.now_ns = t.ns(t.arg, t.n_row);
	o->length = lmi_engine_tree_choose(&o->tree, &c, most, o->cost_ns, t.host_ns, &t, &o->gain);
	s->keen |= lmi_engine_tree_choose(&idle, &c, most, o->cost_ns, 0, &t, &gain) != 0;
	if (s->always_branches)
		choose_all(o, &c, most);
	else if (s->always)
		o->length = o->tree.n_chain = o->n;
}

void lmi_engine_offer_ask(struct lmi_engine_speculation *s, struct lmi_engine_guess_source *x,
			  const lmd_token *tokens, uint32_t n_tokens, uint32_t most,
			  const struct lmi_engine_step_times *times,
			  struct lmi_engine_guess_offer *o)
{
	bool branches = times->branches && (!s->always || s->always_branches);

	o->trust = 0;
	o->cost_ns = 0;
	lmi_engine_tree_clear(&o->tree);
	if (x->ops->cost_ns) {
		o->cost_ns = x->ops->cost_ns(x->drafter, n_tokens);
		o->n = o->cost_ns < 0                          ? 0
		       : o->cost_ns > 0 || most < FIRST_LENGTH ? most
							       : FIRST_LENGTH;
		/* guesses that take time are compared with a step without them */
		if (!s->always && !(times->now_ns > 0))
			o->n = 0;
	} else {
		o->n = x->ops->guess(x->drafter, tokens, n_tokens, most, o->guess, &o->trust);
		for (uint32_t i = 0; i < o->n; i++)
			if (o->guess[i] < 0) /* the row of a picture */
				o->n = i;
		if (branches && o->n && x->ops->others)
			x->ops->others(x->drafter, tokens, n_tokens, o->guess[0], o->tree.other[0]);
	}
	choose_length(s, x, o, most, branches, times);
}

struct lmi_engine_guess_source *lmi_engine_offer_choose(struct lmi_engine_speculation *s,
							struct lmi_engine_guess_offer *offers,
							const struct lmi_engine_step_times *times)
{
	uint32_t best = 0;

	if (s->always) { /* in turns, as far as they have guesses */
		best = s->turn++ % s->n_source;
		return &s->sources[offers[best].n ? best : s->n_source - 1];
	}
	for (uint32_t i = 1; i < s->n_source; i++)
		if (offers[i].length &&
		    (!offers[best].length || offers[i].gain > offers[best].gain))
			best = i;
	if (offers[best].length) {
		s->sources[best].pause = LMI_ENGINE_PAUSE_MIN;
		s->sources[best].n_paused = 0;
		return &s->sources[best];
	}
	for (uint32_t i = 0; i < s->n_source; i++) {
		if (!offers[i].n || !is_probe(&s->sources[i], offers[i].cost_ns, times))
			continue;
		lmi_engine_tree_clear_shape(&offers[i].tree);
		offers[i].length = offers[i].n < N_PROBE ? offers[i].n : N_PROBE;
		offers[i].tree.n_chain = offers[i].length;
		return &s->sources[i];
	}
	return NULL;
}
