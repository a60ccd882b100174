/* SPDX-License-Identifier: MIT
 *
 * The compiled plans of an instance, each created on first use, and its optional inputs: adapters
 * and external rows. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/instance.h"
#include "core/engine/memory_plan.h"
#include "core/engine/tail.h"

static bool same_key(const struct lmd_plan_key *a, const struct lmd_plan_key *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->variant == b->variant &&
	       (!(a->flags & LMD_PLAN_EMBED) || a->pooling == b->pooling);
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
}

/* ---- building ---- */

static enum lmd_status build_once(struct lmi_inst *inst, struct lmi_engine_exec *e,
				  uint8_t **device_of, struct lmd_error *err)
{
	struct lmi_plan_params p = {
		.host = inst->host,
		.model = inst->model,
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
		return no_memory(err);
	e->segments[0].view = e->view;
	e->segments[0].device = device_of ? device_of[0] : 0;
	for (uint32_t i = 0; e->cut && i < e->n_segment; i++)
		e->segments[i].view = lmi_plan_view(
			lmi_plan_segments_plan(e->cut, i, &e->segments[i].device));
	for (uint32_t i = 0; i < e->n_segment; i++)
		e->devices |= 1u << e->segments[i].device;
	return LMD_OK;
}

static void discard_segments(struct lmi_engine_exec *e)
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

/* Builds a plan with collectives. Only if each device of the group can run all of its ranks: a device that
 * needs another one in between would wait for a rank that waits for it. */
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
		     e->devices == (1u << inst->n_group) - 1;
	if (e->grouped)
		return;
	discard_segments(e);
	lmi_plan_segments_destroy(e->cut);
	lmi_plan_destroy(e->plan);
	e->cut = NULL;
	e->plan = NULL;
	e->n_segment = e->devices = 0;
	lmi_engine_place_begin(inst); /* where ops and caches would have been */
}

static enum lmd_status build(struct lmi_inst *inst, struct lmi_engine_exec *e,
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

/* ---- output ---- */

/* Finds the output that a caller of this plan wants to read, and the bytes of its rows. */
static uint64_t find_output(const struct lmi_inst *inst, struct lmi_engine_exec *e)
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

static enum lmd_status make_output(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   struct lmd_error *err)
{
	uint64_t bytes = find_output(inst, e);
	uint32_t device = e->segments[e->out_segment].device;
	struct lmi_inst_device *d = &inst->devices[device];
	enum lmd_status st;

	if (bytes <= d->out_bytes)
		return LMD_OK;
	d->out_bytes = 0;
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		struct lmi_engine_slot *t = &inst->slot[i];

		lmi_engine_shared_destroy(d, &t->out_rows[device]);
		t->out = NULL;
		st = lmi_engine_shared_create(d, &t->out_rows[device], bytes,
					      LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
					      err);
		if (st != LMD_OK)
			return st;
	}
	d->out_bytes = bytes;
	return LMD_OK;
}

/* ---- memory ---- */

/* What a plan takes on one device. */
struct need {
	uint64_t weights, scratch, links;
};

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

/* other: a plan that shares the weights; NULL: none. */
static enum lmd_status need_on(struct lmi_inst *inst, const struct lmi_engine_exec *e,
			       const struct lmi_engine_exec *other, uint32_t device,
			       struct need *out, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[device];
	uint32_t n = 0, n_all = e->n_segment + (other ? other->n_segment : 0);
	const struct lmd_plan **plans = lmi_alloc(n_all, sizeof(const struct lmd_plan *));
	enum lmd_status st = LMD_OK;

	*out = (struct need){0};
	if (!plans)
		return no_memory(err);
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < n_all && st == LMD_OK; i++) {
		const struct lmi_engine_segment *s =
			i < e->n_segment ? &e->segments[i] : &other->segments[i - e->n_segment];
		uint64_t bytes = 0;

		if (s->device != device)
			continue;
		plans[n++] = s->view;
		st = scratch_of(d, s->view, &bytes, err);
		out->scratch = bytes > out->scratch ? bytes : out->scratch;
	}
	if (st == LMD_OK)
		st = lmi_engine_weights_query(d->weights, plans, n, &out->weights, err);
	lmi_inst_let_go(inst);
	out->links = lmi_engine_links_bytes(inst, e, device) +
		     (other ? lmi_engine_links_bytes(inst, other, device) : 0);
	lmi_free(plans);
	return st;
}

