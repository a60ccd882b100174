/* SPDX-License-Identifier: MIT
 *
 * Running a plan: op by op, phase by phase, each phase in all threads of the team. */
#include <string.h>

#include "ref.h"

struct job {
	const struct ref_run *run;
	const struct ref_node *node;
	uint32_t phase;
};

static void run_part(void *arg, uint32_t part, uint32_t n_part)
{
	const struct job *j = arg;
	const struct lmd_cplan *p = j->run->cplan;
	struct hm_part x = {
		.phase = j->phase,
		.part = part,
		.n_part = n_part,
		.scratch = p->part ? p->part + (size_t)part * p->part_bytes : NULL,
	};

	if (j->node->fn->plain)
		j->node->fn->plain->run(&j->run->hm, j->node->op, &x);
	else
		j->node->fn->run(j->run, j->node->op, &x);
}

static void run_node(const struct ref_run *r, struct ref_node *n)
{
	const struct lmd_host *h = r->dev->host;
	uint64_t t0 = h->now_ns(h->ctx);

	for (uint32_t phase = 0; phase < n->n_phase; phase++) {
		struct job j = {.run = r, .node = n, .phase = phase};

		h->team_run(h->ctx, r->dev->team, run_part, &j);
	}
	n->n_run++;
	n->ns += h->now_ns(h->ctx) - t0;
}

static bool cancelled(const struct lmd_step *step)
{
	return step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED);
}

static const struct lmd_binding *binding(const struct lmd_binding *b, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b[i].id == id && b[i].ptr)
			return &b[i];
	}
	return NULL;
}

static enum lmd_status check_outputs(const struct ref_run *r, const struct lmd_binding *out,
				     uint32_t n_out, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->hm.plan->n_output; i++) {
		const struct lmd_output *o = &r->hm.plan->outputs[i];
		const struct lmd_value *v = &r->hm.plan->values[o->value];
		const struct lmd_binding *b = binding(out, n_out, o->id);

		if (b && (b->n_row < r->hm.rows[v->space] || b->row_bytes < 4 * (uint64_t)v->width))
			return lmd_fail(err, LMD_INVALID,
					"ref: output %u has room for %u rows of %llu "
					"bytes, %u rows of %llu are needed",
					o->id, b->n_row, (unsigned long long)b->row_bytes,
					r->hm.rows[v->space], 4 * (unsigned long long)v->width);
	}
	return LMD_OK;
}

/* Outputs that nobody bound are left out. */
static void copy_outputs(const struct ref_run *r, const struct lmd_binding *out, uint32_t n_out)
{
	for (uint32_t i = 0; i < r->hm.plan->n_output; i++) {
		const struct lmd_output *o = &r->hm.plan->outputs[i];
		const struct lmd_value *v = &r->hm.plan->values[o->value];
		const struct lmd_binding *b = binding(out, n_out, o->id);

		for (uint32_t row = 0; b && row < r->hm.rows[v->space]; row++)
			memcpy((char *)b->ptr + b->row_bytes * row,
			       r->cplan->values + v->offset + (size_t)v->row_bytes * row,
			       4 * (size_t)v->width);
	}
}

static struct ref_run running(struct ref_dev *dev, struct lmd_cplan *p, const struct lmd_step *step,
			      const struct lmd_binding *in, uint32_t n_in)
{
	return (struct ref_run){
		.hm = {.host = dev->host,
		       .plan = p->plan,
		       .step = step,
		       .weights = p->weights,
		       .value = p->value,
		       .in = in,
		       .n_in = n_in,
		       .shared = p->shared},
		.dev = dev,
		.cplan = p,
	};
}

enum lmd_status ref_plan_run(void *state, struct lmd_queue *q, struct lmd_cplan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct ref_dev *dev = state;
	struct ref_run r = running(dev, p, step, in, n_in);
	enum lmd_status st;

	(void)q;
	(void)done; /* this device has no queues and no events */
	st = ref_step_begin(&r, &dev->error);
	if (st == LMD_OK)
		st = check_outputs(&r, out, n_out, &dev->error);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < p->n_node; i++) {
		if (cancelled(step))
			return lmd_fail(&dev->error, LMD_CANCELLED,
					"ref: cancelled before op %u of %u", i, p->n_node);
		run_node(&r, &p->nodes[i]);
	}
	copy_outputs(&r, out, n_out);
	return LMD_OK;
}

/* Shows each value that the op writes, once. */
static bool show(const struct ref_run *r, uint32_t op, float *rows, lmd_observe_fn fn, void *arg)
{
	const struct ref_node *n = &r->cplan->nodes[op];
	uint32_t last = LMD_NONE;

	for (uint32_t i = 0; i < n->info->n_out; i++) {
		const struct lmd_opnd *o = hm_operand(n->op, n->info->out[i]);
		const struct lmd_value *v;
		struct lmd_observed seen = {.op = op, .value = o->id, .data = rows};

		if (o->src != LMD_SRC_VALUE || o->id == last)
			continue;
		last = o->id;
		v = &r->hm.plan->values[o->id];
		seen.n_row = r->hm.rows[v->space];
		seen.width = v->width;
		for (uint32_t row = 0; row < seen.n_row; row++)
			memcpy(rows + (size_t)row * v->width,
			       r->cplan->values + v->offset + (size_t)v->row_bytes * row,
			       4 * (size_t)v->width);
		if (!fn(arg, &seen))
			return false;
	}
	return true;
}

enum lmd_status ref_plan_observe(void *state, struct lmd_cplan *p, const struct lmd_step *step,
				 const struct lmd_binding *in, uint32_t n_in, lmd_observe_fn fn,
				 void *arg)
{
	struct ref_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct ref_run r = running(dev, p, step, in, n_in);
	enum lmd_status st = ref_step_begin(&r, &dev->error);
	size_t most = 1;
	float *rows;

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < p->plan->n_value; i++) {
		const struct lmd_value *v = &p->plan->values[i];
		size_t n = (size_t)r.hm.rows[v->space] * v->width;

		most = n > most ? n : most;
	}
	rows = h->alloc(h->ctx, most * sizeof(*rows));
	if (!rows)
		return lmd_fail(&dev->error, LMD_NOMEM, "ref: no memory to show %zu numbers", most);
	for (uint32_t i = 0; i < p->n_node; i++) {
		if (cancelled(step)) {
			st = lmd_fail(&dev->error, LMD_CANCELLED,
				      "ref: cancelled before op %u of %u", i, p->n_node);
			break;
		}
		run_node(&r, &p->nodes[i]);
		if (!show(&r, i, rows, fn, arg))
			break;
	}
	h->free(h->ctx, rows);
	return st;
}
