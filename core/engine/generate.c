/* SPDX-License-Identifier: MIT
 *
 * The tokens of a generation: chosen by its sampler chain within its constraint, turned into text, and
 * guessed ahead. Nothing is allocated. */
#include "core/engine/generate_impl.h"

#include <string.h>

#include "core/engine/draft_model.h"
#include "core/engine/draft_tree.h"

void lmi_engine_gen_begin(struct lmi_engine_gen *g, uint64_t now_ns)
{
	if (!g->begun)
		g->begin_ns = now_ns;
	g->begun = true;
}

/* Passes bytes through the matcher and appends what it releases. Returns true at a stop text. */
static bool feed(struct lmi_engine_gen *g, size_t n_raw, size_t *n_text)
{
	size_t n, used, skip = n_raw < g->n_skip ? n_raw : g->n_skip;
	const char *raw = g->raw + skip;
	int hit;

	g->n_skip -= skip;
	n_raw -= skip;
	if (!g->stop) {
		memcpy(g->text + *n_text, raw, n_raw);
		*n_text += n_raw;
		return false;
	}
	hit = lmi_stop_feed(g->stop, raw, n_raw, g->text + *n_text, &n, &used);
	*n_text += n;
	return hit >= 0;
}

/* Releases the text held back, at an end without a stop text. */
static size_t flush(struct lmi_engine_gen *g, size_t n_text)
{
	if (feed(g, lmi_detok_flush(&g->detok, g->raw), &n_text)) {
		g->finish = LMI_ENGINE_FINISH_STOP;
		return n_text;
	}
	return g->stop ? n_text + lmi_stop_flush(g->stop, g->text + n_text) : n_text;
}

static bool is_stop_token(const struct lmi_engine_gen *g, lmd_token token)
{
	for (uint32_t i = 0; i < g->n_stop_tokens; i++)
		if (g->stop_tokens[i] == token)
			return true;
	return false;
}

static enum lmi_engine_finish why_finish(const struct lmi_engine_gen *g, lmd_token token, bool room)
{
	/* the end of a grammar always ends the answer, even with LMI_ENGINE_GEN_IGNORE_EOG */
	if ((!(g->flags & LMI_ENGINE_GEN_IGNORE_EOG) ||
	     (g->constraint && lmi_engine_constraint_has_end(g->constraint))) &&
	    lmi_tokenizer_is_eog(g->tok, token))
		return LMI_ENGINE_FINISH_EOG;
	if (is_stop_token(g, token))
		return LMI_ENGINE_FINISH_STOP;
	if (g->n_predict >= 0 && g->n_out >= g->n_predict)
		return LMI_ENGINE_FINISH_LENGTH;
	return room || g->shifts ? LMI_ENGINE_FINISH_NONE : LMI_ENGINE_FINISH_CONTEXT;
}

/* Returns the next tokens that the constraint allows, with a status other than LMD_OK if there are
 * none. Usually they are known; those of the first token were computed with the constraint. */
static const struct lmi_engine_next_tokens *
next_tokens(struct lmi_engine_gen *g, const struct lmi_engine_seq *q, uint32_t n_logits)
{
	if (!lmi_engine_constraint_next(g->constraint)) {
		lmi_engine_constraint_look(g->constraint, q->tokens, q->n_tokens + g->n_ahead,
					   n_logits);
		lmi_engine_constraint_find(g->constraint);
	}
	return lmi_engine_constraint_next(g->constraint);
}

/* Returns the forced token, or -1. */
static enum lmd_status forced(struct lmi_engine_gen *g, const struct lmi_engine_seq *q, uint32_t n,
			      lmd_token *out)
{
	const struct lmi_engine_next_tokens *x;

	*out = -1;
	if (!g->constraint)
		return LMD_OK;
	x = next_tokens(g, q, n);
	*out = x->forced;
	if (x->status != LMD_OK || *out < 0)
		return x->status;
	return lmi_sampler_chain_force(g->chain, *out);
}

