/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV: norm and rotation of the heads of q and k, and the way of k and v into the cache.
 *
 * Cosines and sines depend on the position alone, so the first op of a plan that turns in a certain
 * way computes those of the step (phase 0) for all that follow.  Angles are taken in double: a
 * position of 2^20 times a frequency of 1 would lose a tenth of a radian in f32. */
#include "kern/float.h"
#include "kv.h"
#include "norm.h"
#include "ops.h"
#include "view.h"

/* node->data */
struct rope_data {
	struct cpu_turns *turns; /* or NULL */
	bool first;              /* makes them */
};

static uint32_t space_of(const struct lmd_plan *plan, const struct lmd_op_rope_kv *o)
{
	const struct lmd_opnd *any = o->q.src ? &o->q : o->k.src ? &o->k : &o->v;

	return any->src == LMD_SRC_VALUE ? plan->values[any->id].space : LMD_SPACE_TOKENS;
}

static bool same(const struct cpu_turns *t, const struct lmd_op_rope_kv *o, uint32_t space)
{
	return t->rope == o->rope && t->space == space && t->sign == o->sign &&
	       t->pos.src == o->pos.src &&
	       (o->pos.src == LMD_SRC_NONE ||
		(t->pos.id == o->pos.id && t->pos.col0 == o->pos.col0));
}

static enum lmd_status find_turns(struct cpu_build *b, const struct lmd_op_rope_kv *o,
				  struct rope_data *d, struct lmd_error *err)
{
	const struct lmd_host *h = b->dev->host;
	uint32_t space = space_of(b->plan, o), n_rot = b->plan->ropes[o->rope].n_rot;
	struct lmd_cplan *p = b->cplan;
	size_t rows = b->plan->max_rows[space] / (o->q.fold > 1 ? o->q.fold : 1);

	for (uint32_t i = 0; i < p->n_turns && !d->turns; i++) {
		if (same(&p->turns[i], o, space))
			d->turns = &p->turns[i];
	}
	if (d->turns)
		return LMD_OK;
	d->first = true;
	d->turns = &p->turns[p->n_turns];
	*d->turns =
		(struct cpu_turns){.rope = o->rope, .space = space, .sign = o->sign, .pos = o->pos};
	d->turns->t = h->alloc(h->ctx, rows * n_rot * 2 * sizeof(float));
	if (!d->turns->t)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for the angles of %zu rows", rows);
	p->n_turns++;
	return LMD_OK;
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	uint32_t most = o->q.width > o->k.width ? o->q.width : o->k.width;
	struct rope_data *d = b->dev->host->alloc(b->dev->host->ctx, sizeof(*d));
	enum lmd_status st = LMD_OK;

	if (!d)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for an op");
	b->node->data = d;
	b->n_phase = 2;
	most = o->v.width > most ? o->v.width : most;
	for (int i = 0; i < 4; i++)
		cpu_need(&b->part_bytes, most, sizeof(float));
	if (o->rope != LMD_NONE)
		st = find_turns(b, o, d, err);
	if (st == LMD_OK && o->cache != LMD_NONE && o->append)
		st = cpu_need_cache(b, o->cache, err);
	return st;
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	(void)r;
	return phase == 1 || ((const struct rope_data *)n->data)->first;
}

struct work {
	const struct cpu_run *r;
	const struct lmd_op_rope_kv *op;
	const struct lmd_rope *rope; /* or NULL */
	const struct cpu_turns *turns;
	struct cpu_view q, k, v, q_out, k_out;
	struct cpu_norm qn, kn;
	const struct cpu_cache *cache; /* or NULL */
	float *tmp, *head, *out, *enc; /* a head each */
};

/* Factors of one row. */
static void turn_row(const struct cpu_run *r, const struct cpu_turns *t, const struct cpu_view *pos,
		     uint32_t row)
{
	const struct lmd_rope *rope = &r->plan->ropes[t->rope];
	float *c = t->t + (size_t)row * rope->n_rot * 2, *s = c + rope->n_rot;

	for (uint32_t i = 0; i < rope->n_rot / 2; i++) {
		bool near = rope->pairing == LMD_ROPE_ADJACENT;
		uint32_t a = near ? 2 * i : i, b = near ? 2 * i + 1 : i + rope->n_rot / 2;
		int32_t p = pos->base ? cpu_cell_i32(pos, row, 0)
				      : cpu_pos(r, t->space, row, rope->plane[i]);
		double angle = (double)t->sign * p * rope->freq[i];

		c[a] = c[b] = (float)(cos(angle) * (double)rope->magnitude);
		s[b] = (float)(sin(angle) * (double)rope->magnitude);
		s[a] = -s[b];
	}
}

static void rotate(const struct work *w, uint32_t row, float *x)
{
	const float *c;

	if (!w->rope)
		return;
	c = w->turns->t + (size_t)row * w->rope->n_rot * 2;
	w->r->dev->fl->rotate(x + w->op->rot0, x + w->op->rot0, c, c + w->rope->n_rot,
			      w->rope->n_rot, w->rope->pairing == LMD_ROPE_ADJACENT);
}

