/* SPDX-License-Identifier: MIT
 *
 * Runs a plan as one job of the thread team for the whole step.  All threads walk the same list of
 * phases with a barrier after each; a phase that has no work in this step costs nothing.
 *
 * A phase of little work has no barrier.  The last thread to finish the preceding phase, when
 * all others have nothing left but to wait, does the work alone before it enters the barrier.
 *
 * Thread 0 reads the cancel word before it enters a barrier and leaves the answer in one of two
 * places, alternately.  A thread that is still reading the previous answer cannot be overtaken,
 * because its place is written again only after the next barrier. */
#include <string.h>

#include "backend/common/outputs.h"
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

/* Tells the host that the step goes on. */
static void count_progress(const struct lmd_step *step)
{
	if (step->progress)
		__atomic_fetch_add(step->progress, 1, __ATOMIC_RELAXED);
}

static enum cpu_phase_mode mode_of(const struct cpu_run *r, const struct cpu_phase *ph)
{
	const struct cpu_op *fn = ph->node->fn;

	if (fn->wanted && !fn->wanted(r, ph->node, ph->phase))
		return CPU_PHASE_SKIP;
	return fn->little && fn->little(r, ph->node, ph->phase) ? CPU_PHASE_LAST : CPU_PHASE_ALL;
}

/* Decides which threads run each phase of this step. */
static void choose_modes(const struct cpu_run *r, uint32_t first, uint32_t end)
{
	bool started = false;

	for (uint32_t i = first; i < end; i++) {
		struct cpu_phase *ph = &r->compiled_plan->phases[i];

		ph->how = mode_of(r, ph);
		if (ph->how == CPU_PHASE_LAST && !started) /* no phase precedes it */
			ph->how = CPU_PHASE_ALL;
		started = started || ph->how == CPU_PHASE_ALL;
	}
}

static struct cpu_counter *counter(const struct cpu_run *r, uint32_t i)
{
	return &r->compiled_plan->counters[(size_t)i * cpu_n_list(r->dev->n_part)];
}

/* Runs share `part` of `n_part` of phase i in thread number `thread`. */
static void run_phase(const struct cpu_run *r, uint32_t i, uint32_t thread, uint32_t part,
		      uint32_t n_part)
{
	const struct lmd_compiled_plan *p = r->compiled_plan;
	const struct cpu_phase *ph = &p->phases[i];
	struct cpu_part x = {
		.host_mem = {.phase = ph->phase,
			     .part = part,
			     .n_part = n_part,
			     .scratch = host_mem_part_scratch(&p->host_mem, thread)},
		.counter = counter(r, i),
		.ahead = p->ahead[(size_t)i * r->n_part + thread],
	};

	if (ph->node->fn->plain)
		ph->node->fn->plain->run(&r->host_mem, ph->node->op, &x.host_mem);
	else
		ph->node->fn->run(r, ph->node, &x);
}

/* Called by each thread at the end of phase i.  The last one to arrive runs the phases of little
 * work that follow, up to `end`, the next phase for all threads. */
static void run_little(const struct cpu_run *r, uint32_t i, uint32_t end, uint32_t part,
		       uint32_t n_part)
{
	/* acquires what the other threads have written */
	if (__atomic_add_fetch(&counter(r, i)->n_done, 1, __ATOMIC_ACQ_REL) != n_part)
		return;
	for (uint32_t j = i + 1; j < end; j++) {
		if (r->compiled_plan->phases[j].how == CPU_PHASE_LAST)
			run_phase(r, j, part, 0, 1);
	}
}

/* All threads have passed the barrier after phase i: prepares its counters for the next step. */
static void reset_counter(const struct cpu_run *r, uint32_t i, uint32_t part, uint32_t n_part)
{
	if (part < cpu_n_list(n_part))
		counter(r, i)[part] = (struct cpu_counter){0};
}

