/* SPDX-License-Identifier: MIT
 *
 * Changed tokens are removed from the mask before the k best are searched, and appended afterwards;
 * a bit that is already clear means that its token has been handled. */
#include "core/engine/shortlist.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/topk.h"

struct lmi_sampler_shortlist {
	const struct lmi_engine_touched *t;
	size_t k;
	uint32_t n_words;
	float *block_max; /* scratch for lmi_sampler_topk */
	uint64_t *mask;	  /* [n_words] scratch */
	lmd_token *ring;  /* [t->last] accepted tokens */
	uint32_t used, next;
};

/* ---- changed tokens ---- */

static const struct lmd_param_value *param(const struct lmd_sampler_ops *ops,
					   const struct lmd_sampler_init *in, const char *name)
{
	for (uint32_t i = 0; i < ops->n_params; i++)
		if (!strcmp(ops->params[i].name, name))
			return &in->params[i];
	return NULL;
}

int64_t lmi_sampler_int(const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in,
			const char *name)
{
	const struct lmd_param_value *v = param(ops, in, name);

	return v ? v->i : 0;
}

/* The tokens of all lists among the parameters. */
static uint64_t count_ids(const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < ops->n_params; i++)
		if (ops->params[i].type == LMD_PARAM_BIAS || ops->params[i].type == LMD_PARAM_TOKENS)
			n += in->params[i].n;
	return n;
}

static bool add_ids(struct lmi_engine_touched *t, const struct lmd_sampler_ops *ops,
		    const struct lmd_sampler_init *in)
{
	lmd_token *ids =
		lmi_realloc(t->ids, t->n_ids + (size_t)count_ids(ops, in) + 1, sizeof(*ids));

	if (!ids)
		return false;
	t->ids = ids;
	for (uint32_t i = 0; i < ops->n_params; i++) {
		const struct lmd_param_value *v = &in->params[i];
		uint32_t type = ops->params[i].type;

		if (type != LMD_PARAM_BIAS && type != LMD_PARAM_TOKENS)
			continue;
		for (uint32_t k = 0; k < v->n; k++)
			t->ids[t->n_ids++] =
				type == LMD_PARAM_BIAS ? v->bias[k].id : v->tokens[k];
	}
	return true;
}

bool lmi_engine_touched_add(struct lmi_engine_touched *t, const char *name,
			    const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in,
			    bool *goes_on)
{
	if (!strcmp(name, "penalties")) {
		int64_t last = lmi_sampler_int(ops, in, "last_n");

		*goes_on = last <= LMI_ENGINE_TOUCHED_MAX;
		if (*goes_on && last > t->last)
			t->last = (uint32_t)last;
	} else if (!strcmp(name, "logit_bias")) {
		*goes_on = count_ids(ops, in) <= LMI_ENGINE_TOUCHED_MAX;
		return !*goes_on || add_ids(t, ops, in);
	}
	return true;
}

void lmi_engine_touched_fini(struct lmi_engine_touched *t)
{
	lmi_free(t->ids);
	*t = (struct lmi_engine_touched){0};
}

/* ---- a list ---- */

struct lmi_sampler_shortlist *lmi_sampler_shortlist_create(const struct lmi_engine_touched *t,
							   size_t k, uint32_t n_vocab)
{
	struct lmi_sampler_shortlist *s = lmi_alloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->t = t;
	s->k = k;
	s->n_words = n_vocab / 64 + 1;
	s->block_max = lmi_alloc(n_vocab / LMI_SAMPLER_TOPK_BLOCK + 1, sizeof(*s->block_max));
	s->mask = lmi_alloc(s->n_words, sizeof(*s->mask));
	s->ring = lmi_alloc(t->last + 1, sizeof(*s->ring));
	if (s->block_max && s->mask && s->ring)
		return s;
	lmi_sampler_shortlist_destroy(s);
	return NULL;
}

void lmi_sampler_shortlist_copy(struct lmi_sampler_shortlist *to,
				const struct lmi_sampler_shortlist *from)
{
	memcpy(to->ring, from->ring, from->t->last * sizeof(*to->ring));
	to->used = from->used;
	to->next = from->next;
}

void lmi_sampler_shortlist_destroy(struct lmi_sampler_shortlist *s)
{
	if (!s)
		return;
	lmi_free(s->block_max);
	lmi_free(s->mask);
	lmi_free(s->ring);
	lmi_free(s);
}

void lmi_sampler_shortlist_accept(struct lmi_sampler_shortlist *s, lmd_token token)
{
	if (!s->t->last)
		return;
	s->ring[s->next] = token;
	s->next = s->next + 1 == s->t->last ? 0 : s->next + 1;
	s->used += s->used < s->t->last;
}

void lmi_sampler_shortlist_reset(struct lmi_sampler_shortlist *s)
{
	s->used = s->next = 0;
}

/* ---- a row of logits ---- */

/* Removes ids from the mask; the ids whose bits were set go to out[*n ..]. */
static void take_out(struct lmi_sampler_shortlist *s, const lmd_token *ids, uint32_t n_ids,
		     size_t n_logits, lmd_token *out, size_t *n)
{
	for (uint32_t i = 0; i < n_ids; i++) {
		uint32_t id = (uint32_t)ids[i];

		if (ids[i] < 0 || id >= n_logits || !(s->mask[id / 64] >> (id % 64) & 1))
			continue;
		s->mask[id / 64] &= ~(1ull << (id % 64));
		out[(*n)++] = ids[i];
	}
}

size_t lmi_sampler_shortlist_fill(struct lmi_sampler_shortlist *s, const float *logits, size_t n,
				  const uint64_t *mask, struct lmd_cand *v, bool *sorted)
{
	lmd_token touched[LMI_ENGINE_TOUCHED_MAX * 4];
	size_t words = (n + 63) / 64, n_touched = 0, k;

	*sorted = false;
	if (!s->used && !s->t->n_ids) {
		k = lmi_sampler_topk(logits, n, mask, s->k, s->block_max, v);
		*sorted = k > 0;
		return k;
	}
	if (s->used + s->t->n_ids > LMD_LEN(touched) || s->k + s->used + s->t->n_ids > n)
		return 0;
	if (mask)
		memcpy(s->mask, mask, words * sizeof(*mask));
	else
		memset(s->mask, 0xff, words * sizeof(*mask));
	take_out(s, s->ring, s->used, n, touched, &n_touched);
	take_out(s, s->t->ids, s->t->n_ids, n, touched, &n_touched);
	k = lmi_sampler_topk(logits, n, s->mask, s->k, s->block_max, v);
	if (!k)
		return 0;
	for (size_t i = 0; i < n_touched; i++)
		lmi_engine_cand_put(&v[k + i], logits, (size_t)touched[i]);
	*sorted = !n_touched;
	return k + n_touched;
}
