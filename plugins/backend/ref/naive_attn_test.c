/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV, ATTN and INDEX from their definitions. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "plugins/backend/ref/naive_test.h"

#define HEAD 12288 /* at least the columns of any head */

static int32_t position(const struct naive *n, uint32_t space, uint32_t row, uint32_t plane)
{
	int64_t t = token_of(n, space, row);
	uint32_t first, len;

	if (t >= 0)
		return n->s->pos[plane][t];
	seq_rows(n, space, seq_of(n, space, row), &first, &len);
	return (int32_t)(row - first);
}

/* ---- ROPE_KV ---- */

static void rotate(const struct naive *n, const struct lmd_op_rope_kv *o, uint32_t space,
		   uint32_t row, double *x)
{
	const struct lmd_rope *r;

	if (o->rope == LMD_NONE)
		return;
	r = &n->p->ropes[o->rope];
	for (uint32_t i = 0; i < r->n_rot / 2; i++) {
		uint32_t a = o->rot0 + (r->pairing == LMD_ROPE_ADJACENT ? 2 * i : i);
		uint32_t b = r->pairing == LMD_ROPE_ADJACENT ? a + 1 : a + r->n_rot / 2;
		double pos = o->pos.src ? get_flat(n, &o->pos, row, 0)
					: position(n, space, row, r->plane[i]);
		double angle = (double)o->sign * pos * r->freq[i], x0 = x[a], x1 = x[b];

		x[a] = (x0 * cos(angle) - x1 * sin(angle)) * (double)r->magnitude;
		x[b] = (x0 * sin(angle) + x1 * cos(angle)) * (double)r->magnitude;
	}
}

static void finish(const struct naive *n, const struct lmd_op_rope_kv *o,
		   const struct lmd_operand *v, const struct lmd_norm *m, uint32_t row,
		   uint32_t head, double *y)
{
	double x[HEAD];
	bool norm = m->kind != LMD_NORM_NONE;

	ck_assert_uint_le(v->width, HEAD);
	for (uint32_t c = 0; c < v->width; c++)
		x[c] = y[c] = get(n, v, row, head, c);
	if (norm && o->norm_when == LMD_QKN_BEFORE)
		norm_row(n, m, row, head, x, y, v->width, NULL);
	rotate(n, o, space_of(n, v), row, y);
	for (uint32_t c = 0; c < v->width; c++)
		x[c] = y[c];
	if (norm && o->norm_when == LMD_QKN_AFTER)
		norm_row(n, m, row, head, x, y, v->width, NULL);
}

/* Logical row in the cache's group where a row is stored. */
static uint32_t logical(const struct naive *n, uint32_t group, uint32_t row)
{
	if (group == OC_G_CROSS)
		return (uint32_t)position(n, LMD_SPACE_X0, row, 0);
	return (uint32_t)n->s->pos[0][row] / (group == OC_G_COMP ? 4 : 1);
}

static double *cell(const struct naive *n, double *const *cache, uint32_t id, uint32_t width,
		    uint32_t seq, uint32_t key, uint32_t head)
{
	return cache[id] +
	       (((size_t)oc_seq_slot(seq) * oc_max_keys(n->c) + key) * n->p->caches[id].n_head + head) *
		       width;
}

