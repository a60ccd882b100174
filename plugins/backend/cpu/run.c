/* SPDX-License-Identifier: MIT
 *
 * Running a plan: one job of the team for the whole step.  All threads walk the same list of
 * phases with a barrier after each; a phase that nobody wants in this step costs nothing.
 *
 * A phase of little work has no barrier: the thread that is the last to end the phase before it,
 * when all the others have nothing to do but wait, does it alone before it enters the barrier.
 *
 * Thread 0 looks at the cancel word before it enters a barrier and leaves the answer in one of two
 * places, by turns: a thread that is still reading the last answer is never overtaken, because
 * the same place is written again only after the next barrier. */
#include <string.h>

#include "cpu.h"

struct job {
	struct cpu_run *run;
	uint32_t first, end; /* phases */
	bool stop[2];
	uint64_t t0;
};

static bool cancelled(const struct lmd_step *step)
{
	return step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED);
}

static enum cpu_how how(const struct cpu_run *r, const struct cpu_phase *ph)
{
	const struct cpu_op *fn = ph->node->fn;

	if (fn->wanted && !fn->wanted(r, ph->node, ph->phase))
		return CPU_NOBODY;
	return fn->little && fn->little(r, ph->node, ph->phase) ? CPU_LAST : CPU_ALL;
}

/* Who does each phase of this step. */
static void decide(const struct cpu_run *r, uint32_t first, uint32_t end)
{
	bool begun = false;

	for (uint32_t i = first; i < end; i++) {
		struct cpu_phase *ph = &r->cplan->phases[i];

		ph->how = how(r, ph);
		if (ph->how == CPU_LAST && !begun) /* there is none before it */
			ph->how = CPU_ALL;
		begun = begun || ph->how == CPU_ALL;
	}
}

static struct cpu_counter *counter(const struct cpu_run *r, uint32_t i)
{
	return &r->cplan->counters[(size_t)i * cpu_n_list(r->dev->n_part)];
}

/* Thread number `thread` does share `part` of `n_part`. */
static void run_phase(const struct cpu_run *r, uint32_t i, uint32_t thread, uint32_t part,
		      uint32_t n_part)
{
	const struct lmd_cplan *p = r->cplan;
	const struct cpu_phase *ph = &p->phases[i];
	struct cpu_part x = {
		.hm = {.phase = ph->phase,
		       .part = part,
		       .n_part = n_part,
		       .scratch = p->part ? p->part + (size_t)thread * p->part_bytes : NULL},
		.counter = counter(r, i),
		.ahead = p->ahead[(size_t)i * r->dev->n_part + thread],
	};

	if (ph->node->fn->plain)
		ph->node->fn->plain->run(&r->hm, ph->node->op, &x.hm);
	else
		ph->node->fn->run(r, ph->node, &x);
}

/* What the last thread does of the phases i+1.. before the next that is for all: up to `end`. */
static void run_little(const struct cpu_run *r, uint32_t i, uint32_t end, uint32_t part,
		       uint32_t n_part)
{
	/* acquires what the others have written */
	if (__atomic_add_fetch(&counter(r, i)->n_done, 1, __ATOMIC_ACQ_REL) != n_part)
		return;
	for (uint32_t j = i + 1; j < end; j++) {
		if (r->cplan->phases[j].how == CPU_LAST)
			run_phase(r, j, part, 0, 1);
	}
}

/* All have passed the barrier behind phase i: ready for the next step. */
static void reset_counter(const struct cpu_run *r, uint32_t i, uint32_t part, uint32_t n_part)
{
	if (part < cpu_n_list(n_part))
		counter(r, i)[part] = (struct cpu_counter){0};
}

/* Time since the last call goes to the node: that of little work to the op before it. */
static void account(struct job *j, struct cpu_node *n)
{
	const struct lmd_host *h = j->run->dev->host;
	uint64_t now = h->now_ns(h->ctx);

	n->n_run++;
	n->ns += now - j->t0;
	j->t0 = now;
}

static void run_part(void *arg, uint32_t part, uint32_t n_part)
{
	struct job *j = arg;
	const struct cpu_run *r = j->run;
	const struct lmd_host *h = r->dev->host;
	const struct cpu_phase *ph = r->cplan->phases;
	uint32_t turn = 0, next;

	for (uint32_t i = j->first; i < j->end; i = next) {
		bool little = false;

		for (next = i + 1; next < j->end && ph[next].how != CPU_ALL; next++)
			little = little || ph[next].how == CPU_LAST;
		if (ph[i].how == CPU_ALL) {
			run_phase(r, i, part, part, n_part);
			if (little)
				run_little(r, i, next, part, n_part);
			if (part == 0)
				j->stop[turn] = cancelled(r->hm.step);
			h->team_barrier(h->ctx, r->dev->team);
			for (uint32_t k = i; k < next; k++)
				reset_counter(r, k, part, n_part);
			if (j->stop[turn])
				return;
			turn ^= 1;
		}
		for (uint32_t k = i; part == 0 && k < next; k++) {
			if (k + 1 == j->end || ph[k + 1].node != ph[k].node)
				account(j, ph[k].node);
		}
	}
}

/* Phases first..end; LMD_CANCELLED when the step was stopped. */
static enum lmd_status run_phases(struct cpu_run *r, uint32_t first, uint32_t end)
{
	const struct lmd_host *h = r->dev->host;
	struct job j = {.run = r, .first = first, .end = end, .t0 = h->now_ns(h->ctx)};

	decide(r, first, end);
	if (!cancelled(r->hm.step))
		h->team_run(h->ctx, r->dev->team, run_part, &j);
	if (cancelled(r->hm.step))
		return lmd_fail(&r->dev->error, LMD_CANCELLED, "cpu: cancelled");
	return LMD_OK;
}

