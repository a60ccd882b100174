/* SPDX-License-Identifier: MIT
 *
 * ATTN.  A work item is a block of rows of one sequence and one key head, with all heads of q that
 * use it.  It goes through the keys in chunks of 128 at fixed positions: it computes the scores,
 * the softmax and the weighted sum of a chunk on their own and then merges them with those of
 * earlier chunks.  So the result of a row depends only on its own keys, not on neighbouring rows
 * or on how a prompt was cut.
 *
 * With few rows there are smaller items (attn_split.c), and the preceding ROPE_KV can be done here
 * (attn_rope.c). */
#include "attn_block.h"
#include "ops.h"

#define MOST_QUERIES 64u
#define MOST_ROWS    16u
/* Memory limit for the chunks of split rows. */
#define SPLIT_BYTES (64u << 20)

/* ---- compile ---- */

static enum lmd_status plan_bias(struct cpu_build *b, const struct lmd_op_attn *a,
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

/* Decides whether rows can be split by chunks, and how many items at a time. */
static enum lmd_status plan_split(struct cpu_build *b, const struct lmd_op_attn *a,
				  struct attn_data *d, struct lmd_error *err)
{
	const struct lmd_host *h = b->dev->host;
	const struct lmd_pool *p = b->compiled_plan->host_mem.pools[a->src[0].group];
	uint64_t per_chunk = (uint64_t)(a->q.n_head / a->n_kv_head) * (a->y.width + 2) * 4;
	uint64_t chunks;

	if (a->src[0].kind != LMD_KV_CACHE || a->src[0].list.src != LMD_SRC_NONE ||
	    a->src[1].kind != LMD_KV_NONE || b->dev->n_part == 1)
		return LMD_OK;
	chunks = (uint64_t)p->shape.n_index * p->shape.page_tokens / ATTN_CHUNK + 1;
	d->most_split = 4 * b->dev->n_part;
	while (d->most_split && d->most_split * chunks * per_chunk > SPLIT_BYTES)
		d->most_split /= 2;
	if (!d->most_split)
		return LMD_OK;
	d->most_chunk = (uint32_t)chunks;
	d->done = h->alloc(h->ctx, d->most_split * sizeof(*d->done));
	if (!d->done)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for %u counters", d->most_split);
	return LMD_OK;
}

static uint32_t queries(const struct attn_data *d, const struct lmd_op_attn *a)
{
	return d->block * (a->q.n_head / a->n_kv_head);
}

static void need_state(uint64_t *bytes, uint64_t n, uint32_t dv)
{
	host_mem_need(bytes, n, sizeof(float));
	host_mem_need(bytes, n, sizeof(float));
	host_mem_need(bytes, n, dv * sizeof(float));
}

static struct attn_state take_state(char **cursor, uint64_t n, uint32_t dv)
{
	struct attn_state s;

	s.m = host_mem_take(cursor, n, sizeof(float));
	s.l = host_mem_take(cursor, n, sizeof(float));
	s.o = host_mem_take(cursor, n, dv * sizeof(float));
	return s;
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_attn *a = &op->u.attn;
	uint32_t per_kv = a->q.n_head / a->n_kv_head, n, dk = a->q.width, dv = a->y.width;
	struct attn_data *d = b->dev->host->alloc(b->dev->host->ctx, sizeof(*d));
	enum lmd_status st = LMD_OK;

	if (!d)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for an op");
	b->node->data = d;
	d->tokens = a->q.src != LMD_SRC_VALUE ||
		    b->host_mem.plan->values[a->q.id].space == LMD_SPACE_TOKENS;
	d->block = MOST_QUERIES / per_kv;
	d->block = d->block < 1 ? 1 : d->block > MOST_ROWS ? MOST_ROWS : d->block;
	for (int i = 0; i < ATTN_N_SRC; i++) {
		if (a->src[i].kind == LMD_KV_CACHE && st == LMD_OK)
			st = host_mem_need_cache(&b->compiled_plan->host_mem, a->src[i].cache, err);
		if (a->src[i].kind != LMD_KV_NONE && a->src[i].list.src != LMD_SRC_NONE)
			d->block = 1;
	}
	if (st == LMD_OK)
		st = plan_split(b, a, d, err);
	attn_find_rope(b, a, d);
	if (d->rope)
		cpu_rope_need(&b->host_mem.part_bytes, &d->rope->op->u.rope_kv);
	n = queries(d, a);
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)dk * ATTN_TILE, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)dk * ATTN_TILE, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)(dk > dv ? dk : dv) * ATTN_TILE,
		      sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, b->host_mem.plan->max_rows[LMD_SPACE_TOKENS],
		      sizeof(int32_t));
	host_mem_need(&b->host_mem.part_bytes, n, dk * sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, n, ATTN_CHUNK * sizeof(float));
	need_state(&b->host_mem.part_bytes, n, dv);
	need_state(&b->host_mem.part_bytes, n, dv);
	need_state(&b->host_mem.shared_bytes, (uint64_t)d->most_split * d->most_chunk * per_kv, dv);
	return st == LMD_OK ? plan_bias(b, a, err) : st;
}

