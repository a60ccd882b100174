/* SPDX-License-Identifier: MIT
 *
 * Who guesses, and how many tokens.
 *
 * Each level of trust of a drafter has a measured probability p that a guessed token is right, given
 * that those before it were. A guess of n tokens is worth p + p^2 + ... + p^n tokens; it makes the
 * step longer by so many rows, and guessing takes its own time if a model does it. The drafter and the
 * number are chosen that make the whole step produce most tokens in its time. If nothing helps by a
 * twentieth (a fifth for a model), nothing is guessed for some tokens; then one guess is tried anyway,
 * because probabilities and times change, if it takes a small part of the time that has passed.
 *
 * If the device chooses the tokens and goes on with them by itself, nothing can be guessed meanwhile,
 * and a guess costs the time of the host that is hidden otherwise. So it goes on as long as no guess
 * is worth that (`rests`). What the look-up would have guessed is compared with the tokens that
 * come, which costs nothing, and decides when guessing begins again. Sequences that would all guess
 * if the host's time were free (`keen`) share it. */
#include "core/engine/speculate.h"

#include "core/base/alloc.h"
#include "core/engine/answer_history.h"
#include "core/engine/draft_model.h"
#include "core/engine/draft_tree.h"

/* A guess is right with this probability, as if so many tokens had been examined. */
#define PRIOR	   0.7
#define PRIOR_N	   2.0
/* What older guesses count for beside a new one. */
#define KEEP	   0.96
/* One of the next best tokens is right in place of a wrong guess with this probability, also as if PRIOR_N had been
 * examined. */
#define PRIOR_OTHER 0.3
/* How many tokens pass before a guess is tried that does not seem to help. */
#define PAUSE_MIN 16u
#define PAUSE_MAX 128u
/* Tokens of such a guess, and the part of the time since the last one that it may take. */
#define N_PROBE	    2u
#define PROBE_SHARE 0.02

/* Tokens that a model guesses as long as its time is unknown. */
#define FIRST_LENGTH 4u
#define MAX_DRAFTER  2
/* So many tokens before an answer are remembered with it, so that its beginning is found. */
#define N_BEFORE 8u

/* How many guesses were examined lately, and how many of them were right. */
struct record {
	double tested, right;
};

/* A drafter and what its guesses were worth. */
struct source {
	const struct lmi_engine_drafter *ops;
	void *drafter;
	struct record trust[LMI_ENGINE_DRAFT_N_TRUST];
	/* of the next best tokens, when neither the guess nor better ones were right */
	struct record other[LMI_ENGINE_DRAFT_N_TRUST][LMI_ENGINE_TREE_OTHERS];
	uint32_t pause, n_paused; /* length of a pause; tokens of this one */
};

struct lmi_engine_speculation {
	struct source sources[MAX_DRAFTER];
	uint32_t n_source;
	uint32_t most; /* of the command */
	bool always, always_branches;
	uint32_t turn; /* with `always`: guesses so far */
	uint32_t last, last_trust; /* who made the last guess */
	uint32_t n_drafted, n_accepted;
	struct lmi_engine_history *history; /* that gets the answer; NULL: none */
	uint64_t tenant;
	struct lmi_engine_tree tree; /* of the last guess */
	bool rests; /* the last time, no guess was worth its time */
	bool keen;  /* one would have been if the host's time were free */
	/* what a source would have guessed as the token number `at`; at 0: nothing */
	struct {
		uint32_t at, source, trust;
		lmd_token token;
	} idea;
};

void lmi_engine_speculation_destroy(struct lmi_engine_speculation *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_source; i++)
		s->sources[i].ops->destroy(s->sources[i].drafter);
	lmi_free(s);
}

static enum lmd_status add(struct lmi_engine_speculation *s, const struct lmi_engine_drafter *ops,
			   const struct lmi_engine_draft_opts *o, struct lmd_error *err)
{
	struct source *x = &s->sources[s->n_source];
	enum lmd_status st = ops->create(&x->drafter, o, err);

	if (st != LMD_OK)
		return st;
	x->ops = ops;
	x->pause = PAUSE_MIN;
	for (uint32_t i = 0; i < LMI_ENGINE_DRAFT_N_TRUST; i++) {
		x->trust[i] = ops->prior[i].tested > 0
				      ? (struct record){ops->prior[i].tested, ops->prior[i].right}
				      : (struct record){PRIOR_N, PRIOR * PRIOR_N};
		for (uint32_t k = 0; k < LMI_ENGINE_TREE_OTHERS; k++)
			x->other[i][k] = (struct record){PRIOR_N, PRIOR_OTHER * PRIOR_N};
	}
	s->n_source++;
	return LMD_OK;
}

