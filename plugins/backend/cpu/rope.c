/* SPDX-License-Identifier: MIT
 *
 * Processes one head at a time; see rope.h.  Angles are computed in double: in f32, a position of
 * 2^20 times a frequency of 1 would lose a tenth of a radian. */
#include "rope.h"

#include <string.h>

#include "backend/common/exact_math.h"
#include "kern/float.h"
#include "kv.h"

static uint32_t widest(const struct lmd_op_rope_kv *o)
{
	uint32_t most = o->q.width > o->k.width ? o->q.width : o->k.width;

	return o->v.width > most ? o->v.width : most;
}

void cpu_rope_need(uint64_t *bytes, const struct lmd_op_rope_kv *o)
{
	for (int i = 0; i < 4; i++)
		host_mem_need(bytes, widest(o), sizeof(float));
}

void cpu_rope_setup(struct cpu_rope *w, const struct cpu_run *r, const struct cpu_node *n,
		    char **scratch)
{
	const struct lmd_op_rope_kv *o = &n->op->u.rope_kv;
	const struct cpu_rope_data *d = n->data;

	*w = (struct cpu_rope){
		.r = r,
		.op = o,
		.turns = d->turns,
		.rope = o->rope == LMD_NONE ? NULL : &r->host_mem.plan->ropes[o->rope],
		.q = host_mem_view(&r->host_mem, &o->q),
		.k = host_mem_view(&r->host_mem, &o->k),
		.v = host_mem_view(&r->host_mem, &o->v),
		.q_out = host_mem_view(&r->host_mem, &o->q_out),
		.k_out = host_mem_view(&r->host_mem, &o->k_out),
		.qn = cpu_norm(r, &o->qn),
		.kn = cpu_norm(r, &o->kn),
		.cache = o->cache == LMD_NONE ? NULL : r->compiled_plan->host_mem.caches[o->cache],
	};
	w->tmp = host_mem_take(scratch, widest(o), sizeof(float));
	w->head = host_mem_take(scratch, widest(o), sizeof(float));
	w->out = host_mem_take(scratch, widest(o), sizeof(float));
	w->enc = host_mem_take(scratch, widest(o), sizeof(float));
}

struct host_mem_view cpu_rope_any(const struct cpu_run *r, const struct lmd_op_rope_kv *o)
{
	return host_mem_view(&r->host_mem, o->q.src ? &o->q : o->k.src ? &o->k : &o->v);
}

bool cpu_rope_little(const struct cpu_run *r, const struct cpu_node *n)
{
	const struct lmd_op_rope_kv *o = &n->op->u.rope_kv;
	/* Each number of a transposed k is written to another cache line, which takes as long as
	 * four. */
	uint64_t cols = (uint64_t)o->q.n_head * o->q.width +
			4 * (uint64_t)(o->k.n_head * o->k.width + o->v.n_head * o->v.width);

	return cpu_rope_any(r, o).n_row * cols <= CPU_SMALL_PHASE;
}

void cpu_rope_table_row(const struct cpu_run *r, const struct cpu_rope_table *t,
			const struct host_mem_view *pos, uint32_t row)
{
	const struct lmd_rope *rope = &r->host_mem.plan->ropes[t->rope];
	float *c = t->t + (size_t)row * rope->n_rot * 2, *s = c + rope->n_rot;

	for (uint32_t i = 0; i < rope->n_rot / 2; i++) {
		bool near = rope->pairing == LMD_ROPE_ADJACENT;
		uint32_t a = near ? 2 * i : i, b = near ? 2 * i + 1 : i + rope->n_rot / 2;
		int32_t p = pos->base ? host_mem_cell_i32(pos, row, 0)
				      : host_mem_pos(&r->host_mem, t->space, row, rope->plane[i]);
		double angle = (double)t->sign * p * rope->freq[i];
		double cosine, sine;

		if (r->dev->exact) {
			device_exact_turn(angle, &cosine, &sine);
		} else {
			cosine = cos(angle);
			sine = sin(angle);
		}
		c[a] = c[b] = (float)(cosine * (double)rope->magnitude);
		s[b] = (float)(sine * (double)rope->magnitude);
		s[a] = -s[b];
	}
}

static void rotate(const struct cpu_rope *w, uint32_t row, float *x)
{
	const float *c;

	if (!w->rope)
		return;
	c = w->turns->t + (size_t)row * w->rope->n_rot * 2;
	w->r->dev->fl->rotate(x + w->op->rot0, x + w->op->rot0, c, c + w->rope->n_rot,
			      w->rope->n_rot, w->rope->pairing == LMD_ROPE_ADJACENT);
}

/* Norms and rotates head h of q or k. */
static const float *finish(const struct cpu_rope *w, const struct host_mem_view *v,
			   const struct cpu_norm *n, uint32_t row, uint32_t h)
{
	const float *x = host_mem_f32(v, row, h, w->tmp);
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

const float *cpu_rope_q(const struct cpu_rope *w, uint32_t row, uint32_t h)
{
	return finish(w, &w->q, &w->qn, row, h);
}

/* Cache row where this row is stored, -1 = nowhere. */
static int32_t place(const struct cpu_rope *w, uint32_t row, uint32_t append)
{
	if (!w->cache || !(w->op->append & append))
		return -1;
	return w->r->host_mem.step->group[w->cache->desc.group].slot[row];
}

void cpu_rope_k(const struct cpu_rope *w, uint32_t row, uint32_t h)
{
	int32_t slot = place(w, row, LMD_APPEND_K);
	const float *x;

	if (!w->k.base)
		return;
	x = finish(w, &w->k, &w->kn, row, h);
	if (w->k_out.base) {
		void *y = host_mem_at(&w->k_out, row, h, w->out);

		memcpy(y, x, w->k.width * sizeof(float));
		host_mem_commit(&w->k_out, row, h, y, w->out);
	}
	if (slot >= 0)
		cpu_kv_put_k(w->r->dev, w->cache, (uint32_t)slot / CPU_PAGE_TOKENS, h,
			     (uint32_t)slot % CPU_PAGE_TOKENS, x, w->enc);
}

void cpu_rope_v(const struct cpu_rope *w, uint32_t row, uint32_t h)
{
	int32_t slot = place(w, row, LMD_APPEND_V);

	if (w->v.base && slot >= 0 && w->cache->has_v)
		cpu_kv_put_v(w->r->dev, w->cache, (uint32_t)slot / CPU_PAGE_TOKENS, h,
			     (uint32_t)slot % CPU_PAGE_TOKENS, host_mem_f32(&w->v, row, h, w->tmp));
}
