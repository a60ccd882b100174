/* SPDX-License-Identifier: MIT
 *
 * Runs a plan op by op and phase by phase, each phase in all threads of the team. */
#include <string.h>

#include "backend/common/outputs.h"
#include "group.h"
#include "ops.h"

struct job {
	const struct ref_run *run;
	const struct ref_node *node;
	uint32_t phase;
};

static void run_part(void *arg, uint32_t part, uint32_t n_part)
{
	const struct job *j = arg;
	const struct lmd_compiled_plan *p = j->run->compiled_plan;
	struct host_mem_part x = {
		.phase = j->phase,
		.part = part,
		.n_part = n_part,
		.scratch = host_mem_part_scratch(&p->host_mem, part),
	};

	if (j->node->fn->plain)
		j->node->fn->plain->run(&j->run->host_mem, j->node->op, &x);
	else
		j->node->fn->run(j->run, j->node->op, &x);
}

static void run_node(const struct ref_run *r, struct ref_node *n)
{
	const struct lmd_host *h = r->dev->host;
	uint64_t t0 = h->now_ns(h->ctx);

	for (uint32_t phase = 0; phase < n->n_phase; phase++) {
		struct job j = {.run = r, .node = n, .phase = phase};

		if (!r->compiled_plan->group)
			h->team_run(h->ctx, r->dev->team, run_part, &j);
		for (uint32_t i = 0; r->compiled_plan->group && i < r->dev->n_part; i++)
			run_part(&j, i, r->dev->n_part);
	}
	n->n_run++;
	n->ns += h->now_ns(h->ctx) - t0;
}

/* Runs the ops one after the other. */
static enum lmd_status run_nodes(struct ref_run *r, struct lmd_compiled_plan *p,
				 const struct lmd_step *step)
{
	struct lmd_error *err = &r->dev->error;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < p->n_node && st == LMD_OK; i++) {
		if (ref_is_cancelled(step))
			return lmd_fail(err, LMD_CANCELLED, "ref: cancelled before op %u of %u", i,
					p->n_node);
		if (step->progress)
			__atomic_fetch_add(step->progress, 1, __ATOMIC_RELAXED);
		if (p->nodes[i].fn == &ref_op_collective)
			st = ref_group_exchange(p->group, r, p->nodes[i].op, err);
		else
			run_node(r, &p->nodes[i]);
	}
	return st;
}

static enum lmd_status run_plan(struct ref_run *r, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *out,
				uint32_t n_out)
{
	struct lmd_error *err = &r->dev->error;
	enum lmd_status st = ref_step_begin(r, err);

	if (st == LMD_OK)
		st = host_mem_check_outputs(&r->host_mem, out, n_out, "ref", err);
	if (st == LMD_OK)
		st = run_nodes(r, p, step);
	if (st == LMD_OK)
		host_mem_copy_outputs(&r->host_mem, out, n_out);
	return st;
}

enum lmd_status ref_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct ref_dev *dev = state;
	struct ref_run r = {.host_mem = host_mem_run_init(&p->host_mem, step, in, n_in),
			    .dev = dev,
			    .compiled_plan = p};
	const uint32_t rank = p->host_mem.plan->key.rank;
	enum lmd_status st;

	(void)q;
	(void)done; /* this device has no queues and no events */
	if (p->group)
		ref_group_begin(p->group, rank);
	st = run_plan(&r, p, step, out, n_out);
	if (p->group)
		ref_group_end(p->group, rank, st);
	return st;
}

enum lmd_status ref_plan_observe(void *state, struct lmd_compiled_plan *p,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg)
{
	struct ref_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct ref_run r = {.host_mem = host_mem_run_init(&p->host_mem, step, in, n_in),
			    .dev = dev,
			    .compiled_plan = p};
	enum lmd_status st = ref_step_begin(&r, &dev->error);
	float *rows;
	size_t most;

	if (st == LMD_OK && p->group)
		st = lmd_fail(&dev->error, LMD_UNSUPPORTED,
			      "ref: plans with collectives are not shown op by op");
	if (st != LMD_OK)
		return st;
	most = host_mem_max_value_elems(&r.host_mem);
	rows = h->alloc(h->ctx, most * sizeof(*rows));
	if (!rows)
		return lmd_fail(&dev->error, LMD_NOMEM, "ref: no memory for %zu observed numbers",
				most);
	for (uint32_t i = 0; i < p->n_node; i++) {
		if (ref_is_cancelled(step)) {
			st = lmd_fail(&dev->error, LMD_CANCELLED,
				      "ref: cancelled before op %u of %u", i, p->n_node);
			break;
		}
		run_node(&r, &p->nodes[i]);
		if (!host_mem_observe(&r.host_mem, i, rows, fn, arg))
			break;
	}
	h->free(h->ctx, rows);
	return st;
}
