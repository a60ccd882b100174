/* SPDX-License-Identifier: MIT
 *
 * What the plans of an instance take on its devices, before they are compiled. */
#include "core/engine/exec_impl.h"

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/draft_tree.h"
#include "core/engine/memory_plan.h"
#include "core/engine/tail.h"

static enum lmd_status scratch_of(struct lmi_inst_device *d, const struct lmd_plan *p,
				  uint64_t *bytes, struct lmd_error *err)
{
	const struct lmd_compile c = {.struct_size = sizeof(c), .plan = p};
	struct lmd_plan_cost cost = {.struct_size = sizeof(cost)};
	enum lmd_status st;

	*bytes = p->scratch_bytes;
	if (!d->ops->plan_query)
		return LMD_OK;
	st = d->ops->plan_query(d->state, &c, &cost, err);
	if (st == LMD_OK && cost.scratch_bytes > *bytes)
		*bytes = cost.scratch_bytes;
	return st;
}

enum lmd_status lmi_engine_exec_need_on(struct lmi_inst *inst,
					const struct lmi_engine_exec *const *e, uint32_t n,
					uint32_t device, struct lmi_engine_exec_need *out,
					struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[device];
	uint32_t n_plan = 0, n_all = 0;
	const struct lmd_plan **plans;
	enum lmd_status st = LMD_OK;

	*out = (struct lmi_engine_exec_need){0};
	for (uint32_t i = 0; i < n; i++)
		n_all += e[i]->n_segment;
	plans = lmi_alloc(n_all + (size_t)1, sizeof(const struct lmd_plan *));
	if (!plans)
		return lmi_engine_exec_no_memory(err);
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < e[i]->n_segment && st == LMD_OK; k++) {
			const struct lmi_engine_segment *s = &e[i]->segments[k];
			uint64_t bytes = 0;

			if (s->device != device)
				continue;
			plans[n_plan++] = s->view;
			st = scratch_of(d, s->view, &bytes, err);
			out->scratch = bytes > out->scratch ? bytes : out->scratch;
		}
		out->links += lmi_engine_links_bytes(inst, e[i], device);
	}
	if (st == LMD_OK)
		st = lmi_engine_weights_query(d->weights, plans, n_plan, &out->weights, err);
	lmi_inst_let_go(inst);
	lmi_free(plans);
	return st;
}

uint64_t lmi_engine_exec_more_scratch(const struct lmi_inst_device *d, uint64_t bytes)
{
	for (uint32_t i = 0; i < d->n_scratch; i++)
		if (d->scratch[i].bytes >= bytes)
			return 0;
	return bytes;
}

/* Returns what the external rows take on a device, if the estimate has them. */
static uint64_t external_bytes(const struct lmi_inst *inst, const struct lmi_inst_device *d)
{
	return inst->reads_rows && d == &inst->devices[lmi_engine_place_input(inst)]
		       ? (uint64_t)inst->n_batch * inst->desc.n_input_embd * sizeof(float) * inst->n_slot
		       : 0;
}

enum lmd_status lmi_engine_exec_check_memory(const struct lmi_inst_device *d, const struct lmi_inst *inst,
					     const struct lmi_engine_exec_need *n, struct lmd_error *err)
{
	struct lmi_engine_memory m = d->estimate;

	m.weights = d->weight_bytes + n->weights;
	m.step = d->scratch_bytes + d->link_bytes + lmi_engine_exec_more_scratch(d, n->scratch) + n->links;
	m.results = d->out_bytes * inst->n_slot + d->hidden_bytes + d->best_bytes + external_bytes(inst, d);
	return lmi_engine_memory_check(&m, d->name, inst->n_device, err);
}

/* ---- the estimate ---- */

