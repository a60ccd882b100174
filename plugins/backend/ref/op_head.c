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
	struct hm_view x, y;
	struct ref_x px;
	float *delta;
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_head *h = &op->u.head;
	const struct lmd_weight *w = b->cplan->hm.weights[h->w];
	uint64_t rows = b->hm.plan->max_rows[LMD_SPACE_OUTPUTS];
	enum lmd_status st = hm_flatten(&b->hm, h->bias, err);

	b->hm.n_phase = 2;
	ref_x_need(b, rows, w->k);
	ref_product_need(b, w);
	if (st != LMD_OK || !hm_lora_wanted(b->hm.plan, h->lora_site))
		return st;
	b->hm.n_phase = 3;
	hm_need(&b->hm.shared_bytes, rows, (uint64_t)w->n * sizeof(float));
	return hm_add_site(&b->cplan->hm, h->lora_site, h->w, false, err);
}

static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct head *h = arg;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = n0 + i;
		float x = hm_weight_scale(h->w, 0, c) * v[i];

		if (h->delta)
			x += h->delta[(size_t)item * h->w->n + c];
		x = h->op->scale * x + hm_weight_bias(h->w, 0, c);
		x = hm_softcap(x, h->op->softcap);
		hm_put(&h->y, item, 0, c, h->bias ? x + h->bias[c] : x);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct hm_part *p)
{
	struct head h = {
		.r = r,
		.op = &op->u.head,
		.w = r->cplan->hm.weights[op->u.head.w],
		.x = hm_view(&r->hm, &op->u.head.x),
		.y = hm_view(&r->hm, &op->u.head.y),
	};
	struct ref_items items = {.count = r->hm.step->n_out, .div = 1};
	struct ref_norm norm = ref_norm(r, &h.op->norm);
	bool lora = hm_lora_wanted(r->hm.plan, h.op->lora_site);
	char *cursor = r->hm.shared;
	uint64_t lo, hi;

	h.px = ref_x_take(r, &cursor, r->hm.step->n_out, h.w->k);
	if (lora)
		h.delta = hm_take(&cursor, r->hm.step->n_out, (uint64_t)h.w->n * sizeof(float));
	if (h.op->bias != LMD_NONE)
		h.bias = r->cplan->hm.weights[h.op->bias]->flat;
	if (p->phase == 0 || (p->phase == 1 && lora)) {
		hm_slice(p, r->hm.step->n_out, &lo, &hi);
		for (uint32_t i = (uint32_t)lo; i < hi; i++) {
			uint32_t t = (uint32_t)r->hm.step->out_row[i];

			if (p->phase == 0)
				ref_x_set(&h.px, i, &h.x, t, 0, &norm);
			else
				ref_lora_row(r, h.op->lora_site,
					     hm_lora_slot(&r->hm, LMD_SPACE_TOKENS, t), 0,
					     h.px.row[i], h.w->n, h.delta + (size_t)i * h.w->n);
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
