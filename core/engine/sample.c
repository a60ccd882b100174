/* SPDX-License-Identifier: MIT
 *
 * A chain has two parts: the plan, which is immutable after create and shared by all clones
 * (factories, offsets of states), and the states, one block per clone. The plan holds the
 * references to the plugins and gives them back with its last chain. */
#include "core/engine/sample.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/engine/sample_args.h"
#include "core/engine/sample_stages.h"
#include "core/engine/shortlist.h"
#include "core/engine/topk.h"

#define STATE_ALIGN 64

struct member {
	const struct lmi_factory *factory;
	size_t at;            /* offset of its state in the block */
	size_t bytes;
};

struct plan {
	_Atomic uint32_t n_refs;
	uint32_t n;
	struct lmi_plugin_registry *registry;
	size_t state_bytes;
	bool greedy;          /* `greedy` is the only member: no candidates are needed */
	size_t top_k;         /* of the first `top_k`, if all members before it change the logits of
			       * only a few tokens; 0: none */
	struct lmi_engine_touched touched; /* those tokens */
	bool lowers;          /* their logits do not become greater */
	struct lmi_sampler_stages stages;  /* what a device could run instead */
	bool partial;
	const char *learner;  /* name of a member that changes its state when it is applied, or NULL */
	struct member m[LMI_SAMPLER_CHAIN_MAX];
};

struct lmi_sampler_chain {
	struct plan *plan;
	char *state;          /* [plan->state_bytes] */
	struct lmd_cands c;   /* v has n_vocab entries; NULL for a greedy chain */
	bool own_cands;
	struct lmi_sampler_shortlist *list; /* NULL: no early top_k */
	uint32_t n_vocab;
	uint64_t seed;
	uint64_t step;
};

static void plan_unref(struct plan *p)
{
	if (atomic_fetch_sub(&p->n_refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		lmi_factory_give(p->registry, p->m[i].factory);
	lmi_engine_touched_fini(&p->touched);
	lmi_free(p);
}

/* ---- building ---- */

/* Init structs of all members, valid while the chain is being built. */
struct build {
	struct lmd_sampler_init in[LMI_SAMPLER_CHAIN_MAX];
	struct lmd_param_value values[LMI_SAMPLER_CHAIN_MAX][LMI_SAMPLER_PARAMS];
};

static enum lmd_status fail_at(struct lmd_error *err, uint32_t i, const char *name,
			       enum lmd_status st)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "sampler %u (%.40s)", i + 1, name);
	lmd_error_prefix(err, where);
	return st;
}

/* Takes the factory of one spec and chooses the offset of its state. */
static enum lmd_status add_member(struct plan *p, const struct lmi_sampler_spec *spec,
				  struct build *b, struct lmd_error *err)
{
	struct lmd_sampler_init *in = &b->in[p->n];
	struct member *m = &p->m[p->n];
	const struct lmd_sampler_ops *ops;
	uint64_t bytes;
	enum lmd_status st;

	st = lmi_factory_take(p->registry, LMD_KIND_SAMPLER, spec->name, &m->factory, err);
	if (st != LMD_OK)
		return st;
	p->n++;
	ops = m->factory->ops.sampler;
	in->params = b->values[p->n - 1];
	st = lmi_sampler_args(ops, spec, b->values[p->n - 1], in, err);
	if (st != LMD_OK)
		return st;
	bytes = m->factory->f->state_bytes;
	if ((ops->extra_bytes && !lmi_add_ok(bytes, ops->extra_bytes(in), &bytes)) ||
	    !lmi_align_ok(bytes, STATE_ALIGN, &bytes) ||
	    bytes > LMI_SAMPLER_CHAIN_STATE_MAX - p->state_bytes)
		return lmd_fail(err, LMD_NOMEM,
				"its state would exceed the chain's limit of %u bytes",
				LMI_SAMPLER_CHAIN_STATE_MAX);
	m->at = p->state_bytes;
	m->bytes = (size_t)bytes;
	p->state_bytes += (size_t)bytes;
	return LMD_OK;
}