void naive_rope_kv(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	const struct lmd_operand *any = o->q.src ? &o->q : &o->k;
	const struct lmd_cache *cache = o->append ? &n->p->caches[o->cache] : NULL;
	double x[HEAD];

	for (uint32_t r = 0; r < rows_of(n, any); r++) {
		bool store = cache && n->s->group[cache->group].slot[r] >= 0;
		uint32_t seq = seq_of(n, space_of(n, any), r);
		uint32_t key = store ? logical(n, cache->group, r) : 0;

		for (uint32_t h = 0; o->q.src && h < o->q.n_head; h++) {
			finish(n, o, &o->q, &o->qn, r, h, x);
			for (uint32_t c = 0; c < o->q.width; c++)
				put(n, &o->q_out, r, h, c, x[c]);
		}
		for (uint32_t h = 0; o->k.src && h < o->k.n_head; h++) {
			finish(n, o, &o->k, &o->kn, r, h, x);
			for (uint32_t c = 0; o->k_out.src && c < o->k.width; c++)
				put(n, &o->k_out, r, h, c, x[c]);
			if (store && (o->append & LMD_APPEND_K))
				cache_store(n, cache->k_dtype, x,
					    cell(n, n->k, o->cache, cache->dk, seq, key, h),
					    cache->dk);
		}
		for (uint32_t h = 0; store && (o->append & LMD_APPEND_V) && h < o->v.n_head; h++) {
			for (uint32_t c = 0; c < o->v.width; c++)
				x[c] = get(n, &o->v, r, h, c);
			cache_store(n, cache->v_dtype, x,
				    cell(n, n->v, o->cache, cache->dv, seq, key, h), cache->dv);
		}
	}
}

/* ---- ATTN ---- */

struct key {
	int src;
	uint32_t j;
	double score;
};

/* Is key j of the source visible to the row? */
static bool visible(const struct naive *n, const struct lmd_op_attn *a, int i, uint32_t row,
		    uint32_t kv_head, int32_t j)
{
	const struct lmd_attn_src *s = &a->src[i];
	const struct lmd_step_group *g = &n->s->group[s->group];
	uint32_t seq = seq_of(n, space_of(n, &a->q), row), first, len;

	if (j < g->kv_lo[row] || j >= g->kv_hi[row])
		return false;
	if (s->list.src) {
		bool found = false;

		for (uint32_t c = 0; c < s->list.width; c++) {
			double e = get(n, &s->list, row, s->list.n_head > 1 ? kv_head : 0, c);

			found = found || (e >= 0 && (uint32_t)j / s->list_unit == (uint32_t)e);
		}
		if (!found)
			return false;
	}
	if (!a->tree || !n->s->tree)
		return true;
	seq_rows(n, LMD_SPACE_TOKENS, seq, &first, &len);
	for (uint32_t t = first; t < first + len; t++) {
		bool mine = s->kind == LMD_KV_ROWS ? t - first == (uint32_t)j
						   : g->slot[t] >= 0 && n->s->pos[0][t] == j;

		if (mine)
			return n->s->tree[row] >> (t - first) & 1;
	}
	return true;
}

static double key_col(const struct naive *n, const struct lmd_op_attn *a, int i, uint32_t seq,
		      uint32_t kv_head, uint32_t j, uint32_t c)
{
	const struct lmd_attn_src *s = &a->src[i];
	uint32_t first, len;

	if (s->kind == LMD_KV_CACHE)
		return cell(n, n->k, s->cache, n->p->caches[s->cache].dk, seq, j, kv_head)[c];
	seq_rows(n, space_of(n, &s->k), seq, &first, &len);
	return get(n, &s->k, first + j, kv_head, c);
}

static double value_col(const struct naive *n, const struct lmd_op_attn *a, int i, uint32_t seq,
			uint32_t kv_head, uint32_t j, uint32_t c)
{
	const struct lmd_attn_src *s = &a->src[i];
	uint32_t first, len;

	if (s->kind == LMD_KV_CACHE && n->p->caches[s->cache].kind != LMD_CACHE_KV)
		return key_col(n, a, i, seq, kv_head, j, c);
	if (s->kind == LMD_KV_CACHE)
		return cell(n, n->v, s->cache, n->p->caches[s->cache].dv, seq, j, kv_head)[c];
	seq_rows(n, space_of(n, &s->v), seq, &first, &len);
	return get(n, &s->v, first + j, kv_head, c);
}

static int64_t key_pos(const struct naive *n, const struct lmd_attn_src *s, uint32_t seq,
		       uint32_t j, uint32_t plane)
{
	uint32_t first, len;

	if (s->kind == LMD_KV_CACHE)
		return (int64_t)j * n->p->groups[s->group].ratio;
	seq_rows(n, space_of(n, &s->k), seq, &first, &len);
	return position(n, space_of(n, &s->k), first + j, plane);
}

