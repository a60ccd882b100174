/* SPDX-License-Identifier: MIT
 *
 * Constraints on an answer: grammars, healing and forced tokens; see constrain.h. */
#include "core/engine/constrain.h"

#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/constrain_impl.h"
#include "core/engine/engine_impl.h"

void lmi_engine_vocab_index_init(struct lmi_engine_vocab_index *x)
{
	(void)pthread_mutex_init(&x->lock, NULL); /* can fail only because of attributes */
	x->v = NULL;
}

void lmi_engine_vocab_index_fini(struct lmi_engine_vocab_index *x)
{
	lmi_gr_vocab_destroy(x->v);
	(void)pthread_mutex_destroy(&x->lock);
}

/* Creates the vocabulary index once; other threads wait meanwhile, since they would create the
 * same. */
static enum lmd_status vocab(struct lmi_engine *e, const struct lmi_grammar_vocab **out,
			     struct lmd_error *err)
{
	struct lmi_engine_vocab_index *x = &e->vocab_index;
	enum lmd_status st = LMD_OK;

	(void)pthread_mutex_lock(&x->lock);
	if (!x->v)
		st = lmi_gr_vocab_create(&x->v, &e->vocab.view, err);
	*out = x->v;
	(void)pthread_mutex_unlock(&x->lock);
	return st;
}

/* ---- create ---- */

/* The matcher remembers the mask, so that the engine finds it. */
static enum lmd_status compute_first_mask(struct lmi_engine_constraint *c, struct lmd_error *err)
{
	const uint64_t *mask;
	enum lmd_status st = lmi_gr_state_mask(c->state, &mask);

	if (st == LMD_TIMEOUT)
		return lmd_fail(err, LMD_INVALID, "too ambiguous: computing the tokens that it may "
						  "start with takes more than its share of time");
	return st == LMD_OK ? st : lmd_fail(err, st, "out of memory");
}

static enum lmd_status take_grammar(struct lmi_engine_constraint *c,
				    const struct lmi_engine_grammar_source *from,
				    struct lmd_error *err)
{
	const struct lmi_grammar_vocab *v;
	enum lmd_status st = vocab(c->e, &v, err);

	if (st == LMD_OK)
		st = lmi_engine_grammar_cache_take(&c->e->compiled, v, from, &c->lease, err);
	if (st == LMD_OK)
		st = lmi_gr_state_create(&c->state, c->lease.matcher, err);
	if (st == LMD_OK)
		st = compute_first_mask(c, err);
	if (st == LMD_OK)
		return st;
	lmd_error_prefix(err, from->gbnf.ptr     ? "grammar"
			      : from->schema.ptr ? "json_schema"
			      : from->regex.ptr  ? "regex"
						 : "structural_tag");
	if (err)
		err->status = st;
	return st;
}

/* Marks the tokens that start with the healed text or are a prefix of it; after the healed text the
 * grammar has to accept the rest. Takes some milliseconds, since it looks at every token. */
static void fill_heal_mask(struct lmi_engine_constraint *c)
{
	size_t left = c->heal.n - c->heal.at;

	memset(c->heal_mask, 0, (c->n_vocab / 64 + 1) * sizeof(*c->heal_mask));
	for (uint32_t id = 0; id < c->n_vocab; id++) {
		char p[2 * LMI_HEAL_BYTES_MAX];
		size_t n;

		if (!lmi_heal_allows(&c->heal, (lmd_token)id))
			continue;
		n = lmi_tokenizer_piece(c->tok, (lmd_token)id, 0, p, sizeof(p));
		if (n > left && c->state &&
		    (n > sizeof(p) || !lmi_gr_state_allows_text(c->state, p + left, n - left)))
			continue;
		c->heal_mask[id / 64] |= 1ull << (id % 64);
	}
	c->heal_at = c->heal.at;
}

static enum lmd_status begin_heal(struct lmi_engine_constraint *c,
				  const struct lmi_engine_constrain_opts *o, size_t *n_kept,
				  struct lmd_error *err)
{
	size_t back =
		o->n_prompt - 1 < LMI_ENGINE_HEAL_TOKENS ? o->n_prompt - 1 : LMI_ENGINE_HEAL_TOKENS;

	*n_kept = lmi_heal_begin(&c->heal, c->tok, o->prompt, o->n_prompt, back);
	if (lmi_heal_done(&c->heal))
		return LMD_OK;
	c->heal_mask = lmi_alloc(c->n_vocab / 64 + 1, sizeof(*c->heal_mask));
	if (!c->heal_mask)
		return lmd_fail(err, LMD_NOMEM, "no memory to heal a prompt");
	fill_heal_mask(c);
	return LMD_OK;
}

