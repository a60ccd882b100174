/* SPDX-License-Identifier: MIT
 *
 * The plan has one op, REDUCE TOP_K, whose order is that of the samplers: greatest first, equal
 * ones by lower id. It runs over all rows of the output. Two exact copies of the row's numbers
 * follow: its ids and its logits. */
#include "core/engine/best.h"

#include "core/base/alloc.h"

struct best_slot {
	struct lmi_plan_step *step;
	struct lmi_engine_shared block, ids, logits;
};

struct lmi_engine_best {
	uint32_t device, n_vocab, n, n_row; /* n: candidates; n_row: rows of a step at most */
	struct lmi_plan *plan;
	struct lmd_step_layout layout;
	struct lmd_compiled_plan *compiled_plan;
	struct best_slot slot[LMI_ENGINE_MAX_STEP];
};

/* ---- the plan ---- */

static struct lmd_operand value(const struct lmd_builder *b, enum lmd_vtype type, uint32_t width,
				const char *name)
{
	return (struct lmd_operand){.src = LMD_SRC_VALUE,
				    .id = b->value(b->ctx, LMD_SPACE_OUTPUTS, type, width, name),
				    .n_head = 1,
				    .width = width};
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct lmi_engine_best *t = state;
	const struct lmd_input in = {.space = LMD_SPACE_OUTPUTS,
				     .vtype = LMD_VTYPE_F32,
				     .width = t->n_vocab,
				     .name = "logits"};
	struct lmd_op op = {.code = LMD_OP_REDUCE};
	struct lmd_op_reduce *r = &op.u.reduce;

	(void)key;
	r->x = (struct lmd_operand){.src = LMD_SRC_INPUT,
				    .id = b->input(b->ctx, &in),
				    .n_head = 1,
				    .width = t->n_vocab};
	r->y = value(b, LMD_VTYPE_I32, t->n, "ids");
	r->y2 = value(b, LMD_VTYPE_F32, t->n, "best");
	r->kind = LMD_REDUCE_TOP_K;
	r->axis = LMD_AXIS_ROW;
	r->n = t->n;
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_TOPN, r->y.id);
	b->output(b->ctx, LMD_OUT_TOPN_LOGIT, r->y2.id);
	return b->status(b->ctx);
}

static enum lmd_status build_plan(struct lmi_engine_best *t, const struct lmi_inst *inst,
				  struct lmd_error *err)
{
	static const struct lmd_arch_ops ops = {.struct_size = sizeof(ops), .build = build};
	const struct lmi_inst_device *d = &inst->devices[t->device];
	const struct lmd_arch_desc desc = {.struct_size = sizeof(desc), .state = t};
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

	if (!(d->info->caps & LMD_DEV_TOPN) || lmi_inst_device_in_host_memory(d))
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: rows are copied whole", d->name);
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
			      : lmd_fail(err, LMD_UNSUPPORTED, "%s: %.95s", d->name, support.reason);
}

static enum lmd_status compile(struct lmi_engine_best *t, struct lmi_inst *inst,
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

static enum lmd_status open_slot(struct lmi_engine_best *t, struct lmi_inst_device *d,
				 struct best_slot *s, struct lmd_error *err)
{
	const uint32_t both = LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST;
	const uint64_t bytes = (uint64_t)t->n_row * t->n * 4;
	enum lmd_status st = lmi_engine_shared_create(d, &s->block, t->layout.bytes,
						      LMI_ENGINE_SHARED_HOST, err);

	if (st == LMD_OK)
		st = lmi_engine_shared_create(d, &s->ids, bytes, both, err);
	if (st == LMD_OK)
		st = lmi_engine_shared_create(d, &s->logits, bytes, both, err);
	if (st == LMD_OK)
		st = lmi_plan_step_create_at(&s->step, lmi_plan_view(t->plan), &t->layout,
					     s->block.host, err);
	if (st == LMD_OK)
		s->step->view.buffer = s->block.pinned;
	return st;
}

/* Each generation has one row of a step from which it chooses. */
static uint32_t max_rows(const struct lmi_inst *inst)
{
	uint32_t n = inst->n_out < inst->n_batch ? inst->n_out : inst->n_batch;

	return n < inst->n_seq ? n : inst->n_seq;
}

uint64_t lmi_engine_best_bytes(const struct lmi_inst *inst, const struct lmi_inst_device *d,
			       uint32_t n_vocab)
{
	uint32_t n = n_vocab < LMI_ENGINE_N_BEST ? n_vocab : LMI_ENGINE_N_BEST;

	if (!(d->info->caps & LMD_DEV_TOPN) || lmi_inst_device_in_host_memory(d))
		return 0;
	return (uint64_t)inst->n_slot * max_rows(inst) * n * 2 * 4;
}

enum lmd_status lmi_engine_best_open(struct lmi_engine_best **out, struct lmi_inst *inst,
				     uint32_t device, uint32_t n_vocab, struct lmd_error *err)
{
	struct lmi_engine_best *t = lmi_alloc(1, sizeof(*t));
	enum lmd_status st;

	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	t->device = device;
	t->n_vocab = n_vocab;
	t->n = n_vocab < LMI_ENGINE_N_BEST ? n_vocab : LMI_ENGINE_N_BEST;
	t->n_row = max_rows(inst);
	lmi_inst_hold(inst);
	st = build_plan(t, inst, err);
	if (st == LMD_OK)
		st = compile(t, inst, err);
	for (uint32_t i = 0; i < inst->n_slot && st == LMD_OK; i++)
		st = open_slot(t, &inst->devices[device], &t->slot[i], err);
	st = lmi_inst_check(inst, &inst->devices[device], st, err);
	lmi_inst_let_go(inst);
	if (st == LMD_OK)
		*out = t;
	else
		lmi_engine_best_close(inst, t);
	return st;
}

void lmi_engine_best_close(struct lmi_inst *inst, struct lmi_engine_best *t)
{
	struct lmi_inst_device *d;

	if (!t)
		return;
	d = &inst->devices[t->device];
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP; i++) {
		struct best_slot *s = &t->slot[i];

		lmi_plan_step_destroy(s->step);
		lmi_engine_shared_destroy(d, &s->block);
		lmi_engine_shared_destroy(d, &s->ids);
		lmi_engine_shared_destroy(d, &s->logits);
	}
	if (t->compiled_plan)
		d->ops->plan_destroy(d->state, t->compiled_plan);
	lmi_plan_destroy(t->plan);
	lmi_free(t);
}

