/* SPDX-License-Identifier: MIT
 *
 * Compilation: looks everything up once, asks each op for its scratch, and allocates all of it. */
#include <stdio.h>
#include <string.h>

#include "ref.h"

/* Inputs that the op reads without checking them itself must be bound. */
static void note_inputs(struct lmd_compiled_plan *p, const struct lmd_op *op,
			const struct host_mem_opinfo *info)
{
	for (uint32_t i = 0; i < info->n_in; i++) {
		const struct lmd_operand *o = host_mem_operand(op, info->in[i]);

		if (o->src == LMD_SRC_INPUT && !info->loose_inputs)
			p->need_input[o->id] = true;
	}
}

static enum lmd_status plan_op(struct ref_build *b, const struct lmd_op *op,
			       const struct ref_op *fn, struct lmd_error *err)
{
	if (fn->plain)
		return fn->plain->plan ? fn->plain->plan(&b->host_mem, op, err) : LMD_OK;
	return fn->plan ? fn->plan(b, op, err) : LMD_OK;
}

static enum lmd_status compile_op(struct ref_dev *dev, struct lmd_compiled_plan *p, uint32_t i,
				  struct lmd_error *err)
{
	const struct lmd_op *op = &p->host_mem.plan->ops[i];
	struct ref_build b = {.host_mem = {.host = dev->host,
					   .plan = p->host_mem.plan,
					   .weights = p->host_mem.weights,
					   .n_phase = 1},
			      .dev = dev,
			      .compiled_plan = p};
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);
	const struct ref_op *fn = ref_op_of(op->code);
	enum lmd_status st;

	if (!fn || !info)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"ref: op %u of the plan has code %u, which needs "
				"a device group or is unknown",
				i, op->code);
	note_inputs(p, op, info);
	st = host_mem_flatten_operands(&b.host_mem, op, info, err);
	if (st == LMD_OK)
		st = plan_op(&b, op, fn, err);
	if (st == LMD_OK)
		st = host_mem_raise_scratch(&p->host_mem, &b.host_mem, i, err);
	if (st == LMD_OK)
		p->nodes[i] = (struct ref_node){
			.op = op, .info = info, .fn = fn, .n_phase = b.host_mem.n_phase};
	return st;
}

static enum lmd_status compile(struct ref_dev *dev, const struct lmd_compile *c,
			       struct lmd_compiled_plan *p, struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	enum lmd_status st = host_mem_compiled_plan_init(&p->host_mem, c, err);
	bool failed = false;

	if (st != LMD_OK)
		return st;
	p->token_limit = UINT32_MAX;
	p->nodes = host_mem_array(dev->host, plan->n_op, sizeof(*p->nodes), &failed);
	p->need_input = host_mem_array(dev->host, plan->n_input, sizeof(*p->need_input), &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM, "ref: no memory for a plan of %u ops", plan->n_op);
	for (uint32_t i = 0; st == LMD_OK && i < plan->n_op; i++)
		st = compile_op(dev, p, i, err);
	if (st != LMD_OK)
		return st;
	p->n_node = plan->n_op;
	st = host_mem_compiled_plan_scratch(&p->host_mem, err);
	return st == LMD_OK ? ref_chain_reserve(dev, plan->max_rows[LMD_SPACE_SEQS], err) : st;
}

enum lmd_status ref_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct ref_dev *dev = state;
	enum lmd_status st = host_mem_compiled_plan_check(c->plan, "ref", err);
	struct lmd_compiled_plan *p;

	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "ref: no memory for a plan");
	p->host_mem = (struct host_mem_compiled_plan){
		.who = "ref", .host = dev->host, .n_part = dev->n_part};
	st = compile(dev, c, p, err);
	if (st != LMD_OK) {
		ref_plan_destroy(dev, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void ref_plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = ((struct ref_dev *)state)->host;

	if (!p)
		return;
	h->free(h->ctx, p->nodes);
	h->free(h->ctx, p->need_input);
	host_mem_compiled_plan_fini(&p->host_mem);
	h->free(h->ctx, p);
}

uint32_t ref_plan_stats(void *state, const struct lmd_compiled_plan *p, struct lmd_opstat *out,
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

void ref_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	struct lmd_support s = {0};

	(void)state;
	(void)plan;
	s.native = ref_op_of(op->code) != NULL;
	if (!s.native)
		(void)snprintf(s.reason, sizeof(s.reason), "%s",
		       op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER
			       ? "the ref backend has one device, so there are no groups"
			       : "unknown op");
	LMD_PUT(out, &s);
}
