/* SPDX-License-Identifier: MIT
 *
 * Hidden rows: what the model's steps put out for its draft layers, and their memory. */
#include "core/engine/instance.h"

uint64_t lmi_engine_hidden_find(const struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	e->hidden_segment = LMD_NONE;
	if (!(e->view->key.flags & LMD_PLAN_HIDDEN))
		return 0;
	for (uint32_t s = 0; s < e->n_segment; s++)
		for (uint32_t i = 0; i < e->segments[s].view->n_output; i++)
			if (e->segments[s].view->outputs[i].id == LMD_OUT_TAP)
				e->hidden_segment = s;
	return (uint64_t)inst->n_batch * inst->desc.n_embd * sizeof(float);
}

/* Creates rows of a slot unless another plan has. */
static enum lmd_status open_rows(struct lmi_inst_device *d, struct lmi_engine_shared *rows, uint64_t bytes,
				 struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (rows->bytes)
		return LMD_OK;
	st = lmi_engine_shared_create(d, rows, bytes, LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
				      err);
	if (st == LMD_OK)
		d->hidden_bytes += bytes;
	return st;
}

enum lmd_status lmi_engine_hidden_open(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   struct lmd_error *err)
{
	uint64_t bytes = lmi_engine_hidden_find(inst, e);
	uint32_t device;
	struct lmi_inst_device *d;
	enum lmd_status st = LMD_OK;

	if (!bytes)
		return LMD_OK;
	if (e->hidden_segment == LMD_NONE || (e->key.kind == LMD_PLAN_DRAFT && e->n_segment != 1))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s: the draft layers would run on several devices",
				inst->model->arch);
	device = e->segments[e->hidden_segment].device;
	d = &inst->devices[device];
	if (e->key.kind == LMD_PLAN_DRAFT)
		inst->draft_device = device;
	for (uint32_t i = 0; i < inst->n_slot && st == LMD_OK; i++) {
		struct lmi_engine_slot *t = &inst->slot[i];

		st = open_rows(d, lmi_engine_hidden_rows(t, e, device), bytes, err);
		if (st == LMD_OK && e->key.kind == LMD_PLAN_DRAFT)
			st = open_rows(d, &t->before_rows, bytes, err);
	}
	return st;
}

struct lmi_engine_shared *lmi_engine_hidden_rows(struct lmi_engine_slot *t,
						 const struct lmi_engine_exec *e, uint32_t device)
{
	return e->key.kind == LMD_PLAN_DRAFT ? &t->draft_rows : &t->hidden_rows[device];
}

uint32_t lmi_engine_hidden_groups(const struct lmd_plan *p)
{
	uint32_t groups = 0;

	if (p->key.kind != LMD_PLAN_DRAFT)
		return UINT32_MAX;
	for (uint32_t i = 0; i < p->n_op; i++) {
		const struct lmd_op *op = &p->ops[i];

		for (uint32_t k = 0; k < 2 && op->code == LMD_OP_ATTN; k++)
			if (op->u.attn.src[k].group < p->n_group)
				groups |= 1u << op->u.attn.src[k].group;
	}
	return groups;
}

void lmi_engine_hidden_add(const struct lmi_inst *inst, struct lmd_plan_key *k)
{
	if (inst->desc.n_draft && k->kind == LMD_PLAN_FORWARD && k->flags & LMD_PLAN_LOGITS)
		k->flags |= LMD_PLAN_HIDDEN;
}