static void destroy(const struct lmd_host *h, void *data)
{
	h->free(h->ctx, ((struct attn_data *)data)->done);
}

static void setup(struct attn_work *w, const struct cpu_run *r, const struct cpu_node *node,
		  char *scratch)
{
	const struct lmd_op_attn *op = &node->op->u.attn;
	struct attn *a = &w->a;
	char *shared = r->host_mem.shared;
	uint32_t n;

	*w = (struct attn_work){.d = node->data};
	n = queries(w->d, op);
	*a = (struct attn){.r = r,
			   .op = op,
			   .q = host_mem_view(&r->host_mem, &op->q),
			   .y = host_mem_view(&r->host_mem, &op->y)};
	a->n_head = a->q.n_head;
	a->per_kv = a->n_head / op->n_kv_head;
	a->dk = a->q.width;
	a->dv = a->y.width;
	for (int i = 0; i < ATTN_N_SRC; i++) {
		const struct lmd_attn_src *s = &op->src[i];

		if (s->kind == LMD_KV_CACHE)
			a->cache[i] = r->compiled_plan->host_mem.caches[s->cache];
		if (s->kind == LMD_KV_ROWS) {
			a->k[i] = host_mem_view(&r->host_mem, &s->k);
			a->v[i] = host_mem_view(&r->host_mem, &s->v);
		}
		if (s->kind != LMD_KV_NONE)
			a->list[i] = host_mem_view(&r->host_mem, &s->list);
		a->q2[i] = host_mem_view(&r->host_mem, &op->rel[i].q2);
	}
	w->turns = attn_does_rope(r, node);
	if (w->d->rope)
		cpu_rope_setup(&w->rope, r, w->d->rope, &scratch);
	a->kt = host_mem_take(&scratch, (uint64_t)a->dk * ATTN_TILE, sizeof(float));
	a->kt2 = host_mem_take(&scratch, (uint64_t)a->dk * ATTN_TILE, sizeof(float));
	a->vt = host_mem_take(&scratch, (uint64_t)(a->dk > a->dv ? a->dk : a->dv) * ATTN_TILE,
			      sizeof(float));
	a->step_key = host_mem_take(&scratch, r->host_mem.plan->max_rows[LMD_SPACE_TOKENS],
				    sizeof(int32_t));
	w->q = host_mem_take(&scratch, n, a->dk * sizeof(float));
	w->s = host_mem_take(&scratch, n, ATTN_CHUNK * sizeof(float));
	w->all = take_state(&scratch, n, a->dv);
	w->part = take_state(&scratch, n, a->dv);
	w->split = take_state(&shared, (uint64_t)w->d->most_split * w->d->most_chunk * a->per_kv,
			      a->dv);
}