/* The name identifies what a factory does, whichever plugin provides it. */
static bool is_lowering(const char *name, const struct lmd_sampler_ops *ops,
			const struct lmd_sampler_init *in)
{
	bool lowers = true;

	for (uint32_t i = 0; i < ops->n_params; i++) {
		const struct lmd_param_value *v = &in->params[i];

		if (ops->params[i].type == LMD_PARAM_FLOAT) /* of penalties */
			lowers &= (float)v->f >= (strcmp(ops->params[i].name, "repeat") ? 0 : 1);
		for (uint32_t k = 0; ops->params[i].type == LMD_PARAM_BIAS && k < v->n; k++)
			lowers &= v->bias[k].bias <= 0;
	}
	return lowers && (!strcmp(name, "penalties") || !strcmp(name, "logit_bias"));
}

static enum lmd_status look_for_top_k(struct plan *p, const struct build *b, struct lmd_error *err)
{
	p->lowers = true;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct lmi_factory *f = p->m[i].factory;
		bool goes_on = false;

		if (!strcmp(f->f->name, "top_k")) {
			int64_t k = lmi_sampler_int(f->ops.sampler, &b->in[i], "k");

			p->top_k = k > 0 && k <= LMI_SAMPLER_TOPK_MAX ? (size_t)k : 0;
			return LMD_OK;
		}
		if (!lmi_engine_touched_add(&p->touched, f->f->name, f->ops.sampler, &b->in[i],
					    &goes_on))
			return lmd_fail(err, LMD_NOMEM, "sampler chain: out of memory");
		if (!goes_on)
			return LMD_OK;
		p->lowers &= is_lowering(f->f->name, f->ops.sampler, &b->in[i]);
	}
	return LMD_OK;
}

static void find_stages(struct plan *p, const struct build *b)
{
	lmi_sampler_stages_init(&p->stages);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct lmi_factory *f = p->m[i].factory;

		lmi_sampler_stages_add(&p->stages, f->f->name, f->ops.sampler, &b->in[i]);
	}
}

static enum lmd_status make_plan(struct plan *p, const struct lmi_sampler_chain_opts *o,
				 struct build *b, struct lmd_error *err)
{
	for (uint32_t i = 0; i < o->n_specs; i++) {
		enum lmd_status st;

		b->in[i] = (struct lmd_sampler_init){
			.struct_size = sizeof(b->in[i]), .host = o->host, .vocab = o->vocab,
			.n_vocab = o->n_vocab, .seed = o->seed};
		st = add_member(p, &o->specs[i], b, err);
		if (st != LMD_OK)
			return fail_at(err, i, o->specs[i].name, st);
	}
	p->greedy = p->n == 1 && !strcmp(p->m[0].factory->f->name, "greedy");
	find_stages(p, b);
	return look_for_top_k(p, b, err);
}

/* Runs members in order; *chose is the first that selected, or n. Catches a plugin that violates
 * the contract, since the index is used for memory access. */
static enum lmd_status run(const struct plan *p, char *state, struct lmd_cands *c, uint32_t *chose)
{
	size_t cap = c->n;

	c->selected = -1;
	*chose = p->n;
	for (uint32_t i = 0; i < p->n; i++) {
		p->m[i].factory->ops.sampler->apply(state + p->m[i].at, c);
		if (!c->n || c->n > cap || c->selected >= (int64_t)c->n || c->selected < -1)
			return LMD_INTERNAL;
		cap = c->n;
		if (c->selected >= 0 && *chose == p->n)
			*chose = i;
	}
	return LMD_OK;
}

/* Returns the name of a member whose state differs, or NULL. */
static const char *find_learner(const struct plan *p, const char *a, const char *b)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (memcmp(a + p->m[i].at, b + p->m[i].at, p->m[i].bytes))
			return p->m[i].factory->f->name;
	return NULL;
}

