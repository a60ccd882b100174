/* SPDX-License-Identifier: MIT
 *
 * A generation consists of a sampler chain, a detokeniser, a matcher of stop texts, and counters.
 * Everything is allocated when it is submitted; a token allocates nothing. */
#include "core/engine/generate.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/constrain_impl.h"
#include "core/engine/draft_model.h"
#include "core/engine/draft_tree.h"
#include "core/engine/logprobs.h"
#include "core/engine/sample.h"
#include "core/text/detok.h"
#include "core/text/stop_sequences.h"

/* At least so many tokens of a context are not kept by a shift. */
#define SHIFT_LEAST 4u

struct lmi_engine_gen {
	struct lmi_sampler_chain *chain;
	struct lmi_engine_constraint *constraint; /* NULL: none */
	const struct lmi_tokenizer *tok;
	struct lmi_detok detok;
	struct lmi_stop_matcher *stop; /* NULL: no stop texts */
	lmd_token *shown;      /* control tokens whose text is output */
	char *raw;             /* [lmi_detok_max_bytes] bytes of one token */
	char *text;            /* [lmi_engine_gen_text_max] */
	int64_t n_predict;     /* < 0: no limit */
	lmd_token *stop_tokens; /* [n_stop_tokens] */
	uint32_t n_stop_tokens;
	uint32_t n_min;
	/* [n_words], with n_min: the tokens that do not end it, and those of them that the
	 * constraint allows */
	uint64_t *goes_on, *allowed;
	uint32_t n_words;
	uint32_t flags;
	uint32_t n_prompt, n_out, n_forced;
	uint32_t n_resumed; /* tokens of an earlier run */
	bool shifts; /* a full context does not end it */
	uint32_t n_keep, n_discard; /* of a shift; n_discard 0: half of the tokens after n_keep */
	uint32_t n_shift;
	size_t n_skip; /* bytes still to come that are not part of the answer */
	uint32_t n_logprobs; /* of each token; 0: none */
	struct lmi_engine_logprobs *logprobs; /* [1 + LMI_ENGINE_DRAFT_MAX] of the chosen tokens; NULL
					       * without n_logprobs */
	struct lmi_engine_speculation *speculation; /* NULL: none */
	/* chosen tokens that have not been taken: how many of them sampler and constraint know, and
	 * the index of the next one */
	uint32_t n_ahead, next_chosen;
	float *scratch;      /* [lmi_engine_logprobs_scratch()]; NULL without n_logprobs */
	enum lmi_engine_finish finish;
	bool begun;
	uint64_t begin_ns, first_ns, last_ns;
};

size_t lmi_engine_gen_text_max(const struct lmi_tokenizer *tok)
{
	/* one token, and what the detokeniser and the matcher hold back */
	return 2 * lmi_detok_max_bytes(tok) + LMI_STOP_SEQUENCE_BYTES_MAX;
}

/* ---- create ---- */

void lmi_engine_gen_destroy(struct lmi_engine_gen *g)
{
	if (!g)
		return;
	lmi_sampler_chain_destroy(g->chain);
	lmi_engine_constraint_destroy(g->constraint);
	lmi_stop_destroy(g->stop);
	lmi_free(g->shown);
	lmi_free(g->raw);
	lmi_free(g->text);
	lmi_free(g->scratch);
	lmi_free(g->logprobs);
	lmi_engine_speculation_destroy(g->speculation);
	lmi_free(g->stop_tokens);
	lmi_free(g->goes_on);
	lmi_free(g->allowed);
	lmi_free(g);
}

void lmi_engine_gen_constrain(struct lmi_engine_gen *g, struct lmi_engine_constraint *own_c)
{
	g->constraint = own_c;
	g->n_skip = own_c ? lmi_engine_constraint_healed(own_c) : 0;
}

static bool is_picture(const struct lmi_engine_input_seq *q, uint32_t row)
{
	for (uint32_t i = 0; i < q->n_pictures; i++)
		if (row - q->pictures[i].first < q->pictures[i].n)
			return true;
	return false;
}

static enum lmd_status make_chain(struct lmi_engine_gen *g, const struct lmi_inst *inst,
				  const struct lmi_sampler_vocab *vocab,
				  const struct lmi_engine_generate *cmd, struct lmd_error *err)
{
	const struct lmi_sampler_chain_opts o = {.registry = inst->registry,
						 .host = inst->host,
						 .specs = cmd->specs,
						 .n_specs = cmd->n_specs,
						 .vocab = &vocab->view,
						 .n_vocab = inst->desc.n_vocab,
						 .seed = cmd->seed};
	enum lmd_status st = lmi_sampler_chain_create(&g->chain, &o, err);

	if (st == LMD_OK && cmd->flags & LMI_ENGINE_GEN_RESUMABLE &&
	    lmi_sampler_chain_learner(g->chain))
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "durable: sampler %s learns from probabilities that are not recorded; "
			      "use another one",
			      lmi_sampler_chain_learner(g->chain));
	for (uint32_t i = 0; i < cmd->seq.n_tokens && st == LMD_OK; i++)
		if (!is_picture(&cmd->seq, i))
			lmi_sampler_chain_accept(g->chain, cmd->seq.tokens[i], true);
	return st;
}

static void clear_bit(struct lmi_engine_gen *g, lmd_token id)
{
	if (id >= 0 && (uint32_t)id / 64 < g->n_words)
		g->goes_on[id / 64] &= ~(1ull << (id % 64));
}

