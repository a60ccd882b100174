/* SPDX-License-Identifier: MIT
 *
 * ATTN: two passes over the keys of a (row, key head): all scores, then the weighted sum of
 * values.
 *
 * The keys that a row sees in a source are first collected in a list of numbers, so that
 * intervals, lists and the mask of a draft tree are handled in one place and the rest is the
 * formula.
 *
 * With LMD_ATTENTION_HALF the second pass works like kernels that see each key once and sum in
 * half precision. */
#include <float.h>
#include <string.h>

#include "backend/common/act.h"
#include "kernels.h"
#include "ops.h"
#include "backend/common/view.h"

#define N_SRC 2

struct attn {
	const struct ref_run *r;
	const struct lmd_op_attn *op;
	struct host_mem_view q, y, k[N_SRC], v[N_SRC], list[N_SRC], q2[2];
	uint32_t n_head, per_kv;
	/* Scratch of one part. */
	int32_t *key[N_SRC]; /* [cap] keys of the current row */
	uint32_t n_key[N_SRC];
	uint32_t cap[N_SRC];
	float *score;        /* [per_kv][cap of both] */
	float *tk, *tv, *tq; /* a key, a value, and a query for each head of the group */
	float *out;          /* [dv] */
	bool half;           /* round to half precision (LMD_ATTENTION_HALF) */
	uint16_t *bits;      /* [dk or dv] */
};

/* Largest number of keys that a row can see in a source. */
static uint64_t most_keys(const struct host_mem_compiled_plan *c, const struct lmd_attn_src *s)
{
	const struct lmd_pool *p;

	if (s->kind == LMD_KV_NONE)
		return 0;
	if (s->kind == LMD_KV_ROWS)
		return host_mem_max_rows(c->plan, &s->k) / (s->k.n_head ? s->k.n_head : 1);
	p = c->pools[s->group];
	return p ? (uint64_t)p->shape.n_index * p->shape.page_tokens : 0;
}

static enum lmd_status plan_bias(struct ref_build *b, const struct lmd_op_attn *a,
				 struct lmd_error *err)
{
	enum lmd_status st = host_mem_flatten(&b->host_mem, a->sinks, err);

	if (st == LMD_OK && (a->bias == LMD_BIAS_ALIBI || a->bias == LMD_BIAS_BUCKET))
		st = host_mem_flatten(&b->host_mem, a->bias_w, err);
	for (int i = 0; st == LMD_OK && a->bias == LMD_BIAS_REL && i < 2; i++) {
		if (a->rel[i].q2.src != LMD_SRC_NONE)
			st = host_mem_flatten(&b->host_mem, a->rel[i].r, err);
	}
	return st;
}

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_attn *a = &op->u.attn;
	uint32_t per_kv = a->q.n_head / a->n_kv_head;
	uint64_t keys = 0;

	for (int i = 0; i < N_SRC; i++) {
		uint64_t n = most_keys(&b->compiled_plan->host_mem, &a->src[i]);

		if (a->src[i].kind == LMD_KV_CACHE) {
			enum lmd_status st = host_mem_need_cache(&b->compiled_plan->host_mem,
								 a->src[i].cache, err);

			if (st != LMD_OK)
				return st;
		}
		if (a->src[i].kind != LMD_KV_NONE)
			b->compiled_plan->group_read[a->src[i].group] = true;
		host_mem_need(&b->host_mem.part_bytes, n, sizeof(int32_t));
		keys += n;
	}
	host_mem_need(&b->host_mem.part_bytes, keys * per_kv, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, a->q.width, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)a->q.width + a->y.width, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)a->q.width * per_kv, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, a->y.width, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)a->q.width + a->y.width, sizeof(uint16_t));
	return plan_bias(b, a, err);
}

