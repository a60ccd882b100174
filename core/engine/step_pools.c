/* SPDX-License-Identifier: MIT
 *
 * What a step changes in the pools of the devices before it runs: page tables and shared pages. */
#include "core/engine/step_impl.h"

#include <string.h>

/* Submits an operation on the pools of a group on all devices, and waits for those that will not be
 * waited for at the end of the step, or for all of them. */
static enum lmd_status on_pools(struct lmi_inst *inst, const struct lmi_engine_exec *e, uint32_t g,
				const struct lmd_pool_op *op, bool wait, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		st = d->ops->pool_op(d->state, d->queue, d->pools[g], op, 1, NULL, err);
		if (st == LMD_OK && (wait || !(e->devices & 1u << i)))
			st = lmi_engine_queue_finish(d, err);
		st = lmi_inst_check(inst, d, st, err);
	}
	return st;
}

/* Makes the changes of a page table by an operation before the step. The devices read the pages
 * late, when the table itself may have changed, so they get a copy. If there is no room for one,
 * waits until they have read them. */
static enum lmd_status set_table(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				 struct lmi_engine_slot *slot, uint32_t g, struct lmd_pool_op *op,
				 struct lmd_error *err)
{
	bool copied = op->n_row <= inst->n_pages - slot->n_page;

	if (copied) {
		memcpy(slot->pages + slot->n_page, op->host, (size_t)op->host_bytes);
		op->host = slot->pages + slot->n_page;
		slot->n_page += op->n_row;
	}
	return on_pools(inst, e, g, op, !copied, err);
}

static enum lmd_status change_table(struct lmi_inst_device *d, uint32_t g,
				    const struct lmi_plan_step *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < s->head->n_change[g] && st == LMD_OK; i++) {
		struct lmd_page_set *c = &s->group[g].change[i];
		const struct lmd_pool_op op = {.kind = LMD_POOL_SET_TABLE,
					       .src = c->seq_slot,
					       .dst = c->index,
					       .n_row = 1,
					       .host = &c->page,
					       .host_bytes = sizeof(c->page)};

		st = d->ops->pool_op(d->state, d->queue, d->pools[g], &op, 1, NULL, err);
	}
	return st;
}

enum lmd_status lmi_engine_step_tell_others(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					    const struct lmi_plan_step *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		if (e->devices & 1u << i)
			continue;
		for (uint32_t g = 0; g < inst->desc.n_group && st == LMD_OK; g++)
			st = change_table(d, g, s, err);
		if (st == LMD_OK)
			st = lmi_engine_queue_finish(d, err);
		if (st != LMD_OK)
			return lmi_inst_check(inst, d, st, err);
	}
	return LMD_OK;
}

enum lmd_status lmi_engine_step_changes(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					struct lmi_engine_slot *slot, struct lmi_plan_step *s,
					uint32_t g, uint32_t seq, struct lmd_error *err)
{
	uint32_t *n = &s->head->n_change[g], left = s->group[g].max_change - *n;
	struct lmi_kv_run run;
	struct lmd_pool_op op;

	if (lmi_kv_n_changes(inst->kv, g, seq) <= left) {
		*n += lmi_kv_changes(inst->kv, g, seq, s->group[g].change + *n, left);
		return LMD_OK;
	}
	run = lmi_kv_take_run(inst->kv, g, seq);
	op = (struct lmd_pool_op){.kind = LMD_POOL_SET_TABLE,
				  .src = seq,
				  .dst = run.index,
				  .n_row = run.n,
				  .host = (void *)(uintptr_t)run.pages,
				  .host_bytes = (uint64_t)run.n * sizeof(*run.pages)};
	return set_table(inst, e, slot, g, &op, err);
}

enum lmd_status lmi_engine_step_copy_pages(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					   struct lmd_error *err)
{
	const struct lmi_kv_copy *c;
	uint32_t n = lmi_kv_copies(inst->kv, &c);

	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_pool_op op = {
			.kind = LMD_POOL_COPY_PAGE, .src = c[i].src, .dst = c[i].dst};
		enum lmd_status st = on_pools(inst, e, c[i].group, &op, false, err);

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}