/* Returns the bytes of scratch memory that a device lacks for a plan. */
static uint64_t more_scratch(const struct lmi_inst_device *d, uint64_t bytes)
{
	for (uint32_t i = 0; i < d->n_scratch; i++)
		if (d->scratch[i].bytes >= bytes)
			return 0;
	return bytes;
}

static enum lmd_status check_memory(const struct lmi_inst_device *d, const struct lmi_inst *inst,
				    const struct need *n, struct lmd_error *err)
{
	struct lmi_engine_memory m = d->estimate;

	m.weights = d->weight_bytes + n->weights;
	m.step = d->scratch_bytes + d->link_bytes + more_scratch(d, n->scratch) + n->links;
	m.results = d->out_bytes * inst->n_slot + d->hidden_bytes + d->best_bytes;
	return lmi_engine_memory_check(&m, d->name, inst->n_device, err);
}

static enum lmd_status take_memory(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   uint32_t device, uint64_t *done, uint64_t total,
				   struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[device];
	struct need n;
	uint64_t more;
	enum lmd_status st = need_on(inst, e, NULL, device, &n, err);

	if (st == LMD_OK)
		st = check_memory(d, inst, &n, err);
	for (uint32_t i = 0; i < e->n_segment && st == LMD_OK; i++)
		if (e->segments[i].device == device)
			st = lmi_engine_weights_load(d->weights, e->segments[i].view,
						     e->segments[i].weights, inst->progress,
						     inst->progress_arg, done, total, err);
	if (st != LMD_OK)
		return lmi_inst_check(inst, d, st, err);
	d->weight_bytes += n.weights;
	d->link_bytes += n.links;
	more = more_scratch(d, n.scratch);
	if (!more)
		return LMD_OK;
	st = lmi_engine_shared_create(d, &d->scratch[d->n_scratch], more, LMI_ENGINE_SHARED_DEVICE,
				      err);
	if (st != LMD_OK)
		return lmi_inst_check(inst, d, st, err);
	d->n_scratch++;
	d->scratch_bytes += more;
	return LMD_OK;
}

/* ---- compiling ---- */

struct lmd_scratch lmi_inst_scratch(const struct lmi_inst_device *d, const struct lmd_plan *p)
{
	for (uint32_t i = 0; i < d->n_scratch; i++)
		if (d->scratch[i].bytes >= p->scratch_bytes)
			return (struct lmd_scratch){.bytes = d->scratch[i].bytes,
						    .ptr = d->scratch[i].host,
						    .buffer = d->scratch[i].device};
	return (struct lmd_scratch){0};
}

static enum lmd_status compile_segment(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmi_engine_segment *s, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[s->device];
	const struct lmd_compile c = {.struct_size = sizeof(c),
				      .n_seq = inst->n_seq,
				      .plan = s->view,
				      .layout = &e->layout,
				      .weights = s->weights,
				      .pools = d->pools,
				      .devgroup = e->grouped ? inst->group : NULL,
				      .scratch = lmi_inst_scratch(d, s->view)};

	return lmi_inst_check(inst, d, d->ops->plan_compile(d->state, &c, &s->compiled_plan, err),
			      err);
}

static enum lmd_status compile(struct lmi_inst *inst, struct lmi_engine_exec *e,
			       struct lmd_error *err)
{
	uint64_t done = 0, total = 0;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < e->n_segment; i++)
		total += lmi_engine_weights_file_bytes(
			inst->devices[e->segments[i].device].weights, e->segments[i].view);
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++)
		if (e->devices & 1u << i)
			st = take_memory(inst, e, i, &done, total, err);
	if (st != LMD_OK)
		return st;
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < e->n_segment && st == LMD_OK; i++)
		st = compile_segment(inst, e, &e->segments[i], err);
	lmi_inst_let_go(inst);
	if (st == LMD_OK)
		inst->n_compiled++;
	return st;
}

