/* SPDX-License-Identifier: MIT
 *
 * Keys of attention; see attn.h. */
#include "attn.h"

#include <string.h>

#include "act.h"

/* For fewer queries than this a page of f16 keys is multiplied in place; for more it is worth a
 * copy in f32.  Both give the same bits. */
#define FEW_QUERIES 8u

int64_t attn_key(const struct attn *a, const struct attn_keys *s, int64_t j)
{
	const struct lmd_attn_src *src = &a->op->src[s->src];
	const struct host_mem_view *l = &a->list[s->src];
	const struct lmd_step_group *g = &a->r->host_mem.step->group[src->group];
	int64_t e, key;

	if (!s->listed)
		return j;
	e = host_mem_get_i32(l, s->row, l->n_head > 1 ? s->kv_head : 0,
			     (size_t)(j / src->list_unit));
	key = e * src->list_unit + j % src->list_unit;
	return e < 0 || key < g->kv_lo[s->row] || key >= g->kv_hi[s->row] ? -1 : key;
}

static uint32_t page_of(const struct attn *a, const struct attn_keys *s, uint32_t index)
{
	return host_mem_pool_page(a->r->compiled_plan->host_mem.pools[a->op->src[s->src].group],
				  (uint32_t)a->r->host_mem.step->seq_slot[s->seq], index);
}

/* Row of the step's k and v that holds a key. */
static uint32_t step_row(const struct attn *a, const struct attn_keys *s, int64_t key)
{
	uint32_t first, n;

	host_mem_seq_rows(&a->r->host_mem, a->k[s->src].space, s->seq, &first, &n);
	return first + (uint32_t)key;
}

const float *attn_key_row(const struct attn *a, const struct attn_keys *s, int64_t key, float *tmp)
{
	const struct host_mem_cache *c = a->cache[s->src];

	if (!c)
		return host_mem_f32(&a->k[s->src], step_row(a, s, key), s->kv_head, tmp);
	cpu_kv_get_k(a->r->dev, c, page_of(a, s, (uint32_t)key / ATTN_TILE), s->kv_head,
		     (uint32_t)key % ATTN_TILE, tmp);
	return tmp;
}

const float *attn_value_row(const struct attn *a, const struct attn_keys *s, int64_t key,
			    float *tmp)
{
	const struct host_mem_cache *c = a->cache[s->src];
	uint32_t row = (uint32_t)key % ATTN_TILE;

	if (!c)
		return host_mem_f32(&a->v[s->src], step_row(a, s, key), s->kv_head, tmp);
	if (!c->has_v)
		return attn_key_row(a, s, key, tmp);
	cpu_cache_decode(a->r->dev, c->desc.v_dtype,
			 cpu_kv_v(c, page_of(a, s, (uint32_t)key / ATTN_TILE), s->kv_head) +
				 row * c->v_head,
			 tmp, a->dv);
	return tmp;
}

/* Copies one key, transposed, to column j of the tile. */
static void gather_key(const struct attn *a, const struct attn_keys *s, int64_t key, uint32_t j)
{
	const float *x = attn_key_row(a, s, key, a->kt2);

	for (uint32_t i = 0; i < a->dk; i++)
		a->kt[i * ATTN_TILE + j] = x[i];
}

/* Copies one value to row j of the tile. */
static void gather_value(const struct attn *a, const struct attn_keys *s, int64_t key, uint32_t j)
{
	memcpy(a->vt + (size_t)j * a->dv, attn_value_row(a, s, key, a->kt2), a->dv * sizeof(float));
}

/* Range of positions that exist in tile t. */
static void bounds(const struct attn_keys *s, uint32_t t, int64_t *from, int64_t *to)
{
	*from = (int64_t)t * ATTN_TILE > s->lo ? (int64_t)t * ATTN_TILE : s->lo;
	*to = (int64_t)(t + 1) * ATTN_TILE < s->hi ? (int64_t)(t + 1) * ATTN_TILE : s->hi;
}

