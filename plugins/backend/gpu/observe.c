/* SPDX-License-Identifier: MIT
 *
 * Runs a plan op by op and shows the values that each has written. */
#include "op_outputs.h"
#include "plan.h"

/* Copies the rows of a value to packed rows of the host. */
static enum lmd_status fetch(struct lmd_compiled_plan *p, const struct lmd_value *v, uint32_t rows,
			     uint32_t *out, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < rows; i++)
		st = gpu_download(p->dev, out + (size_t)i * v->width,
				  p->values + v->offset + (uint64_t)i * v->row_bytes,
				  4ull * v->width, err);
	return st;
}

/* Shows the values of op i; *go is false as soon as the observer wants no more. */
static enum lmd_status show(struct lmd_compiled_plan *p, uint32_t i, const struct gpu_live *live,
			    uint32_t *rows, lmd_observe_fn fn, void *arg, bool *go,
			    struct lmd_error *err)
{
	const struct lmd_op *op = &p->plan->ops[i];
	uint32_t last = LMD_NONE;

	for (uint32_t j = 0; *go && j < gpu_op_n_output(op); j++) {
		const struct lmd_operand *o = gpu_op_output(op, j);
		const struct lmd_value *v = &p->plan->values[o->src == LMD_SRC_VALUE ? o->id : 0];
		struct lmd_observed seen = {
			.op = i, .value = o->id, .width = v->width, .data = rows};
		enum lmd_status st;

		if (o->src != LMD_SRC_VALUE || o->id == last)
			continue;
		last = o->id;
		seen.n_row = live->rows[v->space];
		st = fetch(p, v, seen.n_row, rows, err);
		if (st != LMD_OK)
			return st;
		*go = fn(arg, &seen);
	}
	return LMD_OK;
}

static size_t most_elements(const struct lmd_plan *plan)
{
	size_t most = 1;

	for (uint32_t i = 0; i < plan->n_value; i++) {
		size_t n = (size_t)plan->max_rows[plan->values[i].space] * plan->values[i].width;

		most = n > most ? n : most;
	}
	return most;
}

enum lmd_status gpu_plan_observe(void *state, struct lmd_compiled_plan *p,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg)
{
	struct gpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct gpu_live live;
	uint32_t *rows, at = 0;
	bool go = true;
	enum lmd_status st = gpu_enter(dev, &dev->error);

	if (st == LMD_OK && p->devgroup)
		st = lmd_fail(&dev->error, LMD_UNSUPPORTED,
			      "%s: the values of a rank cannot be observed by themselves",
			      dev->vendor->name);
	if (st == LMD_OK)
		st = gpu_run_begin(p, dev->stream, 0, step, in, n_in, &live, &dev->error);
	if (st != LMD_OK)
		return st;
	rows = h->alloc(h->ctx, most_elements(p->plan) * sizeof(*rows));
	if (!rows)
		return lmd_fail(&dev->error, LMD_NOMEM, "%s: no memory for observed numbers",
				dev->vendor->name);
	for (uint32_t i = 0; st == LMD_OK && go && i < p->plan->n_op; i++) {
		for (; st == LMD_OK && at < p->n_launch && p->launches[at].op == i; at++)
			st = gpu_run_launch(p, dev->stream, &p->launches[at], &live, &dev->error);
		if (st == LMD_OK)
			st = show(p, i, &live, rows, fn, arg, &go, &dev->error);
	}
	h->free(h->ctx, rows);
	return st;
}