static void setup(struct attn *a, const struct ref_run *r, const struct lmd_op *op, char *scratch)
{
	uint64_t keys = 0;

	*a = (struct attn){.r = r, .op = &op->u.attn};
	a->q = host_mem_view(&r->host_mem, &a->op->q);
	a->y = host_mem_view(&r->host_mem, &a->op->y);
	a->n_head = a->q.n_head;
	a->per_kv = a->n_head / a->op->n_kv_head;
	for (int i = 0; i < N_SRC; i++) {
		const struct lmd_attn_src *s = &a->op->src[i];

		if (s->kind == LMD_KV_ROWS) {
			a->k[i] = host_mem_view(&r->host_mem, &s->k);
			a->v[i] = host_mem_view(&r->host_mem, &s->v);
		}
		if (s->kind != LMD_KV_NONE)
			a->list[i] = host_mem_view(&r->host_mem, &s->list);
		a->q2[i] = host_mem_view(&r->host_mem, &a->op->rel[i].q2);
		a->cap[i] = (uint32_t)most_keys(&r->compiled_plan->host_mem, s);
		a->key[i] = host_mem_take(&scratch, a->cap[i], sizeof(int32_t));
		keys += a->cap[i];
	}
	a->score = host_mem_take(&scratch, keys * a->per_kv, sizeof(float));
	a->tk = host_mem_take(&scratch, a->q.width, sizeof(float));
	a->tv = host_mem_take(&scratch, (uint64_t)a->q.width + a->y.width, sizeof(float));
	a->tq = host_mem_take(&scratch, (uint64_t)a->q.width * a->per_kv, sizeof(float));
	a->out = host_mem_take(&scratch, a->y.width, sizeof(float));
	a->bits = host_mem_take(&scratch, (uint64_t)a->q.width + a->y.width, sizeof(uint16_t));
	a->half = r->dev->half && !a->list[0].base && !a->list[1].base;
}

static void round_half(const struct attn *a, float *v, uint32_t n)
{
	const struct lmd_host *h = a->r->dev->host;

	/* Every host has this type. */
	(void)h->quant_rows(h->ctx, LMD_DTYPE_F16, v, a->bits, n);
	(void)h->dequant_rows(h->ctx, LMD_DTYPE_F16, a->bits, v, n);
}

/* Returns v; in half precision, v rounded in tmp, which may be v itself. */
static const float *rounded(const struct attn *a, const float *v, float *tmp, uint32_t n)
{
	if (!a->half)
		return v;
	if (v != tmp)
		memcpy(tmp, v, n * sizeof(*v));
	round_half(a, tmp, n);
	return tmp;
}

/* Does the draft tree hide this key from a row?  Keys that are rows of this step are visible only
 * if their bit is set. */
static bool hidden(const struct attn *a, const struct lmd_attn_src *s, uint32_t seq, uint32_t row,
		   uint32_t key)
{
	const struct lmd_step *step = a->r->host_mem.step;
	const struct lmd_pool *p;
	uint32_t first, n, at;
	int64_t t = host_mem_token_row(&a->r->host_mem, a->q.space, row), place;

	if (!a->op->tree || !step->tree || t < 0)
		return false;
	if (s->kind == LMD_KV_ROWS)
		return key >= 64 || !(step->tree[t] >> key & 1);
	p = a->r->compiled_plan->host_mem.pools[s->group];
	place = ref_pool_row(p, (uint32_t)step->seq_slot[seq], key, &at) - p->mem;
	place = place / (int64_t)p->unit_bytes * p->shape.page_tokens + at;
	host_mem_seq_rows(&a->r->host_mem, LMD_SPACE_TOKENS, seq, &first, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (step->group[s->group].slot[first + i] == place)
			return i >= 64 || !(step->tree[t] >> i & 1);
	}
	return false;
}

static void add_keys(struct attn *a, int i, uint32_t seq, uint32_t row, int64_t lo, int64_t hi)
{
	for (int64_t j = lo; j < hi && a->n_key[i] < a->cap[i]; j++) {
		if (!hidden(a, &a->op->src[i], seq, row, (uint32_t)j))
			a->key[i][a->n_key[i]++] = (int32_t)j;
	}
}