bool lmi_engine_best_serves(const struct lmi_engine_best *t, const struct lmi_engine_exec *e)
{
	return t && e->key.kind == LMD_PLAN_FORWARD && e->out_id == LMD_OUT_LOGITS &&
	       e->out_space == LMD_SPACE_OUTPUTS && e->out_width == t->n_vocab &&
	       e->segments[e->out_segment].device == t->device;
}

uint32_t lmi_engine_best_n(const struct lmi_engine_best *t)
{
	return t ? t->n : 0;
}

uint32_t lmi_engine_best_rows(const struct lmi_engine_best *t)
{
	return t ? t->n_row : 0;
}

/* ---- a step ---- */

static void fill(const struct lmi_engine_best *t, struct lmi_plan_step *s, uint32_t n_row)
{
	*s->head = (struct lmd_step_header){.n_tok = n_row, .n_seq = n_row != 0, .n_out = n_row};
	s->q_start[0] = s->seq_slot[0] = 0;
	s->q_len[0] = (int32_t)n_row;
	for (uint32_t i = 0; i < n_row; i++) {
		s->token[i] = s->seq_of[i] = 0;
		s->out_row[i] = (int32_t)i;
	}
	if (lmi_plan_view(t->plan)->key.bucket)
		lmi_plan_step_pad(s);
}

static struct lmd_binding bind(uint32_t id, const struct lmi_engine_shared *m, uint32_t n_row,
			       uint64_t row_bytes)
{
	return (struct lmd_binding){
		.id = id, .n_row = n_row, .row_bytes = row_bytes, .buffer = m->device};
}

enum lmd_status lmi_engine_best_run(struct lmi_inst *inst, struct lmi_engine_best *t,
				    const struct lmi_engine_exec *e, uint32_t slot, uint32_t n_row,
				    struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->device];
	struct best_slot *s = &t->slot[slot];
	const uint64_t row_bytes = (uint64_t)t->n * 4;
	const struct lmd_binding in = bind(0, &inst->slot[slot].out_rows[t->device], e->out_rows,
					   (uint64_t)t->n_vocab * sizeof(float));
	const struct lmd_binding out[] = {
		bind(LMD_OUT_TOPN, &s->ids, t->n_row, row_bytes),
		bind(LMD_OUT_TOPN_LOGIT, &s->logits, t->n_row, row_bytes),
	};
	enum lmd_status st;

	fill(t, s->step, n_row);
	st = d->ops->plan_run(d->state, d->queue, t->compiled_plan, &s->step->view, &in, 1, out,
			      LMD_LEN(out), NULL);
	if (st != LMD_OK)
		(void)lmd_fail(err, st, "%s", d->ops->last_error(d->state));
	if (st == LMD_OK)
		st = lmi_engine_shared_download(d, &s->ids, 0, n_row * row_bytes, err);
	if (st == LMD_OK)
		st = lmi_engine_shared_download(d, &s->logits, 0, n_row * row_bytes, err);
	return lmi_inst_check(inst, d, st, err);
}

bool lmi_engine_best_get(const struct lmi_engine_best *t, uint32_t slot, uint32_t row,
			 const int32_t **ids, const float **logits)
{
	const int32_t *id = (const int32_t *)t->slot[slot].ids.host + (size_t)row * t->n;
	const float *v = (const float *)t->slot[slot].logits.host + (size_t)row * t->n;

	*ids = id;
	*logits = v;
	for (uint32_t i = 0; i < t->n; i++) {
		if (id[i] < 0 || (uint32_t)id[i] >= t->n_vocab || v[i] != v[i])
			return false;
		if (i && !(v[i - 1] > v[i] || (v[i - 1] == v[i] && id[i - 1] < id[i])))
			return false;
	}
	return true;
}

enum lmd_status lmi_engine_best_fetch(struct lmi_inst *inst, struct lmi_engine_best *t, uint32_t slot,
				      uint32_t row, uint32_t n_row, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->device];
	const uint64_t row_bytes = (uint64_t)t->n_vocab * sizeof(float);
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = lmi_engine_shared_download(d, &inst->slot[slot].out_rows[t->device], row * row_bytes,
					n_row * row_bytes, err);
	if (st == LMD_OK)
		st = lmi_engine_queue_finish(d, err);
	st = lmi_inst_check(inst, d, st, err);
	lmi_inst_let_go(inst);
	return st;
}