/* Accepts the tokens that an earlier run took, in the same steps, so that forced text is planned
 * where it was. */
static enum lmd_status resume(struct lmi_engine_constraint *c,
			      const struct lmi_engine_constrain_opts *o, size_t n_prompt,
			      struct lmd_error *err)
{
	lmi_engine_constraint_look(c, o->prompt, (uint32_t)n_prompt, c->e->inst->desc.n_vocab);
	for (size_t i = 0; i < o->n_resumed; i++) {
		lmi_engine_constraint_find(c);
		if (c->next.status != LMD_OK)
			return lmd_fail(err, c->next.status,
					"the constraint allows no token after %zu of the %zu with "
					"which the answer goes on",
					i, o->n_resumed);
		c->n_resumed_forced += i && c->next.forced == o->resumed[i];
		lmi_engine_constraint_take(c, o->resumed[i]);
		if (c->n_tail == LMI_ENGINE_JUMP_TAIL)
			memmove(c->tail, c->tail + 1, --c->n_tail * sizeof(c->tail[0]));
		c->tail[c->n_tail++] = o->resumed[i];
	}
	return LMD_OK;
}

static void run_job(struct lmi_engine_mask_job *job)
{
	lmi_engine_constraint_find(
		(void *)((char *)job - offsetof(struct lmi_engine_constraint, job)));
}

enum lmd_status lmi_engine_constrain(struct lmi_engine *e,
				     const struct lmi_engine_constrain_opts *o,
				     struct lmi_engine_constraint **out, size_t *n_kept,
				     struct lmd_error *err)
{
	const struct lmi_engine_grammar_source *g = &o->grammar;
	int n_grammar = (g->gbnf.ptr != NULL) + (g->schema.ptr != NULL) + (g->regex.ptr != NULL) +
			(g->structural_tag.ptr != NULL);
	bool heals = o->heal && o->n_prompt > 1;
	struct lmi_engine_constraint *c;
	enum lmd_status st = LMD_OK;
	size_t retained = o->n_prompt;

	*out = NULL;
	*n_kept = o->n_prompt;
	if (n_grammar > 1)
		return lmd_fail(err, LMD_INVALID,
				"set only one of grammar, json_schema, regex and structural_tag");
	if (!e->tok)
		return lmd_fail(err, LMD_UNSUPPORTED, "the engine was opened without a tokenizer");
	if (!n_grammar && !heals)
		return LMD_OK;
	c = lmi_alloc(1, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "grammar: no memory");
	c->e = e;
	c->tok = e->tok;
	c->n_vocab = lmi_tokenizer_info(e->tok)->n_tokens;
	c->jump = o->jump;
	c->taken = -1;
	c->job.run = run_job;
	if (n_grammar)
		st = take_grammar(c, &o->grammar, err);
	if (st == LMD_OK && heals)
		st = begin_heal(c, o, &retained, err);
	if (st == LMD_OK && o->n_resumed)
		st = resume(c, o, retained, err);
	if (st != LMD_OK || (!n_grammar && lmi_heal_done(&c->heal))) {
		lmi_engine_constraint_destroy(c);
		return st;
	}
	*n_kept = retained;
	*out = c;
	return LMD_OK;
}

void lmi_engine_constraint_destroy(struct lmi_engine_constraint *c)
{
	if (!c)
		return;
	if (c->job.submitted &&
	    !lmi_engine_mask_workers_abandon(&c->e->mask_workers, &c->job))
		return; /* destroyed when the job is collected */
	lmi_gr_state_destroy(c->state);
	lmi_engine_grammar_cache_give(&c->e->compiled, &c->lease);
	lmi_free(c->heal_mask);
	lmi_free(c);
}

bool lmi_engine_constraint_has_end(const struct lmi_engine_constraint *c)
{
	return c->state != NULL;
}

size_t lmi_engine_constraint_healed(const struct lmi_engine_constraint *c)
{
	return c->heal.n;
}

/* ---- one token ---- */

static enum lmd_status find_mask(struct lmi_engine_constraint *c, const uint64_t **mask,
				 uint32_t *n)
{
	/* the output may have more rows than the vocabulary; those are not allowed */
	*n = c->n_logits < c->n_vocab ? c->n_logits : c->n_vocab;
	if (!lmi_heal_done(&c->heal)) {
		if (c->heal_at != c->heal.at)
			fill_heal_mask(c);
		*mask = c->heal_mask;
		return LMD_OK;
	}
	if (c->state)
		return lmi_gr_state_mask(c->state, mask);
	*mask = NULL;
	*n = c->n_logits;
	return LMD_OK;
}

