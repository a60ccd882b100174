/* SPDX-License-Identifier: MIT
 *
 * SAMPLE: applies the sampler chain of a row to candidates in the part's memory.
 *
 * Candidates are in the order of their ids until TOP_K or TOP_P sorts them; sums of probabilities
 * run in the current order.  A NaN counts as minus infinity.  Phase 0 samples; phase 1 stores the
 * sequences' tokens for steps that chain to them. */
#include <string.h>

#include "llamad/sampler.h"
#include "ops.h"
#include "backend/common/view.h"

struct cand {
	uint32_t id;
	float logit;
};

struct work {
	const struct ref_run *r;
	const struct lmd_op_sample *op;
	struct host_mem_view logits, params, rng, mask, history, token, top_id, top_lp;
	uint32_t vocab;
	struct cand *v, *best; /* [vocab] each */
	uint32_t n;            /* candidates left */
	bool sorted;
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_operand *l = &op->u.sample.logits;

	(void)err;
	b->host_mem.n_phase = 2;
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)l->width * l->n_head, sizeof(struct cand));
	host_mem_need(&b->host_mem.part_bytes, (uint64_t)l->width * l->n_head, sizeof(struct cand));
	return LMD_OK;
}

/* Compares: larger logit first, then lower id. */
static bool before(const struct cand *a, const struct cand *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void sift(struct cand *v, uint32_t n, uint32_t i)
{
	struct cand x = v[i];

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && before(&v[c], &v[c + 1]))
			c++;
		if (!before(&x, &v[c]))
			break;
		v[i] = v[c];
	}
	v[i] = x;
}

/* Heapsort: allocates nothing, and no order of the logits makes it slow. */
static void sort(struct cand *v, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(v, n, i);
	for (uint32_t i = n; i-- > 1;) {
		struct cand t = v[0];

		v[0] = v[i];
		v[i] = t;
		sift(v, i, 0);
	}
}

static float param(const struct work *w, uint32_t row, uint32_t stage, uint32_t i)
{
	return host_mem_cell_get(&w->params, row, w->op->param_col[stage] + i);
}

static void load(struct work *w, uint32_t row)
{
	w->n = 0;
	w->sorted = false;
	for (uint32_t id = 0; id < w->vocab; id++) {
		float x = host_mem_cell_get(&w->logits, row, id);

		if (w->mask.base &&
		    !((uint32_t)host_mem_cell_i32(&w->mask, row, id / 32) >> (id % 32) & 1))
			x = -INFINITY;
		w->v[w->n++] = (struct cand){id, x == x ? x : -INFINITY};
	}
}

/* Counts at most as many occurrences as the history holds.  Candidates must be in the order of
 * ids. */
static void penalties(struct work *w, uint32_t row, uint32_t stage)
{
	float repeat = param(w, row, stage, 0), freq = param(w, row, stage, 1),
	      present = param(w, row, stage, 2);
	uint32_t len = w->history.base ? host_mem_cols(&w->history) : 0;

	for (uint32_t i = 0; i < len; i++) {
		int32_t id = host_mem_cell_i32(&w->history, row, i);
		uint32_t count = 0;
		bool seen = false;

		for (uint32_t j = 0; j < len; j++) {
			bool same = host_mem_cell_i32(&w->history, row, j) == id;

			count += same;
			seen = seen || (same && j < i);
		}
		for (uint32_t c = 0; !seen && id >= 0 && c < w->n; c++) {
			float *x = &w->v[c].logit;

			if (w->v[c].id != (uint32_t)id)
				continue;
			*x = *x <= 0.0f ? *x * repeat : *x / repeat;
			*x -= (float)count * freq + present;
		}
	}
}

static float greatest(const struct work *w)
{
	float max = -INFINITY;

	for (uint32_t i = 0; i < w->n; i++)
		max = fmaxf(max, w->v[i].logit);
	return max;
}

/* exp(logit - max).  If max is infinite: 1 for candidates that have it, else 0. */
static float weight(const struct cand *c, float max)
{
	return isinf(max) ? (float)(c->logit == max) : expf(c->logit - max);
}

static void temperature(struct work *w, float t)
{
	uint32_t best = 0;

	for (uint32_t i = 0; t > 0.0f && i < w->n; i++)
		w->v[i].logit /= t;
	if (t > 0.0f)
		return;
	for (uint32_t i = 1; i < w->n; i++) {
		if (before(&w->v[i], &w->v[best]))
			best = i;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		if (i != best)
			w->v[i].logit = -INFINITY;
	}
}

static void order(struct work *w)
{
	if (!w->sorted)
		sort(w->v, w->n);
	w->sorted = true;
}

static void top_k(struct work *w, float k)
{
	if (!(k > 0.0f) || k >= (float)w->n)
		return;
	order(w);
	w->n = (uint32_t)k ? (uint32_t)k : 1;
}

/* Keeps the smallest number of candidates, best first, whose probabilities add up to p. */
static void top_p(struct work *w, float p)
{
	float max, total = 0, sum = 0;

	if (p >= 1.0f)
		return;
	max = greatest(w);
	for (uint32_t i = 0; i < w->n; i++)
		total += weight(&w->v[i], max);
	order(w);
	for (uint32_t i = 0; i < w->n; i++) {
		sum += weight(&w->v[i], max) / total;
		if (sum >= p)
			w->n = i + 1; /* ends the loop */
	}
}

