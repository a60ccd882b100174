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
 * if the host's time were free (`keen`) share it.
 *
 * A drafter with a window (draft_lookahead.c) finds its guesses in rows that steps compute beside them. A step
 * has the window, whichever drafter guesses, as long as the guesses found so are worth its rows. */
#include "core/engine/speculate_impl.h"

#include "core/base/alloc.h"
#include "core/engine/answer_history.h"
#include "core/engine/draft_model.h"
#include "core/engine/topk.h"

/* A guess is right with this probability, as if so many tokens had been examined. */
#define PRIOR	   0.7
#define PRIOR_N	   2.0
/* What older guesses count for beside a new one. */
#define KEEP	   0.96
/* One of the next best tokens is right in place of a wrong guess with this probability, also as if PRIOR_N had been
 * examined. */
#define PRIOR_OTHER 0.3
/* A window is worth what its drafter expects, as if so many steps had been computed with one. */
#define WINDOW_PRIOR_N 8.0
/* So many tokens before an answer are remembered with it, so that its beginning is found. */
#define N_BEFORE 8u

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
	struct lmi_engine_guess_source *x = &s->sources[s->n_source];
	enum lmd_status st = ops->create(&x->drafter, o, err);

	if (st != LMD_OK)
		return st;
	x->ops = ops;
	x->pause = x->window_pause = LMI_ENGINE_PAUSE_MIN;
	x->window = (struct lmi_engine_guess_record){WINDOW_PRIOR_N,
						     ops->window_prior * WINDOW_PRIOR_N};
	for (uint32_t i = 0; i < LMI_ENGINE_DRAFT_N_TRUST; i++) {
		x->trust[i] = ops->prior[i].tested > 0
				      ? (struct lmi_engine_guess_record){ops->prior[i].tested,
									 ops->prior[i].right}
				      : (struct lmi_engine_guess_record){PRIOR_N, PRIOR * PRIOR_N};
		for (uint32_t k = 0; k < LMI_ENGINE_TREE_OTHERS; k++)
			x->other[i][k] =
				(struct lmi_engine_guess_record){PRIOR_N, PRIOR_OTHER * PRIOR_N};
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
	if (st == LMD_OK && !cmd->drafter && draft & LMI_ENGINE_DRAFT_LOOKUP && sources->lookahead)
		st = add(s, &lmi_engine_drafter_lookahead, &o, err);
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

/* Adds a window after n guesses, at most up to tokens[n_tokens + most]. Returns the number of both. */
static uint32_t add_window(struct lmi_engine_speculation *s, lmd_token *tokens, uint32_t n_tokens,
			   uint32_t n, uint32_t most, const struct lmi_engine_step_times *times)
{
	for (uint32_t i = 0; i < s->n_source && times->branches && !s->tree.n_window; i++) {
		struct lmi_engine_guess_source *x = &s->sources[i];

		if (!x->ops->window || most - n < x->ops->n_window ||
		    !lmi_engine_offer_window(s, x, n, times))
			continue;
		x->ops->window(x->drafter, tokens, n_tokens, tokens + n_tokens + n, s->tree.after);
		s->tree.n_window = x->ops->n_window;
		s->window = i;
		s->rests = false;
	}
	return n + s->tree.n_window;
}

uint32_t lmi_engine_speculation_guess(struct lmi_engine_speculation *s, lmd_token *tokens,
				      uint32_t n_tokens, uint32_t most,
				      const struct lmi_engine_step_times *times,
				      struct lmi_engine_draft_want *want)
{
	struct lmi_engine_guess_offer offers[LMI_ENGINE_MAX_DRAFTER] = {0}, *o;
	struct lmi_engine_guess_source *x;
	uint32_t n;

	want->drafter = NULL;
	s->idea.at = 0;
	s->keen = false;
	s->rests = !s->always;
	if (most > s->most)
		most = s->most;
	if (!most)
		return 0;
	s->n_unmeasured += !(times->now_ns > 0);
	for (uint32_t i = 0; i < s->n_source; i++)
		lmi_engine_offer_ask(s, &s->sources[i], tokens, n_tokens, most, times, &offers[i]);
	x = lmi_engine_offer_choose(s, offers, times);
	if (!x) {
		lmi_engine_tree_clear(&s->tree);
		return add_window(s, tokens, n_tokens, 0, most, times);
	}
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
	n = lmi_engine_tree_finish(&s->tree, tokens + n_tokens, s->tree.n_chain, o->length);
	return add_window(s, tokens, n_tokens, n, most, times);
}

/* Notes whether so many tokens of n were right. */
static void learn(struct lmi_engine_guess_record *r, uint32_t n_tested, uint32_t n_right)
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
	s->n_unmeasured += !(times->now_ns > 0);
	if (most > s->most)
		most = s->most;
	for (uint32_t i = 0; i < s->n_source && most; i++) {
		struct lmi_engine_guess_source *x = &s->sources[i];
		struct lmi_engine_guess_offer o;

		lmi_engine_offer_ask(s, x, tokens, n_tokens, most, times, &o);
		if (o.n && x->ops->guess) {
			s->idea.at = n_tokens;
			s->idea.source = i;
			s->idea.trust = o.trust;
			s->idea.token = o.guess[0];
		}
		s->rests &= !o.length;
		if (x->ops->window && times->branches && lmi_engine_offer_window(s, x, 0, times))
			s->rests = false;
		/* a guess that takes time cannot be examined like that: it is tried now and then */
		if (!o.n || o.length || x->ops->guess)
			continue;
		if (lmi_engine_offer_is_due(x, x->n_paused + 1, o.cost_ns, times))
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
	struct lmi_engine_guess_source *x = &s->sources[s->last];

	s->n_drafted += n;
	s->n_accepted += n_accepted;
	s->n_right = n_accepted;
	if (!n)
		return;
	learn(&x->trust[s->last_trust], n_accepted + (n_accepted < n && !ended), n_accepted);
}

void lmi_engine_speculation_learn_others(struct lmi_engine_speculation *s, uint32_t n, bool right,
					 uint32_t i, lmd_token token)
{
	struct lmi_engine_guess_record *r = s->sources[s->last].other[s->last_trust];

	s->n_drafted += n;
	s->n_accepted += right;
	s->n_right += right;
	if (token < 0 || i >= s->tree.n_chain)
		return;
	for (uint32_t k = 0; k < LMI_ENGINE_TREE_OTHERS && s->tree.other[i][k] >= 0; k++) {
		learn(&r[k], 1, s->tree.other[i][k] == token);
		if (s->tree.other[i][k] == token)
			break;
	}
}

/* Does no other row of a window come after this one? */
static bool is_last(const struct lmi_engine_tree *t, uint32_t row)
{
	for (uint32_t i = row + 1; i < t->n_window; i++)
		if (t->after[i] == row + 1)
			return false;
	return true;
}

void lmi_engine_speculation_see(struct lmi_engine_speculation *s, const float *logits,
				uint32_t n_row, uint32_t width, uint32_t n_new)
{
	struct lmi_engine_guess_source *x = &s->sources[s->window];
	uint32_t first = 1 + lmi_engine_tree_n_guess(&s->tree);
	lmd_token next[LMI_ENGINE_DRAFT_MAX];

	for (uint32_t i = 0; i < s->tree.n_window; i++)
		next[i] = first + i < n_row && is_last(&s->tree, i)
				  ? (lmd_token)lmi_engine_argmax(
					    logits + (size_t)(first + i) * width, width, NULL)
				  : -1;
	x->ops->see(x->drafter, next, n_new);
	learn(&x->window, 1, s->last == s->window ? s->n_right : 0);
}

const struct lmi_engine_tree *lmi_engine_speculation_tree(const struct lmi_engine_speculation *s)
{
	return s->tree.n_window || lmi_engine_tree_n_guess(&s->tree) > s->tree.n_chain ? &s->tree
										       : NULL;
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
