/* SPDX-License-Identifier: MIT
 *
 * HEAD: the output rows, normed, times the vocabulary.
 *
 * Phases: 0 prepares rows, 1 computes what adapters add (if the plan has them), 2 multiplies. */
#include "backend/common/act.h"
#include "ops.h"
#include "product.h"

struct head {
	const struct ref_run *r;
	const struct lmd_op_head *op;
	const struct lmd_weight *w;
	const float *bias; /* or NULL */
	struct host_mem_view x, y;
	struct ref_x px;
	float *delta;
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_head *h = &op->u.head;
	const struct lmd_weight *w = b->compiled_plan->host_mem.weights[h->w];
	uint64_t rows = b->host_mem.plan->max_rows[LMD_SPACE_OUTPUTS];
	enum lmd_status st = host_mem_flatten(&b->host_mem, h->bias, err);

	b->host_mem.n_phase = 2;
	ref_x_need(b, rows, w->k);
	ref_product_need(b, w);
	if (st != LMD_OK || !host_mem_lora_wanted(b->host_mem.plan, h->lora_site))
		return st;
	b->host_mem.n_phase = 3;
	host_mem_need(&b->host_mem.shared_bytes, rows, 2 * (uint64_t)w->n * sizeof(float));
	return host_mem_add_site(&b->compiled_plan->host_mem, h->lora_site, h->w, false, err);
}

static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct head *h = arg;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = n0 + i;
		float x = host_mem_weight_scale(h->w, 0, c) * v[i];

		if (h->delta)
			x = lora_apply(x, h->delta + (size_t)item * 2 * h->w->n + c, h->w->n);
		x = h->op->scale * x + host_mem_weight_bias(h->w, 0, c);
		x = host_mem_softcap(x, h->op->softcap);
		host_mem_put(&h->y, item, 0, c, h->bias ? x + h->bias[c] : x);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct head h = {
		.r = r,
		.op = &op->u.head,
		.w = r->compiled_plan->host_mem.weights[op->u.head.w],
		.x = host_mem_view(&r->host_mem, &op->u.head.x),
		.y = host_mem_view(&r->host_mem, &op->u.head.y),
	};
	struct ref_items items = {.count = r->host_mem.step->head->n_out, .div = 1};
	struct ref_norm norm = ref_norm(r, &h.op->norm);
	bool lora = host_mem_lora_wanted(r->host_mem.plan, h.op->lora_site);
	char *cursor = r->host_mem.shared;
	uint64_t lo, hi;

	h.px = ref_x_take(r, &cursor, r->host_mem.step->head->n_out, h.w->k);
	if (lora)
		h.delta = host_mem_take(&cursor, r->host_mem.step->head->n_out,
					2 * (uint64_t)h.w->n * sizeof(float));
	if (h.op->bias != LMD_NONE)
		h.bias = r->compiled_plan->host_mem.weights[h.op->bias]->flat;
	if (p->phase == 0 || (p->phase == 1 && lora)) {
		host_mem_slice(p, r->host_mem.step->head->n_out, &lo, &hi);
		for (uint32_t i = (uint32_t)lo; i < hi; i++) {
			uint32_t t = (uint32_t)r->host_mem.step->out_row[i];

			if (p->phase == 0)
				ref_x_set(&h.px, i, &h.x, t, 0, &norm);
			else
				ref_lora_row(r, h.op->lora_site,
					     host_mem_lora_slot(&r->host_mem, LMD_SPACE_TOKENS, t),
					     0, h.px.row[i], h.w->n, h.delta + (size_t)i * 2 * h.w->n);
		}
		return;
	}
	ref_tiles(p, h.w->n, &lo, &hi);
	ref_product(r, &h.px, &items, h.w, lo, hi, p->scratch, emit, &h);
}

const struct ref_op ref_op_head = {
	.plan = plan,
	.run = run,
};