/* Removes the tokens that end it from a mask for tokens below n; returns the mask as it is if
 * nothing would be left. */
static const uint64_t *without_ends(struct lmi_engine_gen *g, const uint64_t *mask, uint32_t n)
{
	uint64_t any = 0;

	if (!mask)
		return g->goes_on;
	for (uint32_t i = 0; i < (n + 63) / 64; i++) {
		g->allowed[i] = mask[i] & g->goes_on[i];
		any |= g->allowed[i];
	}
	return any ? g->allowed : mask;
}

/* The constraint's next tokens are known. */
static enum lmd_status sample(struct lmi_engine_gen *g, const float *logits, uint32_t n,
			      lmd_token *out)
{
	const uint64_t *mask = NULL;

	if (g->constraint) {
		const struct lmi_engine_next_tokens *x = lmi_engine_constraint_next(g->constraint);

		mask = x->mask;
		n = x->n;
	}
	if (g->n_out + g->n_ahead < g->n_min)
		mask = without_ends(g, mask, n);
	return lmi_sampler_chain_sample(g->chain, logits, n, mask, out);
}

/* Tells constraint and sampler which token comes next. */
static void advance(struct lmi_engine_gen *g, lmd_token token)
{
	if (g->constraint)
		lmi_engine_constraint_take(g->constraint, token);
	lmi_sampler_chain_accept(g->chain, token, false);
}

/* Adds a token to the answer: decides whether it ends it, and returns the length of the text that it
 * releases. */
static size_t add(struct lmi_engine_gen *g, lmd_token token, bool room)
{
	size_t n_text = 0;

	g->n_out++;
	g->finish = why_finish(g, token, room);
	/* the token that ends a text is not part of it */
	if (((g->finish != LMI_ENGINE_FINISH_EOG && g->finish != LMI_ENGINE_FINISH_STOP) ||
	     lmi_detok_is_visible(&g->detok, token)) &&
	    feed(g, lmi_detok_feed(&g->detok, token, g->raw), &n_text))
		g->finish = LMI_ENGINE_FINISH_STOP;
	else if (g->finish != LMI_ENGINE_FINISH_NONE)
		n_text = flush(g, n_text);
	return n_text;
}

/* Takes the chosen token. */
static void take(struct lmi_engine_gen *g, struct lmi_engine_seq *q, lmd_token token, bool room,
		 struct lmi_engine_gen_step *out)
{
	if (g->n_ahead)
		g->n_ahead--;
	else
		advance(g, token);
	if (room)
		q->tokens[q->n_tokens++] = token;
	out->token = token;
	out->n_text = add(g, token, room);
	out->finish = g->finish;
	out->is_full = !room && g->finish == LMI_ENGINE_FINISH_NONE;
}

enum lmd_status lmi_engine_gen_resume(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
				      const lmd_token *tokens, uint32_t n, struct lmd_error *err)
{
	uint32_t at = q->n_enc ? 1 : g->n_prompt; /* with an encoder, the decoder starts by itself */

	for (uint32_t i = 0; i < n; i++) {
		if (g->finish != LMI_ENGINE_FINISH_NONE)
			return lmd_fail(err, LMD_INVALID,
					"resumed after %u tokens, but the answer ended after %u", n,
					i);
		lmi_sampler_chain_accept(g->chain, tokens[i], false);
		(void)add(g, tokens[i], at + i < q->cap);
	}
	g->n_resumed = n;
	if (g->constraint)
		g->n_forced = g->constraint->n_resumed_forced;
	return LMD_OK;
}

/* logprobs: where the token's are written, if any were requested. */
static enum lmd_status choose_one(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
				  const float *logits, uint32_t n_logits,
				  struct lmi_engine_logprobs *logprobs, lmd_token *token)
{
	static const struct lmd_cands none;
	enum lmd_status st;
	bool is_forced;