/* T5, section 2.1 of the paper; buckets as in the published code. */
static uint32_t bucket(const struct lmd_op_attn *a, int64_t d)
{
	uint32_t n = a->bidirectional ? a->n_bucket / 2 : a->n_bucket, base = 0, half = n / 2;
	int64_t dist = a->bidirectional ? llabs(d) : d < 0 ? -d : 0;
	double x;

	if (a->bidirectional && d > 0)
		base = n;
	if (dist < half)
		return base + (uint32_t)dist;
	x = half + log((double)dist / half) / log((double)a->max_distance / half) * (n - half);
	return base + (uint32_t)fmin(floor(x + 1e-9), n - 1);
}

static double bias(const struct naive *n, const struct lmd_op_attn *a, int i, uint32_t row,
		   uint32_t head, uint32_t j)
{
	uint32_t space = space_of(n, &a->q), seq = seq_of(n, space, row);
	int64_t d = key_pos(n, &a->src[i], seq, j, 0) - position(n, space, row, 0);
	double sum = 0;

	if (a->bias == LMD_BIAS_ALIBI)
		return -n->weight[a->bias_w][head] * (double)llabs(d);
	if (a->bias == LMD_BIAS_BUCKET)
		return wrow(n, a->bias_w, 0, bucket(a, d))[head];
	for (int t = 0; a->bias == LMD_BIAS_REL && t < 2; t++) {
		const struct lmd_attn_rel *r = &a->rel[t];
		int64_t at;

		if (!r->q2.src)
			continue;
		at = position(n, space, row, r->plane) - key_pos(n, &a->src[i], seq, j, r->plane) +
		     r->off;
		at = at < 0                            ? 0
		     : at >= n->p->weight_refs[r->r].n ? (int64_t)n->p->weight_refs[r->r].n - 1
						       : at;
		for (uint32_t c = 0; c < r->q2.width; c++)
			sum += get(n, &r->q2, row, head, c) * wrow(n, r->r, 0, (uint32_t)at)[c];
	}
	return sum;
}

static void attend(struct naive *n, const struct lmd_op_attn *a, uint32_t row, uint32_t head)
{
	static struct key keys[2 * OC_LONG_KEYS];
	uint32_t seq = seq_of(n, space_of(n, &a->q), row), count = 0;
	uint32_t kv = a->kv_map == LMD_MAP_CYCLE ? head % a->n_kv_head
						 : head / (a->q.n_head / a->n_kv_head);
	double max = -INFINITY, sum = 0;

	for (int i = 0; i < 2; i++) {
		for (int32_t j = 0; a->src[i].kind != LMD_KV_NONE && j < (int32_t)oc_max_keys(n->c); j++) {
			double s = 0;

			if (!visible(n, a, i, row, kv, j))
				continue;
			for (uint32_t c = 0; c < a->q.width; c++)
				s += get(n, &a->q, row, head, c) *
				     key_col(n, a, i, seq, kv, (uint32_t)j, c);
			s = (double)a->scale * s + bias(n, a, i, row, head, (uint32_t)j);
			if (a->softcap != 0)
				s = (double)a->softcap * tanh(s / (double)a->softcap);
			keys[count++] = (struct key){i, (uint32_t)j, s};
			max = fmax(max, s);
		}
	}
	for (uint32_t k = 0; k < count; k++)
		sum += exp(keys[k].score - max);
	if (a->sinks != LMD_NONE && count)
		sum += exp(n->weight[a->sinks][head] - max);
	for (uint32_t c = 0; c < a->y.width; c++) {
		double y = 0;

		for (uint32_t k = 0; k < count; k++)
			y += exp(keys[k].score - max) / sum *
			     value_col(n, a, keys[k].src, seq, kv, keys[k].j, c);
		put(n, &a->y, row, head, c, y);
	}
}

