/* SPDX-License-Identifier: MIT
 *
 * The compiled plans of an instance, each created on first use, and its optional inputs: adapters
 * and external rows. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/instance.h"
#include "core/engine/memory_plan.h"

static bool same_key(const struct lmd_plan_key *a, const struct lmd_plan_key *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->variant == b->variant &&
	       (!(a->flags & LMD_PLAN_EMBED) || a->pooling == b->pooling);
}

static bool supports(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		     size_t n)
{
	const struct lmi_inst *inst = arg;
	struct lmd_support s = {.struct_size = sizeof(s)};

	inst->backend->ops.backend->op_support(inst->dev, plan, op, &s);
	if (n)
		(void)snprintf(reason, n, "%.95s", s.reason);
	return s.native != 0;
}

static enum lmd_status build(struct lmi_inst *inst, struct lmi_engine_exec *e,
			     struct lmd_error *err)
{
	struct lmi_plan_params p = {
		.host = inst->host,
		.model = inst->model,
		.arch = inst->arch->ops.arch,
		.desc = &inst->desc,
		.key = e->key,
		.act_dtype = inst->info.act_dtype,
		.kv_dtype = inst->kv_dtype,
	};
	uint32_t n_row = e->key.bucket ? e->key.bucket : inst->n_batch;
	enum lmd_status st;

	p.max_rows[LMD_SPACE_TOKENS] = n_row;
	p.max_rows[LMD_SPACE_OUTPUTS] = inst->n_out < n_row ? inst->n_out : n_row;
	p.max_rows[LMD_SPACE_SEQS] = inst->n_seq < n_row ? inst->n_seq : n_row;
	st = lmi_plan_build(&e->plan, &p, err);
	if (st == LMD_OK && inst->unfused)
		st = lmi_plan_lower_all(e->plan, err);
	if (st == LMD_OK)
		st = lmi_plan_lower(e->plan, supports, inst, err);
	if (st == LMD_OK)
		st = lmi_plan_layout(e->plan, err);
	if (st != LMD_OK)
		return st;
	e->view = lmi_plan_view(e->plan);
	e->weights = lmi_alloc(e->view->n_weight_ref + 1u, sizeof(struct lmd_weight *));
	return e->weights ? LMD_OK
			  : lmd_fail(err, LMD_NOMEM, "no memory for %u weights",
				     e->view->n_weight_ref);
}

/* Finds the output that a caller of this plan wants to read, and the bytes of its rows. */
static uint64_t find_output(const struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	uint32_t want = e->view->key.flags & LMD_PLAN_EMBED ? LMD_OUT_EMBED : LMD_OUT_LOGITS;
	uint64_t rows;

	for (uint32_t i = 0; i < e->view->n_output; i++) {
		const struct lmd_output *o = &e->view->outputs[i];
		const struct lmd_value *v = &e->view->values[o->value];

		if (o->id != want)
			continue;
		rows = v->space == LMD_SPACE_SEQS     ? inst->n_seq
		       : v->space == LMD_SPACE_TOKENS ? inst->n_batch
						      : inst->n_out;
		e->out_id = want;
		e->out_width = v->width;
		e->out_space = v->space;
		e->out_rows = (uint32_t)rows;
		return rows * v->width * sizeof(float);
	}
	e->out_id = LMD_NONE; /* an encoder that only writes caches */
	return 0;
}

static enum lmd_status make_output(struct lmi_inst *inst, struct lmi_engine_exec *e,
				   struct lmd_error *err)
{
	uint64_t bytes = find_output(inst, e);
	enum lmd_status st;

	if (bytes <= inst->out_bytes)
		return LMD_OK;
	inst->out_bytes = 0;
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		struct lmi_engine_slot *t = &inst->slot[i];

		lmi_engine_shared_destroy(inst, &t->out_rows);
		t->out = NULL;
		st = lmi_engine_shared_create(inst, &t->out_rows, bytes, LMI_ENGINE_SHARED_DEVICE,
					      err);
		if (st != LMD_OK)
			return st;
		t->out = t->out_rows.host;
	}
	inst->out_bytes = bytes;
	return LMD_OK;
}