	*token = -1;
	if (!g->n_predict || g->finish != LMI_ENGINE_FINISH_NONE)
		return LMD_OK;
	st = forced(g, q, n_logits, token);
	is_forced = *token >= 0;
	/* the earlier run took the token without a row of logits */
	g->n_forced += is_forced && g->n_resumed && g->n_out + g->n_ahead == g->n_resumed;
	if (st == LMD_OK && !is_forced)
		st = sample(g, logits, n_logits, token);
	if (st != LMD_OK || !g->n_logprobs)
		return st;
	if (g->flags & LMI_ENGINE_GEN_SAMPLED_PROBS)
		lmi_engine_logprobs_of_cands(logprobs, g->n_logprobs,
					     is_forced ? &none : lmi_sampler_chain_cands(g->chain),
					     *token);
	else
		lmi_engine_logprobs_of_row(logprobs, g->n_logprobs, logits, n_logits, *token,
					   g->scratch);
	return st;
}

/* Follows a token to the row of the guess that it is; returns 0 if it is none. The tokens on the way there
 * are then those after the known ones. */
static uint32_t follow(const struct lmi_engine_seq *q, struct lmi_engine_choice *c, uint32_t row)
{
	lmd_token *guesses = q->tokens + q->n_tokens, token = c->tokens[c->n - 1];
	uint32_t next = lmi_engine_tree_next(c->tree, guesses, c->n_row - 1, row, token);

	if (next && next != row + 1) {
		c->moved = next;
		c->moved_to = row + 1;
		guesses[row] = token; /* guesses before that row are of no use any more */
	}
	return next;
}

/* Returns the number of guesses among the rows of a choice. */
static uint32_t count_guesses(const struct lmi_engine_choice *c)
{
	uint32_t n = c->tree ? lmi_engine_tree_n_guess(c->tree) : c->n_row - 1;

	return n < c->n_row ? n : c->n_row - 1;
}

/* Tells the drafters what became of their guesses. */
static void learn(struct lmi_engine_gen *g, const struct lmi_engine_choice *c, bool stopped)
{
	uint32_t n = c->n_guess, n_chain = c->tree && c->tree->n_chain < n ? c->tree->n_chain : n;
	uint32_t n_right = c->moved ? c->moved_to - 1 : c->n - 1;
	bool ended = (stopped && !c->moved) || c->status != LMD_OK;

	if (!g->speculation)
		return;
	lmi_engine_speculation_learn(g->speculation, n_chain, n_right, ended);
	lmi_engine_speculation_learn_others(g->speculation, n - n_chain, c->moved != 0, n_right,
					    n_right < n_chain && !ended ? c->tokens[n_right] : -1);
}

void lmi_engine_gen_choose(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
			   struct lmi_engine_choice *c, uint32_t n_logits, bool exact)
{
	uint32_t row = 0;
	bool stopped = false;

	g->next_chosen = 0;
	c->n = c->moved = 0;
	c->n_guess = count_guesses(c);
	do {
		c->status = choose_one(g, q, c->logits + (size_t)row * n_logits, n_logits,
				       g->logprobs ? &g->logprobs[c->n] : NULL, &c->tokens[c->n]);
		if (c->status != LMD_OK)
			break;
		c->n++;
		row = follow(q, c, row);
		if (!row)
			break;
		advance(g, c->tokens[c->n - 1]);
		g->n_ahead++;
		stopped = !exact && !lmi_engine_gen_find_next(g, q, n_logits);
	} while (!stopped);
	c->n += c->status != LMD_OK;
	learn(g, c, stopped);
	if (g->speculation && c->tree && c->tree->n_window && c->status == LMD_OK)
		lmi_engine_speculation_see(g->speculation, c->logits, c->n_row, n_logits, c->n);
	if (c->moved_to >= c->n) /* its row is computed again */
		c->moved = 0;
}

