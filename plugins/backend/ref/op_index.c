/* SPDX-License-Identifier: MIT
 *
 * INDEX: the best keys (or units of keys) for the attention of a row.
 *
 * Scores of exactly 0 are common here (relu), so which of equal keys is chosen is part of the
 * definition: the heap below is the one that llamad/op.h describes. */
#include "kernels.h"
#include "ops.h"
#include "backend/common/view.h"

struct work {
	const struct ref_run *r;
	const struct lmd_op_index *op;
	const struct hm_cache *cache;
	const struct lmd_pool *pool; /* of the cache */
	struct hm_view q, w, y;
	float *score; /* [units] of the row and list at hand */
	float *tq, *tk;
	uint32_t *heap; /* [n] units */
};

static uint64_t most_units(const struct lmd_pool *p, const struct lmd_op_index *o)
{
	return (uint64_t)p->n_index * p->page_tokens / o->unit + 1;
}

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_index *o = &op->u.index;
	enum lmd_status st = hm_need_cache(&b->cplan->hm, o->cache, err);
	uint32_t group, of;

	if (st != LMD_OK)
		return st;
	group = b->hm.plan->caches[o->cache].group;
	of = o->each > 1 ? o->of : group;
	if (!b->cplan->hm.pools[of])
		return lmd_fail(err, LMD_INVALID, "index: group %s has no cache",
				b->hm.plan->groups[of].name);
	b->cplan->group_read[group] = b->cplan->group_read[of] = true;
	hm_need(&b->hm.part_bytes, most_units(b->cplan->hm.pools[of], o), sizeof(float));
	hm_need(&b->hm.part_bytes, o->q.width, sizeof(float));
	hm_need(&b->hm.part_bytes, o->q.width, sizeof(float));
	hm_need(&b->hm.part_bytes, o->n, sizeof(uint32_t));
	return LMD_OK;
}

static float dot(const struct work *w, uint32_t seq, uint32_t row, uint32_t head, uint32_t key)
{
	uint32_t kh = w->cache->desc.n_head > 1 ? head : 0, at;
	const char *page = ref_pool_row(w->pool, (uint32_t)w->r->hm.step->seq_slot[seq], key, &at);
	const float *k = ref_cache_decode(w->r->dev, w->cache->desc.k_dtype,
					  page + w->cache->k_off + at * w->cache->k_row +
						  kh * w->cache->k_head,
					  w->tk, w->q.width);

	return w->op->scale *
	       w->r->dev->kernels->dot(hm_f32(&w->q, row, head, w->tq), k, w->q.width);
}

/* Score of a key for list `list`. */
static float key_score(const struct work *w, uint32_t seq, uint32_t row, uint32_t list,
		       uint32_t key)
{
	float sum = 0;

	if (w->op->kind == LMD_INDEX_PER_HEAD)
		return dot(w, seq, row, list, key);
	for (uint32_t h = 0; h < w->q.n_head; h++) {
		float s = fmaxf(dot(w, seq, row, h, key), 0.0f);

		sum += w->op->kind == LMD_INDEX_WEIGHTED ? hm_cell_get(&w->w, row, h) * s : s;
	}
	return sum;
}

/* Puts unit x, for which there is a hole at i, into the heap of n.  The hole first goes down to a
 * leaf, always to the worse child (the right one if they are equal); then x rises as long as its
 * parent is better. */