void attn_scores(const struct attn *a, const struct attn_keys *s, uint32_t t, const float *q,
		 uint32_t m, float *c, uint32_t ldc)
{
	const struct cpu_float *fl = a->r->dev->fl;
	const struct host_mem_cache *cache = a->cache[s->src];
	const float *tile = a->kt;
	int64_t from, to;

	if (cache && !s->listed) {
		uint32_t page = page_of(a, s, t);

		if (cache->k_turned && cache->desc.k_dtype == LMD_DTYPE_F16 && m < FEW_QUERIES) {
			fl->gemm_f16(
				m, ATTN_TILE, a->dk, q, a->dk,
				(const uint16_t *)(const void *)cpu_kv_k(cache, page, s->kv_head),
				ATTN_TILE, c, ldc);
			return;
		}
		tile = cpu_kv_tile_k(a->r->dev, cache, page, s->kv_head, a->kt, a->kt2);
	} else {
		bounds(s, t, &from, &to);
		for (int64_t j = from; j < to; j++) {
			int64_t key = attn_key(a, s, j);

			if (key >= 0)
				gather_key(a, s, key, (uint32_t)(j % ATTN_TILE));
		}
	}
	fl->gemm(m, ATTN_TILE, a->dk, q, a->dk, tile, ATTN_TILE, c, ldc);
}

void attn_values(const struct attn *a, const struct attn_keys *s, uint32_t t, uint32_t from,
		 uint32_t to, const float *p, uint32_t ldp, uint32_t m, float *o)
{
	const struct cpu_float *fl = a->r->dev->fl;
	const struct host_mem_cache *cache = a->cache[s->src];
	uint32_t at = from % ATTN_TILE, n = to - from, ld = a->dv;
	const float *tile = a->vt;

	if (cache && !s->listed) {
		uint32_t page = page_of(a, s, t);

		if (cache->has_v && cache->desc.v_dtype == LMD_DTYPE_F16 && m < FEW_QUERIES &&
		    a->dv % ATTN_TILE == 0) {
			const char *v = cpu_kv_v(cache, page, s->kv_head);

			fl->gemm_f16(m, a->dv, n, p + at, ldp,
				     (const uint16_t *)(const void *)v + (size_t)at * a->dv, a->dv,
				     o, a->dv);
			return;
		}
		tile = cpu_kv_tile_v(a->r->dev, cache, page, s->kv_head, a->vt, &ld);
	} else {
		for (uint32_t j = from; j < to; j++) {
			int64_t key = attn_key(a, s, j);

			if (key >= 0)
				gather_value(a, s, key, j % ATTN_TILE);
			else /* its weight is 0, and 0 * NaN must not happen */
				memset(a->vt + (size_t)(j % ATTN_TILE) * a->dv, 0,
				       a->dv * sizeof(float));
		}
	}
	fl->gemm(m, a->dv, n, p + at, ldp, tile + (size_t)at * ld, ld, o, a->dv);
}

/* ---- bias ---- */

/* Position on a plane of a key of the source. */
static int32_t key_pos(const struct attn *a, const struct attn_keys *s, int64_t key, uint32_t plane)
{
	const struct lmd_attn_src *src = &a->op->src[s->src];

	if (src->kind == LMD_KV_CACHE) {
		uint32_t ratio = a->r->host_mem.plan->groups[src->group].ratio;

		return (int32_t)((uint32_t)key * (ratio ? ratio : 1));
	}
	return host_mem_pos(&a->r->host_mem, a->k[s->src].space, step_row(a, s, key), plane);
}

/* T5's bucket of a distance d = pos_k - pos_q: each small distance has its own bucket, larger ones
 * share buckets that grow logarithmically up to max_distance. */
static uint32_t bucket_of(const struct lmd_op_attn *op, int32_t d)
{
	uint32_t n = op->n_bucket, base = 0, exact, far, dist;

	if (op->bidirectional) {
		n /= 2;
		base = d > 0 ? n : 0;
		dist = (uint32_t)(d < 0 ? -(int64_t)d : d);
	} else {
		dist = d < 0 ? (uint32_t)(-(int64_t)d) : 0;
	}
	exact = n / 2;
	if (dist < exact)
		return base + dist;
	if (!exact)
		return base;
	/* In f32 and in this order: if the quotient is close to a whole number, rounding
	 * decides. */
	far = (uint32_t)((float)exact + logf((float)dist / (float)exact) * (float)(n - exact) /
						logf(op->max_distance / (float)exact));
	return base + (far < n - 1 ? far : n - 1);
}