/* Adds the time since the last call to a node; the time of little work goes to the op before it. */
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
	const struct cpu_phase *ph = r->compiled_plan->phases;
	uint32_t slot = 0, next;

	for (uint32_t i = j->first; i < j->end; i = next) {
		bool little = false;

		for (next = i + 1; next < j->end && ph[next].how != CPU_PHASE_ALL; next++)
			little = little || ph[next].how == CPU_PHASE_LAST;
		if (ph[i].how == CPU_PHASE_ALL) {
			run_phase(r, i, part, part, n_part);
			if (little)
				run_little(r, i, next, part, n_part);
			if (part == 0) {
				count_progress(r->host_mem.step);
				j->stop[slot] = cancelled(r->host_mem.step);
			}
			h->team_barrier(h->ctx, r->dev->team);
			for (uint32_t k = i; k < next; k++)
				reset_counter(r, k, part, n_part);
			if (j->stop[slot])
				return;
			slot ^= 1;
		}
		for (uint32_t k = i; part == 0 && k < next; k++) {
			if (k + 1 == j->end || ph[k + 1].node != ph[k].node)
				account(j, ph[k].node);
		}
	}
}

/* Runs the phases [first, end); LMD_CANCELLED if the step was cancelled. */
static enum lmd_status run_phases(struct cpu_run *r, uint32_t first, uint32_t end)
{
	const struct lmd_host *h = r->dev->host;
	struct job j = {.run = r, .first = first, .end = end, .t0 = h->now_ns(h->ctx)};

	choose_modes(r, first, end);
	if (!cancelled(r->host_mem.step))
		h->team_run(h->ctx, r->dev->team, run_part, &j);
	if (cancelled(r->host_mem.step))
		return lmd_fail(&r->dev->error, LMD_CANCELLED, "cpu: cancelled");
	return LMD_OK;
}

/* The number of threads can differ from step to step. */
static void take_parts(struct cpu_run *r, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = r->dev->host;

	r->n_part = h->team_size(h->ctx, r->dev->team);
	cpu_plan_find_ahead(p, r->n_part);
}

/* Sets where outputs are computed: in the caller's rows if these have the value's layout. */
static void place_outputs(struct lmd_compiled_plan *p, const struct lmd_binding *out,
			  uint32_t n_out)
{
	const struct lmd_plan *plan = p->host_mem.plan;

	for (uint32_t i = 0; i < plan->n_output; i++) {
		uint32_t id = plan->outputs[i].value;
		const struct lmd_value *v = &plan->values[id];
		const struct lmd_binding *b = host_mem_binding(out, n_out, plan->outputs[i].id);

		if (!p->direct[i])
			continue;
		p->host_mem.value[id] =
			b && b->row_bytes == v->row_bytes && (uintptr_t)b->ptr % sizeof(float) == 0
				? b->ptr
				: p->host_mem.values + v->offset;
	}
}

enum lmd_status cpu_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct cpu_dev *dev = state;
	struct cpu_run r = {.host_mem = host_mem_run_init(&p->host_mem, step, in, n_in),
			    .dev = dev,
			    .compiled_plan = p};
	enum lmd_status st;

	(void)q;
	(void)done; /* this device has no queues and no events */
	st = cpu_step_begin(&r, &dev->error);
	if (st == LMD_OK)
		st = host_mem_check_outputs(&r.host_mem, out, n_out, "cpu", &dev->error);
	if (st != LMD_OK)
		return st;
	take_parts(&r, p);
	place_outputs(p, out, n_out);
	st = run_phases(&r, 0, p->n_phase);
	if (st == LMD_OK)
		host_mem_copy_outputs(&r.host_mem, out, n_out);
	return st;
}

enum lmd_status cpu_plan_observe(void *state, struct lmd_compiled_plan *p,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg)
{
	struct cpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct cpu_run r = {.host_mem = host_mem_run_init(&p->host_mem, step, in, n_in),
			    .dev = dev,
			    .compiled_plan = p,
			    .observed = true};
	enum lmd_status st;
	uint32_t at = 0;
	float *rows;
	size_t most;

	st = cpu_step_begin(&r, &dev->error);
	if (st != LMD_OK)
		return st;
	take_parts(&r, p);
	place_outputs(p, NULL, 0);
	most = host_mem_max_value_elems(&r.host_mem);
	rows = h->alloc(h->ctx, most * sizeof(*rows));
	if (!rows)
		return lmd_fail(&dev->error, LMD_NOMEM, "cpu: no memory for %zu observed numbers",
				most);
	for (uint32_t i = 0; st == LMD_OK && i < p->n_node; i++) {
		uint32_t end = at + p->nodes[i].n_phase;

		st = run_phases(&r, at, end);
		at = end;
		if (st == LMD_OK && !host_mem_observe(&r.host_mem, i, rows, fn, arg))
			break;
	}
	h->free(h->ctx, rows);
	return st;
}