/* The step blocks lie in memory that the device provides, if it does. */
static enum lmd_status make_steps(struct lmi_inst *inst, struct lmi_engine_exec *e,
				  struct lmd_error *err)
{
	e->first = e->segments[0].device;
	for (uint32_t i = 0; i < inst->n_slot * inst->n_device; i++) {
		uint32_t slot = i / inst->n_device, dev = i % inst->n_device;
		struct lmi_engine_shared *block = &e->block[slot][dev];
		enum lmd_status st;

		if (!(e->devices & 1u << dev))
			continue;
		st = lmi_engine_shared_create(&inst->devices[dev], block, e->layout.bytes,
					      LMI_ENGINE_SHARED_HOST, err);
		if (st == LMD_OK)
			st = lmi_plan_step_create_at(&e->step[slot][dev], e->view, &e->layout,
						     block->host, err);
		if (st != LMD_OK)
			return st;
		e->step[slot][dev]->view.buffer = block->pinned;
	}
	return LMD_OK;
}

/* May a device choose tokens from the plan's logits? */
static bool may_sample(struct lmi_inst *inst, const struct lmi_engine_exec *e)
{
	if (inst->device_sampling == LMI_ENGINE_DEVICE_SAMPLING_OFF)
		(void)lmd_fail(&inst->no_tail, LMD_UNSUPPORTED, "device_sampling is off");
	else if (inst->n_slot == 1) /* it would wait for the device either way */
		(void)lmd_fail(&inst->no_tail, LMD_UNSUPPORTED, "a device has no queue");
	return e->out_id == LMD_OUT_LOGITS && e->key.kind == LMD_PLAN_FORWARD &&
	       inst->no_tail.status == LMD_OK;
}

/* Lets the device choose tokens from the plan's logits, if it can. */
static enum lmd_status make_tail(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (may_sample(inst, e) && !inst->tail) {
		inst->sampler = e->segments[e->out_segment].device;
		st = lmi_engine_tail_open(&inst->tail, inst, inst->sampler, e->out_width,
					  &inst->no_tail);
		inst->samples = st == LMD_OK;
	}
	e->samples = lmi_engine_tail_serves(inst->tail, e);
	e->chains = lmi_engine_tail_chains(inst, inst->tail, e);
	if (st != LMD_NOMEM && st != LMD_DEVICE)
		return LMD_OK; /* the host chooses them */
	*err = inst->no_tail;
	inst->no_tail = (struct lmd_error){0};
	return st;
}

/* Lets the device find the best candidates of the plan's logits, if it can. */
static enum lmd_status make_best(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err)
{
	const uint32_t device = e->segments[e->out_segment].device;
	struct lmd_error why;
	enum lmd_status st = LMD_OK;

	if (!inst->best && e->out_id == LMD_OUT_LOGITS && e->key.kind == LMD_PLAN_FORWARD) {
		st = lmi_engine_best_open(&inst->best, inst, device, e->out_width, &why);
		if (st == LMD_OK)
			inst->devices[device].best_bytes = lmi_engine_best_bytes(
				inst, &inst->devices[device], e->out_width);
	}
	e->bests = lmi_engine_best_serves(inst->best, e);
	if (st != LMD_NOMEM && st != LMD_DEVICE)
		return LMD_OK; /* rows are copied whole */
	*err = why;
	return st;
}

static enum lmd_status make_exec(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err);

/* Makes a plan with copies and sums in place of the collectives, with which a device has refused it. */
static enum lmd_status make_without_group(struct lmi_inst *inst, struct lmi_engine_exec *e,
					  struct lmd_error *err)
{
	struct lmi_engine_exec *old = lmi_alloc(1, sizeof(*old));

	if (!old)
		return no_memory(err);
	lmi_engine_exec_close(inst, e);
	*old = *e;
	*e = (struct lmi_engine_exec){.key = old->key, .refused = old};
	return make_exec(inst, e, err);
}

/* Builds and compiles the plan of e->key. */
static enum lmd_status make_exec(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err)
{
	enum lmd_status st = build(inst, e, err);