/* Head h of q or k, finished. */
static const float *finish(const struct work *w, const struct cpu_view *v, const struct cpu_norm *n,
			   uint32_t row, uint32_t h)
{
	const float *x = cpu_f32(v, row, h, w->tmp);
	bool norm = n->n->kind != LMD_NORM_NONE;

	if (norm && w->op->norm_when == LMD_QKN_BEFORE)
		cpu_norm_row(w->r, n, row, h, x, w->head, v->width, NULL);
	else
		memcpy(w->head, x, v->width * sizeof(float));
	rotate(w, row, w->head);
	if (norm && w->op->norm_when == LMD_QKN_AFTER)
		cpu_norm_row(w->r, n, row, h, w->head, w->head, v->width, NULL);
	return w->head;
}

static void put(const struct work *w, const struct cpu_view *v, uint32_t row, uint32_t h,
		const float *x)
{
	void *y;

	if (!v->base)
		return;
	y = cpu_at(v, row, h, w->out);
	memcpy(y, x, v->width * sizeof(float));
	cpu_commit(v, row, h, y, w->out);
}

/* Physical row where this row is stored, -1: nowhere. */
static int32_t place(const struct work *w, uint32_t row)
{
	if (!w->cache || !w->op->append)
		return -1;
	return w->r->step->group[w->cache->desc.group].slot[row];
}

/* Head i of a row, counted over q, k and v. */
static void one_head(const struct work *w, uint32_t row, uint32_t i)
{
	uint32_t n_q = w->q.base ? w->q.n_head : 0, n_k = w->k.base ? w->k.n_head : 0;
	int32_t slot = i < n_q ? -1 : place(w, row);
	uint32_t page = (uint32_t)slot / CPU_PAGE_TOKENS, at = (uint32_t)slot % CPU_PAGE_TOKENS;
	const float *x;

	if (i < n_q) {
		put(w, &w->q_out, row, i, finish(w, &w->q, &w->qn, row, i));
	} else if (i - n_q < n_k) {
		i -= n_q;
		x = finish(w, &w->k, &w->kn, row, i);
		put(w, &w->k_out, row, i, x);
		if (slot >= 0 && w->op->append & LMD_APPEND_K)
			cpu_kv_put_k(w->r->dev, w->cache, page, i, at, x, w->enc);
	} else if (slot >= 0 && w->cache->has_v && w->op->append & LMD_APPEND_V) {
		i -= n_q + n_k;
		cpu_kv_put_v(w->r->dev, w->cache, page, i, at, cpu_f32(&w->v, row, i, w->tmp));
	}
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_rope_kv *o = &n->op->u.rope_kv;
	const struct rope_data *d = n->data;
	struct work w = {
		.r = r,
		.op = o,
		.turns = d->turns,
		.rope = o->rope == LMD_NONE ? NULL : &r->plan->ropes[o->rope],
		.q = cpu_view(r, &o->q),
		.k = cpu_view(r, &o->k),
		.v = cpu_view(r, &o->v),
		.q_out = cpu_view(r, &o->q_out),
		.k_out = cpu_view(r, &o->k_out),
		.qn = cpu_norm(r, &o->qn),
		.kn = cpu_norm(r, &o->kn),
		.cache = o->cache == LMD_NONE ? NULL : r->cplan->caches[o->cache],
	};
	const struct cpu_view *any = w.q.base ? &w.q : w.k.base ? &w.k : &w.v;
	uint32_t most = w.q.width > w.k.width ? w.q.width : w.k.width, heads;
	char *scratch = p->scratch;
	uint64_t lo, hi;

	if (p->phase == 0) {
		struct cpu_view pos = cpu_view(r, &o->pos);

		cpu_slice(p, any->n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++)
			turn_row(r, d->turns, &pos, (uint32_t)row);
		return;
	}
	most = w.v.width > most ? w.v.width : most;
	w.tmp = cpu_take(&scratch, most, sizeof(float));
	w.head = cpu_take(&scratch, most, sizeof(float));
	w.out = cpu_take(&scratch, most, sizeof(float));
	w.enc = cpu_take(&scratch, most, sizeof(float));
	heads = (w.q.base ? w.q.n_head : 0) + (w.k.base ? w.k.n_head : 0) +
		(w.v.base ? w.v.n_head : 0);
	hi = (uint64_t)any->n_row * heads;
	if (r->single) { /* heads of k and v are more work: they go round */
		for (uint64_t i = p->part; i < hi; i += p->n_part)
			one_head(&w, (uint32_t)(i / heads), (uint32_t)(i % heads));
		return;
	}
	cpu_slice(p, hi, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		one_head(&w, (uint32_t)(i / heads), (uint32_t)(i % heads));
}

static const uint16_t ins[] = {
	CPU_OFF(rope_kv.q),    CPU_OFF(rope_kv.k),    CPU_OFF(rope_kv.v),    CPU_OFF(rope_kv.pos),
	CPU_OFF(rope_kv.qn.g), CPU_OFF(rope_kv.qn.b), CPU_OFF(rope_kv.kn.g), CPU_OFF(rope_kv.kn.b),
};
static const uint16_t outs[] = {CPU_OFF(rope_kv.q_out), CPU_OFF(rope_kv.k_out)};

const struct cpu_op cpu_op_rope_kv = {
	.name = "rope_kv",
	.plan = plan,
	.wanted = wanted,
	.run = run,
	CPU_OPERANDS(ins, outs),
};