void naive_attn(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_attn *a = &op->u.attn;

	for (uint32_t r = 0; r < rows_of(n, &a->y); r++) {
		for (uint32_t h = 0; h < a->q.n_head; h++)
			attend(n, a, r, h);
	}
}

/* ---- INDEX ---- */

/* The heap described in op.h, step by step. */
static void sift(int32_t *heap, uint32_t n, uint32_t place, int32_t x, const double *score)
{
	uint32_t hole = place;

	while (2 * hole + 1 < n) { /* down to a leaf */
		uint32_t left = 2 * hole + 1, right = left + 1, worse = left;

		if (right < n && score[heap[right]] <= score[heap[left]])
			worse = right;
		heap[hole] = heap[worse];
		hole = worse;
	}
	while (hole > place) { /* and up again */
		uint32_t parent = (hole - 1) / 2;

		if (!(score[heap[parent]] > score[x]))
			break;
		heap[hole] = heap[parent];
		hole = parent;
	}
	heap[hole] = x;
}

/* Score of row j of the cache for a list. */
static double index_score(const struct naive *n, const struct lmd_op_index *o, uint32_t row,
			  uint32_t list, uint32_t j)
{
	const struct lmd_cache *c = &n->p->caches[o->cache];
	uint32_t seq = (uint32_t)n->s->seq_of[row];
	double s = 0;

	for (uint32_t h = 0; h < o->q.n_head; h++) {
		const double *k = cell(n, n->k, o->cache, c->dk, seq, j, c->n_head > 1 ? h : 0);
		double dot = 0;

		for (uint32_t e = 0; e < o->q.width; e++)
			dot += get(n, &o->q, row, h, e) * k[e];
		dot *= (double)o->scale;
		if (o->kind == LMD_INDEX_PER_HEAD)
			s += h == list ? dot : 0;
		else if (o->kind == LMD_INDEX_SUM)
			s += fmax(dot, 0);
		else
			s += fmax(dot, 0) * get_flat(n, &o->w, row, h);
	}
	return s;
}

static void index_row(struct naive *n, const struct lmd_op_index *o, uint32_t row, uint32_t list)
{
	uint32_t group = n->p->caches[o->cache].group, count = 0, first = 0, units = 0;
	uint32_t each = o->each > 1 ? o->each : 1;
	const struct lmd_step_group *g = &n->s->group[group];
	const struct lmd_step_group *of = o->each > 1 ? &n->s->group[o->of] : g;
	double score[OC_LONG_KEYS];
	int32_t heap[OC_LONG_KEYS];

	for (uint32_t u = 0; u < oc_max_keys(n->c); u++)
		score[u] = -INFINITY;
	for (int32_t j = of->kv_lo[row]; j < of->kv_hi[row]; j++) {
		uint32_t u = (uint32_t)j / o->unit;
		int32_t at = j / (int32_t)each;
		double s =
			at < g->kv_hi[row] ? index_score(n, o, row, list, (uint32_t)at) : INFINITY;

		if (at < g->kv_lo[row])
			continue;
		score[u] = fmax(score[u], s);
		first = units ? first : u;
		units = u + 1;
	}
	for (uint32_t i = 0; i < o->local && i < units - first; i++)
		score[units - 1 - i] = INFINITY;
	for (uint32_t u = first; u < units && count < o->n; u++)
		heap[count++] = (int32_t)u;
	for (uint32_t i = count / 2; i > 0; i--)
		sift(heap, count, i - 1, heap[i - 1], score);
	for (uint32_t u = first + count; u < units; u++) {
		if (score[u] > score[heap[0]])
			sift(heap, count, 0, (int32_t)u, score);
	}
	for (uint32_t i = 0; i < o->n; i++)
		put(n, &o->y, row, list, i, i < count ? heap[i] : -1);
}

void naive_index(struct naive *n, const struct lmd_op *op)
{
	for (uint32_t r = 0; r < n->s->head->n_tok; r++) {
		for (uint32_t l = 0; l < op->u.index.y.n_head; l++)
			index_row(n, &op->u.index, r, l);
	}
}
