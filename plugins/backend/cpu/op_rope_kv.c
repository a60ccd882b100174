/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV: norms and rotates the heads of q and k, and stores k and v in the cache.
 *
 * Cosines and sines depend on the position only, so the first op of a plan that rotates in a
 * certain way fills the rope table of the step (phase 0) for all that follow.  Phase 1 is left to
 * the following ATTN if that does it faster (attn_rope.c). */
#include <string.h>

#include "attn.h"
#include "ops.h"
#include "rope.h"

static uint32_t space_of(const struct lmd_plan *plan, const struct lmd_op_rope_kv *o)
{
	const struct lmd_operand *any = o->q.src ? &o->q : o->k.src ? &o->k : &o->v;

	return any->src == LMD_SRC_VALUE ? plan->values[any->id].space : LMD_SPACE_TOKENS;
}

static bool same(const struct cpu_rope_table *t, const struct lmd_op_rope_kv *o, uint32_t space)
{
	return t->rope == o->rope && t->space == space && t->sign == o->sign &&
	       t->pos.src == o->pos.src &&
	       (o->pos.src == LMD_SRC_NONE ||
		(t->pos.id == o->pos.id && t->pos.col0 == o->pos.col0));
}

static enum lmd_status find_turns(struct cpu_build *b, const struct lmd_op_rope_kv *o,
				  struct cpu_rope_data *d, struct lmd_error *err)
{
	const struct lmd_host *h = b->dev->host;
	uint32_t space = space_of(b->host_mem.plan, o),
		 n_rot = b->host_mem.plan->ropes[o->rope].n_rot;
	struct lmd_compiled_plan *p = b->compiled_plan;
	size_t rows = b->host_mem.plan->max_rows[space] / (o->q.fold > 1 ? o->q.fold : 1);

	for (uint32_t i = 0; i < p->n_turns && !d->turns; i++) {
		if (same(&p->turns[i], o, space))
			d->turns = &p->turns[i];
	}
	if (d->turns)
		return LMD_OK;
	d->first = true;
	d->turns = &p->turns[p->n_turns];
	*d->turns = (struct cpu_rope_table){
		.rope = o->rope, .space = space, .sign = o->sign, .pos = o->pos};
	d->turns->t = h->alloc(h->ctx, rows * n_rot * 2 * sizeof(float));
	if (!d->turns->t)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for a rope table of %zu rows",
				rows);
	p->n_turns++;
	return LMD_OK;
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	struct cpu_rope_data *d = b->dev->host->alloc(b->dev->host->ctx, sizeof(*d));
	enum lmd_status st = LMD_OK;

	if (!d)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for an op");
	b->node->data = d;
	b->host_mem.n_phase = 2;
	cpu_rope_need(&b->host_mem.part_bytes, o);
	if (o->rope != LMD_NONE)
		st = find_turns(b, o, d, err);
	if (st == LMD_OK && o->cache != LMD_NONE && o->append)
		st = host_mem_need_cache(&b->compiled_plan->host_mem, o->cache, err);
	return st;
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	const struct cpu_rope_data *d = n->data;

	return phase == 0 ? d->first : !d->attn || !attn_does_rope(r, d->attn);
}

static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	const struct lmd_op_rope_kv *o = &n->op->u.rope_kv;

	if (phase == 1)
		return cpu_rope_little(r, n);
	/* A cosine is as much work as a dozen other numbers. */
	return (uint64_t)cpu_rope_any(r, o).n_row * r->host_mem.plan->ropes[o->rope].n_rot <=
	       CPU_SMALL_PHASE / 16;
}

/* Processes head i of a row, counted over q, k and v. */
static void one_head(const struct cpu_rope *w, uint32_t row, uint32_t i)
{
	uint32_t n_q = w->q.base ? w->q.n_head : 0, n_k = w->k.base ? w->k.n_head : 0;

	if (i >= n_q + n_k) {
		cpu_rope_v(w, row, i - n_q - n_k);
	} else if (i >= n_q) {
		cpu_rope_k(w, row, i - n_q);
	} else if (w->q_out.base) {
		float *y = host_mem_at(&w->q_out, row, i, w->out);

		memcpy(y, cpu_rope_q(w, row, i), w->q.width * sizeof(float));
		host_mem_commit(&w->q_out, row, i, y, w->out);
	}
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_rope_kv *o = &n->op->u.rope_kv;
	const struct cpu_rope_data *d = n->data;
	uint32_t n_row = cpu_rope_any(r, o).n_row, heads;
	char *scratch = p->host_mem.scratch;
	struct cpu_rope w;
	uint64_t lo, hi;

	if (p->host_mem.phase == 0) {
		struct host_mem_view pos = host_mem_view(&r->host_mem, &o->pos);

		host_mem_slice(&p->host_mem, n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++)
			cpu_rope_table_row(r, d->turns, &pos, (uint32_t)row);
		return;
	}
	cpu_rope_setup(&w, r, n, &scratch);
	heads = (w.q.base ? w.q.n_head : 0) + (w.k.base ? w.k.n_head : 0) +
		(w.v.base ? w.v.n_head : 0);
	hi = (uint64_t)n_row * heads;
	if (r->single) { /* heads of k and v are more work: deal them out evenly */
		for (uint64_t i = p->host_mem.part; i < hi; i += p->host_mem.n_part)
			one_head(&w, (uint32_t)(i / heads), (uint32_t)(i % heads));
		return;
	}
	host_mem_slice(&p->host_mem, hi, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		one_head(&w, (uint32_t)(i / heads), (uint32_t)(i % heads));
}

const struct cpu_op cpu_op_rope_kv = {
	.plan = plan,
	.wanted = wanted,
	.little = little,
	.run = run,
};
