/* SPDX-License-Identifier: MIT
 *
 * LINEAR: one x and up to four weights; whole matrices, or a slice for each (row, choice).
 *
 * Phases: 0 prepares the rows of x and, with ids, sorts the (row, choice) pairs by slice; 1
 * computes what adapters add (absent without adapters); 2 multiplies. */
#include "backend/common/act.h"
#include "backend/common/lists.h"
#include "ops.h"
#include "product.h"

struct lin {
	const struct ref_run *r;
	const struct lmd_op_linear *op;
	struct host_mem_view x, ids;
	uint64_t n_x;    /* rows of x times heads */
	uint64_t n_item; /* rows of each y times heads */
	uint32_t heads;  /* of y */
	struct ref_x px;
	struct host_mem_lists lists;
	float *delta[LMD_LINEAR_MAX];
};

/* The outputs of one weight. */
struct out {
	const struct lin *l;
	const struct lmd_weight *w;
	struct host_mem_view y, r_in, r_out;
	const float *delta;
};

static const struct lmd_operand *target(const struct lmd_op_linear *l, uint32_t i)
{
	return l->y[i].src != LMD_SRC_NONE ? &l->y[i] : &l->r_out[i];
}

static bool any_lora(const struct lmd_plan *plan, const struct lmd_op_linear *l)
{
	for (uint32_t i = 0; i < l->n_w; i++) {
		if (host_mem_lora_wanted(plan, l->lora_site[i]))
			return true;
	}
	return false;
}

static uint64_t outputs(const struct lmd_op_linear *l, const struct lmd_weight *w)
{
	return l->ids.src == LMD_SRC_NONE ? (uint64_t)w->n_stack * w->n : w->n;
}

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_linear *l = &op->u.linear;
	uint64_t items = host_mem_max_rows(b->host_mem.plan, target(l, 0));

	b->host_mem.n_phase = any_lora(b->host_mem.plan, l) ? 3 : 2;
	ref_x_need(b, host_mem_max_rows(b->host_mem.plan, &l->x), l->x.width);
	if (l->ids.src != LMD_SRC_NONE)
		host_mem_lists_need(&b->host_mem.shared_bytes, items,
				    b->compiled_plan->host_mem.weights[l->w[0]]->n_stack);
	for (uint32_t i = 0; i < l->n_w; i++) {
		const struct lmd_weight *w = b->compiled_plan->host_mem.weights[l->w[i]];
		enum lmd_status st;

		ref_product_need(b, w);
		if (!host_mem_lora_wanted(b->host_mem.plan, l->lora_site[i]))
			continue;
		st = host_mem_add_site(&b->compiled_plan->host_mem, l->lora_site[i], l->w[i], false,
				       err);
		if (st != LMD_OK)
			return st;
		host_mem_need(&b->host_mem.shared_bytes, items,
			      2 * outputs(l, w) * sizeof(float));
	}
	return LMD_OK;
}

static void setup(struct lin *l, const struct ref_run *r, const struct lmd_op *op)
{
	char *cursor = r->host_mem.shared;
	struct host_mem_view y;

	*l = (struct lin){.r = r, .op = &op->u.linear};
	l->x = host_mem_view(&r->host_mem, &l->op->x);
	l->ids = host_mem_view(&r->host_mem, &l->op->ids);
	y = host_mem_view(&r->host_mem, target(l->op, 0));
	l->n_x = (uint64_t)l->x.n_row * l->x.n_head;
	l->n_item = (uint64_t)y.n_row * y.n_head;
	l->heads = y.n_head;
	l->px = ref_x_take(r, &cursor, l->n_x, l->x.width);
	if (l->ids.base)
		l->lists = host_mem_lists_take(
			&cursor, l->n_item,
			r->compiled_plan->host_mem.weights[l->op->w[0]]->n_stack);
	for (uint32_t i = 0; i < l->op->n_w; i++) {
		const struct lmd_weight *w = r->compiled_plan->host_mem.weights[l->op->w[i]];

		if (host_mem_lora_wanted(r->host_mem.plan, l->op->lora_site[i]))
			l->delta[i] = host_mem_take(&cursor, l->n_item,
						    2 * outputs(l->op, w) * sizeof(float));
	}
}

static void prepare(const struct lin *l, const struct host_mem_part *p)
{
	struct ref_norm norm = ref_norm(l->r, &l->op->pro);
	uint64_t lo, hi;

	host_mem_slice(p, l->n_x, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++)
		ref_x_set(&l->px, i, &l->x, (uint32_t)(i / l->x.n_head),
			  (uint32_t)(i % l->x.n_head), &norm);
	if (l->ids.base && p->part == 0)
		host_mem_lists_fill(&l->lists, &l->ids, l->heads);
}