/* Passes the rest of the token that completes the healed text to the grammar. */
static enum lmd_status accept_healing(struct lmi_engine_constraint *c, lmd_token token)
{
	size_t left = c->heal.n - c->heal.at, n, taken;
	char p[2 * LMI_HEAL_BYTES_MAX];

	if (token < 0 || (uint32_t)token >= c->n_vocab || !lmi_heal_allows(&c->heal, token))
		return LMD_INVALID;
	n = lmi_tokenizer_piece(c->tok, token, 0, p, sizeof(p));
	if (n > left && c->state) {
		enum lmd_status st = n > sizeof(p) ? LMD_INVALID
						   : lmi_gr_state_accept_text(c->state, p + left,
									      n - left, &taken);

		if (st != LMD_OK)
			return st;
	}
	lmi_heal_accept(&c->heal, token);
	return LMD_OK;
}

/* LMD_INVALID if the token is not allowed. */
static enum lmd_status accept(struct lmi_engine_constraint *c, lmd_token token)
{
	if (!lmi_heal_done(&c->heal))
		return accept_healing(c, token);
	return c->state ? lmi_gr_state_accept(c->state, token) : LMD_OK;
}

/* ---- forced tokens ---- */

/* Returns the next planned token if the mask allows it. */
static lmd_token next_ahead(struct lmi_engine_constraint *c, const uint64_t *mask, uint32_t n)
{
	lmd_token t;

	if (c->ahead.at == c->ahead.n)
		return -1;
	t = c->ahead.token[c->ahead.at++];
	if ((uint32_t)t < n && mask[t / 64] >> (t % 64) & 1)
		return t;
	c->ahead.n = c->ahead.at = 0;
	return -1;
}

/* Finds the mask, and the next token if there is no choice. */
static enum lmd_status find_next(struct lmi_engine_constraint *c, struct lmi_engine_next_tokens *x)
{
	enum lmd_status st = find_mask(c, &x->mask, &x->n);

	if (st != LMD_OK || !x->mask || c->jump == LMI_ENGINE_JUMP_OFF)
		return st;
	x->forced = next_ahead(c, x->mask, x->n);
	if (x->forced < 0)
		x->forced = lmi_gr_mask_only_token(x->mask, x->n);
	if (x->forced >= 0 || c->jump != LMI_ENGINE_JUMP_TEXT || !c->state ||
	    !lmi_heal_done(&c->heal))
		return LMD_OK;
	st = lmi_engine_jump_forward_plan(c, c->e->vocab_index.v, c->tail, c->n_tail);
	if (st == LMD_OK)
		st = find_mask(c, &x->mask, &x->n);
	if (st == LMD_OK)
		x->forced = next_ahead(c, x->mask, x->n);
	return st;
}

void lmi_engine_constraint_find(struct lmi_engine_constraint *c)
{
	enum lmd_status st = c->taken >= 0 ? accept(c, c->taken) : LMD_OK;

	c->taken = -1;
	c->next = (struct lmi_engine_next_tokens){.forced = -1};
	c->next.status = st == LMD_OK ? find_next(c, &c->next) : st;
	c->known = true;
}

bool lmi_engine_constraint_find_cached(struct lmi_engine_constraint *c)
{
	const uint64_t *mask;

	if (!lmi_heal_done(&c->heal) || (c->state && c->jump == LMI_ENGINE_JUMP_TEXT))
		return false;
	if (c->taken >= 0 && c->state) {
		if (lmi_gr_state_accept_cached(c->state, c->taken) != LMD_OK)
			return false;
		c->taken = -1;
	}
	if (c->state && lmi_gr_state_mask_cached(c->state, &mask) != LMD_OK)
		return false;
	lmi_engine_constraint_find(c);
	return true;
}

uint64_t lmi_engine_constraint_share(const struct lmi_engine_constraint *c)
{
	return c->state ? lmi_gr_state_budget(c->state) : UINT64_MAX;
}

void lmi_engine_constraint_look(struct lmi_engine_constraint *c, const lmd_token *before,
				uint32_t n_before, uint32_t n_logits)
{
	c->n_tail = n_before < LMI_ENGINE_JUMP_TAIL ? n_before : LMI_ENGINE_JUMP_TAIL;
	if (c->n_tail)
		memcpy(c->tail, before + n_before - c->n_tail, c->n_tail * sizeof(c->tail[0]));
	c->n_logits = n_logits;
}

void lmi_engine_constraint_take(struct lmi_engine_constraint *c, lmd_token token)
{
	c->taken = token;
	c->known = false;
}

const struct lmi_engine_next_tokens *
lmi_engine_constraint_next(const struct lmi_engine_constraint *c)
{
	return c->known ? &c->next : NULL;
}