static enum lmd_status check_memory(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
				    uint64_t weights, struct lmd_error *err)
{
	const struct lmi_engine_memory m = {.copied = inst->estimate.copied,
					    .weights = inst->weight_bytes + weights,
					    .adapters = inst->estimate.adapters,
					    .sequences = inst->kv_bytes,
					    .step = inst->scratch_bytes + e->view->scratch_bytes,
					    .results = inst->out_bytes * inst->n_slot,
					    .budget = inst->budget};

	return lmi_engine_memory_check(&m, err);
}

static enum lmd_status compile(struct lmi_inst *inst, struct lmi_engine_exec *e,
			       struct lmd_error *err)
{
	const struct lmd_compile c = {.struct_size = sizeof(c),
				      .n_seq = inst->n_seq,
				      .plan = e->view,
				      .layout = &e->layout,
				      .weights = e->weights,
				      .pools = inst->pools};
	uint64_t weights;
	enum lmd_status st = lmi_engine_weights_query(inst->weights, e->view, &weights, err);

	if (st == LMD_OK)
		st = check_memory(inst, e, weights, err);
	if (st == LMD_OK)
		st = lmi_engine_weights_load(inst->weights, e->view, e->weights, inst->progress,
					     inst->progress_arg, err);
	if (st != LMD_OK)
		return st;
	inst->weight_bytes += weights;
	st = inst->backend->ops.backend->plan_compile(inst->dev, &c, &e->compiled_plan, err);
	if (st != LMD_OK)
		return st;
	inst->scratch_bytes += e->view->scratch_bytes;
	inst->n_compiled++;
	return st;
}

/* The step blocks lie in memory that the device provides, if it does. */
static enum lmd_status make_steps(struct lmi_inst *inst, struct lmi_engine_exec *e,
				  struct lmd_error *err)
{
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		enum lmd_status st =
			lmi_engine_shared_create(inst, &e->block[i], e->layout.bytes, 0, err);

		if (st == LMD_OK)
			st = lmi_plan_step_create_at(&e->step[i], e->view, &e->layout,
						     e->block[i].host, err);
		if (st != LMD_OK)
			return st;
		e->step[i]->view.buffer = e->block[i].pinned;
	}
	return LMD_OK;
}

/* Builds and compiles the plan of e->key. */
static enum lmd_status make_exec(struct lmi_inst *inst, struct lmi_engine_exec *e,
				 struct lmd_error *err)
{
	enum lmd_status st = build(inst, e, err);

	if (st == LMD_OK)
		st = make_output(inst, e, err);
	if (st == LMD_OK)
		st = lmi_plan_step_layout(&e->layout, e->view,
					  lmi_kv_usual_changes(inst->kv, inst->n_batch), err);
	if (st == LMD_OK)
		st = compile(inst, e, err);
	return st == LMD_OK ? make_steps(inst, e, err) : st;
}

/* Returns the device's smallest bucket for a full step; 0: it has none, or no such bucket. */
static uint32_t full_bucket(const struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < inst->info.n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++)
		if (inst->info.bucket[i] >= inst->n_batch)
			return inst->info.bucket[i];
	return 0;
}

/* Makes the variants of a plan for fewer rows. */
static enum lmd_status make_smaller(struct lmi_inst *inst, struct lmi_engine_exec *e,
				    struct lmd_error *err)
{
	for (uint32_t i = 0; i < inst->info.n_bucket && i < LMI_ENGINE_MAX_BUCKET; i++) {
		struct lmi_engine_exec *b;
		enum lmd_status st;

		if (inst->info.bucket[i] >= inst->n_batch)
			break;
		b = lmi_alloc(1, sizeof(*b));
		if (!b)
			return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
		e->smaller[e->n_smaller++] = b;
		b->key = e->key;
		b->key.bucket = inst->info.bucket[i];
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
	if (e->compiled_plan)
		inst->backend->ops.backend->plan_destroy(inst->dev, e->compiled_plan);
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		lmi_plan_step_destroy(e->step[i]);
		lmi_engine_shared_destroy(inst, &e->block[i]);
	}
	lmi_free(e->weights);
}

void lmi_engine_exec_destroy(struct lmi_engine_exec *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->n_smaller; i++)
		lmi_engine_exec_destroy(e->smaller[i]);
	lmi_plan_destroy(e->plan);
	lmi_free(e);
}

