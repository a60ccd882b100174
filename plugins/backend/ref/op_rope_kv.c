/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV: norms and rotates the heads of q and k, and stores k and v in the cache.
 *
 * Angles are computed in double: in f32, a position of 2^20 times a frequency of 1 would lose a
 * tenth of a radian. */
#include <string.h>

#include "norm.h"
#include "ops.h"
#include "backend/common/view.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	uint32_t most = o->q.width > o->k.width ? o->q.width : o->k.width;

	most = o->v.width > most ? o->v.width : most;
	for (int i = 0; i < 3; i++)
		host_mem_need(&b->host_mem.part_bytes, most, sizeof(float));
	if (o->rope != LMD_NONE)
		host_mem_need(&b->host_mem.part_bytes, b->host_mem.plan->ropes[o->rope].n_rot,
			      sizeof(float));
	if (o->cache != LMD_NONE && o->append) {
		enum lmd_status st =
			host_mem_need_cache(&b->compiled_plan->host_mem, o->cache, err);

		if (st != LMD_OK)
			return st;
		b->compiled_plan->group_write[b->host_mem.plan->caches[o->cache].group] = true;
	}
	return LMD_OK;
}

struct work {
	const struct ref_run *r;
	const struct lmd_op_rope_kv *op;
	const struct lmd_rope *rope; /* or NULL */
	struct host_mem_view pos;
	float *tmp, *head, *out; /* one head each */
	float *rope_row;             /* [n_rot]: cosine and sine of each pair for this row */
};

/* Fills the rope table of one row. */
static void fill_rope(const struct work *w, uint32_t space, uint32_t row)
{
	for (uint32_t i = 0; w->rope && i < w->rope->n_rot / 2; i++) {
		int32_t pos =
			w->pos.base ? host_mem_cell_i32(&w->pos, row, 0)
				    : host_mem_pos(&w->r->host_mem, space, row, w->rope->plane[i]);
		double angle = (double)w->op->sign * pos * w->rope->freq[i];

		w->rope_row[2 * i] = (float)(cos(angle) * (double)w->rope->magnitude);
		w->rope_row[2 * i + 1] = (float)(sin(angle) * (double)w->rope->magnitude);
	}
}

static void rotate(const struct work *w, float *x)
{
	uint32_t half = w->rope ? w->rope->n_rot / 2 : 0;

	x += w->op->rot0;
	for (uint32_t i = 0; i < half; i++) {
		bool near = w->rope->pairing == LMD_ROPE_ADJACENT;
		float *a = &x[near ? 2 * i : i], *b = &x[near ? 2 * i + 1 : i + half];
		float c = w->rope_row[2 * i], s = w->rope_row[2 * i + 1], x0 = *a, x1 = *b;

		*a = x0 * c - x1 * s;
		*b = x0 * s + x1 * c;
	}
}

/* Norms and rotates head h of q or k. */
static const float *finish(const struct work *w, const struct host_mem_view *v,
			   const struct ref_norm *n, uint32_t row, uint32_t h)
{
	const float *x = host_mem_f32(v, row, h, w->tmp);
	bool norm = n->n->kind != LMD_NORM_NONE;

	if (norm && w->op->norm_when == LMD_QKN_BEFORE)
		ref_norm_row(n, row, h, x, w->head, v->width, NULL);
	else
		memcpy(w->head, x, v->width * sizeof(float));
	rotate(w, w->head);
	if (norm && w->op->norm_when == LMD_QKN_AFTER)
		ref_norm_row(n, row, h, w->head, w->head, v->width, NULL);
	return w->head;
}

static void put(const struct work *w, const struct host_mem_view *v, uint32_t row, uint32_t h,
		const float *x)
{
	void *y;

	if (!v->base)
		return;
	y = host_mem_at(v, row, h, w->out);
	memcpy(y, x, v->width * sizeof(float));
	host_mem_commit(v, row, h, y, w->out);
}

/* Returns the page where this row is stored, and its row in the page; NULL = nowhere. */
static char *place(const struct work *w, uint32_t row, uint32_t *in_page)
{
	const struct lmd_pool *pool;
	uint32_t group;
	int32_t slot;

	if (w->op->cache == LMD_NONE || !w->op->append)
		return NULL;
	group = w->r->host_mem.plan->caches[w->op->cache].group;
	pool = w->r->compiled_plan->host_mem.pools[group];
	slot = w->r->host_mem.step->group[group].slot[row];
	if (slot < 0)
		return NULL;
	*in_page = (uint32_t)slot % pool->shape.page_tokens;
	return pool->mem + (size_t)((uint32_t)slot / pool->shape.page_tokens) * pool->unit_bytes;
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	struct host_mem_view q = host_mem_view(&r->host_mem, &o->q),
			     k = host_mem_view(&r->host_mem, &o->k),
			     v = host_mem_view(&r->host_mem, &o->v);
	struct host_mem_view q_out = host_mem_view(&r->host_mem, &o->q_out),
			     k_out = host_mem_view(&r->host_mem, &o->k_out);
	struct ref_norm qn = ref_norm(r, &o->qn), kn = ref_norm(r, &o->kn);
	const struct host_mem_view *any = q.base ? &q : k.base ? &k : &v;
	const struct host_mem_cache *c =
		o->cache == LMD_NONE ? NULL : r->compiled_plan->host_mem.caches[o->cache];
	struct work w = {.r = r, .op = o, .pos = host_mem_view(&r->host_mem, &o->pos)};
	uint32_t most = q.width > k.width ? q.width : k.width;
	char *scratch = p->scratch;
	uint64_t lo, hi;

	most = v.width > most ? v.width : most;
	w.tmp = host_mem_take(&scratch, most, sizeof(float));
	w.head = host_mem_take(&scratch, most, sizeof(float));
	w.out = host_mem_take(&scratch, most, sizeof(float));
	if (o->rope != LMD_NONE) {
		w.rope = &r->host_mem.plan->ropes[o->rope];
		w.rope_row = host_mem_take(&scratch, w.rope->n_rot, sizeof(float));
	}
	host_mem_slice(p, any->n_row, &lo, &hi);
	for (uint32_t row = (uint32_t)lo; row < hi; row++) {
		uint32_t at = 0;
		char *page = place(&w, row, &at);

		fill_rope(&w, any->space, row);
		for (uint32_t h = 0; q.base && h < q.n_head; h++)
			put(&w, &q_out, row, h, finish(&w, &q, &qn, row, h));
		for (uint32_t h = 0; k.base && h < k.n_head; h++) {
			const float *x = finish(&w, &k, &kn, row, h);

			put(&w, &k_out, row, h, x);
			if (page && (o->append & LMD_APPEND_K))
				ref_cache_encode(r->dev, c->desc.k_dtype, x,
						 page + c->k_off + at * c->k_row + h * c->k_head,
						 k.width);
		}
		for (uint32_t h = 0; v.base && page && c->has_v && h < v.n_head; h++) {
			if (o->append & LMD_APPEND_V)
				ref_cache_encode(
					r->dev, c->desc.v_dtype, host_mem_f32(&v, row, h, w.tmp),
					page + c->v_off + at * c->v_row + h * c->v_head, v.width);
		}
	}
}

const struct ref_op ref_op_rope_kv = {
	.plan = plan,
	.run = run,
};
