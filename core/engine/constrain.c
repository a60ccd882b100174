/* SPDX-License-Identifier: MIT */
#include "core/engine/constrain.h"

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/grammar/grammar.h"

/* Of what one answer's grammar remembers. */
#define CACHE_BYTES (32u << 20)

struct lmi_constraint {
	struct lmi_grammar *grammar;
	struct lmi_matcher *matcher;
	struct lmi_gstate *state;
	uint32_t n_vocab;
};

void lmi_vocab_index_init(struct lmi_vocab_index *x)
{
	(void)pthread_mutex_init(&x->lock, NULL); /* fails for attributes alone */
	x->v = NULL;
}

void lmi_vocab_index_fini(struct lmi_vocab_index *x)
{
	lmi_gvocab_destroy(x->v);
	(void)pthread_mutex_destroy(&x->lock);
}

/* Who comes meanwhile waits: it would make the same. */
static enum lmd_status vocab(struct lmi_engine *e, const struct lmi_gvocab **out,
			     struct lmd_error *err)
{
	struct lmi_vocab_index *x = &e->vocab_index;
	enum lmd_status st = LMD_OK;

	(void)pthread_mutex_lock(&x->lock);
	if (!x->v)
		st = lmi_gvocab_create(&x->v, &e->vocab.view, err);
	*out = x->v;
	(void)pthread_mutex_unlock(&x->lock);
	return st;
}

static enum lmd_status compile(struct lmi_constraint *c, const struct lmi_gvocab *v,
			       const struct lmi_constrain_opts *o, struct lmd_error *err)
{
	enum lmd_status st;

	if (o->gbnf.ptr)
		st = lmi_grammar_from_gbnf(&c->grammar, o->gbnf.ptr, o->gbnf.len, v, err);
	else
		st = lmi_grammar_from_schema(&c->grammar, o->schema.ptr, o->schema.len, err);
	/* a text that is no JSON is the asker's fault, as a wrong schema is */
	return st == LMD_CORRUPT ? LMD_INVALID : st;
}

static enum lmd_status make(struct lmi_constraint *c, struct lmi_engine *e,
			    const struct lmi_constrain_opts *o, struct lmd_error *err)
{
	struct lmi_matcher_opts mo = {
		.patterns = o->triggers, .n_patterns = o->n_triggers, .cache_bytes = CACHE_BYTES};
	enum lmd_status st = vocab(e, &mo.vocab, err);

	if (st == LMD_OK)
		st = compile(c, mo.vocab, o, err);
	if (st != LMD_OK)
		return st;
	mo.grammar = c->grammar;
	c->n_vocab = lmi_gvocab_size(mo.vocab);
	st = lmi_matcher_create(&c->matcher, &mo, err);
	return st == LMD_OK ? lmi_gstate_create(&c->state, c->matcher, err) : st;
}

enum lmd_status lmi_engine_constrain(struct lmi_engine *e, const struct lmi_constrain_opts *o,
				     struct lmi_constraint **out, struct lmd_error *err)
{
	struct lmi_constraint *c;
	enum lmd_status st;

	if (!o->gbnf.ptr == !o->schema.ptr)
		return lmd_fail(err, LMD_INVALID, "a grammar or a json_schema, one of them");
	if (!e->tok)
		return lmd_fail(err, LMD_UNSUPPORTED, "the engine was opened without a tokenizer");
	c = lmi_alloc(1, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "grammar: no memory");
	st = make(c, e, o, err);
	if (st != LMD_OK) {
		lmd_error_prefix(err, o->gbnf.ptr ? "grammar" : "json_schema");
		if (err)
			err->status = st;
		lmi_constraint_destroy(c);
		return st;
	}
	*out = c;
	return LMD_OK;
}

void lmi_constraint_destroy(struct lmi_constraint *c)
{
	if (!c)
		return;
	lmi_gstate_destroy(c->state);
	lmi_matcher_destroy(c->matcher);
	lmi_grammar_destroy(c->grammar);
	lmi_free(c);
}

enum lmd_status lmi_constraint_mask(struct lmi_constraint *c, uint32_t n_logits,
				    const uint64_t **mask, uint32_t *n)
{
	/* a head may have more rows than the vocabulary: those are nothing */
	*n = n_logits < c->n_vocab ? n_logits : c->n_vocab;
	return lmi_gstate_mask(c->state, mask);
}

enum lmd_status lmi_constraint_accept(struct lmi_constraint *c, lmd_token token)
{
	return lmi_gstate_accept(c->state, token);
}
