/* SPDX-License-Identifier: MIT
 *
 * LINEAR: scale, adapter, bias, activation, bounds and residual of the outputs; see linear.h. */
#include "linear.h"

#include "act.h"

/* Column of an output within its item. */
static size_t column(const struct linear_out *o, uint32_t slice, uint32_t n0)
{
	return o->l->ids.base ? n0 : (size_t)slice * o->w->n + n0;
}

float *linear_place(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct linear_out *o = arg;
	const struct host_mem_view *v = o->y.base ? &o->y : &o->r_out;

	(void)n;
	return host_mem_el(v, item / o->l->heads, item % o->l->heads, column(o, slice, n0));
}

/* Everything between the product and the residual. */
static void epilogue(const struct linear_out *o, uint32_t item, uint32_t slice, uint32_t n0,
		     uint32_t n, float *v)
{
	const struct lmd_op_linear *op = o->l->op;
	const size_t cols = linear_cols(op, o->w);
	const float *delta = o->delta ? o->delta + item * 2 * cols + column(o, slice, n0) : NULL;

	for (uint32_t i = 0; o->w->n_scale && i < n; i++)
		v[i] *= host_mem_weight_scale(o->w, slice, n0 + i);
	for (uint32_t i = 0; delta && i < n; i++)
		v[i] = lora_apply(v[i], delta + i, cols);
	for (uint32_t i = 0; op->scale != 1.0f && i < n; i++)
		v[i] *= op->scale;
	for (uint32_t i = 0; o->w->n_bias && i < n; i++)
		v[i] += host_mem_weight_bias(o->w, slice, n0 + i);
	if (op->act != LMD_ACT_FN_NONE)
		cpu_act_row(o->l->r->dev->fl, op->act, op->p, v, NULL, v, n);
	for (uint32_t i = 0; op->softcap != 0.0f && i < n; i++)
		v[i] = host_mem_softcap(v[i], op->softcap);
	for (uint32_t i = 0; (op->clamp_lo != 0.0f || op->clamp_hi != 0.0f) && i < n; i++)
		v[i] = fminf(fmaxf(v[i], op->clamp_lo), op->clamp_hi);
}

void linear_done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct linear_out *o = arg;
	uint32_t row = item / o->l->heads, head = item % o->l->heads;
	size_t col = column(o, slice, n0);

	if (!o->plain)
		epilogue(o, item, slice, n0, n, v);
	if (o->y.base && o->y.fold > 1) {
		for (uint32_t i = 0; i < n; i++)
			host_mem_put(&o->y, row, head, col + i, v[i]);
	}
	if (!o->r_out.base)
		return;
	if (o->r_out.fold == 1 && o->r_in.fold == 1 && !o->r_in.i32) {
		const float *in = host_mem_el(&o->r_in, row, head, col);
		float *out = host_mem_el(&o->r_out, row, head, col);

		o->l->r->dev->fl->madd(out, in, o->l->op->a, v, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		host_mem_put(&o->r_out, row, head, col + i,
			     host_mem_get(&o->r_in, row, head, col + i) + o->l->op->a * v[i]);
}

void linear_skip(const struct linear_out *o, const struct cpu_items *none, uint32_t lo, uint32_t hi)
{
	for (uint32_t i = 0; i < none->count; i++) {
		uint32_t row = none->list[i] / o->l->heads, head = none->list[i] % o->l->heads;

		for (uint32_t c = lo; c < hi; c++) {
			if (o->y.base)
				host_mem_put(&o->y, row, head, c, 0.0f);
			if (o->r_out.base)
				host_mem_put(&o->r_out, row, head, c,
					     host_mem_get(&o->r_in, row, head, c));
		}
	}
}