/* Item i reads row i / divisor of x. */
static uint32_t divisor(const struct lin *l)
{
	return l->ids.base && l->x.n_head == 1 ? l->heads : 1;
}

static void adapters(const struct lin *l, const struct host_mem_part *p)
{
	uint64_t lo, hi;

	host_mem_slice(p, l->n_item, &lo, &hi);
	for (uint32_t j = 0; j < l->op->n_w; j++) {
		uint64_t n = outputs(l->op, l->r->compiled_plan->host_mem.weights[l->op->w[j]]);

		for (uint64_t i = lo; l->delta[j] && i < hi; i++) {
			uint32_t row = (uint32_t)(i / l->heads);
			uint32_t slice = l->ids.base ? (uint32_t)host_mem_cell_i32(&l->ids, row,
										   i % l->heads)
						     : 0;
			uint32_t slot =
				slice < l->r->compiled_plan->host_mem.weights[l->op->w[j]]->n_stack
					? host_mem_lora_slot(&l->r->host_mem, l->x.space, row)
					: 0;

			ref_lora_row(l->r, l->op->lora_site[j], slot, slice,
				     l->px.row[i / divisor(l)], (uint32_t)n, l->delta[j] + i * 2 * n);
		}
	}
}

static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct out *o = arg;
	const struct lmd_op_linear *op = o->l->op;
	uint32_t row = item / o->l->heads, head = item % o->l->heads;
	bool clamp = op->clamp_lo != 0.0f || op->clamp_hi != 0.0f;
	uint64_t width = outputs(op, o->w);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slice = (n0 + i) / o->w->n, c = (n0 + i) % o->w->n;
		uint32_t col = o->l->ids.base ? c : n0 + i;
		float x = host_mem_weight_scale(o->w, slice, c) * v[i];

		if (o->delta)
			x = lora_apply(x, o->delta + item * 2 * width + col, width);
		x = op->scale * x + host_mem_weight_bias(o->w, slice, c);
		x = host_mem_softcap(host_mem_act(op->act, op->p, x, 0, false), op->softcap);
		if (clamp)
			x = fminf(fmaxf(x, op->clamp_lo), op->clamp_hi);
		if (o->y.base)
			host_mem_put(&o->y, row, head, col, x);
		if (o->r_out.base)
			host_mem_put(&o->r_out, row, head, col,
				     host_mem_get(&o->r_in, row, head, col) + op->a * x);
	}
}

/* Sets y to 0 for the choices that have no slice. */
static void skip(const struct out *o, const struct ref_items *none, uint64_t lo, uint64_t hi)
{
	for (uint32_t i = 0; i < none->count; i++) {
		uint32_t row = none->list[i] / o->l->heads, head = none->list[i] % o->l->heads;

		for (uint64_t c = lo; c < hi; c++) {
			if (o->y.base)
				host_mem_put(&o->y, row, head, c, 0.0f);
			if (o->r_out.base)
				host_mem_put(&o->r_out, row, head, c,
					     host_mem_get(&o->r_in, row, head, c));
		}
	}
}

static void multiply(const struct lin *l, const struct host_mem_part *p)
{
	for (uint32_t j = 0; j < l->op->n_w; j++) {
		struct out o = {
			.l = l,
			.w = l->r->compiled_plan->host_mem.weights[l->op->w[j]],
			.y = host_mem_view(&l->r->host_mem, &l->op->y[j]),
			.r_in = host_mem_view(&l->r->host_mem, &l->op->r_in[j]),
			.r_out = host_mem_view(&l->r->host_mem, &l->op->r_out[j]),
			.delta = l->delta[j],
		};
		struct ref_items items = {.count = (uint32_t)l->n_item, .div = divisor(l)};
		uint64_t lo, hi;

		ref_tiles(p, outputs(l->op, o.w), &lo, &hi);
		if (!l->ids.base) {
			ref_product(l->r, &l->px, &items, o.w, lo, hi, p->scratch, emit, &o);
			continue;
		}
		for (uint32_t e = 0; e < o.w->n_stack; e++) {
			items.list = host_mem_lists_of(&l->lists, e, &items.count);
			ref_product(l->r, &l->px, &items, o.w, lo + (uint64_t)e * o.w->n,
				    hi + (uint64_t)e * o.w->n, p->scratch, emit, &o);
		}
		items.list = host_mem_lists_of(&l->lists, o.w->n_stack, &items.count);
		skip(&o, &items, lo, hi);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct lin l;

	setup(&l, r, op);
	if (p->phase == 0)
		prepare(&l, p);
	else if (p->phase == 1 && any_lora(r->host_mem.plan, l.op))
		adapters(&l, p);
	else
		multiply(&l, p);
}

const struct ref_op ref_op_linear = {
	.plan = plan,
	.run = run,
};
