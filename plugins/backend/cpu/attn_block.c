/* SPDX-License-Identifier: MIT
 *
 * Computes one chunk of keys for a block of rows and merges chunks; see attn_block.h. */
#include "attn_block.h"

#include <string.h>

/* Row of query i of a block. */
static uint32_t row_of(const struct attn_block *b, uint32_t i)
{
	return b->row0 + i / b->n_head;
}

static uint32_t head_of(const struct attn *a, const struct attn_block *b, uint32_t i)
{
	return attn_head(a, b->kv_head, b->head0 + i % b->n_head);
}

void attn_store(const struct attn_work *w, const struct attn_block *b)
{
	for (uint32_t row = b->row0; w->turns && row < b->row0 + b->n_row; row++) {
		cpu_rope_k(&w->rope, row, b->kv_head);
		cpu_rope_v(&w->rope, row, b->kv_head);
	}
}

void attn_load_queries(struct attn_work *w, const struct attn_block *b)
{
	const struct attn *a = &w->a;

	for (uint32_t i = 0; i < b->n_row * b->n_head; i++) {
		uint32_t row = row_of(b, i), head = head_of(a, b, i);
		float *to = w->q + (size_t)i * a->dk;
		const float *q = w->turns && w->rope.q.base ? cpu_rope_q(&w->rope, row, head)
							    : host_mem_f32(&a->q, row, head, to);

		a->r->dev->fl->madd(to, NULL, a->op->scale, q, a->dk);
	}
}

bool attn_find_keys(struct attn_work *w, struct attn_block *b, int i)
{
	const struct attn *a = &w->a;
	const struct lmd_attn_src *s = &a->op->src[i];
	const struct lmd_step_group *g;

	if (s->kind == LMD_KV_NONE)
		return false;
	g = &a->r->host_mem.step->group[s->group];
	b->keys = (struct attn_keys){
		.src = i,
		.seq = b->seq,
		.kv_head = b->kv_head,
		.listed = a->list[i].base != NULL,
		.row = b->row0,
		.lo = INT32_MAX,
	};
	for (uint32_t row = b->row0; row < b->row0 + b->n_row; row++) {
		if (g->kv_lo[row] >= g->kv_hi[row])
			continue;
		b->keys.lo = g->kv_lo[row] < b->keys.lo ? g->kv_lo[row] : b->keys.lo;
		b->keys.hi = g->kv_hi[row] > b->keys.hi ? g->kv_hi[row] : b->keys.hi;
	}
	b->n_step = 0;
	if (b->keys.lo < b->keys.hi && a->op->tree && a->r->host_mem.step->tree && !b->keys.listed)
		b->n_step = attn_step_keys(a, &b->keys);
	if (b->keys.lo < b->keys.hi && b->keys.listed) {
		b->keys.lo = 0;
		b->keys.hi = (int64_t)a->list[i].width * s->list_unit;
	}
	return b->keys.lo < b->keys.hi;
}

/* Turns the scores of query i in the chunk that begins at position `first` into weights and sets
 * its m and l.  [from, to) are the whole tiles around what the block sees. */
static void softmax(struct attn_work *w, const struct attn_block *b, uint32_t i, uint32_t first,
		    uint32_t from, uint32_t to)
{
	const struct attn *a = &w->a;
	const struct cpu_float *fl = a->r->dev->fl;
	uint32_t row = row_of(b, i), head = head_of(a, b, i);
	const struct lmd_step_group *g = &a->r->host_mem.step->group[a->op->src[b->keys.src].group];
	int64_t lo = b->keys.listed ? b->keys.lo : g->kv_lo[row];
	int64_t hi = b->keys.listed ? b->keys.hi : g->kv_hi[row];
	float *s = w->s + (size_t)i * ATTN_CHUNK;

	w->part.m[i] = -INFINITY;
	w->part.l[i] = 0;
	lo = lo > from ? lo : from;
	hi = hi < to ? hi : to;
	if (lo < hi) {
		attn_bias(a, &b->keys, row, head, s, first, (uint32_t)lo, (uint32_t)hi);
		for (uint32_t j = from; j < (uint32_t)lo; j++)
			s[j - first] = -INFINITY;
		for (uint32_t j = (uint32_t)hi; j < to; j++)
			s[j - first] = -INFINITY;
		for (uint32_t j = (uint32_t)lo; b->keys.listed && j < (uint32_t)hi; j++) {
			if (attn_key(a, &b->keys, j) < 0)
				s[j - first] = -INFINITY;
		}
		if (b->n_step)
			attn_mask_tree(a, row, b->n_step, s, first, ATTN_CHUNK);
		/* Whole tiles in which this row sees a key: the number of SIMD lanes must not
		 * depend on neighbouring rows. */
		from = (uint32_t)lo / ATTN_TILE * ATTN_TILE;
		to = ((uint32_t)hi + ATTN_TILE - 1) / ATTN_TILE * ATTN_TILE;
		w->part.m[i] = fl->max(s + (from - first), to - from);
	}
	if (w->part.m[i] == -INFINITY) {
		memset(s, 0, ATTN_CHUNK * sizeof(*s));
		return;
	}
	memset(s, 0, (from - first) * sizeof(*s));
	memset(s + (to - first), 0, (ATTN_CHUNK - (to - first)) * sizeof(*s));
	w->part.l[i] = fl->exp_sum(s + (from - first), to - from, w->part.m[i]);
}

