/* SPDX-License-Identifier: MIT
 *
 * INDEX and SAMPLE. */
#include <string.h>

#include "plan.h"

#define SAMPLE_THREADS 256u
#define SAMPLE_SHARED  (SAMPLE_THREADS * 20 + 64) /* struct gpu_sample_shared */

void gpu_lower_index(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_index *o = &op->u.index;
	const struct lmd_cache *c = &b->plan->caches[o->cache];
	const struct lmd_pool *pool = b->p->pools[o->each > 1 ? o->of : c->group];
	struct gpu_index_args a = {
		.run = b->p->run,
		.q = gpu_build_view(b, &o->q),
		.w = gpu_build_view(b, &o->w),
		.y = gpu_build_view(b, &o->y),
		.cache = gpu_build_read_cache(b, o->cache),
		.kind = o->kind,
		.n = o->n,
		.unit = o->unit,
		.local = o->local,
		.each = o->each,
		.of = o->of,
		.scale = o->scale,
		.d = o->q.width,
		.heads = c->n_head,
	};
	uint64_t lists = gpu_build_max_rows(b, &a.y) * a.y.n_head;

	if (c->k_dtype == LMD_DTYPE_Q4_0_ROT)
		a.q = gpu_build_hadamard_rows(b, &a.q);
	if (pool)
		a.most = pool->shape.n_index * pool->shape.page_tokens / o->unit + 1;
	else if (!b->measure)
		gpu_build_fail(b, "the keys of an index have no pool");
	a.work = gpu_build_temp(b, lists, 4ull * a.most);
	a.heaps = gpu_build_temp(b, lists, 4ull * o->n);
	gpu_build_each(b, GPU_K_index, &a, sizeof(a), &a.y, a.y.n_head);
}

void gpu_lower_sample(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_sample *o = &op->u.sample;
	struct gpu_sample_args a = {
		.run = b->p->run,
		.logits = gpu_build_view(b, &o->logits),
		.params = gpu_build_view(b, &o->params),
		.rng = gpu_build_view(b, &o->rng),
		.mask = gpu_build_view(b, &o->mask),
		.history = gpu_build_view(b, &o->history),
		.token = gpu_build_view(b, &o->token),
		.top_id = gpu_build_view(b, &o->top_id),
		.top_lp = gpu_build_view(b, &o->top_lp),
		.n_stage = o->n_stage,
	};
	const struct gpu_view one = {.space = GPU_N_SPACE, .div = 1};

	memcpy(a.stage, o->stage, sizeof(a.stage));
	memcpy(a.param_col, o->param_col, sizeof(a.param_col));
	a.work = gpu_build_temp(b, gpu_build_max_rows(b, &a.token),
				16ull * a.logits.n_head * a.logits.width);
	gpu_build_block(b, GPU_K_sample, &a, sizeof(a), SAMPLE_THREADS, SAMPLE_SHARED, &a.token, 1);
	gpu_build_block(b, GPU_K_remember, &a, sizeof(a), 64, 0, &one, 1);
}