static void min_p(struct work *w, float p)
{
	float bound;
	uint32_t n = 0;

	if (p <= 0.0f)
		return;
	bound = greatest(w) + logf(p);
	for (uint32_t i = 0; i < w->n; i++) {
		if (w->v[i].logit >= bound)
			w->v[n++] = w->v[i];
	}
	if (!n)
		order(w);
	w->n = n ? n : 1;
}

static uint32_t greedy(const struct work *w)
{
	const struct cand *best = &w->v[0];

	for (uint32_t i = 1; i < w->n; i++) {
		if (before(&w->v[i], best))
			best = &w->v[i];
	}
	return best->id;
}

static uint64_t word64(const struct host_mem_view *v, uint32_t row, uint32_t col)
{
	return (uint32_t)host_mem_cell_i32(v, row, col) |
	       (uint64_t)(uint32_t)host_mem_cell_i32(v, row, col + 1) << 32;
}

static uint32_t draw(const struct work *w, uint32_t row)
{
	float u = lmd_sample_rand(word64(&w->rng, row, 0), word64(&w->rng, row, 2), 0);
	float max = greatest(w), total = 0;
	double sum = 0, at = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < w->n; i++)
		total += weight(&w->v[i], max);
	for (uint32_t i = 0; i < w->n; i++)
		sum += (double)(weight(&w->v[i], max) / total);
	for (uint32_t i = 0; i < w->n && at <= (double)u * sum; i++) {
		float p = weight(&w->v[i], max) / total;

		at += (double)p;
		last = p > 0.0f ? i : last;
	}
	return w->v[last].id;
}

/* Writes the n best candidates with their log probabilities. */
static void best_list(const struct work *w, uint32_t row)
{
	uint32_t n = w->top_id.base ? host_mem_cols(&w->top_id) : 0;
	float max = greatest(w);
	double sum = 0;

	if (!n)
		return;
	memcpy(w->best, w->v, w->n * sizeof(*w->v));
	for (uint32_t i = 0; i < w->n; i++)
		sum += (double)weight(&w->v[i], max);
	sort(w->best, w->n);
	for (uint32_t i = 0; i < n; i++) {
		*(int32_t *)host_mem_cell(&w->top_id, row, i) = (int32_t)w->best[i].id;
		if (w->top_lp.base)
			*(float *)host_mem_cell(&w->top_lp, row, i) =
				w->best[i].logit - max - (float)log(sum);
	}
}

static void one_row(struct work *w, uint32_t row)
{
	uint32_t token = 0, i = 0;

	load(w, row);
	for (; i < w->op->n_stage && w->op->stage[i] == LMD_STAGE_PENALTIES; i++)
		penalties(w, row, i);
	best_list(w, row);
	for (; i < w->op->n_stage; i++) {
		switch ((enum lmd_sample_stage)w->op->stage[i]) {
		case LMD_STAGE_PENALTIES:
			penalties(w, row, i);
			w->sorted = false;
			break;
		case LMD_STAGE_TEMPERATURE:
			temperature(w, param(w, row, i, 0));
			w->sorted = false;
			break;
		case LMD_STAGE_TOP_K:
			top_k(w, param(w, row, i, 0));
			break;
		case LMD_STAGE_TOP_P:
			top_p(w, param(w, row, i, 0));
			break;
		case LMD_STAGE_MIN_P:
			min_p(w, param(w, row, i, 0));
			break;
		case LMD_STAGE_GREEDY:
			token = greedy(w);
			break;
		case LMD_STAGE_DIST:
			token = draw(w, row);
			break;
		}
	}
	*(int32_t *)host_mem_cell(&w->token, row, 0) = (int32_t)token;
}

/* Stores the token of output row `row` as the last one of its sequence. */
static void remember(const struct work *w, uint32_t row)
{
	const struct lmd_step *s = w->r->host_mem.step;
	uint32_t t, seq, slot;

	if (!s->out_row || !s->seq_of || !s->seq_slot || s->out_row[row] < 0)
		return;
	t = (uint32_t)s->out_row[row];
	if (t >= s->head->n_tok || s->seq_of[t] < 0)
		return;
	seq = (uint32_t)s->seq_of[t];
	slot = seq < s->head->n_seq ? (uint32_t)s->seq_slot[seq] : UINT32_MAX;
	if (slot < w->r->dev->n_chained)
		w->r->dev->chained[slot] = host_mem_cell_i32(&w->token, row, 0);
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_sample *o = &op->u.sample;
	struct work w = {
		.r = r,
		.op = o,
		.logits = host_mem_view(&r->host_mem, &o->logits),
		.params = host_mem_view(&r->host_mem, &o->params),
		.rng = host_mem_view(&r->host_mem, &o->rng),
		.mask = host_mem_view(&r->host_mem, &o->mask),
		.history = host_mem_view(&r->host_mem, &o->history),
		.token = host_mem_view(&r->host_mem, &o->token),
		.top_id = host_mem_view(&r->host_mem, &o->top_id),
		.top_lp = host_mem_view(&r->host_mem, &o->top_lp),
	};
	char *scratch = p->scratch;
	uint64_t lo, hi;

	w.vocab = host_mem_cols(&w.logits);
	w.v = host_mem_take(&scratch, w.vocab, sizeof(*w.v));
	w.best = host_mem_take(&scratch, w.vocab, sizeof(*w.best));
	host_mem_slice(p, w.token.n_row, &lo, &hi);
	for (uint64_t row = lo; p->phase == 0 && row < hi; row++)
		one_row(&w, (uint32_t)row);
	for (uint32_t row = 0; p->phase == 1 && p->part == 0 && row < w.token.n_row; row++)
		remember(&w, row);
}

const struct ref_op ref_op_sample = {
	.plan = plan,
	.run = run,
};
