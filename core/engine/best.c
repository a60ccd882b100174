/* SPDX-License-Identifier: MIT
 *
 * The plan has one op, REDUCE TOP_K, whose order is that of the samplers: greatest first, equal
 * ones by lower id. It runs over all rows of the output. Two exact copies of the row's numbers
 * follow: its ids and its logits. */
#include "core/engine/best.h"

#include "core/base/alloc.h"
#include "core/engine/tail_plan.h"

enum { IDS, LOGITS };

struct lmi_engine_best {
	struct lmi_engine_tail_plan p;
	uint32_t n; /* candidates */
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
				     .width = t->p.n_vocab,
				     .name = "logits"};
	struct lmd_op op = {.code = LMD_OP_REDUCE};
	struct lmd_op_reduce *r = &op.u.reduce;

	(void)key;
	r->x = (struct lmd_operand){.src = LMD_SRC_INPUT,
				    .id = b->input(b->ctx, &in),
				    .n_head = 1,
				    .width = t->p.n_vocab};
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
	const struct lmi_inst_device *d = &inst->devices[device];
	struct lmi_engine_best *t;
	struct lmi_engine_tail_spec spec = {.build = build, .unsupported = "rows are copied whole"};
	enum lmd_status st;

	if (!(d->info->caps & LMD_DEV_TOPN) || lmi_inst_device_in_host_memory(d))
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: %s", d->name, spec.unsupported);
	t = lmi_alloc(1, sizeof(*t));
	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	t->p.device = device;
	t->p.n_vocab = n_vocab;
	t->p.n_row = max_rows(inst);
	t->n = n_vocab < LMI_ENGINE_N_BEST ? n_vocab : LMI_ENGINE_N_BEST;
	spec.state = t;
	spec.bytes[IDS] = spec.bytes[LOGITS] = (uint64_t)t->p.n_row * t->n * 4;
	st = lmi_engine_tail_plan_open(&t->p, inst, &spec, err);
	if (st == LMD_OK)
		*out = t;
	else
		lmi_engine_best_close(inst, t);
	return st;
}

void lmi_engine_best_close(struct lmi_inst *inst, struct lmi_engine_best *t)
{
	if (t)
		lmi_engine_tail_plan_close(inst, &t->p);
	lmi_free(t);
}

bool lmi_engine_best_serves(const struct lmi_engine_best *t, const struct lmi_engine_exec *e)
{
	return t && lmi_engine_tail_plan_serves(&t->p, e);
}

uint32_t lmi_engine_best_n(const struct lmi_engine_best *t)
{
	return t ? t->n : 0;
}

uint32_t lmi_engine_best_rows(const struct lmi_engine_best *t)
{
	return t ? t->p.n_row : 0;
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
	if (lmi_plan_view(t->p.plan)->key.bucket)
		lmi_plan_step_pad(s);
}

enum lmd_status lmi_engine_best_run(struct lmi_inst *inst, struct lmi_engine_best *t,
				    const struct lmi_engine_exec *e, uint32_t slot, uint32_t n_row,
				    struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->p.device];
	struct lmi_engine_tail_slot *s = &t->p.slot[slot];
	const uint64_t row_bytes = (uint64_t)t->n * 4;
	const struct lmd_binding in = lmi_engine_tail_plan_bind(
		0, &inst->slot[slot].out_rows[t->p.device], e->out_rows,
		(uint64_t)t->p.n_vocab * sizeof(float), 0);
	const struct lmd_binding out[] = {
		lmi_engine_tail_plan_bind(LMD_OUT_TOPN, &s->mem[IDS], t->p.n_row, row_bytes, 0),
		lmi_engine_tail_plan_bind(LMD_OUT_TOPN_LOGIT, &s->mem[LOGITS], t->p.n_row, row_bytes,
					  0),
	};
	enum lmd_status st;

	fill(t, s->step, n_row);
	st = lmi_engine_tail_plan_run(inst, &t->p, slot, &in, 1, out, LMD_LEN(out), err);
	for (uint32_t i = 0; i < LMI_ENGINE_TAIL_MEM && st == LMD_OK; i++)
		st = lmi_engine_shared_download(d, &s->mem[i], 0, n_row * row_bytes, err);
	return lmi_inst_check(inst, d, st, err);
}

bool lmi_engine_best_get(const struct lmi_engine_best *t, uint32_t slot, uint32_t row,
			 const int32_t **ids, const float **logits)
{
	const int32_t *id = (const int32_t *)t->p.slot[slot].mem[IDS].host + (size_t)row * t->n;
	const float *v = (const float *)t->p.slot[slot].mem[LOGITS].host + (size_t)row * t->n;

	*ids = id;
	*logits = v;
	for (uint32_t i = 0; i < t->n; i++) {
		if (id[i] < 0 || (uint32_t)id[i] >= t->p.n_vocab || v[i] != v[i])
			return false;
		if (i && !(v[i - 1] > v[i] || (v[i - 1] == v[i] && id[i - 1] < id[i])))
			return false;
	}
	return true;
}

enum lmd_status lmi_engine_best_fetch(struct lmi_inst *inst, struct lmi_engine_best *t, uint32_t slot,
				      uint32_t row, uint32_t n_row, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->p.device];
	const uint64_t row_bytes = (uint64_t)t->p.n_vocab * sizeof(float);
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = lmi_engine_shared_download(d, &inst->slot[slot].out_rows[t->p.device], row * row_bytes,
					n_row * row_bytes, err);
	if (st == LMD_OK)
		st = lmi_engine_queue_finish(d, err);
	st = lmi_inst_check(inst, d, st, err);
	lmi_inst_let_go(inst);
	return st;
}
