/* SPDX-License-Identifier: MIT
 *
 * What a model's file says about sampling: recommended parameters, and suppressed tokens.
 *
 * The tokens that a model's file says are never sampled, such as the end of an image in models that
 * read images.  A file may name tokens that the model cannot produce; they are left out. */
#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/engine/instance.h"
#include "core/engine/sample_params.gen.h"
#include "llamad/model.h"

enum lmd_status lmi_engine_read_suppressed(struct lmi_engine *e, struct lmd_error *err)
{
	const struct lmd_model *m = e->inst->model;
	const struct lmd_meta *v = m->find_meta(m, LMI_SAMPLER_KEY_SUPPRESS_TOKENS);
	uint32_t n_vocab = e->inst->desc.n_vocab;
	const int64_t *id;

	lmi_sampler_scalars_of_model(&e->sampling, m);
	if (!v || v->type != LMD_META_ARR_I64 || !v->n)
		return LMD_OK;
	if (v->n > n_vocab)
		return lmd_fail(err, LMD_INVALID,
				"key %s: %llu tokens, but the model has only %u", v->key,
				(unsigned long long)v->n, n_vocab);
	e->suppressed = lmi_alloc(v->n, sizeof(*e->suppressed));
	if (!e->suppressed)
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu suppressed tokens",
				(unsigned long long)v->n);
	id = v->v.a;
	for (uint64_t i = 0; i < v->n; i++)
		if (id[i] >= 0 && id[i] < (int64_t)n_vocab)
			e->suppressed[e->n_suppressed++] = (lmd_token)id[i];
	return LMD_OK;
}

const lmd_token *lmi_engine_suppressed(const struct lmi_engine *e, uint32_t *n)
{
	*n = e->n_suppressed;
	return e->suppressed;
}

const struct lmi_sampler_scalars *lmi_engine_sampling(const struct lmi_engine *e)
{
	return &e->sampling;
}