	if (st == LMD_OK)
		st = make_output(inst, e, err);
	if (st == LMD_OK)
		st = lmi_engine_hidden_open(inst, e, err);
	if (st == LMD_OK)
		e->groups = lmi_engine_hidden_groups(e->view);
	if (st == LMD_OK)
		st = lmi_engine_links_plan(e, err);
	if (st == LMD_OK)
		st = lmi_plan_step_layout(&e->layout, e->view,
					  lmi_kv_usual_changes(inst->kv, inst->n_batch), err);
	if (st == LMD_OK)
		st = compile(inst, e, err);
	if (st == LMD_UNSUPPORTED && e->grouped)
		return make_without_group(inst, e, err);
	if (st == LMD_OK)
		st = lmi_engine_links_open(inst, e, err);
	if (st == LMD_OK)
		st = make_steps(inst, e, err);
	if (st == LMD_OK)
		st = make_best(inst, e, err);
	return st == LMD_OK ? make_tail(inst, e, err) : st;
}

/* ---- buckets ---- */

/* Returns the device's smallest bucket for a full step; 0: it has none, or no such bucket. Several
 * devices use the buckets of the first one that has any. */
static const struct lmd_device_info *buckets(const struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (inst->devices[i].info->n_bucket)
			return inst->devices[i].info;
	return inst->devices[0].info;
}

static uint32_t full_bucket(const struct lmi_inst *inst)
{
	const struct lmd_device_info *info = buckets(inst);

	for (uint32_t i = 0; i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++)
		if (info->bucket[i] >= inst->n_batch)
			return info->bucket[i];
	return 0;
}

/* Makes the variants of a plan for fewer rows. */
static enum lmd_status make_smaller(struct lmi_inst *inst, struct lmi_engine_exec *e,
				    struct lmd_error *err)
{
	const struct lmd_device_info *info = buckets(inst);

	for (uint32_t i = 0; i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++) {
		struct lmi_engine_exec *b;
		enum lmd_status st;

		if (info->bucket[i] >= inst->n_batch)
			break;
		b = lmi_alloc(1, sizeof(*b));
		if (!b)
			return no_memory(err);
		e->smaller[e->n_smaller++] = b;
		b->key = e->key;
		b->key.bucket = info->bucket[i];
		st = make_exec(inst, b, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

struct lmi_engine_exec *lmi_engine_exec_for(struct lmi_engine_exec *e, uint32_t n_row)
{
	for (uint32_t i = 0; i < e->n_smaller; i++)
		if (e->smaller[i]->key.bucket >= n_row)
			return e->smaller[i];
	return e;
}

void lmi_engine_exec_close(struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	for (uint32_t i = 0; i < e->n_smaller; i++)
		lmi_engine_exec_close(inst, e->smaller[i]);
	for (uint32_t i = 0; i < e->n_segment && e->segments; i++) {
		struct lmi_inst_device *d = &inst->devices[e->segments[i].device];

		if (e->segments[i].compiled_plan)
			d->ops->plan_destroy(d->state, e->segments[i].compiled_plan);
	}
	lmi_engine_links_close(inst, e);
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP * inst->n_device; i++) {
		uint32_t slot = i / inst->n_device, dev = i % inst->n_device;

		lmi_plan_step_destroy(e->step[slot][dev]);
		e->step[slot][dev] = NULL;
		if (inst->devices[dev].ops)
			lmi_engine_shared_destroy(&inst->devices[dev], &e->block[slot][dev]);
	}
	discard_segments(e);
}

void lmi_engine_exec_destroy(struct lmi_engine_exec *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->n_smaller; i++)
		lmi_engine_exec_destroy(e->smaller[i]);
	lmi_engine_exec_destroy(e->refused);
	lmi_plan_segments_destroy(e->cut);
	lmi_plan_destroy(e->plan);
	lmi_free(e);
}

static enum lmd_status wait_for_steps(const struct lmi_inst *inst, struct lmd_error *err)
{
	return inst->n_running
		       ? lmd_fail(err, LMD_BUSY, "%u steps are running", inst->n_running)
		       : LMD_OK;
}

/* A lack of memory may pass: the plan is made again, but not without limit, since the failed ones are
 * kept. */
static bool may_retry(const struct lmi_inst *inst, const struct lmi_engine_exec *e)
{
	return e->failed.status == LMD_NOMEM && inst->n_exec < LMI_ENGINE_MAX_EXEC / 2;
}

enum lmd_status lmi_inst_exec(struct lmi_inst *inst, const struct lmd_plan_key *key, uint32_t *exec,
			      struct lmd_error *err)
{
	struct lmd_plan_key k = *key;
	struct lmi_engine_exec *e;
	enum lmd_status st;

