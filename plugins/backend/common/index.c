/* SPDX-License-Identifier: MIT
 *
 * INDEX: scores units and chooses the best of them. */
#include "backend/common/index.h"

static uint64_t most_units(const struct lmd_pool *p, const struct lmd_op_index *o)
{
	return (uint64_t)p->shape.n_index * p->shape.page_tokens / o->unit + 1;
}

/* The group of the keys to choose from. */
static uint32_t group_of(const struct lmd_plan *plan, const struct lmd_op_index *o)
{
	return o->each > 1 ? o->of : plan->caches[o->cache].group;
}

enum lmd_status host_mem_index_plan(struct host_mem_build *b,
				    const struct host_mem_compiled_plan *p,
				    const struct lmd_op_index *op, struct lmd_error *err)
{
	uint32_t group = group_of(b->plan, op);

	if (!p->pools[group])
		return lmd_fail(err, LMD_INVALID, "index: group %s has no cache",
				b->plan->groups[group].name);
	host_mem_need(&b->part_bytes, most_units(p->pools[group], op), sizeof(float));
	host_mem_need(&b->part_bytes, op->n, sizeof(uint32_t));
	return LMD_OK;
}

struct host_mem_index host_mem_index_take(char **cursor, const struct host_mem_run *r,
					  const struct host_mem_compiled_plan *p,
					  const struct lmd_op_index *op)
{
	struct host_mem_index x = {
		.r = r,
		.op = op,
		.group = p->plan->caches[op->cache].group,
		.y = host_mem_view(r, &op->y),
	};

	x.score = host_mem_take(cursor, most_units(p->pools[group_of(p->plan, op)], op),
				sizeof(float));
	x.heap = host_mem_take(cursor, op->n, sizeof(uint32_t));
	return x;
}

/* Inserts unit u into the heap of n, which has a hole at i.  The hole first moves down to a leaf,
 * always to the worse child (the right one if they are equal); then u moves up while its parent is
 * better. */
static void sift(const struct host_mem_index *x, uint32_t n, uint32_t i, uint32_t u)
{
	const float *s = x->score;
	uint32_t *h = x->heap, top = i;

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && !(s[h[c + 1]] > s[h[c]]))
			c++;
		h[i] = h[c];
	}
	while (i > top && s[h[(i - 1) / 2]] > s[u]) {
		h[i] = h[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h[i] = u;
}

/* Fills the heap with the best of the units [lo, hi); returns how many it holds. */
static uint32_t choose(const struct host_mem_index *x, uint32_t lo, uint32_t hi)
{
	uint32_t n = hi - lo < x->op->n ? hi - lo : x->op->n;

	for (uint32_t i = 0; i < n; i++)
		x->heap[i] = lo + i;
	for (uint32_t i = n / 2; i-- > 0;)
		sift(x, n, i, x->heap[i]);
	for (uint32_t u = lo + n; n && u < hi; u++) {
		if (x->score[u] > x->score[x->heap[0]])
			sift(x, n, 0, u);
	}
	return n;
}

/* Scores the keys [lo, hi) of the group `of`; `each` consecutive keys share a row of the cache and
 * thus a score. */
static void spread(const struct host_mem_index *x, struct host_mem_index_key k, uint32_t *lo,
		   uint32_t *hi)
{
	const struct lmd_step_group *rows = &x->r->step->group[x->group];
	const struct lmd_step_group *keys = &x->r->step->group[x->op->of];
	uint32_t e = x->op->each, row = k.row, first = (uint32_t)rows->kv_lo[row],
		 end = (uint32_t)rows->kv_hi[row];
	float score = INFINITY;

	if (keys->kv_lo[row] >= keys->kv_hi[row])
		return;
	*lo = (uint32_t)keys->kv_lo[row] > first * e ? (uint32_t)keys->kv_lo[row] : first * e;
	*hi = (uint32_t)keys->kv_hi[row];
	if (*lo > *hi)
		*lo = *hi;
	for (uint32_t key = *lo; key < *hi; key++) {
		if (key == *lo || key % e == 0) {
			k.key = key / e;
			score = k.key < end ? x->key_score(x->arg, &k) : INFINITY;
		}
		x->score[key] = score;
	}
}

void host_mem_index_list(const struct host_mem_index *x, uint32_t row, uint32_t list)
{
	const struct lmd_step_group *g = &x->r->step->group[x->group];
	struct host_mem_index_key k = {
		.seq = (uint32_t)x->r->step->seq_of[row], .row = row, .list = list};
	uint32_t u = x->op->unit, lo = 0, hi = 0, n;

	if (x->op->each > 1) {
		spread(x, k, &lo, &hi);
	} else if (g->kv_lo[row] < g->kv_hi[row]) {
		lo = (uint32_t)g->kv_lo[row] / u;
		hi = (uint32_t)(g->kv_hi[row] - 1) / u + 1;
		for (uint32_t i = lo; i < hi; i++)
			x->score[i] = -INFINITY;
		for (k.key = (uint32_t)g->kv_lo[row]; k.key < (uint32_t)g->kv_hi[row]; k.key++)
			x->score[k.key / u] = fmaxf(x->score[k.key / u], x->key_score(x->arg, &k));
	}
	for (uint32_t i = 0; i < x->op->local && i < hi - lo; i++)
		x->score[hi - 1 - i] = INFINITY;
	n = choose(x, lo, hi);
	for (uint32_t i = 0; i < x->op->n; i++)
		host_mem_put_i32(&x->y, row, list, i, i < n ? (int32_t)x->heap[i] : -1);
}