static void whole_block(struct attn_work *w, struct attn_block *b)
{
	const struct attn *a = &w->a;
	uint32_t n = b->n_row * b->n_head;

	attn_store(w, b);
	attn_load_queries(w, b);
	for (uint32_t i = 0; i < n; i++)
		w->all.m[i] = -INFINITY;
	for (int src = 0; src < ATTN_N_SRC; src++) {
		if (!attn_find_keys(w, b, src))
			continue;
		for (uint32_t c = (uint32_t)b->keys.lo / ATTN_CHUNK;
		     (int64_t)c * ATTN_CHUNK < b->keys.hi; c++) {
			attn_chunk(w, b, c);
			for (uint32_t i = 0; i < n; i++)
				attn_merge(a, &w->all.m[i], &w->all.l[i],
					   w->all.o + (size_t)i * a->dv, w->part.m[i],
					   w->part.l[i], w->part.o + (size_t)i * a->dv);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		attn_finish(w, b, i);
}

/* ---- half precision ---- */

static bool half(const struct attn *a)
{
	return a->r->dev->half && !a->list[0].base && !a->list[1].base;
}

static void half_row(struct attn_work *w, const struct attn_block *rows, uint32_t row)
{
	const struct attn *a = &w->a;

	for (uint32_t g = 0; g < a->per_kv; g++) {
		struct attn_block b = *rows;
		struct attn_f16 h = {.row = row, .head = attn_head(a, b.kv_head, g), .o = w->all.o};

		b.row0 = row;
		b.n_row = 1;
		attn_half_init(a, &h);
		for (int src = 0; src < ATTN_N_SRC; src++) {
			if (attn_find_keys(w, &b, src))
				attn_half_add(a, &b.keys, b.n_step, &h);
		}
		for (uint32_t c = 0; c < a->dv; c++)
			host_mem_put(&a->y, row, h.head, c, h.l > 0 ? h.o[c] / h.l : 0.0f);
	}
}

/* ---- items ---- */

static uint32_t n_seq(const struct attn *a)
{
	return a->r->host_mem.step->head->n_seq;
}

/* Finds block number `at` of the step.  The last blocks come first because they see the most
 * keys. */
static bool find_block(const struct attn_work *w, uint32_t at, struct attn_block *b)
{
	for (uint32_t seq = n_seq(&w->a); seq-- > 0;) {
		uint32_t first, n, blocks;

		host_mem_seq_rows(&w->a.r->host_mem, w->a.q.space, seq, &first, &n);
		blocks = (n + w->d->block - 1) / w->d->block;
		if (at < blocks) {
			at = blocks - 1 - at;
			b->seq = seq;
			b->row0 = first + at * w->d->block;
			b->n_row = n - at * w->d->block;
			b->n_row = b->n_row < w->d->block ? b->n_row : w->d->block;
			return true;
		}
		at -= blocks;
	}
	return false;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	uint32_t heads = n->op->u.attn.n_kv_head, groups = 1;
	struct attn_block b = {0};
	struct attn_work w;

	setup(&w, r, n, p->host_mem.scratch);
	if (attn_is_split(r, n)) {
		attn_run_split(&w, p);
		return;
	}
	if (!w.turns)
		groups = attn_groups(r, n);
	for (uint32_t i = cpu_claim(p); find_block(&w, i / groups / heads, &b); i = cpu_claim(p)) {
		uint32_t g = i % groups;

		b.kv_head = i / groups % heads;
		b.head0 = w.a.per_kv * g / groups;
		b.n_head = w.a.per_kv * (g + 1) / groups - b.head0;
		for (uint32_t row = 0; half(&w.a) && row < b.n_row; row++)
			half_row(&w, &b, b.row0 + row);
		if (!half(&w.a))
			whole_block(&w, &b);
	}
}

const struct cpu_op cpu_op_attn = {
	.plan = plan,
	.destroy = destroy,
	.run = run,
};
