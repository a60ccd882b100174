/* SPDX-License-Identifier: MIT
 *
 * Hidden rows: what the model's steps put out for its draft layers or a draft model, and their memory. */
#include "core/engine/instance.h"

uint32_t lmi_inst_hidden_width(const struct lmi_inst *inst)
{
	return inst->desc.n_hidden ? inst->desc.n_hidden : inst->desc.n_embd;
}

uint64_t lmi_engine_hidden_input(const struct lmi_engine_exec *e)
{
	return e->view->n_input ? (uint64_t)e->view->inputs[0].width * sizeof(float) : 0;
}

uint32_t lmi_engine_hidden_width(const struct lmi_inst *inst, const struct lmi_engine_exec *e)
{
	/* draft layers put out rows like those that they read */
	return e->key.kind == LMD_PLAN_DRAFT && !inst->desc.n_draft ? inst->desc.n_embd
								    : lmi_inst_hidden_width(inst);
}

uint64_t lmi_engine_hidden_find(const struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	e->hidden_segment = LMD_NONE;
	if (!(e->view->key.flags & LMD_PLAN_HIDDEN))
		return 0;
	for (uint32_t s = 0; s < e->n_segment; s++)
		for (uint32_t i = 0; i < e->segments[s].view->n_output; i++)
			if (e->segments[s].view->outputs[i].id == LMD_OUT_TAP)
				e->hidden_segment = s;
	return (uint64_t)inst->n_batch * lmi_engine_hidden_width(inst, e) * sizeof(float);
}

/* Creates rows of a slot unless those of another plan are as large. */
static enum lmd_status open_rows(struct lmi_inst_device *d, struct lmi_engine_shared *rows, uint64_t bytes,
				 struct lmd_error *err)
{
	enum lmd_status st;

	if (rows->bytes >= bytes)
		return LMD_OK;
	d->hidden_bytes -= rows->bytes;
	lmi_engine_shared_destroy(d, rows);
	st = lmi_engine_shared_create(d, rows, bytes, LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
				      err);
	if (st == LMD_OK)
		d->hidden_bytes += bytes;
	return st;
}

enum lmd_status lmi_engine_hidden_open(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   struct lmd_error *err)
{
	const bool draft = e->key.kind == LMD_PLAN_DRAFT;
	uint64_t bytes = lmi_engine_hidden_find(inst, e);
	uint64_t input = draft ? lmi_engine_hidden_input(e) * inst->n_batch : 0;
	uint32_t device;
	struct lmi_inst_device *d;
	enum lmd_status st = LMD_OK;

	if (!bytes && !draft)
		return LMD_OK;
	if ((bytes && e->hidden_segment == LMD_NONE) || (draft && e->n_segment != 1))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s: the draft layers would run on several devices",
				inst->model->arch);
	device = e->segments[bytes ? e->hidden_segment : 0].device;
	d = &inst->devices[device];
	if (draft)
		inst->draft_device = device;
	for (uint32_t i = 0; i < inst->n_slot && st == LMD_OK; i++) {
		struct lmi_engine_slot *t = &inst->slot[i];

		st = open_rows(d, lmi_engine_hidden_rows(t, e, device), bytes, err);
		if (st == LMD_OK)
			st = open_rows(d, &t->before_rows, input, err);
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
		if (op->code == LMD_OP_ROPE_KV && op->u.rope_kv.cache < p->n_cache)
			groups |= 1u << p->caches[op->u.rope_kv.cache].group;
	}
	return groups;
}

void lmi_engine_hidden_add(const struct lmi_inst *inst, struct lmd_plan_key *k)
{
	if ((inst->desc.n_draft || inst->desc.n_hidden) && k->kind == LMD_PLAN_FORWARD &&
	    k->flags & LMD_PLAN_LOGITS)
		k->flags |= LMD_PLAN_HIDDEN;
}

/* A plan that is closed no longer has memory for the values between devices. */
static void forget_links(struct lmi_inst *inst, const struct lmi_engine_exec *e)
{
	for (uint32_t i = 0; i < e->n_smaller; i++)
		forget_links(inst, e->smaller[i]);
	for (uint32_t i = 0; i < inst->n_device && e->segments; i++)
		inst->devices[i].link_bytes -= lmi_engine_links_bytes(inst, e, i);
}

enum lmd_status lmi_engine_hidden_drop(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmd_plan_key key;
	uint32_t exec;

	inst->desc.n_draft = inst->desc.n_hidden = 0;
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < inst->n_exec; i++) {
		struct lmi_engine_exec *e = inst->execs[i];

		if (!(e->key.flags & LMD_PLAN_HIDDEN))
			continue;
		if (e->failed.status == LMD_OK)
			forget_links(inst, e);
		lmi_engine_exec_close(inst, e);
	}
	for (uint32_t i = 0; i < inst->n_slot * inst->n_device; i++) {
		struct lmi_engine_shared *rows =
			&inst->slot[i / inst->n_device].hidden_rows[i % inst->n_device];

		inst->devices[i % inst->n_device].hidden_bytes -= rows->bytes;
		lmi_engine_shared_destroy(&inst->devices[i % inst->n_device], rows);
	}
	lmi_inst_let_go(inst);
	key = lmi_inst_main_key(inst);
	return lmi_inst_exec(inst, &key, &exec, err);
}