	k.struct_size = sizeof(k);
	lmi_engine_hidden_add(inst, &k);
	if (inst->keep_values)
		k.flags |= LMD_PLAN_KEEP;
	for (uint32_t i = 0; i < inst->n_exec; i++) {
		const struct lmi_engine_exec *old = inst->execs[i];

		if (!same_key(&old->key, &k) || may_retry(inst, old))
			continue;
		*exec = i;
		return old->failed.status == LMD_OK
			       ? LMD_OK
			       : lmd_fail(err, old->failed.status, "%s", old->failed.text);
	}
	if (inst->n_exec == LMI_ENGINE_MAX_EXEC)
		return lmd_fail(err, LMD_NOMEM, "all %d plans of the model are in use",
				LMI_ENGINE_MAX_EXEC);
	st = wait_for_steps(inst, err);
	if (st != LMD_OK)
		return st;
	e = lmi_alloc(1, sizeof(*e));
	if (!e)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	/* kept even after a failure: weights may refer to its operands, and later calls get the
	 * same error, unless it was one that may pass */
	inst->execs[inst->n_exec] = e;
	*exec = inst->n_exec++;
	e->key = k;
	e->key.bucket = full_bucket(inst);
	st = make_exec(inst, e, &e->failed);
	if (st == LMD_OK)
		st = make_smaller(inst, e, &e->failed);
	e->failed.status = st;
	return st == LMD_OK ? st : lmd_fail(err, st, "%s", e->failed.text);
}

struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst)
{
	struct lmd_plan_key key = {.struct_size = sizeof(key), .kind = LMD_PLAN_FORWARD};

	key.flags = LMD_PLAN_LOGITS;
	if (inst->desc.driver == LMD_DRIVER_ENCODER || inst->desc.driver == LMD_DRIVER_TOWER) {
		key.flags = LMD_PLAN_EMBED;
		key.pooling = lmi_inst_pooling(inst, LMD_POOL_UNSET);
	}
	if (inst->has_adapters)
		key.flags |= LMD_PLAN_LORA;
	lmi_engine_hidden_add(inst, &key);
	if (inst->keep_values)
		key.flags |= LMD_PLAN_KEEP;
	return key;
}

/* Returns what values between devices take for the smaller buckets: in proportion to their rows. */
static uint64_t links_of_smaller(const struct lmi_inst *inst, uint64_t links)
{
	const struct lmd_device_info *info = buckets(inst);
	uint64_t full = full_bucket(inst), rows = 0;

	for (uint32_t i = 0; full && i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++)
		rows += info->bucket[i] < inst->n_batch ? info->bucket[i] : 0;
	return full && links ? (links / full + 1) * rows : 0;
}

/* Builds the plan of the draft layers beside that which most requests use; one that cannot be made takes
 * nothing. */
static bool measure_draft(struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	if (!inst->desc.n_draft)
		return false;
	e->key = (struct lmd_plan_key){.struct_size = sizeof(e->key),
				       .kind = LMD_PLAN_DRAFT,
				       .flags = LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN,
				       .bucket = full_bucket(inst)};
	return build(inst, e, NULL) == LMD_OK && lmi_engine_links_plan(e, NULL) == LMD_OK;
}

static void discard(struct lmi_engine_exec *e)
{
	discard_segments(e);
	lmi_plan_segments_destroy(e->cut);
	lmi_plan_destroy(e->plan);
}

/* Fills in what results take: logits, their best candidates, and hidden rows; draft layers read some and put
 * out others. */
