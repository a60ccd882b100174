/* SPDX-License-Identifier: MIT
 *
 * Compilation: looks everything up once, asks each op for its phases and its scratch, and
 * allocates all of it. */
#include <string.h>

#include "backend/common/exact.h"
#include "backend/common/int8_types.h"
#include "cpu.h"

static enum lmd_status plan_own(struct host_mem_build *b, const struct lmd_op *op,
				struct lmd_error *err)
{
	const struct cpu_op *fn = cpu_op_of(op->code);

	return fn->plan ? fn->plan((struct cpu_build *)(void *)b, op, err) : LMD_OK;
}

static enum lmd_status add_phases(struct cpu_dev *dev, struct lmd_compiled_plan *p,
				  struct cpu_node *node, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;

	if (p->n_phase + node->n_phase > p->cap_phase) {
		uint32_t cap = p->cap_phase ? 2 * p->cap_phase : 256;
		struct cpu_phase *more = h->alloc(h->ctx, cap * sizeof(*more));

		if (!more)
			return lmd_fail(err, LMD_NOMEM, "cpu: no memory for %u phases", cap);
		if (p->n_phase)
			memcpy(more, p->phases, p->n_phase * sizeof(*more));
		h->free(h->ctx, p->phases);
		p->phases = more;
		p->cap_phase = cap;
	}
	for (uint32_t i = 0; i < node->n_phase; i++)
		p->phases[p->n_phase++] = (struct cpu_phase){.node = node, .phase = i};
	return LMD_OK;
}

static enum lmd_status compile_op(struct cpu_dev *dev, struct lmd_compiled_plan *p, uint32_t i,
				  struct lmd_error *err)
{
	const struct lmd_op *op = &p->host_mem.plan->ops[i];
	struct cpu_node *node = &p->nodes[i];
	struct cpu_build b = {.host_mem = host_mem_build_init(&p->host_mem),
			      .dev = dev,
			      .compiled_plan = p,
			      .node = node};
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);
	const struct cpu_op *fn = cpu_op_of(op->code);
	enum lmd_status st;

	if (!fn || !info)
		return host_mem_missing_op(&p->host_mem, i, err);
	*node = (struct cpu_node){.op = op, .info = info, .fn = fn};
	p->n_node = i + 1;
	st = host_mem_plan_op(&p->host_mem, &b.host_mem, i, fn->plain, plan_own, err);
	if (st != LMD_OK)
		return st;
	node->n_phase = b.host_mem.n_phase;
	return add_phases(dev, p, node, err);
}

/* Is HEAD the only op that writes a value, and does it write all of it? */
static bool only_head_writes(const struct lmd_compiled_plan *p, uint32_t value)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_node; i++) {
		const struct cpu_node *node = &p->nodes[i];

		for (uint32_t j = 0; j < node->info->n_out; j++) {
			const struct lmd_operand *o =
				host_mem_operand(node->op, node->info->out[j]);

			if (o->src != LMD_SRC_VALUE || o->id != value)
				continue;
			if (node->op->code != LMD_OP_HEAD || o->fold > 1 ||
			    o->width != p->host_mem.plan->values[value].width)
				return false;
			n++;
		}
	}
	return n == 1;
}

/* Logits are large; compute them in place to save a copy. */
static void find_direct(struct lmd_compiled_plan *p)
{
	const struct lmd_output *out = p->host_mem.plan->outputs;

	for (uint32_t i = 0; i < p->host_mem.plan->n_output; i++) {
		p->direct[i] = only_head_writes(p, out[i].value);
		for (uint32_t j = 0; j < i; j++)
			p->direct[i] = p->direct[i] && out[j].value != out[i].value;
	}
}

/* Goes from the last phase to the first. */
void cpu_plan_find_ahead(struct lmd_compiled_plan *p, uint32_t n_part)
{
	if (p->ahead_parts == n_part || !p->n_phase)
		return;
	p->ahead_parts = n_part;
	for (uint32_t part = 0; part < n_part; part++)
		p->ahead[(size_t)(p->n_phase - 1) * n_part + part] = NULL;
	for (uint32_t i = p->n_phase; i-- > 1;) {
		const struct cpu_phase *ph = &p->phases[i];
		const void **here = p->ahead + (size_t)i * n_part, **before = here - n_part;

		for (uint32_t part = 0; part < n_part; part++) {
			const void *w = ph->node->fn->first
						? ph->node->fn->first(p, ph->node, ph->phase, part,
								      n_part)
						: NULL;

			before[part] = w ? w : here[part];
		}
	}
}

