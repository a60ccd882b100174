/* SPDX-License-Identifier: MIT
 *
 * ROUTE: chooses experts and their weights from a router's logits. */
#include <string.h>

#include "backend/common/act.h"
#include "backend/common/view.h"

struct work {
	const struct lmd_op_route *op;
	struct host_mem_view logits, ids, weights, given;
	const float *bias;
	uint32_t n; /* number of experts */
	float *tmp, *p, *choice;
	bool *out;      /* by expert: its group was not selected */
	uint32_t *best; /* [k] */
	float *w;       /* [k] */
};

static enum lmd_status plan(struct host_mem_build *b, const struct lmd_op *op,
			    struct lmd_error *err)
{
	const struct lmd_op_route *r = &op->u.route;
	uint64_t n = (uint64_t)r->logits.width * r->logits.n_head;

	for (int i = 0; i < 3; i++)
		host_mem_need(&b->part_bytes, n, sizeof(float));
	host_mem_need(&b->part_bytes, n, sizeof(bool));
	host_mem_need(&b->part_bytes, r->k, sizeof(uint32_t));
	host_mem_need(&b->part_bytes, r->k, sizeof(float));
	return host_mem_flatten(b, r->bias, err);
}

static void softmax(const float *x, float *p, uint32_t n)
{
	float max = -INFINITY;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		max = fmaxf(max, x[i]);
	for (uint32_t i = 0; i < n; i++) {
		p[i] = expf(x[i] - max);
		sum += (double)p[i];
	}
	for (uint32_t i = 0; i < n; i++)
		p[i] = (float)(p[i] / sum);
}

static void probabilities(const struct work *w, const float *x)
{
	switch ((enum lmd_route_fn)w->op->fn) {
	case LMD_ROUTE_SOFTMAX:
		softmax(x, w->p, w->n);
		break;
	case LMD_ROUTE_SIGMOID:
		for (uint32_t i = 0; i < w->n; i++)
			w->p[i] = host_mem_sigmoid(x[i]);
		break;
	case LMD_ROUTE_SQRT_SOFTPLUS:
		for (uint32_t i = 0; i < w->n; i++)
			w->p[i] = sqrtf(host_mem_softplus(x[i]));
		break;
	case LMD_ROUTE_SOFTMAX_CHOSEN: /* later, over the chosen experts only */
	case LMD_ROUTE_RAW:
		memcpy(w->p, x, w->n * sizeof(*x));
		break;
	}
}

/* Sum of the two best scores in a group. */
static float group_score(const struct work *w, uint32_t group, uint32_t size)
{
	float a = -INFINITY, b = -INFINITY;

	for (uint32_t i = group * size; i < (group + 1) * size; i++) {
		float c = w->choice[i];

		if (c > a) {
			b = a;
			a = c;
		} else if (c > b) {
			b = c;
		}
	}
	return size > 1 ? a + b : a;
}

/* Selects n_group_used groups and marks the experts of all others in w->out. */
static void choose_groups(const struct work *w)
{
	uint32_t size = w->n / w->op->n_group;

	memset(w->out, 1, w->n * sizeof(*w->out));
	for (uint32_t used = 0; used < w->op->n_group_used; used++) {
		float score = 0;
		uint32_t best = UINT32_MAX;

		for (uint32_t g = 0; g < w->op->n_group; g++) {
			float s;

			if (!w->out[g * size])
				continue;
			s = group_score(w, g, size);
			if (best == UINT32_MAX || s > score) {
				best = g;
				score = s;
			}
		}
		if (best != UINT32_MAX)
			memset(w->out + best * size, 0, size * sizeof(*w->out));
	}
}

/* Finds the k best experts of the selected groups, best first. */
static void choose(const struct work *w)
{
	memset(w->out, 0, w->n * sizeof(*w->out));
	for (uint32_t i = 0; i < w->n; i++)
		w->choice[i] = w->p[i] + (w->bias ? w->bias[i] : 0.0f);
	if (w->op->n_group > 1)
		choose_groups(w);
	for (uint32_t j = 0; j < w->op->k; j++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < w->n; i++) {
			if (!w->out[i] && (best == UINT32_MAX || w->choice[i] > w->choice[best]))
				best = i;
		}
		w->best[j] = best;
		if (best != UINT32_MAX)
			w->out[best] = true;
	}
}

static void one_row(const struct work *w, uint32_t row)
{
	uint32_t k = w->op->k;
	double sum = 0;

	for (uint32_t i = 0; i < w->n; i++)
		w->tmp[i] = host_mem_cell_get(&w->logits, row, i);
	probabilities(w, w->tmp);
	if (!w->given.base)
		choose(w);
	for (uint32_t j = 0; j < k; j++) {
		if (w->given.base)
			w->best[j] = (uint32_t)host_mem_cell_i32(&w->given, row, j);
		w->w[j] = w->best[j] < w->n ? w->p[w->best[j]] : 0.0f;
	}
	if (w->op->fn == LMD_ROUTE_SOFTMAX_CHOSEN)
		softmax(w->w, w->w, k);
	for (uint32_t j = 0; j < k; j++)
		sum += (double)w->w[j];
	for (uint32_t j = 0; j < k; j++) {
		int32_t id = w->best[j] < w->n ? (int32_t)(w->best[j] / w->op->id_div) : -1;
		float x = w->w[j];

		if (w->op->renorm)
			x /= fmaxf((float)sum, 0x1p-14f);
		*(int32_t *)host_mem_cell(&w->ids, row, j) = id;
		*(float *)host_mem_cell(&w->weights, row, j) = x * w->op->scale;
	}
}

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	const struct lmd_op_route *o = &op->u.route;
	struct work w = {
		.op = o,
		.logits = host_mem_view(r, &o->logits),
		.ids = host_mem_view(r, &o->ids),
		.weights = host_mem_view(r, &o->weights),
		.given = host_mem_view(r, &o->given),
		.bias = o->bias == LMD_NONE ? NULL : r->weights[o->bias]->flat,
		.n = o->logits.width * o->logits.n_head,
	};
	char *scratch = p->scratch;
	uint64_t lo, hi;

	w.tmp = host_mem_take(&scratch, w.n, sizeof(float));
	w.p = host_mem_take(&scratch, w.n, sizeof(float));
	w.choice = host_mem_take(&scratch, w.n, sizeof(float));
	w.out = host_mem_take(&scratch, w.n, sizeof(bool));
	w.best = host_mem_take(&scratch, o->k, sizeof(uint32_t));
	w.w = host_mem_take(&scratch, o->k, sizeof(float));
	host_mem_slice(p, w.ids.n_row, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		one_row(&w, (uint32_t)i);
}

const struct host_mem_op host_mem_op_route = {
	.plan = plan,
	.run = run,
};