enum lmd_status lmi_engine_speculation_create(struct lmi_engine_speculation **out,
					      const struct lmi_engine_draft_sources *sources,
					      const struct lmi_engine_generate *cmd,
					      const struct lmi_engine_input_seq *seq, uint32_t cap,
					      struct lmd_error *err)
{
	const struct lmi_engine_draft_opts o = {.prompt = seq->tokens,
						.n_prompt = seq->n_tokens,
						.cap = cap,
						.model = sources->model,
						.nextn = sources->nextn,
						.history = sources->history,
						.file = sources->file,
						.tenant = cmd->tenant,
						.caches = !(cmd->flags & LMI_ENGINE_GEN_NO_CACHE),
						.hint = cmd->prediction,
						.n_hint = cmd->n_prediction};
	enum lmi_engine_draft draft = cmd->n_draft ? cmd->draft : LMI_ENGINE_DRAFT_OFF;
	struct lmi_engine_speculation *s;
	enum lmd_status st = LMD_OK;

	*out = NULL;
	if (draft > LMI_ENGINE_DRAFT_ANY)
		return lmd_fail(err, LMD_INVALID, "drafter %d is unknown", cmd->draft);
	if ((!sources->model && !sources->nextn) || seq->n_pictures) /* drafts cannot see pictures */
		draft &= LMI_ENGINE_DRAFT_LOOKUP;
	if (draft == LMI_ENGINE_DRAFT_OFF)
		return LMD_OK;
	s = lmi_alloc(1, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "speculation: no memory");
	s->most = cmd->n_draft < LMI_ENGINE_DRAFT_MAX ? cmd->n_draft : LMI_ENGINE_DRAFT_MAX;
	s->always = cmd->flags & (LMI_ENGINE_GEN_DRAFT_ALWAYS | LMI_ENGINE_GEN_DRAFT_BRANCHES);
	s->always_branches = cmd->flags & LMI_ENGINE_GEN_DRAFT_BRANCHES;
	s->history = o.caches && draft & LMI_ENGINE_DRAFT_LOOKUP ? sources->history : NULL;
	s->tenant = cmd->tenant;
	if (cmd->drafter)
		st = add(s, cmd->drafter, &o, err);
	else if (draft & LMI_ENGINE_DRAFT_LOOKUP)
		st = add(s, &lmi_engine_drafter_lookup, &o, err);
	if (st == LMD_OK && !cmd->drafter && draft & LMI_ENGINE_DRAFT_MODEL)
		st = add(s, sources->model ? &lmi_engine_drafter_model : &lmi_engine_drafter_nextn,
			 &o, err);
	if (st != LMD_OK) {
		lmi_engine_speculation_destroy(s);
		return st;
	}
	*out = s;
	return LMD_OK;
}

/* A guess does not seem to help. Is it to be tried anyway after so many tokens? cost_ns: of one guessed token. */
static bool is_due(const struct source *x, uint32_t n_paused, double cost_ns,
		   const struct lmi_engine_step_times *t)
{
	double now = t->now_ns, with = t->ns(t->arg, t->n_row + N_PROBE);
	double ns = N_PROBE * cost_ns + (with > now ? with - now : 0);

	return n_paused >= x->pause && (now <= 0 || n_paused * now * PROBE_SHARE >= ns);
}

/* Counts a token without a guess. Returns true if one is to be tried now. */
static bool is_probe(struct source *x, double cost_ns, const struct lmi_engine_step_times *t)
{
	if (!is_due(x, ++x->n_paused, cost_ns, t))
		return false;
	x->n_paused = 0;
	x->pause = x->pause < PAUSE_MAX ? 2 * x->pause : PAUSE_MAX;
	return true;
}