static enum lmd_status compile(struct cpu_dev *dev, const struct lmd_compile *c,
			       struct lmd_compiled_plan *p, struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	const struct lmd_host *h = dev->host;
	enum lmd_status st = host_mem_compiled_plan_init(&p->host_mem, c, err);
	bool failed = false;

	if (st != LMD_OK)
		return st;
	p->nodes = host_mem_array(h, plan->n_op, sizeof(*p->nodes), &failed);
	p->turns = host_mem_array(h, plan->n_rope ? plan->n_op : 0, sizeof(*p->turns), &failed);
	p->direct = host_mem_array(h, plan->n_output, sizeof(*p->direct), &failed);
	p->moved = host_mem_array(h, plan->n_value, sizeof(*p->moved), &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for a plan of %u ops", plan->n_op);
	for (uint32_t i = 0; st == LMD_OK && i < plan->n_op; i++)
		st = compile_op(dev, p, i, err);
	if (st == LMD_OK)
		st = host_mem_compiled_plan_scratch(&p->host_mem, err);
	if (st != LMD_OK)
		return st;
	p->counters = host_mem_array(h, (size_t)p->n_phase * cpu_n_list(dev->n_part),
				     sizeof(*p->counters), &failed);
	p->ahead = host_mem_array(h, (size_t)p->n_phase * dev->n_part, sizeof(void *), &failed);
	p->moved_mem = host_mem_array(h, p->moved_bytes, 1, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"cpu: no memory for %u phases and %zu bytes of moved values",
				p->n_phase, p->moved_bytes);
	for (uint32_t i = 0; i < plan->n_value; i++) {
		if (p->moved[i])
			p->host_mem.value[i] = p->moved_mem;
	}
	cpu_plan_find_ahead(p, dev->n_part);
	find_direct(p);
	cpu_large_pages(p->host_mem.values, (size_t)plan->scratch_bytes);
	cpu_large_pages(p->host_mem.shared, p->host_mem.shared_bytes);
	return LMD_OK;
}

static bool has_exact(uint32_t dtype, uint32_t k)
{
	return k % 32 == 0 && host_mem_int8_type(dtype);
}

enum lmd_status cpu_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	enum lmd_status st = host_mem_compiled_plan_check(c->plan, "cpu", err);
	struct lmd_compiled_plan *p;

	if (st == LMD_OK && dev->exact)
		st = device_exact_check(c->plan, has_exact, "cpu", err);
	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for a plan");
	p->host_mem = (struct host_mem_compiled_plan){
		.who = "cpu", .host = dev->host, .n_part = dev->n_part};
	st = compile(dev, c, p, err);
	if (st != LMD_OK) {
		cpu_plan_destroy(dev, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void cpu_plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = ((struct cpu_dev *)state)->host;

	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_node; i++) {
		if (p->nodes[i].data && p->nodes[i].fn->destroy)
			p->nodes[i].fn->destroy(h, p->nodes[i].data);
		h->free(h->ctx, p->nodes[i].data);
	}
	for (uint32_t i = 0; i < p->n_turns; i++)
		h->free(h->ctx, p->turns[i].t);
	h->free(h->ctx, p->turns);
	h->free(h->ctx, p->nodes);
	h->free(h->ctx, p->phases);
	h->free(h->ctx, p->counters);
	h->free(h->ctx, (void *)p->ahead);
	h->free(h->ctx, p->direct);
	h->free(h->ctx, p->moved);
	h->free(h->ctx, p->moved_mem);
	host_mem_compiled_plan_fini(&p->host_mem);
	h->free(h->ctx, p);
}

uint32_t cpu_plan_stats(void *state, const struct lmd_compiled_plan *p, struct lmd_opstat *out,
			uint32_t cap)
{
	(void)state;
	for (uint32_t i = 0; i < p->n_node && i < cap; i++) {
		out[i] = (struct lmd_opstat){
			.op = i,
			.n_run = p->nodes[i].n_run,
			.ns = p->nodes[i].ns,
		};
	}
	return p->n_node;
}

void cpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	(void)state;
	(void)plan;
	host_mem_op_support("cpu", op, cpu_op_of(op->code) != NULL,
			    op->code == LMD_OP_SAMPLE ? "sampling is done by the host" : NULL, out);
}
