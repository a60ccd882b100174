/* SPDX-License-Identifier: MIT
 *
 * The compiled plans of an instance, each created on first use. Building and measuring them is in
 * exec_build.c and exec_memory.c. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/exec_impl.h"
#include "core/engine/repack_cache.h"
#include "core/engine/tail.h"

static bool same_key(const struct lmd_plan_key *a, const struct lmd_plan_key *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->variant == b->variant &&
	       (!(a->flags & LMD_PLAN_EMBED) || a->pooling == b->pooling);
}

/* ---- memory ---- */

static enum lmd_status make_output(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   struct lmd_error *err)
{
	uint64_t bytes = lmi_engine_exec_find_output(inst, e);
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

static enum lmd_status take_memory(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   uint32_t device, uint64_t *done, uint64_t total,
				   struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[device];
	struct lmi_engine_exec_need n;
	uint64_t more;
	enum lmd_status st = lmi_engine_repack_prepare(inst, device, e, err);

	if (st == LMD_OK)
		st = lmi_engine_exec_need_on(inst, &(const struct lmi_engine_exec *){e}, 1, device,
					     &n, err);
	if (st == LMD_OK)
		st = lmi_engine_exec_check_memory(d, inst, &n, err);
	for (uint32_t i = 0; i < e->n_segment && st == LMD_OK; i++)
		if (e->segments[i].device == device)
			st = lmi_engine_weights_load(d->weights, e->segments[i].view,
						     e->segments[i].weights, inst->progress,
						     inst->progress_arg, done, total, err);
	if (st != LMD_OK)
		return lmi_inst_check(inst, d, st, err);
	d->weight_bytes += n.weights;
	d->link_bytes += n.links;
	more = lmi_engine_exec_more_scratch(d, n.scratch);
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

bool lmi_engine_exec_may_sample(struct lmi_inst *inst, const struct lmi_engine_exec *e)
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

	if (lmi_engine_exec_may_sample(inst, e) && !inst->tail) {
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
		return lmi_engine_exec_no_memory(err);
	lmi_engine_exec_close(inst, e);
	*old = *e;
	*e = (struct lmi_engine_exec){.key = old->key, .refused = old};
	return make_exec(inst, e, err);
}

/* Builds and compiles the plan of e->key. */
static enum lmd_status make_exec(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err)
{
	enum lmd_status st = lmi_engine_exec_build(inst, e, err);

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

/* Makes the variants of a plan for fewer rows. */
static enum lmd_status make_smaller(struct lmi_inst *inst, struct lmi_engine_exec *e,
				    struct lmd_error *err)
{
	const struct lmd_device_info *info = lmi_engine_exec_buckets(inst);

	for (uint32_t i = 0; i < info->n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++) {
		struct lmi_engine_exec *b;
		enum lmd_status st;

		if (info->bucket[i] >= inst->n_batch)
			break;
		b = lmi_alloc(1, sizeof(*b));
		if (!b)
			return lmi_engine_exec_no_memory(err);
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
	lmi_engine_exec_discard_segments(e);
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
	st = lmi_engine_exec_wait_for_steps(inst, err);
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
	e->key.bucket = lmi_engine_exec_full_bucket(inst);
	st = make_exec(inst, e, &e->failed);
	if (st == LMD_OK)
		st = make_smaller(inst, e, &e->failed);
	e->failed.status = st;
	return st == LMD_OK ? st : lmd_fail(err, st, "%s", e->failed.text);
}

enum lmd_status lmi_engine_exec_wait_for_steps(const struct lmi_inst *inst, struct lmd_error *err)
{
	return inst->n_running
		       ? lmd_fail(err, LMD_BUSY, "%u steps are running", inst->n_running)
		       : LMD_OK;
}

struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst)
{
	struct lmd_plan_key key = {.struct_size = sizeof(key), .kind = LMD_PLAN_FORWARD};

	key.flags = LMD_PLAN_LOGITS;
	if (inst->desc.draft) {
		key.kind = LMD_PLAN_DRAFT;
		key.flags |= inst->desc.draft->n_block ? 0 : LMD_PLAN_HIDDEN;
		key.variant = inst->desc.draft->n_block ? 1 : 0;
	}
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