bool lmi_engine_gen_is_short(const struct lmi_engine_gen *g, uint32_t n)
{
	uint32_t need = lmi_sampler_chain_n_best(g->chain);

	/* a mask could leave none of them */
	return need && need <= n && !g->constraint && !g->n_logprobs && g->n_out >= g->n_min;
}

enum lmd_status lmi_engine_gen_choose_best(struct lmi_engine_gen *g, const int32_t *ids,
					   const float *logits, uint32_t n, lmd_token *token)
{
	g->next_chosen = 0;
	*token = -1;
	if (!g->n_predict || g->finish != LMI_ENGINE_FINISH_NONE)
		return LMD_OK;
	return lmi_sampler_chain_sample_best(g->chain, ids, logits, n, token);
}

bool lmi_engine_gen_chains(const struct lmi_engine_gen *g)
{
	/* all of these need the logits, or know more about the tokens than the chain */
	return !g->constraint && !g->n_logprobs && g->n_out >= g->n_min &&
	       lmi_sampler_chain_stages(g->chain);
}

const struct lmi_sampler_stages *lmi_engine_gen_stages(const struct lmi_engine_gen *g,
						       uint32_t n_unread, uint64_t *draw)
{
	if (!lmi_engine_gen_chains(g) ||
	    (g->speculation && !lmi_engine_speculation_rests(g->speculation)))
		return NULL;
	if (!lmi_engine_gen_goes_on(g, n_unread) || g->finish != LMI_ENGINE_FINISH_NONE)
		return NULL;
	*draw = lmi_sampler_chain_step(g->chain) + n_unread;
	return lmi_sampler_chain_stages(g->chain);
}

bool lmi_engine_gen_goes_on(const struct lmi_engine_gen *g, uint32_t n_unread)
{
	return g->n_predict < 0 || (uint64_t)g->n_out + n_unread < (uint64_t)g->n_predict;
}

bool lmi_engine_gen_find_next(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
			      uint32_t n_logits)
{
	if (!g->constraint || lmi_engine_constraint_next(g->constraint))
		return true;
	lmi_engine_constraint_look(g->constraint, q->tokens, q->n_tokens + g->n_ahead, n_logits);
	return lmi_engine_constraint_find_cached(g->constraint);
}

struct lmi_engine_constraint *lmi_engine_gen_constraint(struct lmi_engine_gen *g)
{
	return g->constraint;
}

enum lmd_status lmi_engine_gen_take(struct lmi_engine_gen *g, struct lmi_engine_seq *q,
				    enum lmd_status chosen, lmd_token token, bool room,
				    uint64_t now_ns, struct lmi_engine_gen_step *out)
{
	*out = (struct lmi_engine_gen_step){.token = -1, .text = g->text};
	if (!g->first_ns)
		g->first_ns = now_ns;
	g->last_ns = now_ns;
	if (chosen != LMD_OK)
		return chosen;
	if (g->finish != LMI_ENGINE_FINISH_NONE) { /* it was resumed after its last token */
		out->finish = g->finish;
		return LMD_OK;
	}
	if (g->n_predict) {
		out->logprobs = g->n_logprobs ? &g->logprobs[g->next_chosen++] : NULL;
		take(g, q, token, room, out);
		return LMD_OK;
	}
	out->finish = g->finish = LMI_ENGINE_FINISH_LENGTH;
	return LMD_OK;
}

enum lmd_status lmi_engine_gen_forced(struct lmi_engine_gen *g, struct lmi_engine_seq *q,
				      uint32_t n_logits, bool room, uint64_t now_ns,
				      struct lmi_engine_gen_step *out)
{
	enum lmd_status st;
	lmd_token token;