/* Runs a copy of the new chain over two candidates to find out which member chooses, and whether
 * one learns. */
static enum lmd_status check_choice(const struct lmi_sampler_chain *ch, struct lmd_error *err)
{
	struct lmd_cand v[2] = {{.id = 0, .logit = 1.0f}, {.id = ch->n_vocab > 1, .logit = 0.0f}};
	struct lmd_cands c = {.v = v, .n = ch->n_vocab > 1 ? 2 : 1, .seed = ch->seed};
	const struct plan *p = ch->plan;
	char *copy = lmi_alloc(p->state_bytes ? p->state_bytes : 1, 1);
	enum lmd_status st;
	uint32_t chose;

	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "sampler chain: no memory for %zu bytes",
				p->state_bytes);
	memcpy(copy, ch->state, p->state_bytes);
	st = run(p, copy, &c, &chose);
	ch->plan->learner = find_learner(p, copy, ch->state);
	lmi_free(copy);
	if (st != LMD_OK)
		return lmd_fail(err, st, "sampler chain: a sampler left no candidate or selected "
					 "an invalid index");
	if (chose == p->n)
		return lmd_fail(err, LMD_INVALID,
				"sampler chain: none of its %u samplers chooses a token; end it "
				"with one that does, such as dist or greedy", p->n);
	if (chose + 1 < p->n)
		return lmd_fail(err, LMD_INVALID,
				"sampler %u (%s) chooses the token, so it must be the last of %u",
				chose + 1, p->m[chose].factory->f->name, p->n);
	return LMD_OK;
}

/* Creates a chain of the plan with a zeroed state; takes over one reference to the plan. */
static struct lmi_sampler_chain *make_chain(struct plan *own_plan, uint32_t n_vocab,
					    struct lmd_cand *scratch)
{
	struct lmi_sampler_chain *ch = lmi_alloc(1, sizeof(*ch));

	if (!ch) {
		plan_unref(own_plan);
		return NULL;
	}
	ch->plan = own_plan;
	ch->n_vocab = n_vocab;
	ch->c.selected = -1;
	ch->state = lmi_alloc(own_plan->state_bytes ? own_plan->state_bytes : 1, 1);
	ch->own_cands = !scratch && !own_plan->greedy && !own_plan->partial;
	ch->c.v = ch->own_cands ? lmi_alloc(n_vocab, sizeof(struct lmd_cand)) : scratch;
	if (own_plan->top_k)
		ch->list =
			lmi_sampler_shortlist_create(&own_plan->touched, own_plan->top_k, n_vocab);
	if (!ch->state || (ch->own_cands && !ch->c.v) || (own_plan->top_k && !ch->list)) {
		lmi_sampler_chain_destroy(ch);
		return NULL;
	}
	return ch;
}

static enum lmd_status init_states(struct lmi_sampler_chain *ch, const struct build *b,
				   struct lmd_error *err)
{
	for (uint32_t i = 0; i < ch->plan->n; i++) {
		const struct member *m = &ch->plan->m[i];
		enum lmd_status st =
			m->factory->ops.sampler->init(ch->state + m->at, &b->in[i], err);

		if (st != LMD_OK)
			return fail_at(err, i, m->factory->f->name, st);
	}
	return LMD_OK;
}

static enum lmd_status create(struct lmi_sampler_chain **out,
			      const struct lmi_sampler_chain_opts *o, struct build *b,
			      struct lmd_error *err)
{
	struct plan *p = lmi_alloc(1, sizeof(*p));
	struct lmi_sampler_chain *ch;
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "sampler chain: out of memory");
	p->n_refs = 1;
	p->registry = o->registry;
	p->partial = o->partial;
	st = make_plan(p, o, b, err);
	if (st != LMD_OK) {
		plan_unref(p);
		return st;
	}
	ch = make_chain(p, o->n_vocab, o->scratch);
	if (!ch)
		return lmd_fail(err, LMD_NOMEM, "sampler chain: no memory for %u candidates",
				o->n_vocab);
	ch->seed = o->seed;
	st = init_states(ch, b, err);
	if (st == LMD_OK && !o->partial)
		st = check_choice(ch, err);
	if (st != LMD_OK) {
		lmi_sampler_chain_destroy(ch);
		return st;
	}
	*out = ch;
	return LMD_OK;
}