static const struct lmd_binding *binding(const struct lmd_binding *b, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b[i].id == id && b[i].ptr)
			return &b[i];
	}
	return NULL;
}

static enum lmd_status check_outputs(const struct cpu_run *r, const struct lmd_binding *out,
				     uint32_t n_out, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->hm.plan->n_output; i++) {
		const struct lmd_output *o = &r->hm.plan->outputs[i];
		const struct lmd_value *v = &r->hm.plan->values[o->value];
		const struct lmd_binding *b = binding(out, n_out, o->id);

		if (b && (b->n_row < r->hm.rows[v->space] || b->row_bytes < 4 * (uint64_t)v->width))
			return lmd_fail(err, LMD_INVALID,
					"cpu: output %u has room for %u rows of %llu bytes, %u "
					"rows of %llu are needed",
					o->id, b->n_row, (unsigned long long)b->row_bytes,
					r->hm.rows[v->space], 4 * (unsigned long long)v->width);
	}
	return LMD_OK;
}

static void copy_rows(const struct cpu_run *r, uint32_t value, char *to, uint64_t row_bytes)
{
	const struct lmd_value *v = &r->hm.plan->values[value];

	for (uint32_t row = 0; row < r->hm.rows[v->space]; row++)
		memcpy(to + row_bytes * row, r->cplan->value[value] + (size_t)v->row_bytes * row,
		       4 * (size_t)v->width);
}

/* Where outputs are computed: in the caller's rows if they are like the value's. */
static void place_outputs(struct lmd_cplan *p, const struct lmd_binding *out, uint32_t n_out)
{
	for (uint32_t i = 0; i < p->plan->n_output; i++) {
		uint32_t id = p->plan->outputs[i].value;
		const struct lmd_value *v = &p->plan->values[id];
		const struct lmd_binding *b = binding(out, n_out, p->plan->outputs[i].id);

		if (!p->direct[i])
			continue;
		p->value[id] =
			b && b->row_bytes == v->row_bytes && (uintptr_t)b->ptr % sizeof(float) == 0
				? b->ptr
				: p->values + v->offset;
	}
}

/* Outputs that nobody bound are left out. */
static void copy_outputs(const struct cpu_run *r, const struct lmd_binding *out, uint32_t n_out)
{
	for (uint32_t i = 0; i < r->hm.plan->n_output; i++) {
		const struct lmd_output *o = &r->hm.plan->outputs[i];
		const struct lmd_binding *b = binding(out, n_out, o->id);

		if (b && r->cplan->value[o->value] != b->ptr)
			copy_rows(r, o->value, b->ptr, b->row_bytes);
	}
}

static struct cpu_run running(struct cpu_dev *dev, struct lmd_cplan *p, const struct lmd_step *step,
			      const struct lmd_binding *in, uint32_t n_in)
{
	return (struct cpu_run){
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

enum lmd_status cpu_plan_run(void *state, struct lmd_queue *q, struct lmd_cplan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct cpu_dev *dev = state;
	struct cpu_run r = running(dev, p, step, in, n_in);
	enum lmd_status st;

	(void)q;
	(void)done; /* this device has no queues and no events */
	st = cpu_step_begin(&r, &dev->error);
	if (st == LMD_OK)
		st = check_outputs(&r, out, n_out, &dev->error);
	if (st != LMD_OK)
		return st;
	place_outputs(p, out, n_out);
	st = run_phases(&r, 0, p->n_phase);
	if (st == LMD_OK)
		copy_outputs(&r, out, n_out);
	return st;
}

/* Shows each value that the op writes, once. */
static bool show(const struct cpu_run *r, uint32_t op, char *rows, lmd_observe_fn fn, void *arg)
{
	const struct cpu_node *n = &r->cplan->nodes[op];
	uint32_t last = LMD_NONE;

	for (uint32_t i = 0; i < n->info->n_out; i++) {
		const struct lmd_opnd *o = hm_operand(n->op, n->info->out[i]);
		struct lmd_observed seen = {.op = op, .value = o->id, .data = rows};

		if (o->src != LMD_SRC_VALUE || o->id == last)
			continue;
		last = o->id;
		seen.n_row = r->hm.rows[r->hm.plan->values[o->id].space];
		seen.width = r->hm.plan->values[o->id].width;
		copy_rows(r, o->id, rows, 4 * (uint64_t)seen.width);
		if (!fn(arg, &seen))
			return false;
	}
	return true;
}

enum lmd_status cpu_plan_observe(void *state, struct lmd_cplan *p, const struct lmd_step *step,
				 const struct lmd_binding *in, uint32_t n_in, lmd_observe_fn fn,
				 void *arg)
{
	struct cpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct cpu_run r = running(dev, p, step, in, n_in);
	enum lmd_status st;
	size_t most = 1;
	uint32_t at = 0;
	char *rows;

	r.observed = true;
	st = cpu_step_begin(&r, &dev->error);
	if (st != LMD_OK)
		return st;
	place_outputs(p, NULL, 0);
	for (uint32_t i = 0; i < p->plan->n_value; i++) {
		const struct lmd_value *v = &p->plan->values[i];
		size_t n = (size_t)r.hm.rows[v->space] * v->width;

		most = n > most ? n : most;
	}
	rows = h->alloc(h->ctx, most * 4);
	if (!rows)
		return lmd_fail(&dev->error, LMD_NOMEM, "cpu: no memory to show %zu numbers", most);
	for (uint32_t i = 0; st == LMD_OK && i < p->n_node; i++) {
		uint32_t end = at + p->nodes[i].n_phase;

		st = run_phases(&r, at, end);
		at = end;
		if (st == LMD_OK && !show(&r, i, rows, fn, arg))
			break;
	}
	h->free(h->ctx, rows);
	return st;
}