/* Returns what values between devices take for the smaller buckets: in proportion to their rows. */
static uint64_t links_of_smaller(const struct lmi_inst *inst, uint64_t links)
{
	const struct lmd_device_info *info = lmi_engine_exec_buckets(inst);
	uint64_t full = lmi_engine_exec_full_bucket(inst), rows = 0;

	for (uint32_t i = 0; full && i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++)
		rows += info->bucket[i] < inst->n_batch ? info->bucket[i] : 0;
	return full && links ? (links / full + 1) * rows : 0;
}

/* Builds one more plan beside that which most requests use; one that cannot be made takes nothing. */
static bool build_beside(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t kind,
			 uint32_t flags)
{
	e->key = (struct lmd_plan_key){.struct_size = sizeof(e->key),
				       .kind = kind,
				       .flags = flags,
				       .bucket = lmi_engine_exec_full_bucket(inst)};
	return lmi_engine_exec_build(inst, e, NULL) == LMD_OK && lmi_engine_links_plan(e, NULL) == LMD_OK;
}

static void discard(struct lmi_engine_exec *e)
{
	lmi_engine_exec_discard_segments(e);
	lmi_plan_segments_destroy(e->cut);
	lmi_plan_destroy(e->plan);
}

/* Fills in what results take: logits, their best candidates, and hidden rows; draft layers read some and put
 * out others. */
static void measure_results(struct lmi_inst *inst, struct lmi_engine_exec *e, bool draft)
{
	struct lmi_inst_device *d;
	uint64_t bytes = lmi_engine_exec_find_output(inst, e), hidden = lmi_engine_hidden_find(inst, e);

	inst->sampler = e->segments[e->out_segment].device;
	d = &inst->devices[inst->sampler];
	d->estimate.results = (bytes + (draft ? 3 : 1) * hidden) * inst->n_slot;
	if (e->key.kind == LMD_PLAN_DRAFT)
		d->estimate.results += lmi_engine_hidden_input(e) * inst->n_batch * inst->n_slot;
	if (e->out_id == LMD_OUT_LOGITS)
		d->estimate.results += lmi_engine_best_bytes(inst, d, e->out_width);
	d = &inst->devices[lmi_engine_place_input(inst)];
	d->estimate.results += external_bytes(inst, d);
}

enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_engine_exec e = {.key = lmi_inst_main_key(inst)}, draft = {0}, tree = {0};
	const struct lmi_engine_exec *all[] = {&e, NULL, NULL};
	enum lmd_status st;
	uint32_t n_all = 1;

	e.key.bucket = lmi_engine_exec_full_bucket(inst);
	lmi_engine_place_begin(inst);
	st = lmi_engine_exec_build(inst, &e, err);
	if (st == LMD_OK)
		st = lmi_engine_links_plan(&e, err);
	if (st == LMD_OK && inst->desc.n_draft &&
	    build_beside(inst, &draft, LMD_PLAN_DRAFT, LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN))
		all[n_all++] = &draft;
	if (st == LMD_OK && inst->has_draft &&
	    lmi_engine_tree_check(inst, e.view, NULL) == LMD_OK &&
	    build_beside(inst, &tree, e.key.kind, e.key.flags | LMD_PLAN_TREE))
		all[n_all++] = &tree;
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_engine_memory *m = &inst->devices[i].estimate;
		struct lmi_engine_exec_need n = {0};

		m->weights = m->step = m->results = 0;
		if (st == LMD_OK)
			st = lmi_engine_exec_need_on(inst, all, n_all, i, &n, err);
		m->weights = n.weights;
		m->step = n.scratch + n.links + links_of_smaller(inst, n.links);
	}
	if (st == LMD_OK) {
		measure_results(inst, &e, all[1] == &draft);
		lmi_engine_place_end(inst, &e);
		inst->samples = inst->only_estimate && lmi_engine_exec_may_sample(inst, &e) &&
				lmi_engine_tail_check(inst, inst->sampler, e.out_width,
						      &inst->no_tail) == LMD_OK;
	}
	discard(&e);
	discard(&draft);
	discard(&tree);
	return st == LMD_NOMEM ? st : LMD_OK;
}
