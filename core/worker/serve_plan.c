/* SPDX-License-Identifier: MIT
 *
 * Plans in a worker. A step is copied from the buffer that both processes map to a block of the plan's
 * own, so that nothing changes while it is used. */
#include <string.h>

#include "core/base/arena.h"
#include "core/plan/plan.h"
#include "core/worker/plan_codec.h"
#include "core/worker/serve.h"

#define ARENA_LIMIT (1ull << 30)
#define MAX_BINDING 64u

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "worker: no memory for a plan");
}

enum lmd_status lmi_worker_do_declare(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err)
{
	(void)fd;
	lmi_arena_destroy(s->declared_arena);
	s->declared = (struct lmd_plan){.struct_size = sizeof(s->declared)};
	s->declared_arena = lmi_arena_create(ARENA_LIMIT);
	if (!s->declared_arena)
		return no_memory(err);
	lmi_worker_get_plan(in, s->declared_arena, &s->declared);
	return in->failed ? lmi_worker_too_short(err) : LMD_OK;
}

enum lmd_status lmi_worker_do_support(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err)
{
	struct lmd_support out = {.struct_size = sizeof(out)};
	struct lmd_op op;

	(void)fd;
	lmi_worker_in_read(in, &op, sizeof(op));
	if (in->failed || !s->declared_arena)
		return lmi_worker_too_short(err);
	s->ops->op_support(s->state, &s->declared, &op, &out);
	(void)lmi_worker_out_put(&s->reply, &out, sizeof(out));
	return LMD_OK;
}

enum lmd_status lmi_worker_do_plan_query(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					 struct lmd_error *err)
{
	struct lmd_arena *a = lmi_arena_create(ARENA_LIMIT);
	struct lmd_plan plan = {.struct_size = sizeof(plan)};
	struct lmd_plan_cost cost = {.struct_size = sizeof(cost)};
	const struct lmd_compile c = {.struct_size = sizeof(c), .plan = &plan};
	enum lmd_status st = LMD_OK;

	(void)fd;
	if (!a)
		return no_memory(err);
	lmi_worker_get_plan(in, a, &plan);
	cost.scratch_bytes = plan.scratch_bytes;
	if (in->failed)
		st = lmi_worker_too_short(err);
	else if (s->ops->plan_query)
		st = s->ops->plan_query(s->state, &c, &cost, err);
	lmi_arena_destroy(a);
	(void)lmi_worker_out_put(&s->reply, &cost, sizeof(cost));
	return st;
}

/* Reads the numbers of the weights and pools of a plan. */
static enum lmd_status get_objects(struct lmi_worker_serve *s, struct lmi_worker_in *in,
				   struct lmd_arena *a, const struct lmd_plan *plan,
				   struct lmd_compile *c, struct lmd_error *err)
{
	struct lmd_weight **weights =
		lmi_arena_array(a, plan->n_weight_ref + 1u, sizeof(struct lmd_weight *));
	struct lmd_pool **pools = lmi_arena_array(a, LMD_MAX_GROUP, sizeof(struct lmd_pool *));
	const struct lmi_worker_object *o;
	uint64_t number;

	if (!weights || !pools)
		return no_memory(err);
	if (plan->n_group > LMD_MAX_GROUP)
		return lmi_worker_too_short(err);
	for (uint32_t i = 0; i < plan->n_weight_ref; i++) {
		number = lmi_worker_in_u64(in);
		o = lmi_worker_object_find(s, number, LMI_WORKER_OBJECT_WEIGHT);
		if (!o)
			return lmd_fail(err, LMD_INVALID, "worker: there is no weight %llu",
					(unsigned long long)number);
		weights[i] = o->weight;
	}
	for (uint32_t i = 0; i < plan->n_group; i++) {
		number = lmi_worker_in_u64(in);
		o = lmi_worker_object_find(s, number, LMI_WORKER_OBJECT_POOL);
		if (!o && number != LMI_WORKER_NONE)
			return lmd_fail(err, LMD_INVALID, "worker: there is no pool %llu",
					(unsigned long long)number);
		pools[i] = o ? o->pool : NULL;
	}
	c->weights = weights;
	c->pools = pools;
	return LMD_OK;
}

static enum lmd_status set_scratch(struct lmi_worker_serve *s, const struct lmi_worker_compile *head,
				   struct lmd_compile *c, struct lmd_error *err)
{
	const struct lmi_worker_object *b;

	if (head->scratch == LMI_WORKER_NONE)
		return LMD_OK;
	b = lmi_worker_object_find(s, head->scratch, LMI_WORKER_OBJECT_BUFFER);
	if (!b || head->scratch_at > b->bytes || head->scratch_bytes > b->bytes - head->scratch_at)
		return lmd_fail(err, LMD_INVALID, "worker: scratch memory beyond the end of its buffer");
	c->scratch = (struct lmd_scratch){.bytes = head->scratch_bytes,
					  .ptr = b->mem ? b->mem + head->scratch_at : NULL,
					  .buffer = b->buffer,
					  .offset = b->buffer ? head->scratch_at : 0};
	return LMD_OK;
}