static void measure_results(struct lmi_inst *inst, struct lmi_engine_exec *e, bool draft)
{
	struct lmi_inst_device *d;
	uint64_t bytes = find_output(inst, e), hidden = lmi_engine_hidden_find(inst, e);

	inst->sampler = e->segments[e->out_segment].device;
	d = &inst->devices[inst->sampler];
	d->estimate.results = (bytes + (draft ? 3 : 1) * hidden) * inst->n_slot;
	if (e->out_id == LMD_OUT_LOGITS)
		d->estimate.results += lmi_engine_best_bytes(inst, d, e->out_width);
}

enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_engine_exec e = {.key = lmi_inst_main_key(inst)}, x = {0};
	enum lmd_status st;
	bool draft = false;

	e.key.bucket = full_bucket(inst);
	lmi_engine_place_begin(inst);
	st = build(inst, &e, err);
	if (st == LMD_OK)
		st = lmi_engine_links_plan(&e, err);
	if (st == LMD_OK)
		draft = measure_draft(inst, &x);
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_engine_memory *m = &inst->devices[i].estimate;
		struct need n = {0};

		m->weights = m->step = m->results = 0;
		if (st == LMD_OK)
			st = need_on(inst, &e, draft ? &x : NULL, i, &n, err);
		m->weights = n.weights;
		m->step = n.scratch + n.links + links_of_smaller(inst, n.links);
	}
	if (st == LMD_OK) {
		measure_results(inst, &e, draft);
		lmi_engine_place_end(inst, &e);
		inst->samples = inst->only_estimate && may_sample(inst, &e) &&
				lmi_engine_tail_check(inst, inst->sampler, e.out_width,
						      &inst->no_tail) == LMD_OK;
	}
	discard(&e);
	discard(&x);
	return st == LMD_NOMEM ? st : LMD_OK;
}

enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_engine_adapter *ad,
			      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmd_adapter_bind bind = {.struct_size = sizeof(bind),
					.slot = ad->slot,
					.rank = ad->rank,
					.a = ad->a,
					.b = ad->b,
					.n = ad->n,
					.k = ad->k,
					.n_stack = ad->n_stack ? ad->n_stack : 1,
					.scale = ad->scale,
					.gain = ad->gain};

	if (!inst->has_adapters || !ad->slot)
		return lmd_fail(err, LMD_INVALID, "adapter slot %u of %s: the model was opened %s",
				ad->slot, ad->site,
				inst->has_adapters ? "with slots starting at "
						     "1" : "without adapters");
	for (bind.site = 0; bind.site < inst->desc.n_lora_site; bind.site++)
		if (!strcmp(inst->desc.lora_sites[bind.site], ad->site))
			break;
	if (bind.site == inst->desc.n_lora_site)
		return lmd_fail(err, LMD_NOTFOUND,
				"no adapter can be applied at %s of architecture %s", ad->site,
				inst->model->arch);
	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		st = d->ops->adapter_bind
			     ? d->ops->adapter_bind(d->state, &bind, err)
			     : lmd_fail(err, LMD_UNSUPPORTED, "backend %s does not support adapters",
					d->open->backend->f->name);
	}
	lmi_inst_let_go(inst);
	return st;
}

int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked)
{
	if (asked != LMD_POOL_UNSET)
		return asked;
	return inst->desc.pooling == LMD_POOL_UNSET ? LMD_POOL_NONE : inst->desc.pooling;
}

enum lmd_status lmi_inst_reserve_external_rows(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[lmi_engine_place_input(inst)];
	enum lmd_status st;

	if (inst->slot[0].ext)
		return LMD_OK;
	if (inst->n_rank > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"a model that is divided by tensors takes only tokens, no rows");
	if (!inst->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s takes only tokens, no rows",
				inst->model->arch);
	st = wait_for_steps(inst, err);
	for (uint32_t i = inst->n_slot; i-- > 0 && st == LMD_OK;) {
		struct lmi_engine_slot *t = &inst->slot[i];

		lmi_engine_shared_destroy(d, &t->ext_rows);
		st = lmi_engine_shared_create(d, &t->ext_rows,
					      (uint64_t)inst->n_batch * inst->desc.n_input_embd *
						      sizeof(float),
					      LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST,
					      err);
		t->ext = st == LMD_OK ? t->ext_rows.host : NULL;
	}
	return st;
}
