/* SPDX-License-Identifier: MIT
 *
 * Builds the plans of an instance, for the devices of their ops. */
#include "core/engine/exec_impl.h"

#include "core/base/alloc.h"

enum lmd_status lmi_engine_exec_no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
}

static enum lmd_status build_once(struct lmi_inst *inst, struct lmi_engine_exec *e,
				  uint8_t **device_of, struct lmd_error *err)
{
	struct lmi_plan_params p = {
		.host = inst->host,
		.model = inst->model,
		.target = inst->target ? inst->target->model : NULL,
		.arch = inst->arch->ops.arch,
		.desc = &inst->desc,
		.key = e->key,
		.act_dtype = inst->devices[0].info->act_dtype,
		.k_dtype = inst->k_dtype,
		.v_dtype = inst->v_dtype,
		.n_rank = inst->n_rank,
		.n_device = e->grouped ? inst->n_group : 1,
	};
	uint32_t n_row = e->key.bucket ? e->key.bucket : inst->n_batch;
	enum lmd_status st;

	p.max_rows[LMD_SPACE_TOKENS] = n_row;
	p.max_rows[LMD_SPACE_OUTPUTS] = inst->n_out < n_row ? inst->n_out : n_row;
	p.max_rows[LMD_SPACE_SEQS] = inst->n_seq < n_row ? inst->n_seq : n_row;
	for (uint32_t i = 0; inst->desc.x_ratio && i < inst->desc.n_x; i++)
		p.max_rows[LMD_SPACE_X0 + i] = n_row / inst->desc.x_ratio[i];
	st = lmi_plan_build(&e->plan, &p, err);
	if (st == LMD_OK && inst->unfused)
		st = lmi_plan_lower_all(e->plan, err);
	return st == LMD_OK ? lmi_engine_place_plan(inst, e->plan, device_of, err) : st;
}

/* Returns whether all ops of a plan run on one device. */
static bool on_one_device(const struct lmd_plan *p, const uint8_t *device_of)
{
	for (uint32_t i = 1; device_of && i < p->n_op; i++)
		if (device_of[i] != device_of[0])
			return false;
	return true;
}

/* Cuts the plan into segments. */
static enum lmd_status cut(struct lmi_inst *inst, struct lmi_engine_exec *e,
			   const uint8_t *device_of, struct lmd_error *err)
{
	uint32_t act[LMI_ENGINE_MAX_DEVICE];
	enum lmd_status st;

	e->n_segment = 1;
	for (uint32_t i = 0; i < inst->n_device; i++)
		act[i] = inst->devices[i].info->act_dtype;
	if (on_one_device(e->view, device_of)) {
		st = lmi_plan_layout(e->plan, err);
	} else {
		st = lmi_plan_split_by_device(&e->cut, e->plan, device_of, act, err);
		if (st == LMD_OK)
			e->n_segment = lmi_plan_segments_count(e->cut);
	}
	if (st != LMD_OK)
		return st;
	e->segments = lmi_alloc(e->n_segment, sizeof(*e->segments));
	if (!e->segments)
		return lmi_engine_exec_no_memory(err);
	e->segments[0].view = e->view;
	e->segments[0].device = device_of ? device_of[0] : 0;
	for (uint32_t i = 0; e->cut && i < e->n_segment; i++)
		e->segments[i].view = lmi_plan_view(
			lmi_plan_segments_plan(e->cut, i, &e->segments[i].device));
	for (uint32_t i = 0; i < e->n_segment; i++)
		e->devices |= 1u << e->segments[i].device;
	return LMD_OK;
}

void lmi_engine_exec_discard_segments(struct lmi_engine_exec *e)
{
	for (uint32_t i = 0; i < e->n_segment && e->segments; i++) {
		lmi_free(e->segments[i].weights);
		lmi_free(e->segments[i].in);
		lmi_free(e->segments[i].out);
		lmi_free(e->segments[i].bindings);
	}
	lmi_free(e->segments);
	e->segments = NULL;
}

/* Does a value go from one segment to another? */
static bool has_links(const struct lmi_engine_exec *e)
{
	const struct lmi_plan_segment_link *links;
	uint32_t n = 0;

	for (uint32_t i = 0; e->cut && i < e->n_segment; i++)
		n += lmi_plan_segments_links(e->cut, i, &links);
	return n != 0;
}