static void sift(const struct work *w, uint32_t n, uint32_t i, uint32_t x)
{
	const float *s = w->score;
	uint32_t *h = w->heap, top = i;

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && !(s[h[c + 1]] > s[h[c]]))
			c++;
		h[i] = h[c];
	}
	while (i > top && s[h[(i - 1) / 2]] > s[x]) {
		h[i] = h[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h[i] = x;
}

/* Fills the heap with the best of units lo..hi; their number. */
static uint32_t choose(const struct work *w, uint32_t lo, uint32_t hi)
{
	uint32_t n = hi - lo < w->op->n ? hi - lo : w->op->n;

	for (uint32_t i = 0; i < n; i++)
		w->heap[i] = lo + i;
	for (uint32_t i = n / 2; i-- > 0;)
		sift(w, n, i, w->heap[i]);
	for (uint32_t u = lo + n; n && u < hi; u++) {
		if (w->score[u] > w->score[w->heap[0]])
			sift(w, n, 0, u);
	}
	return n;
}

/* Scores of the keys lo..hi of the group `of`, `each` of which share a row of the cache. */
static void spread(const struct work *w, uint32_t seq, uint32_t row, uint32_t list, uint32_t *lo,
		   uint32_t *hi)
{
	const struct lmd_step_group *rows = &w->r->hm.step->group[w->cache->desc.group];
	const struct lmd_step_group *keys = &w->r->hm.step->group[w->op->of];
	uint32_t e = w->op->each, first = (uint32_t)rows->kv_lo[row],
		 end = (uint32_t)rows->kv_hi[row];
	float score = INFINITY;

	if (keys->kv_lo[row] >= keys->kv_hi[row])
		return;
	*lo = (uint32_t)keys->kv_lo[row] > first * e ? (uint32_t)keys->kv_lo[row] : first * e;
	*hi = (uint32_t)keys->kv_hi[row];
	if (*lo > *hi)
		*lo = *hi;
	for (uint32_t key = *lo; key < *hi; key++) {
		if (key == *lo || key % e == 0)
			score = key / e < end ? key_score(w, seq, row, list, key / e) : INFINITY;
		w->score[key] = score;
	}
}

static void one(const struct work *w, uint32_t row, uint32_t list)
{
	const struct lmd_step_group *g = &w->r->hm.step->group[w->cache->desc.group];
	uint32_t seq = (uint32_t)w->r->hm.step->seq_of[row], u = w->op->unit, lo = 0, hi = 0, n;

	if (w->op->each > 1) {
		spread(w, seq, row, list, &lo, &hi);
	} else if (g->kv_lo[row] < g->kv_hi[row]) {
		lo = (uint32_t)g->kv_lo[row] / u;
		hi = (uint32_t)(g->kv_hi[row] - 1) / u + 1;
		for (uint32_t i = lo; i < hi; i++)
			w->score[i] = -INFINITY;
		for (uint32_t key = (uint32_t)g->kv_lo[row]; key < (uint32_t)g->kv_hi[row]; key++)
			w->score[key / u] =
				fmaxf(w->score[key / u], key_score(w, seq, row, list, key));
	}
	for (uint32_t i = 0; i < w->op->local && i < hi - lo; i++)
		w->score[hi - 1 - i] = INFINITY;
	n = choose(w, lo, hi);
	for (uint32_t i = 0; i < w->op->n; i++)
		hm_put_i32(&w->y, row, list, i, i < n ? (int32_t)w->heap[i] : -1);
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct hm_part *p)
{
	const struct lmd_op_index *o = &op->u.index;
	struct work w = {
		.r = r,
		.op = o,
		.cache = r->cplan->hm.caches[o->cache],
		.q = hm_view(&r->hm, &o->q),
		.w = hm_view(&r->hm, &o->w),
		.y = hm_view(&r->hm, &o->y),
	};
	char *scratch = p->scratch;
	uint64_t lo, hi;

	w.pool = r->cplan->hm.pools[w.cache->desc.group];
	w.score = hm_take(&scratch, most_units(o->each > 1 ? r->cplan->hm.pools[o->of] : w.pool, o),
			  sizeof(float));
	w.tq = hm_take(&scratch, o->q.width, sizeof(float));
	w.tk = hm_take(&scratch, o->q.width, sizeof(float));
	w.heap = hm_take(&scratch, o->n, sizeof(uint32_t));
	hm_slice(p, (uint64_t)w.y.n_row * w.y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		one(&w, (uint32_t)(i / w.y.n_head), (uint32_t)(i % w.y.n_head));
}

const struct ref_op ref_op_index = {
	.plan = plan,
	.run = run,
};