enum lmd_status lmi_sampler_chain_create(struct lmi_sampler_chain **out,
					 const struct lmi_sampler_chain_opts *o,
					 struct lmd_error *err)
{
	struct build *b;
	enum lmd_status st;

	if (!o->n_specs || o->n_specs > LMI_SAMPLER_CHAIN_MAX)
		return lmd_fail(err, LMD_INVALID, "sampler chain: %u samplers, must be 1 to %u",
				o->n_specs, LMI_SAMPLER_CHAIN_MAX);
	if (!o->n_vocab || o->n_vocab > INT32_MAX)
		return lmd_fail(err, LMD_INVALID, "sampler chain: invalid vocabulary size %u",
				o->n_vocab);
	b = lmi_alloc(1, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "sampler chain: out of memory");
	st = create(out, o, b, err);
	lmi_free(b);
	return st;
}

enum lmd_status lmi_sampler_chain_clone(struct lmi_sampler_chain **out,
					const struct lmi_sampler_chain *from, struct lmd_error *err)
{
	struct lmi_sampler_chain *ch;

	atomic_fetch_add(&from->plan->n_refs, 1);
	ch = make_chain(from->plan, from->n_vocab, from->own_cands ? NULL : from->c.v);
	if (!ch)
		return lmd_fail(err, LMD_NOMEM, "sampler chain: no memory for a copy of %zu bytes",
				from->plan->state_bytes);
	memcpy(ch->state, from->state, from->plan->state_bytes);
	if (ch->list)
		lmi_sampler_shortlist_copy(ch->list, from->list);
	ch->seed = from->seed;
	ch->step = from->step;
	*out = ch;
	return LMD_OK;
}

void lmi_sampler_chain_destroy(struct lmi_sampler_chain *ch)
{
	if (!ch)
		return;
	plan_unref(ch->plan);
	lmi_free(ch->state);
	lmi_sampler_shortlist_destroy(ch->list);
	if (ch->own_cands)
		lmi_free(ch->c.v);
	lmi_free(ch);
}

/* ---- the token path ---- */

static size_t fill(struct lmd_cand *v, const float *logits, size_t n, const uint64_t *mask)
{
	size_t k = 0;

	if (!mask) {
		for (size_t i = 0; i < n; i++)
			lmi_engine_cand_put(&v[i], logits, i);
		return n;
	}
	for (size_t i = 0; i < n; i++) {
		if (!mask[i / 64])
			i |= 63;
		else if (mask[i / 64] >> (i % 64) & 1)
			lmi_engine_cand_put(&v[k++], logits, i);
	}
	return k;
}

enum lmd_status lmi_sampler_chain_apply(struct lmi_sampler_chain *ch, struct lmd_cands *c)
{
	uint32_t chose;
	enum lmd_status st;

	if (!c->n)
		return LMD_NOTFOUND;
	c->seed = ch->seed;
	c->step = ch->step;
	st = run(ch->plan, ch->state, c, &chose);
	if (st == LMD_OK && c->selected < 0 && !ch->plan->partial)
		return LMD_INTERNAL;
	return st;
}

const char *lmi_sampler_chain_learner(const struct lmi_sampler_chain *ch)
{
	return ch->plan->learner;
}

const struct lmi_sampler_stages *lmi_sampler_chain_stages(const struct lmi_sampler_chain *ch)
{
	return ch->plan->stages.complete ? &ch->plan->stages : NULL;
}

uint64_t lmi_sampler_chain_step(const struct lmi_sampler_chain *ch)
{
	return ch->step;
}

