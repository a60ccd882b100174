/* SPDX-License-Identifier: MIT
 *
 * FFN: norm, gate and up, activation, down, residual.
 *
 * Phases: 0 prepares the rows of x; 1 computes what the adapters of gate and up add; 2 computes
 * gate and up, in separate scratch; 3 computes the activation and what the adapter of down adds; 4
 * computes down. */
#include "backend/common/act.h"
#include "ops.h"
#include "product.h"

struct ffn {
	const struct ref_run *r;
	const struct lmd_op_ffn *op;
	const struct lmd_weight *w[3]; /* gate or NULL, up, down */
	struct host_mem_view x, y, r_in, r_out;
	uint64_t n; /* rows times heads */
	uint32_t heads;
	struct ref_x px, ph;
	float *v[2]; /* [n][F] gate, up */
	float *delta[3];
};

static const struct lmd_operand *target(const struct lmd_op_ffn *f)
{
	return f->y.src != LMD_SRC_NONE ? &f->y : &f->r_out;
}

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	const uint32_t weight_ref[3] = {f->gate, f->up, f->down};
	uint64_t n = host_mem_max_rows(b->host_mem.plan, &f->x);
	uint32_t width = b->compiled_plan->host_mem.weights[f->up]->n;

	b->host_mem.n_phase = 5;
	ref_x_need(b, n, f->x.width);
	ref_x_need(b, n, width);
	host_mem_need(&b->host_mem.shared_bytes, n, width * sizeof(float));
	host_mem_need(&b->host_mem.shared_bytes, n, width * sizeof(float));
	for (int i = 0; i < 3; i++) {
		enum lmd_status st;

		if (weight_ref[i] == LMD_NONE)
			continue;
		ref_product_need(b, b->compiled_plan->host_mem.weights[weight_ref[i]]);
		if (!host_mem_lora_wanted(b->host_mem.plan, f->lora_site[i]))
			continue;
		st = host_mem_add_site(&b->compiled_plan->host_mem, f->lora_site[i], weight_ref[i],
				       false, err);
		if (st != LMD_OK)
			return st;
		host_mem_need(&b->host_mem.shared_bytes, n,
			      2ull * b->compiled_plan->host_mem.weights[weight_ref[i]]->n *
				      sizeof(float));
	}
	return LMD_OK;
}

static void setup(struct ffn *f, const struct ref_run *r, const struct lmd_op *op)
{
	const struct lmd_op_ffn *o = &op->u.ffn;
	const uint32_t weight_ref[3] = {o->gate, o->up, o->down};
	char *cursor = r->host_mem.shared;
	uint32_t width;

	*f = (struct ffn){
		.r = r,
		.op = o,
		.x = host_mem_view(&r->host_mem, &o->x),
		.y = host_mem_view(&r->host_mem, &o->y),
		.r_in = host_mem_view(&r->host_mem, &o->r_in),
		.r_out = host_mem_view(&r->host_mem, &o->r_out),
	};
	for (int i = 0; i < 3; i++)
		f->w[i] = weight_ref[i] == LMD_NONE
				  ? NULL
				  : r->compiled_plan->host_mem.weights[weight_ref[i]];
	f->heads = target(o)->n_head;
	f->n = (uint64_t)f->x.n_row * f->x.n_head;
	width = f->w[1]->n;
	f->px = ref_x_take(r, &cursor, f->n, f->x.width);
	f->ph = ref_x_take(r, &cursor, f->n, width);
	f->v[0] = host_mem_take(&cursor, f->n, width * sizeof(float));
	f->v[1] = host_mem_take(&cursor, f->n, width * sizeof(float));
	for (int i = 0; i < 3; i++) {
		if (f->w[i] && host_mem_lora_wanted(r->host_mem.plan, o->lora_site[i]))
			f->delta[i] = host_mem_take(&cursor, f->n, 2ull * f->w[i]->n * sizeof(float));
	}
}

static void adapter(const struct ffn *f, int i, uint64_t row, const float *x)
{
	if (f->delta[i])
		ref_lora_row(
			f->r, f->op->lora_site[i],
			host_mem_lora_slot(&f->r->host_mem, f->x.space, (uint32_t)(row / f->heads)),
			0, x, f->w[i]->n, f->delta[i] + row * 2 * f->w[i]->n);
}

/* Applies scale, adapter and bias to an output of weight i. */
static float finish(const struct ffn *f, int i, uint32_t item, uint32_t c, float v)
{
	float x = host_mem_weight_scale(f->w[i], 0, c) * v;

	if (f->delta[i])
		x = lora_apply(x, f->delta[i] + (size_t)item * 2 * f->w[i]->n + c, f->w[i]->n);
	return x + host_mem_weight_bias(f->w[i], 0, c);
}

struct half {
	const struct ffn *f;
	int i;
};

static void emit_half(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct half *h = arg;
	float *out = h->f->v[h->i] + (size_t)item * h->f->w[1]->n;

	for (uint32_t j = 0; j < n; j++)
		out[n0 + j] = finish(h->f, h->i, item, n0 + j, v[j]);
}

static void emit_down(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct ffn *f = arg;
	uint32_t row = item / f->heads, head = item % f->heads;

	for (uint32_t j = 0; j < n; j++) {
		float x = finish(f, 2, item, n0 + j, v[j]);

		if (f->y.base)
			host_mem_put(&f->y, row, head, n0 + j, x);
		if (f->r_out.base)
			host_mem_put(&f->r_out, row, head, n0 + j,
				     host_mem_get(&f->r_in, row, head, n0 + j) + f->op->a * x);
	}
}

static void activate(const struct ffn *f, uint64_t row)
{
	uint32_t width = f->w[1]->n;
	const float *gate = f->v[0] + row * width, *up = f->v[1] + row * width;
	float *out = f->ph.copy + row * width;

	for (uint32_t c = 0; c < width; c++)
		out[c] = f->w[0] ? host_mem_act(f->op->act, f->op->p, gate[c], up[c], true)
				 : host_mem_act(f->op->act, f->op->p, up[c], 0, false);
	ref_x_own(&f->ph, row);
	adapter(f, 2, row, out);
}

static void products(const struct ffn *f, const struct host_mem_part *p)
{
	struct ref_items items = {.count = (uint32_t)f->n, .div = 1};
	uint64_t lo, hi;

	for (int i = 0; p->phase == 2 && i < 2; i++) {
		struct half h = {f, i};

		if (!f->w[i])
			continue;
		ref_tiles(p, f->w[i]->n, &lo, &hi);
		ref_product(f->r, &f->px, &items, f->w[i], lo, hi, p->scratch, emit_half, &h);
	}
	if (p->phase == 4) {
		ref_tiles(p, f->w[2]->n, &lo, &hi);
		ref_product(f->r, &f->ph, &items, f->w[2], lo, hi, p->scratch, emit_down,
			    (void *)(uintptr_t)f);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct ffn f;
	struct ref_norm norm;
	uint64_t lo, hi;

	setup(&f, r, op);
	norm = ref_norm(r, &f.op->norm);
	host_mem_slice(p, f.n, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		if (p->phase == 0)
			ref_x_set(&f.px, i, &f.x, (uint32_t)(i / f.heads), (uint32_t)(i % f.heads),
				  &norm);
		if (p->phase == 1) {
			adapter(&f, 0, i, f.px.row[i]);
			adapter(&f, 1, i, f.px.row[i]);
		}
		if (p->phase == 3)
			activate(&f, i);
	}
	products(&f, p);
}

const struct ref_op ref_op_ffn = {
	.plan = plan,
	.run = run,
};