	*out = (struct lmi_engine_gen_step){.token = -1, .text = g->text};
	st = forced(g, q, n_logits, &token);
	if (st != LMD_OK || token < 0)
		return st;
	g->last_ns = now_ns;
	g->n_forced++;
	if (g->n_logprobs) { /* no other token was possible */
		g->logprobs[0].n = 1;
		g->logprobs[0].v[0] = (struct lmi_engine_logprob){.token = token};
		out->logprobs = &g->logprobs[0];
	}
	take(g, q, token, room, out);
	return LMD_OK;
}

/* Returns how many of `most` tokens the answer has room for. */
static uint32_t n_guessable(const struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
			    uint32_t most)
{
	int64_t left = g->n_predict - g->n_out - 1; /* the step itself makes a token */

	if (g->n_predict >= 0 && most > left)
		most = left > 0 ? (uint32_t)left : 0;
	return most < q->cap - q->n_tokens ? most : q->cap - q->n_tokens;
}

void lmi_engine_gen_watch(struct lmi_engine_gen *g, const struct lmi_engine_seq *q, uint32_t most,
			  const struct lmi_engine_step_times *times)
{
	if (g->speculation)
		lmi_engine_speculation_watch(g->speculation, q->tokens, q->n_tokens,
					     n_guessable(g, q, most), times);
}

bool lmi_engine_gen_is_keen(const struct lmi_engine_gen *g)
{
	return g->speculation && lmi_engine_speculation_is_keen(g->speculation);
}

uint32_t lmi_engine_gen_guess(struct lmi_engine_gen *g, struct lmi_engine_seq *q, uint32_t most,
			      const struct lmi_engine_step_times *times,
			      struct lmi_engine_draft_want *want)
{
	want->drafter = NULL;
	if (!g->speculation)
		return 0;
	most = n_guessable(g, q, most);
	return lmi_engine_speculation_guess(g->speculation, q->tokens, q->n_tokens, most, times,
					    want);
}

void lmi_engine_gen_remember(struct lmi_engine_gen *g, const struct lmi_engine_seq *q)
{
	lmi_engine_speculation_remember(g->speculation, q->tokens, q->n_tokens, g->n_out);
}

const struct lmi_engine_tree *lmi_engine_gen_tree(const struct lmi_engine_gen *g)
{
	return g->speculation ? lmi_engine_speculation_tree(g->speculation) : NULL;
}

void *lmi_engine_gen_nextn(const struct lmi_engine_gen *g)
{
	return lmi_engine_speculation_nextn(g->speculation);
}

uint32_t lmi_engine_gen_n_kept(const struct lmi_engine_gen *g)
{
	return g->n_shift && g->n_keep < g->n_prompt ? g->n_keep : g->n_prompt;
}

bool lmi_engine_gen_shifts(const struct lmi_engine_gen *g)
{
	return g->shifts;
}

uint32_t lmi_engine_gen_shift(struct lmi_engine_gen *g, struct lmi_engine_seq *q, lmd_token token)
{
	uint32_t left = q->n_tokens - g->n_keep;
	uint32_t n = g->n_discard ? g->n_discard : left / 2;

	n = n < left ? n : left;
	memmove(q->tokens + g->n_keep, q->tokens + g->n_keep + n,
		(left - n) * sizeof(*q->tokens));
	q->n_tokens -= n;
	q->tokens[q->n_tokens++] = token;
	g->n_shift++;
	lmi_engine_speculation_restart(g->speculation);
	return g->n_keep;
}

void lmi_engine_gen_report(const struct lmi_engine_gen *g, struct lmi_engine_event *ev)
{
	ev->u.done.finish = g->finish;
	ev->u.done.n_prompt = g->n_prompt;
	ev->u.done.n_out = g->n_out;
	ev->u.done.n_forced = g->n_forced;
	ev->u.done.n_shift = g->n_shift;
	lmi_engine_speculation_count(g->speculation, &ev->u.done.n_drafted, &ev->u.done.n_accepted);
	ev->u.done.prompt_ns = g->first_ns ? g->first_ns - g->begin_ns : 0;
	ev->u.done.out_ns = g->last_ns - g->first_ns;
}