/* Collects the keys of source i that (row, key head) sees. */
static void find_keys(struct attn *a, int i, uint32_t seq, uint32_t row, uint32_t kv_head)
{
	const struct lmd_attn_src *s = &a->op->src[i];
	int64_t lo, hi;

	a->n_key[i] = 0;
	if (s->kind == LMD_KV_NONE)
		return;
	lo = a->r->host_mem.step->group[s->group].kv_lo[row];
	hi = a->r->host_mem.step->group[s->group].kv_hi[row];
	if (!a->list[i].base) {
		add_keys(a, i, seq, row, lo, hi);
		return;
	}
	for (uint32_t c = 0; c < a->list[i].width; c++) {
		int64_t e =
			host_mem_get_i32(&a->list[i], row, a->list[i].n_head > 1 ? kv_head : 0, c);
		int64_t from = e * s->list_unit, to = from + s->list_unit;

		if (e >= 0)
			add_keys(a, i, seq, row, from > lo ? from : lo, to < hi ? to : hi);
	}
}

static const float *stored_key(const struct attn *a, int i, uint32_t seq, uint32_t kv_head,
			       uint32_t key)
{
	const struct lmd_attn_src *s = &a->op->src[i];
	const struct host_mem_cache *c;
	uint32_t first, n, at;
	const char *page;

	if (s->kind == LMD_KV_ROWS) {
		host_mem_seq_rows(&a->r->host_mem, a->k[i].space, seq, &first, &n);
		return host_mem_f32(&a->k[i], first + key, kv_head, a->tk);
	}
	c = a->r->compiled_plan->host_mem.caches[s->cache];
	page = ref_pool_row(a->r->compiled_plan->host_mem.pools[s->group],
			    (uint32_t)a->r->host_mem.step->seq_slot[seq], key, &at);
	return ref_cache_decode(a->r->dev, c->desc.k_dtype,
				page + c->k_off + at * c->k_row + kv_head * c->k_head, a->tk,
				a->q.width);
}

static const float *key_row(const struct attn *a, int i, uint32_t seq, uint32_t kv_head,
			    uint32_t key)
{
	return rounded(a, stored_key(a, i, seq, kv_head, key), a->tk, a->q.width);
}

static const float *stored_value(const struct attn *a, int i, uint32_t seq, uint32_t kv_head,
				 uint32_t key)
{
	const struct lmd_attn_src *s = &a->op->src[i];
	const struct host_mem_cache *c =
		s->kind == LMD_KV_CACHE ? a->r->compiled_plan->host_mem.caches[s->cache] : NULL;
	uint32_t first, n, at;
	const char *page;

	if (!c) {
		host_mem_seq_rows(&a->r->host_mem, a->v[i].space, seq, &first, &n);
		return host_mem_f32(&a->v[i], first + key, kv_head, a->tv);
	}
	if (!c->has_v) /* the first dv columns of the key */
		return stored_key(a, i, seq, kv_head, key);
	page = ref_pool_row(a->r->compiled_plan->host_mem.pools[s->group],
			    (uint32_t)a->r->host_mem.step->seq_slot[seq], key, &at);
	return ref_cache_decode(a->r->dev, c->desc.v_dtype,
				page + c->v_off + at * c->v_row + kv_head * c->v_head, a->tv,
				a->y.width);
}

static const float *value_row(const struct attn *a, int i, uint32_t seq, uint32_t kv_head,
			      uint32_t key)
{
	return rounded(a, stored_value(a, i, seq, kv_head, key), a->tv, a->y.width);
}