enum lmd_status lmi_worker_do_compile(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err)
{
	struct lmi_worker_compile head;
	struct lmd_step_layout layout;
	struct lmd_compile c = {.struct_size = sizeof(c), .layout = &layout};
	struct lmi_worker_object *o;
	enum lmd_status st;

	(void)fd;
	lmi_worker_in_read(in, &head, sizeof(head));
	c.n_seq = (uint32_t)head.n_seq;
	st = lmi_worker_object_create(s, head.number, LMI_WORKER_OBJECT_PLAN, &o, err);
	if (st != LMD_OK)
		return st;
	o->arena = lmi_arena_create(ARENA_LIMIT);
	o->plan = o->arena ? lmi_arena_alloc(o->arena, sizeof(*o->plan), 8) : NULL;
	if (!o->plan)
		st = no_memory(err);
	if (st == LMD_OK) {
		lmi_worker_get_plan(in, o->arena, o->plan);
		lmi_worker_in_read(in, &layout, sizeof(layout));
		c.plan = o->plan;
		if (in->failed)
			st = lmi_worker_too_short(err);
	}
	if (st == LMD_OK)
		st = get_objects(s, in, o->arena, o->plan, &c, err);
	if (st == LMD_OK)
		st = set_scratch(s, &head, &c, err);
	if (st == LMD_OK && in->failed)
		st = lmi_worker_too_short(err);
	if (st == LMD_OK)
		st = lmi_plan_step_create_at(&o->step, o->plan, &layout, NULL, err);
	if (st == LMD_OK)
		st = s->ops->plan_compile(s->state, &c, &o->compiled_plan, err);
	if (st != LMD_OK)
		lmi_worker_object_destroy(s, o);
	return st;
}

/* Reads bindings, and checks that their rows are in their buffers. */
static enum lmd_status get_bindings(struct lmi_worker_serve *s, struct lmi_worker_in *in, uint32_t n,
				    struct lmd_binding *out, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_worker_binding b;
		const struct lmi_worker_object *o;
		uint64_t bytes;

		lmi_worker_in_read(in, &b, sizeof(b));
		o = lmi_worker_object_find(s, b.buffer, LMI_WORKER_OBJECT_BUFFER);
		bytes = b.binding.row_bytes * b.binding.n_row;
		if (in->failed || !o || b.binding.row_bytes > o->bytes ||
		    b.binding.offset > o->bytes || bytes > o->bytes - b.binding.offset)
			return lmd_fail(err, LMD_INVALID,
					"worker: rows of binding %u are in no buffer", b.binding.id);
		out[i] = b.binding;
		out[i].buffer = o->buffer;
		out[i].offset = o->buffer ? b.binding.offset : 0;
		out[i].ptr = o->mem ? o->mem + b.binding.offset : NULL;
	}
	return LMD_OK;
}

enum lmd_status lmi_worker_do_run(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				  struct lmd_error *err)
{
	struct lmd_binding bindings[2][MAX_BINDING];
	const struct lmi_worker_object *block;
	struct lmi_worker_object *o;
	struct lmi_worker_run run;
	struct lmi_plan_step *step;
	enum lmd_status st;

	(void)fd;
	lmi_worker_in_read(in, &run, sizeof(run));
	o = lmi_worker_object_find(s, run.plan, LMI_WORKER_OBJECT_PLAN);
	block = lmi_worker_object_find(s, run.block, LMI_WORKER_OBJECT_BUFFER);
	if (!o || !block || !block->mem || run.n_in > MAX_BINDING || run.n_out > MAX_BINDING)
		return lmd_fail(err, LMD_INVALID, "worker: a step without plan or block, or with %u and %u "
						  "bindings; at most %u are allowed",
				run.n_in, run.n_out, MAX_BINDING);
	step = o->step;
	if (run.block_at > block->bytes || step->layout.bytes > block->bytes - run.block_at)
		return lmd_fail(err, LMD_INVALID, "worker: the step block is beyond the end of its buffer");
	st = get_bindings(s, in, run.n_in, bindings[0], err);
	if (st == LMD_OK)
		st = get_bindings(s, in, run.n_out, bindings[1], err);
	if (st != LMD_OK)
		return st;
	memcpy(step->block, block->mem + run.block_at, (size_t)step->layout.bytes);
	step->view.cancel = &s->page->cancel;
	step->view.progress = &s->page->progress;
	lmi_team_choose(s->team, &s->threads, run.n_row);
	st = s->ops->plan_run(s->state, NULL, o->compiled_plan, &step->view, bindings[0], run.n_in,
			      bindings[1], run.n_out, NULL);
	return st == LMD_OK ? st : lmd_fail(err, st, "%s", s->ops->last_error(s->state));
}