/* Builds a plan with collectives. Only if each device of the group can run all of its ranks, which exchange
 * values by collectives alone: a device that needs another one in between would wait for a rank that waits for
 * it. A step then submits the plans of all ranks or of none, so their turns stay the same. */
static void build_on_group(struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	uint8_t *device_of = NULL;
	enum lmd_status st;

	e->grouped = true;
	st = build_once(inst, e, &device_of, NULL);
	if (st == LMD_OK) {
		e->view = lmi_plan_view(e->plan);
		st = cut(inst, e, device_of, NULL);
	}
	lmi_free(device_of);
	e->grouped = st == LMD_OK && e->n_segment == inst->n_group &&
		     e->devices == (1u << inst->n_group) - 1 && !has_links(e);
	if (e->grouped)
		return;
	lmi_engine_exec_discard_segments(e);
	lmi_plan_segments_destroy(e->cut);
	lmi_plan_destroy(e->plan);
	e->cut = NULL;
	e->plan = NULL;
	e->n_segment = e->devices = 0;
	lmi_engine_place_begin(inst); /* where ops and caches would have been */
}

enum lmd_status lmi_engine_exec_build(struct lmi_inst *inst, struct lmi_engine_exec *e,
				      struct lmd_error *err)
{
	uint8_t *device_of = NULL;
	enum lmd_status st = LMD_OK;

	if (inst->group && !e->refused)
		build_on_group(inst, e);
	if (!e->grouped)
		st = build_once(inst, e, &device_of, err);
	if (st == LMD_UNSUPPORTED && lmi_engine_place_add_fallback(inst)) {
		lmi_plan_destroy(e->plan); /* parts of it are decomposed */
		e->plan = NULL;
		st = build_once(inst, e, &device_of, err);
	}
	if (st == LMD_OK && !e->grouped) {
		e->view = lmi_plan_view(e->plan);
		st = cut(inst, e, device_of, err);
	}
	lmi_free(device_of);
	for (uint32_t i = 0; st == LMD_OK && i < e->n_segment; i++) {
		struct lmi_engine_segment *s = &e->segments[i];

		s->weights = lmi_alloc(s->view->n_weight_ref + 1u, sizeof(struct lmd_weight *));
		if (!s->weights)
			st = lmd_fail(err, LMD_NOMEM, "no memory for %u weights",
				      s->view->n_weight_ref);
	}
	return st;
}

/* ---- what is known of a plan that is built ---- */

uint64_t lmi_engine_exec_find_output(const struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	uint32_t want = e->view->key.flags & LMD_PLAN_EMBED ? LMD_OUT_EMBED : LMD_OUT_LOGITS;

	e->out_id = LMD_NONE; /* an encoder that only writes caches */
	for (uint32_t s = 0; s < e->n_segment; s++) {
		const struct lmd_plan *p = e->segments[s].view;

		for (uint32_t i = 0; i < p->n_output; i++) {
			const struct lmd_value *v = &p->values[p->outputs[i].value];

			if (p->outputs[i].id != want)
				continue;
			e->out_id = want;
			e->out_segment = s;
			e->out_width = v->width;
			e->out_space = v->space;
			e->out_rows = v->space == LMD_SPACE_SEQS     ? inst->n_seq
				      : v->space == LMD_SPACE_TOKENS ? inst->n_batch
				      : v->space >= LMD_SPACE_X0     ? p->max_rows[v->space]
								     : inst->n_out;
			return (uint64_t)e->out_rows * v->width * sizeof(float);
		}
	}
	return 0;
}

const struct lmd_device_info *lmi_engine_exec_buckets(const struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (inst->devices[i].info->n_bucket)
			return inst->devices[i].info;
	return inst->devices[0].info;
}

uint32_t lmi_engine_exec_full_bucket(const struct lmi_inst *inst)
{
	const struct lmd_device_info *info = lmi_engine_exec_buckets(inst);

	for (uint32_t i = 0; i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++)
		if (info->bucket[i] >= inst->n_batch)
			return info->bucket[i];
	return 0;
}