/* Copies the stop tokens and prepares the mask for the first tokens. */
static bool set_ends(struct lmi_engine_gen *g, const struct lmi_engine_generate *cmd,
		     uint32_t n_vocab)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(g->tok);

	g->stop_tokens = lmi_alloc(cmd->n_stop_tokens + 1, sizeof(*g->stop_tokens));
	if (!g->stop_tokens)
		return false;
	if (cmd->n_stop_tokens)
		memcpy(g->stop_tokens, cmd->stop_tokens,
		       cmd->n_stop_tokens * sizeof(*g->stop_tokens));
	g->n_stop_tokens = cmd->n_stop_tokens;
	g->n_min = cmd->n_min;
	if (!g->n_min)
		return true;
	g->n_words = n_vocab / 64 + 1;
	g->goes_on = lmi_alloc(g->n_words, sizeof(*g->goes_on));
	g->allowed = lmi_alloc(g->n_words, sizeof(*g->allowed));
	if (!g->goes_on || !g->allowed)
		return false;
	memset(g->goes_on, 0xff, g->n_words * sizeof(*g->goes_on));
	for (uint32_t i = 0; i < info->n_eog; i++)
		clear_bit(g, info->eog[i]);
	for (uint32_t i = 0; i < g->n_stop_tokens; i++)
		clear_bit(g, g->stop_tokens[i]);
	return true;
}

static bool set_logprobs(struct lmi_engine_gen *g, uint32_t n_vocab)
{
	if (!g->n_logprobs)
		return true;
	g->scratch = lmi_alloc(lmi_engine_logprobs_scratch(n_vocab), sizeof(*g->scratch));
	g->logprobs = lmi_alloc(1 + LMI_ENGINE_DRAFT_MAX, sizeof(*g->logprobs));
	return g->scratch && g->logprobs;
}

/* Decides which tokens stay when a context of `cap` tokens is full; at least one does not. */
static void set_shift(struct lmi_engine_gen *g, const struct lmi_engine_generate *cmd,
		      const struct lmi_engine_input_seq *seq, uint32_t cap)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(g->tok);
	bool has_bos = info->bos >= 0 && seq->tokens[0] == info->bos;
	uint64_t keep = cmd->n_keep < 0 ? seq->n_tokens : (uint64_t)cmd->n_keep + has_bos;
	uint32_t most = cap > SHIFT_LEAST ? cap - SHIFT_LEAST : 0;

	g->shifts = cmd->shift && cap > 1 && !cmd->seq.n_pictures;
	g->n_keep = keep < most ? (uint32_t)keep : most;
	g->n_discard = cmd->n_discard;
}

enum lmd_status lmi_engine_gen_create(struct lmi_engine_gen **out, const struct lmi_inst *inst,
				      const struct lmi_sampler_vocab *vocab,
				      const struct lmi_engine_generate *cmd,
				      const struct lmi_engine_input_seq *seq, uint32_t cap,
				      struct lmd_error *err)
{
	const struct lmi_engine_draft_sources sources = {.model = inst->draft_dropped ? NULL
										  : inst->draft,
							 .nextn = inst->nextn,
							 .history = inst->history,
							 .file = inst->lookup_file};
	struct lmi_engine_gen *g = lmi_alloc(1, sizeof(*g));
	enum lmd_status st = LMD_OK;

	if (!g)
		return lmd_fail(err, LMD_NOMEM, "generation: no memory");
	g->tok = vocab->tok;
	g->n_predict = cmd->n_predict;
	g->flags = cmd->flags;
	g->n_prompt = cmd->seq.n_tokens;
	g->n_logprobs = cmd->n_logprobs;
	lmi_detok_init(&g->detok, g->tok,
		       cmd->flags & LMI_ENGINE_GEN_SPECIAL ? LMD_DECODE_UNPARSE_SPECIAL : 0);
	g->raw = lmi_alloc(lmi_detok_max_bytes(g->tok), 1);
	g->text = lmi_alloc(lmi_engine_gen_text_max(g->tok), 1);
	g->shown = lmi_alloc(cmd->n_shown + 1, sizeof(*g->shown));
	if (!g->raw || !g->text || !g->shown || !set_logprobs(g, inst->desc.n_vocab) ||
	    !set_ends(g, cmd, inst->desc.n_vocab))
		st = lmd_fail(err, LMD_NOMEM, "generation: no memory");
	if (st == LMD_OK && cmd->n_shown) {
		memcpy(g->shown, cmd->shown, cmd->n_shown * sizeof(*g->shown));
		lmi_detok_set_visible(&g->detok, g->shown, cmd->n_shown);
	}
	set_shift(g, cmd, seq, cap);
	if (st == LMD_OK && cmd->n_stops)
		st = lmi_stop_create(&g->stop, cmd->stops, cmd->n_stops, err);
	if (st == LMD_OK)
		st = make_chain(g, inst, vocab, cmd, err);
	if (st == LMD_OK)
		st = lmi_engine_speculation_create(&g->speculation, &sources, cmd, seq, cap, err);
	if (st != LMD_OK) {
		lmi_engine_gen_destroy(g);
		return st;
	}
	*out = g;
	return LMD_OK;
}

/* ---- one token ---- */

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

/* Tells the drafters what became of their guesses. */
static void learn(struct lmi_engine_gen *g, const struct lmi_engine_choice *c, bool stopped)
{
	uint32_t n = c->n_row - 1, n_chain = c->tree && c->tree->n_chain < n ? c->tree->n_chain : n;
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
