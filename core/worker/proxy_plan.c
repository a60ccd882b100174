/* SPDX-License-Identifier: MIT
 *
 * Plans of a device in a worker. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/worker/plan_codec.h"
#include "core/worker/proxy.h"

/* Declares a plan to which an op would belong, unless the worker knows it: while a plan is lowered or
 * placed, many ops are asked about one after another. Called with the lock held. */
static enum lmd_status declare(struct lmi_worker_proxy *w, const struct lmd_plan *plan,
			       struct lmd_error *err)
{
	struct lmi_worker_out *o = &w->link.out, *old = &w->declared;
	enum lmd_status st;

	lmi_worker_put_plan(o, plan, false);
	if (!o->failed && o->n == old->n && !memcmp(o->p, old->p, o->n))
		return LMD_OK;
	lmi_worker_out_reset(old);
	st = lmi_worker_ask_for(w, LMI_WORKER_DECLARE, -1, NULL, 0, err);
	if (st == LMD_OK && !lmi_worker_out_put(old, o->p, o->n))
		lmi_worker_out_reset(old);
	return st;
}

void lmi_worker_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
			   struct lmd_support *out)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_support s = {.struct_size = sizeof(s)};
	struct lmd_error err = {0};
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	st = declare(w, plan, &err);
	if (st == LMD_OK) {
		lmi_worker_out_reset(&w->link.out);
		(void)lmi_worker_out_put(&w->link.out, op, sizeof(*op));
		st = lmi_worker_ask_for(w, LMI_WORKER_SUPPORT, -1, &s, sizeof(s), &err);
	}
	lmi_worker_link_end(&w->link);
	if (st != LMD_OK) {
		s = (struct lmd_support){.struct_size = sizeof(s)};
		(void)snprintf(s.reason, sizeof(s.reason), "%.95s", err.text);
	}
	s.reason[sizeof(s.reason) - 1] = '\0';
	LMD_PUT(out, &s);
}

enum lmd_status lmi_worker_plan_query(void *state, const struct lmd_compile *c,
				      struct lmd_plan_cost *out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_plan_cost cost = {.struct_size = sizeof(cost)};
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	lmi_worker_put_plan(&w->link.out, c->plan, true);
	st = lmi_worker_ask_for(w, LMI_WORKER_PLAN_QUERY, -1, &cost, sizeof(cost), err);
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK)
		LMD_PUT(out, &cost);
	return st;
}

enum lmd_status lmi_worker_plan_compile(void *state, const struct lmd_compile *c,
					struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_compiled_plan *p = lmi_alloc(1, sizeof(*p));
	struct lmi_worker_compile head = {.n_seq = c->n_seq, .scratch = LMI_WORKER_NONE};
	struct lmi_worker_out *o = &w->link.out;
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a plan");
	head.number = p->number = lmi_worker_number_take(w);
	if (c->scratch.buffer) {
		head.scratch = c->scratch.buffer->number;
		head.scratch_at = c->scratch.offset;
		head.scratch_bytes = c->scratch.bytes;
	}
	lmi_worker_link_begin(&w->link);
	(void)lmi_worker_out_put(o, &head, sizeof(head));
	lmi_worker_put_plan(o, c->plan, true);
	(void)lmi_worker_out_put(o, c->layout, sizeof(*c->layout));
	for (uint32_t i = 0; i < c->plan->n_weight_ref; i++)
		lmi_worker_out_u64(o, c->weights[i]->number);
	for (uint32_t i = 0; i < c->plan->n_group; i++)
		lmi_worker_out_u64(o, c->pools[i] ? c->pools[i]->number : LMI_WORKER_NONE);
	st = lmi_worker_ask_for(w, LMI_WORKER_COMPILE, -1, NULL, 0, err);
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK) {
		*out = p;
		return LMD_OK;
	}
	lmi_worker_number_give(w, p->number);
	lmi_free(p);
	return st;
}

static void put_bindings(struct lmi_worker_out *o, const struct lmd_binding *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_worker_binding x = {
			.binding = b[i], .buffer = b[i].buffer ? b[i].buffer->number : LMI_WORKER_NONE};

		(void)lmi_worker_out_put(o, &x, sizeof(x));
	}
}

enum lmd_status lmi_worker_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
				    const struct lmd_step *step, const struct lmd_binding *in,
				    uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				    struct lmd_event *done)
{
	struct lmi_worker_proxy *w = state;
	const struct lmi_worker_run run = {.plan = plan->number,
					   .block = step->buffer ? step->buffer->number
								 : LMI_WORKER_NONE,
					   .block_at = step->offset,
					   .n_in = n_in,
					   .n_out = n_out,
					   .n_row = w->n_row};
	enum lmd_status st;

	(void)q;
	(void)done;
	lmi_worker_link_begin(&w->link);
	w->link.cancel = step->cancel;
	w->link.progress = step->progress;
	(void)lmi_worker_out_put(&w->link.out, &run, sizeof(run));
	put_bindings(&w->link.out, in, n_in);
	put_bindings(&w->link.out, out, n_out);
	st = lmi_worker_ask_for(w, LMI_WORKER_RUN, -1, NULL, 0, &w->error);
	lmi_worker_link_end(&w->link);
	return st;
}

void lmi_worker_plan_destroy(void *state, struct lmd_compiled_plan *plan)
{
	if (plan)
		lmi_worker_forget(state, LMI_WORKER_PLAN_FREE, plan->number);
	lmi_free(plan);
}