static enum lmd_status wait_for_steps(const struct lmi_inst *inst, struct lmd_error *err)
{
	return inst->n_running
		       ? lmd_fail(err, LMD_BUSY, "%u steps are running", inst->n_running)
		       : LMD_OK;
}

enum lmd_status lmi_inst_exec(struct lmi_inst *inst, const struct lmd_plan_key *key, uint32_t *exec,
			      struct lmd_error *err)
{
	struct lmd_plan_key k = *key;
	struct lmi_engine_exec *e;
	enum lmd_status st;

	k.struct_size = sizeof(k);
	if (inst->keep_values)
		k.flags |= LMD_PLAN_KEEP;
	for (uint32_t i = 0; i < inst->n_exec; i++) {
		const struct lmi_engine_exec *old = inst->execs[i];

		if (!same_key(&old->key, &k))
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
	 * same error */
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
	if (inst->desc.driver == LMD_DRIVER_ENCODER) {
		key.flags = LMD_PLAN_EMBED;
		key.pooling = lmi_inst_pooling(inst, LMD_POOL_UNSET);
	}
	if (inst->has_adapters)
		key.flags |= LMD_PLAN_LORA;
	if (inst->keep_values)
		key.flags |= LMD_PLAN_KEEP;
	return key;
}

enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmi_engine_memory *m,
				 struct lmd_error *err)
{
	struct lmi_engine_exec e = {.key = lmi_inst_main_key(inst)};
	enum lmd_status st;

	e.key.bucket = full_bucket(inst);
	st = build(inst, &e, err);
	m->weights = m->step = m->results = 0;
	if (st == LMD_OK)
		st = lmi_engine_weights_query(inst->weights, e.view, &m->weights, err);
	if (st == LMD_OK) {
		m->step = e.view->scratch_bytes;
		m->results = find_output(inst, &e) * inst->n_slot;
	}
	lmi_plan_destroy(e.plan);
	lmi_free(e.weights);
	return st == LMD_NOMEM ? st : LMD_OK;
}

enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_engine_adapter *ad,
			      struct lmd_error *err)
{
	const struct lmd_backend_ops *b = inst->backend->ops.backend;
	struct lmd_adapter_bind bind = {.struct_size = sizeof(bind),
					.slot = ad->slot,
					.rank = ad->rank,
					.a = ad->a,
					.b = ad->b,
					.n = ad->n,
					.k = ad->k,
					.n_stack = ad->n_stack ? ad->n_stack : 1,
					.scale = ad->scale};

	if (!inst->has_adapters || !ad->slot)
		return lmd_fail(err, LMD_INVALID, "adapter slot %u of %s: the model was opened %s",
				ad->slot, ad->site,
				inst->has_adapters ? "with slots starting at "
						     "1" : "without adapters");
	if (!b->adapter_bind)
		return lmd_fail(err, LMD_UNSUPPORTED, "backend %s does not support adapters",
				inst->backend->f->name);
	for (bind.site = 0; bind.site < inst->desc.n_lora_site; bind.site++)
		if (!strcmp(inst->desc.lora_sites[bind.site], ad->site))
			return b->adapter_bind(inst->dev, &bind, err);
	return lmd_fail(err, LMD_NOTFOUND, "no adapter can be applied at %s of architecture %s",
			ad->site, inst->model->arch);
}

int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked)
{
	if (asked != LMD_POOL_UNSET)
		return asked;
	return inst->desc.pooling == LMD_POOL_UNSET ? LMD_POOL_NONE : inst->desc.pooling;
}

enum lmd_status lmi_inst_reserve_external_rows(struct lmi_inst *inst, struct lmd_error *err)
{
	enum lmd_status st;

	if (inst->slot[0].ext)
		return LMD_OK;
	if (!inst->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s takes only tokens, no rows",
				inst->model->arch);
	st = wait_for_steps(inst, err);
	for (uint32_t i = inst->n_slot; i-- > 0 && st == LMD_OK;) {
		struct lmi_engine_slot *t = &inst->slot[i];

		lmi_engine_shared_destroy(inst, &t->ext_rows);
		st = lmi_engine_shared_create(inst, &t->ext_rows,
					      (uint64_t)inst->n_batch * inst->desc.n_input_embd *
						      sizeof(float),
					      LMI_ENGINE_SHARED_DEVICE, err);
		t->ext = st == LMD_OK ? t->ext_rows.host : NULL;
	}
	return st;
}