/* What one drafter offers. */
struct offer {
	uint32_t n; /* tokens of a chain; of a drafter that costs time: at most, not yet guessed */
	uint32_t trust;
	uint32_t length; /* guesses that are worth it, with those beside the chain */
	double gain, cost_ns;
	lmd_token guess[LMI_ENGINE_DRAFT_MAX];
	struct lmi_engine_tree tree;
};

static double chance(const struct record *r)
{
	return r->right / r->tested;
}

/* Guesses as much as possible: for tests. */
static void choose_all(struct offer *o, const struct lmi_engine_tree_chances *c, uint32_t most)
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
static void choose_length(struct lmi_engine_speculation *s, const struct source *x, struct offer *o,
			  uint32_t most, bool branches, const struct lmi_engine_step_times *times)
{
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
	o->length = lmi_engine_tree_choose(&o->tree, &c, most, o->cost_ns, times->host_ns, times, &o->gain);
	s->keen |= lmi_engine_tree_choose(&idle, &c, most, o->cost_ns, 0, times, &gain) != 0;
	if (s->always_branches)
		choose_all(o, &c, most);
	else if (s->always)
		o->length = o->tree.n_chain = o->n;
}

static void ask(struct lmi_engine_speculation *s, struct source *x, const lmd_token *tokens,
		uint32_t n_tokens, uint32_t most, const struct lmi_engine_step_times *times,
		struct offer *o)
{
	bool branches = times->branches && (!s->always || s->always_branches);