/* Position on a plane of a key of source i. */
static int32_t key_pos(const struct attn *a, int i, uint32_t seq, uint32_t key, uint32_t plane)
{
	const struct lmd_attn_src *s = &a->op->src[i];
	uint32_t first, n;

	if (s->kind == LMD_KV_CACHE) {
		uint32_t ratio = a->r->host_mem.plan->groups[s->group].ratio;

		return (int32_t)(key * (ratio ? ratio : 1));
	}
	host_mem_seq_rows(&a->r->host_mem, a->k[i].space, seq, &first, &n);
	return host_mem_pos(&a->r->host_mem, a->k[i].space, first + key, plane);
}

/* T5's bucket of a distance d = pos_k - pos_q: each small distance has its own bucket, larger ones
 * share buckets that grow logarithmically up to max_distance. */
static uint32_t bucket_of(const struct lmd_op_attn *op, int32_t d)
{
	uint32_t n = op->n_bucket, base = 0, exact, far;
	uint32_t dist;

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

static float bias(const struct attn *a, int i, uint32_t seq, uint32_t row, uint32_t head,
		  uint32_t key)
{
	const struct lmd_op_attn *op = a->op;
	const struct lmd_weight *const *w =
		(const struct lmd_weight *const *)a->r->compiled_plan->host_mem.weights;
	float sum = 0;
	int32_t d;

	if (op->bias == LMD_BIAS_NONE)
		return 0;
	if (op->bias != LMD_BIAS_REL) {
		d = key_pos(a, i, seq, key, 0) - host_mem_pos(&a->r->host_mem, a->q.space, row, 0);
		if (op->bias == LMD_BIAS_ALIBI)
			return -w[op->bias_w]->flat[head] * fabsf((float)d);
		return w[op->bias_w]->flat[(size_t)bucket_of(op, d) * a->n_head + head];
	}
	for (int j = 0; j < 2; j++) {
		const struct lmd_attn_rel *rel = &op->rel[j];
		int64_t at, n;

		if (!a->q2[j].base)
			continue;
		n = w[rel->r]->n;
		at = (int64_t)host_mem_pos(&a->r->host_mem, a->q.space, row, rel->plane) -
		     key_pos(a, i, seq, key, rel->plane) + rel->off;
		at = at < 0 ? 0 : at >= n ? n - 1 : at;
		for (uint32_t c = 0; c < a->q2[j].width; c++)
			sum += host_mem_get(&a->q2[j], row, head, c) *
			       w[rel->r]->flat[(size_t)at * w[rel->r]->k + c];
	}
	return sum;
}

static uint32_t head_of(const struct attn *a, uint32_t kv_head, uint32_t g)
{
	return a->op->kv_map == LMD_MAP_CYCLE ? g * a->op->n_kv_head + kv_head
					      : kv_head * a->per_kv + g;
}

/* Turns the scores of one head into weights; returns false if it sees no key. */
static bool softmax(const struct attn *a, float *s, uint32_t n, uint32_t head)
{
	float sink = a->op->sinks == LMD_NONE
			     ? 0
			     : a->r->compiled_plan->host_mem.weights[a->op->sinks]->flat[head];
	float max = a->op->sinks == LMD_NONE ? -INFINITY : sink;
	double sum = 0;

	for (uint32_t j = 0; j < n; j++)
		max = fmaxf(max, s[j]);
	if (!n || max == -INFINITY)
		return false;
	for (uint32_t j = 0; j < n; j++) {
		s[j] = expf(s[j] - max);
		sum += (double)s[j];
	}
	if (a->op->sinks != LMD_NONE)
		sum += (double)expf(sink - max);
	for (uint32_t j = 0; j < n; j++)
		s[j] = (float)(s[j] / sum);
	return true;
}

static void scores(const struct attn *a, uint32_t seq, uint32_t row, uint32_t kv_head,
		   uint32_t total)
{
	const struct ref_kernels *k = a->r->dev->kernels;
	uint32_t at = 0;

	for (int i = 0; i < N_SRC; i++) {
		for (uint32_t j = 0; j < a->n_key[i]; j++, at++) {
			uint32_t key = (uint32_t)a->key[i][j];
			const float *kr = key_row(a, i, seq, kv_head, key);

			for (uint32_t g = 0; g < a->per_kv; g++) {
				uint32_t head = head_of(a, kv_head, g);
				float *tq = a->tq + (size_t)g * a->q.width;
				const float *q = rounded(a, host_mem_f32(&a->q, row, head, tq), tq,
							 a->q.width);
				float s = a->op->scale * k->dot(q, kr, a->q.width) +
					  bias(a, i, seq, row, head, key);

				a->score[(size_t)g * total + at] =
					host_mem_softcap(s, a->op->softcap);
			}
		}
	}
}

/* y = the sum of values, weighted by s. */
static void sum(const struct attn *a, const float *s, uint32_t seq, uint32_t kv_head, float *y)
{
	uint32_t at = 0;

	for (int i = 0; i < N_SRC; i++) {
		for (uint32_t j = 0; j < a->n_key[i]; j++, at++)
			a->r->dev->kernels->axpy(
				y, s[at], value_row(a, i, seq, kv_head, (uint32_t)a->key[i][j]),
				a->y.width);
	}
}

/* Like sum, but from scores, seeing each key once, in half precision. */
static void sum_half(const struct attn *a, const float *s, uint32_t seq, uint32_t kv_head,
		     uint32_t head, float *y)
{
	float max = -INFINITY, total = 0;
	uint32_t at = 0;

	if (a->op->sinks != LMD_NONE) {
		max = a->r->compiled_plan->host_mem.weights[a->op->sinks]->flat[head];
		total = 1;
	}
	for (int i = 0; i < N_SRC; i++) {
		for (uint32_t j = 0; j < a->n_key[i]; j++, at++) {
			const float *v = value_row(a, i, seq, kv_head, (uint32_t)a->key[i][j]);
			float keep = 1, w = 1;

			if (s[at] > max) {
				keep = expf(max - s[at]);
				max = s[at];
				for (uint32_t c = 0; c < a->y.width; c++)
					y[c] *= keep;
				round_half(a, y, a->y.width);
			} else if (s[at] > -INFINITY) {
				w = expf(s[at] - max);
			} else {
				w = 0;
			}
			for (uint32_t c = 0; c < a->y.width; c++)
				y[c] = fmaf(v[c], w, y[c]);
			round_half(a, y, a->y.width);
			total = total * keep + w;
		}
	}
	for (uint32_t c = 0; c < a->y.width && total > 0; c++)
		y[c] /= total;
}

static void one(struct attn *a, uint32_t row, uint32_t kv_head)
{
	uint32_t seq = host_mem_seq_of(&a->r->host_mem, a->q.space, row), total;

	for (int i = 0; i < N_SRC; i++)
		find_keys(a, i, seq, row, kv_head);
	total = a->n_key[0] + a->n_key[1];
	scores(a, seq, row, kv_head, total);
	for (uint32_t g = 0; g < a->per_kv; g++) {
		uint32_t head = head_of(a, kv_head, g);
		float *s = a->score + (size_t)g * total, *y = host_mem_at(&a->y, row, head, a->out);

		memset(y, 0, a->y.width * sizeof(*y));
		if (a->half)
			sum_half(a, s, seq, kv_head, head, y);
		else if (softmax(a, s, total, head))
			sum(a, s, seq, kv_head, y);
		host_mem_commit(&a->y, row, head, y, a->out);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct attn a;
	uint64_t lo, hi;

	setup(&a, r, op, p->scratch);
	host_mem_slice(p, (uint64_t)a.y.n_row * a.op->n_kv_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		one(&a, (uint32_t)(i / a.op->n_kv_head), (uint32_t)(i % a.op->n_kv_head));
}

const struct ref_op ref_op_attn = {
	.plan = plan,
	.run = run,
};