void attn_chunk(struct attn_work *w, const struct attn_block *b, uint32_t c)
{
	const struct attn *a = &w->a;
	uint32_t n = b->n_row * b->n_head, first = c * ATTN_CHUNK;
	uint32_t lo = b->keys.lo > first ? (uint32_t)b->keys.lo : first;
	uint32_t hi = b->keys.hi < first + ATTN_CHUNK ? (uint32_t)b->keys.hi : first + ATTN_CHUNK;
	uint32_t t0 = lo / ATTN_TILE, t1 = (hi + ATTN_TILE - 1) / ATTN_TILE;

	for (uint32_t i = 0; i < n; i++)
		memset(w->s + (size_t)i * ATTN_CHUNK + (t0 * ATTN_TILE - first), 0,
		       (size_t)(t1 - t0) * ATTN_TILE * sizeof(float));
	for (uint32_t t = t0; t < t1; t++)
		attn_scores(a, &b->keys, t, w->q, n, w->s + (t * ATTN_TILE - first), ATTN_CHUNK);
	for (uint32_t i = 0; i < n; i++)
		softmax(w, b, i, first, t0 * ATTN_TILE, t1 * ATTN_TILE);
	memset(w->part.o, 0, (size_t)n * a->dv * sizeof(float));
	for (uint32_t t = t0; t < t1; t++) {
		uint32_t from = t == t0 ? lo : t * ATTN_TILE;
		uint32_t to = t + 1 == t1 ? hi : (t + 1) * ATTN_TILE;

		attn_values(a, &b->keys, t, from, to, w->s + (t * ATTN_TILE - first), ATTN_CHUNK, n,
			    w->part.o);
	}
}

void attn_merge(const struct attn *a, float *m, float *l, float *o, float m2, float l2,
		const float *o2)
{
	const struct cpu_float *fl = a->r->dev->fl;
	float less;

	if (m2 == -INFINITY)
		return;
	if (*m == -INFINITY) {
		*m = m2;
		*l = l2;
		memcpy(o, o2, a->dv * sizeof(*o));
	} else if (m2 <= *m) {
		less = fl->exp(m2 - *m);
		*l += l2 * less;
		fl->madd(o, o, less, o2, a->dv);
	} else {
		less = fl->exp(*m - m2);
		*m = m2;
		*l = *l * less + l2;
		fl->madd(o, o2, less, o, a->dv);
	}
}

void attn_finish(struct attn_work *w, const struct attn_block *b, uint32_t i)
{
	const struct attn *a = &w->a;
	uint32_t row = row_of(b, i), head = head_of(a, b, i);
	float *o = w->all.o + (size_t)i * a->dv, m = w->all.m[i], l = w->all.l[i], scale = 1;
	float *y = host_mem_at(&a->y, row, head, w->part.o);

	if (a->op->sinks != LMD_NONE && m != -INFINITY) {
		float sink = a->r->compiled_plan->host_mem.weights[a->op->sinks]->flat[head];
		float top = sink > m ? sink : m;

		scale = a->r->dev->fl->exp(m - top);
		l = l * scale + a->r->dev->fl->exp(sink - top);
	}
	if (m == -INFINITY)
		memset(y, 0, a->dv * sizeof(*y));
	else
		a->r->dev->fl->madd(y, NULL, scale / l, o, a->dv);
	host_mem_commit(&a->y, row, head, y, w->part.o);
}