	o->trust = 0;
	o->cost_ns = 0;
	lmi_engine_tree_clear(&o->tree);
	if (x->ops->cost_ns) {
		o->cost_ns = x->ops->cost_ns(x->drafter, n_tokens);
		o->n = o->cost_ns < 0			      ? 0
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

/* Returns the drafter that helps most, or one that is tried anyway; NULL: none. */
static struct source *choose(struct lmi_engine_speculation *s, struct offer *offers,
			     const struct lmi_engine_step_times *times)
{
	uint32_t best = 0;

	if (s->always) { /* in turns, as far as they have guesses */
		best = s->turn++ % s->n_source;
		return &s->sources[offers[best].n ? best : s->n_source - 1];
	}
	for (uint32_t i = 1; i < s->n_source; i++)
		if (offers[i].length && (!offers[best].length || offers[i].gain > offers[best].gain))
			best = i;
	if (offers[best].length) {
		s->sources[best].pause = PAUSE_MIN;
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

uint32_t lmi_engine_speculation_guess(struct lmi_engine_speculation *s, lmd_token *tokens,
				      uint32_t n_tokens, uint32_t most,
				      const struct lmi_engine_step_times *times,
				      struct lmi_engine_draft_want *want)
{
	struct offer offers[MAX_DRAFTER] = {0}, *o;
	struct source *x;

	want->drafter = NULL;
	s->idea.at = 0;
	s->keen = false;
	s->rests = !s->always;
	if (most > s->most)
		most = s->most;
	if (!most)
		return 0;
	for (uint32_t i = 0; i < s->n_source; i++)
		ask(s, &s->sources[i], tokens, n_tokens, most, times, &offers[i]);
	x = choose(s, offers, times);
	if (!x)
		return 0;
	s->rests = false;
	s->last = (uint32_t)(x - s->sources);
	o = &offers[s->last];
	s->last_trust = o->trust;
	s->tree = o->tree;
	if (!x->ops->guess && o->length) {
		*want = (struct lmi_engine_draft_want){.drafter = x->drafter,
						       .tokens = tokens,
						       .n_tokens = n_tokens,
						       .most = s->tree.n_chain,
						       .most_all = o->length,
						       .tree = times->branches ? &s->tree : NULL,
						       .out = tokens + n_tokens};
		return 0;
	}
	for (uint32_t i = 0; i < s->tree.n_chain; i++)
		tokens[n_tokens + i] = o->guess[i];
	return lmi_engine_tree_finish(&s->tree, tokens + n_tokens, s->tree.n_chain, o->length);
}

/* Notes whether so many tokens of n were right. */
static void learn(struct record *r, uint32_t n_tested, uint32_t n_right)
{
	r->tested = r->tested * KEEP + n_tested;
	r->right = r->right * KEEP + n_right;
}

/* Compares what would have been guessed with the token that came. */
static void examine(struct lmi_engine_speculation *s, const lmd_token *tokens, uint32_t n_tokens)
{
	if (s->idea.at && s->idea.at < n_tokens)
		learn(&s->sources[s->idea.source].trust[s->idea.trust], 1,
		      tokens[s->idea.at] == s->idea.token);
	s->idea.at = 0;
}

void lmi_engine_speculation_watch(struct lmi_engine_speculation *s, const lmd_token *tokens,
				  uint32_t n_tokens, uint32_t most,
				  const struct lmi_engine_step_times *times)
{
	examine(s, tokens, n_tokens);
	s->keen = false;
	if (most > s->most)
		most = s->most;
	for (uint32_t i = 0; i < s->n_source && most; i++) {
		struct source *x = &s->sources[i];
		struct offer o;

		ask(s, x, tokens, n_tokens, most, times, &o);
		if (o.n && x->ops->guess) {
			s->idea.at = n_tokens;
			s->idea.source = i;
			s->idea.trust = o.trust;
			s->idea.token = o.guess[0];
		}
		s->rests &= !o.length;
		/* a guess that takes time cannot be examined like that: it is tried now and then */
		if (!o.n || o.length || x->ops->guess)
			continue;
		if (is_due(x, x->n_paused + 1, o.cost_ns, times))
			s->rests = false; /* is_probe counts this token */
		else
			x->n_paused++;
	}
}

bool lmi_engine_speculation_rests(const struct lmi_engine_speculation *s)
{
	return s->rests;
}

bool lmi_engine_speculation_is_keen(const struct lmi_engine_speculation *s)
{
	return s->keen;
}

void lmi_engine_speculation_learn(struct lmi_engine_speculation *s, uint32_t n,
				  uint32_t n_accepted, bool ended)
{
	struct source *x = &s->sources[s->last];

	s->n_drafted += n;
	s->n_accepted += n_accepted;
	if (!n)
		return;
	learn(&x->trust[s->last_trust], n_accepted + (n_accepted < n && !ended), n_accepted);
}

void lmi_engine_speculation_learn_others(struct lmi_engine_speculation *s, uint32_t n, bool right,
					 uint32_t i, lmd_token token)
{
	struct record *r = s->sources[s->last].other[s->last_trust];

	s->n_drafted += n;
	s->n_accepted += right;
	if (token < 0 || i >= s->tree.n_chain)
		return;
	for (uint32_t k = 0; k < LMI_ENGINE_TREE_OTHERS && s->tree.other[i][k] >= 0; k++) {
		learn(&r[k], 1, s->tree.other[i][k] == token);
		if (s->tree.other[i][k] == token)
			break;
	}
}

const struct lmi_engine_tree *lmi_engine_speculation_tree(const struct lmi_engine_speculation *s)
{
	for (uint32_t i = 0; i < s->tree.n_chain; i++)
		if (s->tree.n_other[i])
			return &s->tree;
	return NULL;
}

void lmi_engine_speculation_remember(struct lmi_engine_speculation *s, const lmd_token *tokens,
				     uint32_t n_tokens, uint32_t n_out)
{
	uint32_t n = n_out + N_BEFORE < n_tokens ? n_out + N_BEFORE : n_tokens;

	if (s && s->history)
		lmi_engine_history_add(s->history, s->tenant, tokens + n_tokens - n, n);
}

void *lmi_engine_speculation_nextn(const struct lmi_engine_speculation *s)
{
	for (uint32_t i = 0; s && i < s->n_source; i++)
		if (s->sources[i].ops == &lmi_engine_drafter_nextn)
			return s->sources[i].drafter;
	return NULL;
}

void lmi_engine_speculation_restart(struct lmi_engine_speculation *s)
{
	if (s)
		s->idea.at = 0;
	for (uint32_t i = 0; s && i < s->n_source; i++)
		s->sources[i].ops->restart(s->sources[i].drafter);
}

void lmi_engine_speculation_count(const struct lmi_engine_speculation *s, uint32_t *n_drafted,
				  uint32_t *n_accepted)
{
	*n_drafted = s ? s->n_drafted : 0;
	*n_accepted = s ? s->n_accepted : 0;
}
