/* SPDX-License-Identifier: MIT
 *
 * Compilation: looks everything up once, asks each op for its scratch, and allocates all of it. */
#include "ops.h"
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

static enum lmd_status plan_own(struct host_mem_build *b, const struct lmd_op *op,
				struct lmd_error *err)
{
	const struct ref_op *fn = ref_op_of(op->code);

	return fn->plan ? fn->plan((struct ref_build *)(void *)b, op, err) : LMD_OK;
}

static enum lmd_status compile_op(struct ref_dev *dev, struct lmd_compiled_plan *p, uint32_t i,
				  struct lmd_error *err)
{
	const struct lmd_op *op = &p->host_mem.plan->ops[i];
	struct ref_build b = {.host_mem = host_mem_build_init(&p->host_mem),
			      .dev = dev,
			      .compiled_plan = p};
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);
	const struct ref_op *fn = ref_op_of(op->code);
	enum lmd_status st;

	if (!fn || !info)
		return host_mem_missing_op(&p->host_mem, i, err);
	note_inputs(p, op, info);
	st = host_mem_plan_op(&p->host_mem, &b.host_mem, i, fn->plain, plan_own, err);
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
	for (uint32_t i = 0; i < plan->n_op; i++)
		if (ref_op_of(plan->ops[i].code) == &ref_op_collective)
			p->group = c->devgroup;
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
	(void)state;
	(void)plan;
	host_mem_op_support("ref", op, ref_op_of(op->code) != NULL, NULL, out);
}
