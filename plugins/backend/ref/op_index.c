/* SPDX-License-Identifier: MIT
 *
 * INDEX: scores keys for the attention of a row; backend/common/index.h chooses among them. */
#include "kernels.h"
#include "ops.h"
#include "backend/common/index.h"

struct work {
	const struct ref_run *r;
	const struct lmd_op_index *op;
	const struct host_mem_cache *cache;
	const struct lmd_pool *pool; /* that holds the cache */
	struct host_mem_view q, w;
	float *tq, *tk; /* [width of q] */
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_index *o = &op->u.index;
	enum lmd_status st = host_mem_need_cache(&b->compiled_plan->host_mem, o->cache, err);

	if (st == LMD_OK)
		st = host_mem_index_plan(&b->host_mem, &b->compiled_plan->host_mem, o, err);
	if (st != LMD_OK)
		return st;
	b->compiled_plan->group_read[b->host_mem.plan->caches[o->cache].group] = true;
	if (o->each > 1)
		b->compiled_plan->group_read[o->of] = true;
	host_mem_need(&b->host_mem.part_bytes, o->q.width, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, o->q.width, sizeof(float));
	return LMD_OK;
}

static float dot(const struct work *w, const struct host_mem_index_key *k, uint32_t head)
{
	uint32_t kh = w->cache->desc.n_head > 1 ? head : 0, at;
	const char *page =
		ref_pool_row(w->pool, (uint32_t)w->r->host_mem.step->seq_slot[k->seq], k->key, &at);
	const float *key = ref_cache_decode(w->r->dev, w->cache->desc.k_dtype,
					    page + w->cache->k_off + at * w->cache->k_row +
						    kh * w->cache->k_head,
					    w->tk, w->q.width);

	return w->op->scale *
	       w->r->dev->kernels->dot(host_mem_f32(&w->q, k->row, head, w->tq), key, w->q.width);
}

static float key_score(const void *arg, const struct host_mem_index_key *k)
{
	const struct work *w = arg;
	float sum = 0;

	if (w->op->kind == LMD_INDEX_PER_HEAD)
		return dot(w, k, k->list);
	for (uint32_t h = 0; h < w->q.n_head; h++) {
		float s = fmaxf(dot(w, k, h), 0.0f);

		sum += w->op->kind == LMD_INDEX_WEIGHTED ? host_mem_cell_get(&w->w, k->row, h) * s
							 : s;
	}
	return sum;
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_index *o = &op->u.index;
	struct work w = {
		.r = r,
		.op = o,
		.cache = r->compiled_plan->host_mem.caches[o->cache],
		.q = host_mem_view(&r->host_mem, &o->q),
		.w = host_mem_view(&r->host_mem, &o->w),
	};
	char *scratch = p->scratch;
	struct host_mem_index x;
	uint64_t lo, hi;

	w.pool = r->compiled_plan->host_mem.pools[w.cache->desc.group];
	w.tq = host_mem_take(&scratch, o->q.width, sizeof(float));
	w.tk = host_mem_take(&scratch, o->q.width, sizeof(float));
	x = host_mem_index_take(&scratch, &r->host_mem, &r->compiled_plan->host_mem, o);
	x.key_score = key_score;
	x.arg = &w;
	host_mem_slice(p, (uint64_t)x.y.n_row * x.y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		host_mem_index_list(&x, (uint32_t)(i / x.y.n_head), (uint32_t)(i % x.y.n_head));
}

const struct ref_op ref_op_index = {
	.plan = plan,
	.run = run,
};