enum lmd_status lmi_sampler_chain_sample(struct lmi_sampler_chain *ch, const float *logits,
					 size_t n, const uint64_t *mask, lmd_token *out)
{
	enum lmd_status st;

	if (!n || n > ch->n_vocab || ch->plan->partial)
		return LMD_INVALID;
	if (ch->plan->greedy) {
		size_t best = lmi_engine_argmax(logits, n, mask);

		if (best == n)
			return LMD_NOTFOUND;
		*out = (lmd_token)best;
		return LMD_OK;
	}
	ch->c.n = 0;
	ch->c.sorted = false;
	if (ch->list)
		ch->c.n = lmi_sampler_shortlist_fill(ch->list, logits, n, mask, ch->c.v,
						     &ch->c.sorted);
	if (!ch->c.n)
		ch->c.n = fill(ch->c.v, logits, n, mask);
	st = lmi_sampler_chain_apply(ch, &ch->c);
	if (st == LMD_OK)
		*out = ch->c.v[ch->c.selected].id;
	return st;
}

/* The k best after the changes are among the k best of the unchanged tokens and the changed ones. With k
 * more than the changed ones can be, the list has k unchanged ones; a changed token that is not in it came
 * after all of them, and still does. */
uint32_t lmi_sampler_chain_n_best(const struct lmi_sampler_chain *ch)
{
	const struct plan *p = ch->plan;

	if (p->greedy)
		return 1;
	return p->top_k && p->lowers
		       ? (uint32_t)p->top_k + p->touched.last + p->touched.n_ids
		       : 0;
}

enum lmd_status lmi_sampler_chain_sample_best(struct lmi_sampler_chain *ch, const int32_t *ids,
					      const float *logits, size_t n, lmd_token *out)
{
	enum lmd_status st;

	if (!n || n > ch->n_vocab || ch->plan->partial)
		return LMD_INVALID;
	if (ch->plan->greedy) {
		*out = ids[0];
		return LMD_OK;
	}
	for (size_t i = 0; i < n; i++)
		ch->c.v[i] = (struct lmd_cand){.id = ids[i], .logit = logits[i]};
	ch->c.n = n;
	ch->c.sorted = !ch->plan->touched.last && !ch->plan->touched.n_ids;
	st = lmi_sampler_chain_apply(ch, &ch->c);
	if (st == LMD_OK)
		*out = ch->c.v[ch->c.selected].id;
	return st;
}

enum lmd_status lmi_sampler_chain_force(struct lmi_sampler_chain *ch, lmd_token token)
{
	struct lmd_cand v = {.id = token};
	struct lmd_cands c = {.v = &v, .n = 1, .sorted = true};

	return ch->plan->greedy ? LMD_OK : lmi_sampler_chain_apply(ch, &c);
}

const struct lmd_cands *lmi_sampler_chain_cands(const struct lmi_sampler_chain *ch)
{
	return &ch->c;
}

void lmi_sampler_chain_accept(struct lmi_sampler_chain *ch, lmd_token token, bool prompt)
{
	for (uint32_t i = 0; i < ch->plan->n; i++) {
		const struct member *m = &ch->plan->m[i];

		if (m->factory->ops.sampler->accept)
			m->factory->ops.sampler->accept(ch->state + m->at, token, prompt);
	}
	if (ch->list)
		lmi_sampler_shortlist_accept(ch->list, token);
	if (!prompt)
		ch->step++;
}

void lmi_sampler_chain_reset(struct lmi_sampler_chain *ch)
{
	for (uint32_t i = 0; i < ch->plan->n; i++) {
		const struct member *m = &ch->plan->m[i];

		if (m->factory->ops.sampler->reset)
			m->factory->ops.sampler->reset(ch->state + m->at);
	}
	if (ch->list)
		lmi_sampler_shortlist_reset(ch->list);
	ch->step = 0;
	ch->c.n = 0;
	ch->c.selected = -1;
}
