/* SPDX-License-Identifier: MIT */
#include "core/engine/tail_plan.h"

enum lmd_status lmi_engine_tail_plan_build(struct lmi_engine_tail_plan *t,
					   const struct lmi_inst *inst,
					   const struct lmi_engine_tail_spec *spec,
					   struct lmd_error *err)
{
	const struct lmd_arch_ops ops = {.struct_size = sizeof(ops), .build = spec->build};
	const struct lmi_inst_device *d = &inst->devices[t->device];
	const struct lmd_arch_desc desc = {.struct_size = sizeof(desc), .state = spec->state};
	const struct lmi_plan_params p = {
		.host = inst->host,
		.model = inst->model,
		.arch = &ops,
		.desc = &desc,
		.key = {.struct_size = sizeof(p.key),
			.kind = LMD_PLAN_TAIL,
			.pooling = LMD_POOL_UNSET,
			.bucket = d->info->n_bucket ? t->n_row : 0},
		.act_dtype = d->info->act_dtype,
		.max_rows = {[LMD_SPACE_TOKENS] = t->n_row,
			     [LMD_SPACE_OUTPUTS] = t->n_row,
			     [LMD_SPACE_SEQS] = t->n_row},
	};
	struct lmd_support support = {.struct_size = sizeof(support)};
	const struct lmd_plan *view;
	enum lmd_status st;

	st = lmi_plan_build(&t->plan, &p, err);
	if (st == LMD_OK)
		st = lmi_plan_layout(t->plan, err);
	if (st == LMD_OK)
		st = lmi_plan_step_layout(&t->layout, lmi_plan_view(t->plan), 0, err);
	if (st != LMD_OK)
		return st;
	view = lmi_plan_view(t->plan);
	d->ops->op_support(d->state, view, &view->ops[0], &support);
	return support.native ? LMD_OK
			      : lmd_fail(err, LMD_UNSUPPORTED, "%s: %.95s", d->name,
					 support.reason[0] ? support.reason : spec->unsupported);
}

static enum lmd_status compile(struct lmi_engine_tail_plan *t, struct lmi_inst *inst,
			       struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->device];
	const struct lmd_compile c = {.struct_size = sizeof(c),
				      .n_seq = inst->n_seq,
				      .plan = lmi_plan_view(t->plan),
				      .layout = &t->layout,
				      .pools = d->pools,
				      .scratch = lmi_inst_scratch(d, lmi_plan_view(t->plan))};

	return d->ops->plan_compile(d->state, &c, &t->compiled_plan, err);
}

static enum lmd_status open_slot(const struct lmi_engine_tail_plan *t, struct lmi_inst_device *d,
				 const struct lmi_engine_tail_spec *spec,
				 struct lmi_engine_tail_slot *s, struct lmd_error *err)
{
	enum lmd_status st = lmi_engine_shared_create(d, &s->block, t->layout.bytes,
						      LMI_ENGINE_SHARED_HOST, err);

	for (uint32_t i = 0; i < LMI_ENGINE_TAIL_MEM && st == LMD_OK; i++)
		st = lmi_engine_shared_create(d, &s->mem[i], spec->bytes[i],
					      LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
					      err);
	if (st == LMD_OK)
		st = lmi_plan_step_create_at(&s->step, lmi_plan_view(t->plan), &t->layout,
					     s->block.host, err);
	if (st == LMD_OK)
		s->step->view.buffer = s->block.pinned;
	return st;
}

enum lmd_status lmi_engine_tail_plan_open(struct lmi_engine_tail_plan *t, struct lmi_inst *inst,
					  const struct lmi_engine_tail_spec *spec,
					  struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->device];
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = lmi_engine_tail_plan_build(t, inst, spec, err);
	if (st == LMD_OK)
		st = compile(t, inst, err);
	for (uint32_t i = 0; i < inst->n_slot && st == LMD_OK; i++)
		st = open_slot(t, d, spec, &t->slot[i], err);
	st = lmi_inst_check(inst, d, st, err);
	lmi_inst_let_go(inst);
	return st;
}

void lmi_engine_tail_plan_close(struct lmi_inst *inst, struct lmi_engine_tail_plan *t)
{
	struct lmi_inst_device *d = &inst->devices[t->device];

	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP; i++) {
		struct lmi_engine_tail_slot *s = &t->slot[i];

		lmi_plan_step_destroy(s->step);
		lmi_engine_shared_destroy(d, &s->block);
		for (uint32_t k = 0; k < LMI_ENGINE_TAIL_MEM; k++)
			lmi_engine_shared_destroy(d, &s->mem[k]);
	}
	if (t->compiled_plan)
		d->ops->plan_destroy(d->state, t->compiled_plan);
	lmi_plan_destroy(t->plan);
}

bool lmi_engine_tail_plan_serves(const struct lmi_engine_tail_plan *t,
				 const struct lmi_engine_exec *e)
{
	return e->key.kind == LMD_PLAN_FORWARD && e->out_id == LMD_OUT_LOGITS &&
	       e->out_space == LMD_SPACE_OUTPUTS && e->out_width == t->n_vocab &&
	       e->segments[e->out_segment].device == t->device;
}

enum lmd_status lmi_engine_tail_plan_run(struct lmi_inst *inst, const struct lmi_engine_tail_plan *t,
					 uint32_t slot, const struct lmd_binding *in, uint32_t n_in,
					 const struct lmd_binding *out, uint32_t n_out,
					 struct lmd_error *err)
{
	const struct lmi_inst_device *d = &inst->devices[t->device];
	enum lmd_status st = d->ops->plan_run(d->state, d->queue, t->compiled_plan,
					      &t->slot[slot].step->view, in, n_in, out, n_out, NULL);

	if (st != LMD_OK)
		(void)lmd_fail(err, st, "%s", d->ops->last_error(d->state));
	return st;
}

struct lmd_binding lmi_engine_tail_plan_bind(uint32_t id, const struct lmi_engine_shared *m,
					     uint32_t n_row, uint64_t row_bytes, uint64_t offset)
{
	return (struct lmd_binding){.id = id,
				    .n_row = n_row,
				    .row_bytes = row_bytes,
				    .ptr = m->device ? NULL : (char *)m->host + offset,
				    .buffer = m->device,
				    .offset = m->device ? offset : 0};
}