static float relative(const struct attn *a, const struct attn_keys *s, uint32_t row, uint32_t head,
		      int64_t key)
{
	float sum = 0;

	for (int j = 0; j < 2; j++) {
		const struct lmd_attn_rel *rel = &a->op->rel[j];
		const struct lmd_weight *w;
		int64_t at;

		if (!a->q2[j].base)
			continue;
		w = a->r->compiled_plan->host_mem.weights[rel->r];
		at = (int64_t)host_mem_pos(&a->r->host_mem, a->q.space, row, rel->plane) -
		     key_pos(a, s, key, rel->plane) + rel->off;
		at = at < 0 ? 0 : at >= (int64_t)w->n ? (int64_t)w->n - 1 : at;
		for (uint32_t c = 0; c < a->q2[j].width; c++)
			sum += host_mem_get(&a->q2[j], row, head, c) *
			       w->flat[(size_t)at * w->k + c];
	}
	return sum;
}

static float bias(const struct attn *a, const struct attn_keys *s, uint32_t row, uint32_t head,
		  int64_t key)
{
	const struct lmd_op_attn *op = a->op;
	const float *w;
	int32_t d;

	if (op->bias == LMD_BIAS_REL)
		return relative(a, s, row, head, key);
	w = a->r->compiled_plan->host_mem.weights[op->bias_w]->flat;
	d = key_pos(a, s, key, 0) - host_mem_pos(&a->r->host_mem, a->q.space, row, 0);
	if (op->bias == LMD_BIAS_ALIBI)
		return -w[head] * fabsf((float)d);
	return w[(size_t)bucket_of(op, d) * a->n_head + head];
}

void attn_bias(const struct attn *a, const struct attn_keys *s, uint32_t row, uint32_t head,
	       float *score, uint32_t first, uint32_t from, uint32_t to)
{
	for (uint32_t j = from; a->op->bias != LMD_BIAS_NONE && j < to; j++) {
		int64_t key = attn_key(a, s, j);

		if (key >= 0)
			score[j - first] += bias(a, s, row, head, key);
	}
	for (uint32_t j = from; a->op->softcap != 0.0f && j < to; j++)
		score[j - first] = host_mem_softcap(score[j - first], a->op->softcap);
}

/* ---- trees ---- */

uint32_t attn_step_keys(const struct attn *a, const struct attn_keys *s)
{
	const struct lmd_attn_src *src = &a->op->src[s->src];
	const struct lmd_step *step = a->r->host_mem.step;
	const struct lmd_pool *p = a->r->compiled_plan->host_mem.pools[src->group];
	const uint32_t *table;
	uint32_t first, n, last;

	host_mem_seq_rows(&a->r->host_mem, LMD_SPACE_TOKENS, s->seq, &first, &n);
	for (uint32_t i = 0; i < n; i++)
		a->step_key[i] = src->kind == LMD_KV_ROWS ? (int32_t)i : -1;
	if (src->kind == LMD_KV_ROWS || s->hi <= 0)
		return n;
	table = p->table + (size_t)step->seq_slot[s->seq] * p->shape.n_index;
	last = (uint32_t)(s->hi - 1) / ATTN_TILE;
	for (uint32_t i = 0; i < n; i++) {
		int32_t slot = step->group[src->group].slot[first + i];

		/* The rows of a step are at the end, so search backwards. */
		for (uint32_t t = last + 1; slot >= 0 && t-- > (uint32_t)s->lo / ATTN_TILE;) {
			if (table[t] == (uint32_t)slot / ATTN_TILE) {
				a->step_key[i] =
					(int32_t)(t * ATTN_TILE + (uint32_t)slot % ATTN_TILE);
				break;
			}
		}
	}
	return n;
}

void attn_mask_tree(const struct attn *a, uint32_t row, uint32_t n_step, float *score,
		    uint32_t first, uint32_t n)
{
	int64_t t = host_mem_token_row(&a->r->host_mem, a->q.space, row);
	uint64_t tree;

	if (t < 0)
		return;
	tree = a->r->host_mem.step->tree[t];
	for (uint32_t i = 0; i < n_step; i++) {
		uint32_t key = (uint32_t)a->step_key[i];

		if (a->step_key[i] >= 0 && key >= first && key - first < n &&
		    (i >= 64 || !(tree >> i & 1)))
			score[key - first] = -INFINITY;
	}
}
