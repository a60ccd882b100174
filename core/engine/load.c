/* SPDX-License-Identifier: MIT
 *
 * Opening a model on a device.  The order is: file, architecture, device, description, memory
 * estimate, pools; then, for each plan that somebody asks for: build, lower, lay out, estimate,
 * weights, compile.  Nothing large is taken before it was estimated.  Closing undoes whatever
 * part of this happened. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/show.h"
#include "core/base/team.h"
#include "core/engine/instance.h"
#include "core/engine/place.h"
#include "core/plan/model_check.h"

#define BATCH_DEFAULT 512u
#define BATCH_MAX     65536u
#define WHOLE_MAX     8192u
#define OUT_BYTES     (64ull << 20)
#define N_SEQ_MAX     4096u
/* Left to everything else when a budget is made from what the machine has available. */
#define SLACK_BYTES (256ull << 20)

/* ---- file and plugins ---- */

static enum lmd_status open_model(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				  struct lmd_error *err)
{
	enum lmd_status st = lmi_model_open(&inst->file, o->path, o->open_flags, err);

	if (st != LMD_OK)
		return st;
	inst->model = lmi_model_view(inst->file);
	for (uint32_t i = 0; i < lmi_model_n_files(inst->file); i++) {
		struct lmi_model_file f;

		lmi_model_file(inst->file, i, &f);
		inst->file_bytes += f.bytes;
	}
	return lmi_factory_take(inst->registry, LMD_KIND_ARCH, inst->model->arch, &inst->arch, err);
}

/* Guards what is mapped of each file: from its first tensor to the end of its last. */
static enum lmd_status guard_files(struct lmi_inst *inst, struct lmd_error *err)
{
	for (uint32_t f = 0; f < inst->model->n_files; f++) {
		const char *lo = NULL, *hi = NULL;
		enum lmd_status st;

		for (uint32_t i = 0; i < inst->model->n_tensors; i++) {
			const struct lmd_tensor *t = &inst->model->tensors[i];
			const char *p = t->data;

			if (!p || t->file != f)
				continue;
			lo = !lo || p < lo ? p : lo;
			hi = !hi || p + t->bytes > hi ? p + t->bytes : hi;
		}
		if (!lo)
			continue;
		st = lmi_guard_add(&inst->guard, lo, (size_t)(hi - lo), err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* ---- device ---- */

static enum lmd_status find_device(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				   struct lmd_error *err)
{
	const struct lmd_backend_ops *b = inst->backend->ops.backend;
	char why[160] = "";
	struct lmd_device_info *all;
	uint32_t n = b->enumerate(inst->host, NULL, 0, why, sizeof(why));

	if (o->device >= n)
		return lmd_fail(err, LMD_NOTFOUND, "backend %s: device %u, there are %u%s%s",
				inst->backend->f->name, o->device, n, *why ? ": " : "", why);
	all = lmi_alloc(n, sizeof(*all));
	if (!all)
		return lmd_fail(err, LMD_NOMEM, "backend %s: no memory", inst->backend->f->name);
	n = b->enumerate(inst->host, all, n, why, sizeof(why));
	if (o->device < n)
		inst->info = all[o->device];
	lmi_free(all);
	if (o->device >= n)
		return lmd_fail(err, LMD_DEVICE, "backend %s: device %u is gone",
				inst->backend->f->name, o->device);
	if (!(inst->info.caps & LMD_DEV_HOST_MEMORY))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"backend %s: device %u has memory of its own, which this host does "
				"not drive",
				inst->backend->f->name, o->device);
	return LMD_OK;
}

static enum lmd_status open_team(struct lmi_inst *inst, uint32_t n_thread, struct lmd_error *err)
{
	struct lmi_team_opts to = {.n = n_thread, .spin_ns = UINT32_MAX};

	if (!n_thread)
		to.n = inst->host->cpu(inst->host->ctx)->n_core;
	if (to.n > LMI_TEAM_MAX)
		return lmd_fail(err, LMD_INVALID, "%u threads: the most is %d", to.n, LMI_TEAM_MAX);
	inst->n_thread = to.n;
	return to.n > 1 ? lmi_team_create(&inst->team, &to, err) : LMD_OK;
}

static enum lmd_status open_device(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				   struct lmd_error *err)
{
	const char *name = o->backend;
	struct lmd_open_params op = {
		.struct_size = sizeof(op), .index = o->device, .activations = o->activations,
		.attention = o->attention};
	enum lmd_status st;

	if (!name || !strcmp(name, "auto"))
		name = lmi_factory_best(inst->registry, LMD_KIND_BACKEND);
	if (!name)
		return lmd_fail(err, LMD_NOTFOUND, "no backend can run on this machine");
	st = lmi_factory_take(inst->registry, LMD_KIND_BACKEND, name, &inst->backend, err);
	if (st == LMD_OK)
		st = find_device(inst, o, err);
	if (st == LMD_OK)
		st = open_team(inst, o->n_thread, err);
	if (st != LMD_OK)
		return st;
	inst->dev = lmi_alloc(inst->backend->f->state_bytes + 1, 1);
	if (!inst->dev)
		return lmd_fail(err, LMD_NOMEM, "backend %s: no memory for %zu bytes", name,
				inst->backend->f->state_bytes);
	op.n_thread = inst->n_thread;
	op.team = inst->team;
	st = inst->backend->ops.backend->open(inst->dev, inst->host, &op, err);
	inst->dev_open = st == LMD_OK;
	return st;
}

/* ---- description and estimate ---- */

static enum lmd_status describe(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				uint32_t n_ctx, struct lmd_error *err)
{
	struct lmd_arch_params p = {
		.struct_size = sizeof(p), .n_ctx = n_ctx, .pooling = o->pooling};
	struct lmd_arch_desc *d = &inst->desc;
	enum lmd_status st;

	lmi_arena_destroy(inst->arena);
	inst->arena = lmi_arena_create(0);
	if (!inst->arena)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: no memory", inst->model->arch);
	*d = (struct lmd_arch_desc){.struct_size = sizeof(*d)};
	st = inst->arch->ops.arch->describe(inst->host, inst->arena, inst->model, &p, d, err);
	if (st != LMD_OK)
		return st;
	if (!d->n_vocab)
		return lmd_fail(err, LMD_INTERNAL, "architecture %s: vocabulary of 0",
				inst->model->arch);
	return lmi_desc_check(d, err);
}

/* A file without a tensor that it needs is refused before anything is allocated for it. */
static enum lmd_status check_tensors(const struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_model_check c;
	enum lmd_status st =
		lmi_model_check(&c, inst->model, inst->arch->ops.arch, &inst->desc, err);

	if (st == LMD_OK)
		st = lmi_model_check_verdict(&c, err);
	lmi_model_check_fini(&c);
	return st;
}

/* A row's keys are those of the step alone, or lie ahead: the sequence must run whole. */
static bool looks_ahead(const struct lmd_arch_desc *d)
{
	switch ((enum lmd_driver)d->driver) {
	case LMD_DRIVER_ENCODER:
	case LMD_DRIVER_DIFFUSION:
	case LMD_DRIVER_CODEC:
		return true;
	case LMD_DRIVER_ENCDEC:
		return false;
	case LMD_DRIVER_AUTOREGRESSIVE:
		break;
	}
	for (uint32_t i = 0; i < d->n_group; i++)
		if (d->groups[i].kind == LMD_GROUP_BATCH ||
		    (d->groups[i].kind == LMD_GROUP_PAGED && !d->groups[i].causal))
			return true;
	return false;
}

static uint32_t clamp_u32(uint64_t v, uint32_t lo, uint32_t hi)
{
	return v < lo ? lo : v > hi ? hi : (uint32_t)v;
}

static enum lmd_status choose_sizes(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				    struct lmd_error *err)
{
	const struct lmd_arch_desc *d = &inst->desc;
	uint32_t width = d->n_vocab > d->n_embd_out ? d->n_vocab : d->n_embd_out;
	uint32_t whole = o->n_whole ? o->n_whole : o->n_ctx ? o->n_ctx : d->n_ctx_train;

	inst->n_seq = o->n_seq ? o->n_seq : 1;
	inst->looks_ahead = looks_ahead(d);
	if (inst->n_seq > N_SEQ_MAX)
		return lmd_fail(err, LMD_INVALID, "%u sequences: the most is %u", inst->n_seq,
				N_SEQ_MAX);
	if (o->n_batch > BATCH_MAX)
		return lmd_fail(err, LMD_INVALID, "%u rows in a step: the most is %u", o->n_batch,
				BATCH_MAX);
	inst->n_batch = o->n_batch	    ? o->n_batch
			: inst->looks_ahead ? clamp_u32(whole, BATCH_DEFAULT, WHOLE_MAX)
					    : BATCH_DEFAULT;
	inst->n_batch = clamp_u32(inst->n_batch, inst->n_seq, BATCH_MAX);
	inst->n_out = o->n_out		  ? o->n_out
		      : inst->looks_ahead ? inst->n_batch
					  : (uint32_t)(OUT_BYTES / ((uint64_t)width * 4));
	inst->n_out = clamp_u32(inst->n_out, inst->n_seq, inst->n_batch);
	return LMD_OK;
}

static void set_budget(struct lmi_inst *inst, const struct lmi_inst_opts *o)
{
	uint64_t have = o->memory_limit ? o->memory_limit : lmi_memory_available();
	uint64_t rest = SLACK_BYTES + (o->memory_limit ? 0 : inst->file_bytes);

	if (!have)
		inst->budget = UINT64_MAX;
	else if (o->memory_limit)
		inst->budget = have;
	else
		inst->budget = have > rest ? have - rest : 0;
}

/* Chooses the context length and describes the model for it; fills caches' types. */
static enum lmd_status settle(struct lmi_inst *inst, const struct lmi_inst_opts *o,
			      struct lmi_place *place, struct lmd_error *err)
{
	struct lmi_place_in in = {.desc = &inst->desc,
				  .page_tokens = inst->info.page_tokens,
				  .n_ctx = o->n_ctx,
				  .kv_tokens = o->kv_tokens,
				  .share = o->share_kv};
	enum lmd_status st = describe(inst, o, o->n_ctx, err);
	struct lmd_cache *caches;

	if (st == LMD_OK)
		st = check_tensors(inst, err);
	if (st == LMD_OK)
		st = choose_sizes(inst, o, err);
	if (st != LMD_OK)
		return st;
	set_budget(inst, o);
	inst->kv_dtype = o->kv_dtype < 0 ? inst->info.kv_dtype : (uint32_t)o->kv_dtype;
	in.kv_dtype = inst->kv_dtype;
	in.n_seq = inst->n_seq;
	in.n_batch = inst->n_batch;
	in.budget = inst->budget;
	st = lmi_place(place, &in, err);
	if (st == LMD_OK && place->n_ctx != o->n_ctx)
		st = describe(inst, o, place->n_ctx, err);
	if (st != LMD_OK)
		return st;
	inst->n_ctx = place->n_ctx;
	inst->ctx_cut = place->cut;
	inst->kv_bytes = place->kv_bytes;
	caches = lmi_arena_array(inst->arena, inst->desc.n_cache + 1u, sizeof(*caches));
	if (!caches)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u caches", inst->desc.n_cache);
	for (uint32_t i = 0; i < inst->desc.n_cache; i++) {
		caches[i] = inst->desc.caches[i];
		caches[i].k_dtype = caches[i].v_dtype = caches[i].dtype_policy == LMD_KV_DTYPE_USER
								? inst->kv_dtype
								: LMD_DTYPE_F32;
	}
	inst->desc.caches = caches;
	inst->host->log(inst->host->ctx, "engine", place->cut ? LMD_LOG_WARN : LMD_LOG_INFO,
			"context chosen%s model=%s n_ctx=%u trained=%u sequences=%u kv_mib=%llu",
			place->cut ? " by memory" : "", inst->model->name, inst->n_ctx,
			inst->desc.n_ctx_train, inst->n_seq,
			(unsigned long long)(inst->kv_bytes >> 20));
	return LMD_OK;
}

/* ---- pools ---- */

static enum lmd_status open_pool(struct lmi_inst *inst, const struct lmi_place *place, uint32_t g,
				 struct lmd_error *err)
{
	const struct lmd_group *desc = &inst->desc.groups[g];
	uint32_t n = inst->desc.n_cache;
	struct lmd_cache *caches = lmi_arena_array(inst->arena, n + 1u, sizeof(*caches));
	uint32_t *ids = lmi_arena_array(inst->arena, n + 1u, sizeof(*ids));
	struct lmd_pool_desc d = {
		.struct_size = sizeof(d),
		.group = g,
		.desc = desc,
		.caches = caches,
		.cache_ids = ids,
		.n_page = place->n_page[g],
		.page_tokens = inst->info.page_tokens,
		.n_seq = inst->n_seq,
		.n_index = lmi_kv_n_index(desc, inst->info.page_tokens, inst->n_ctx, inst->n_batch),
		.n_slot = place->n_slot[g],
	};

	if (!caches || !ids)
		return lmd_fail(err, LMD_NOMEM, "group %s: no memory", desc->name);
	for (uint32_t i = 0; i < n; i++) {
		if (inst->desc.caches[i].group != g)
			continue;
		caches[d.n_cache] = inst->desc.caches[i];
		ids[d.n_cache++] = i;
	}
	return inst->backend->ops.backend->pool_create(inst->dev, &d, &inst->pools[g], err);
}

static enum lmd_status open_pools(struct lmi_inst *inst, const struct lmi_place *place,
				  struct lmd_error *err)
{
	struct lmi_kv_opts k = {.groups = inst->desc.groups,
				.n_group = inst->desc.n_group,
				.page_tokens = inst->info.page_tokens,
				.n_seq = inst->n_seq,
				.n_ctx = inst->n_ctx,
				.n_cross = inst->n_batch};
	enum lmd_status st = LMD_OK;

	for (uint32_t g = 0; g < inst->desc.n_group && st == LMD_OK; g++) {
		k.n_page[g] = place->n_page[g];
		k.n_slot[g] = place->n_slot[g];
		if (inst->desc.groups[g].of_target)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"architecture %s is a draft of another model, which is not "
					"loaded",
					inst->model->arch);
		if (inst->desc.groups[g].kind != LMD_GROUP_BATCH)
			st = open_pool(inst, place, g, err);
	}
	return st == LMD_OK ? lmi_kv_create(&inst->kv, &k, err) : st;
}

/* ---- open and close ---- */

static enum lmd_status open_all(struct lmi_inst *inst, const struct lmi_inst_opts *o,
				struct lmd_error *err)
{
	struct lmi_place place;
	enum lmd_status st = open_model(inst, o, err);

	if (st == LMD_OK)
		st = guard_files(inst, err);
	if (st == LMD_OK)
		st = open_device(inst, o, err);
	if (st == LMD_OK)
		st = settle(inst, o, &place, err);
	if (st == LMD_OK)
		st = open_pools(inst, &place, err);
	if (st == LMD_OK)
		st = lmi_weights_create(&inst->weights, inst, err);
	if (st == LMD_OK)
		st = lmi_lane_join(o->lane, &inst->lane_id, err);
	if (st == LMD_OK)
		inst->lane = o->lane;
	return st;
}

enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_inst_opts *o,
			      struct lmd_error *err)
{
	struct lmi_inst *inst = lmi_alloc(1, sizeof(*inst));
	struct lmd_error cause = {0};
	enum lmd_status st;

	if (!inst)
		return lmd_fail(err, LMD_NOMEM, "%.120s: no memory", o->path);
	inst->host = o->host;
	inst->registry = o->registry;
	inst->keep_values = o->keep_values;
	inst->has_adapters = o->adapters;
	inst->lane_class = LMI_CLASS_NORMAL;
	st = open_all(inst, o, &cause);
	if (st == LMD_OK && lmi_guard_is_bad(&inst->guard))
		st = lmd_fail(&cause, LMD_IO, "the file was cut short while it was read");
	if (st != LMD_OK) {
		char path[160];

		lmi_inst_close(inst);
		(void)lmi_show_path(path, sizeof(path), o->path);
		return strstr(cause.text, o->path)
			       ? lmd_fail(err, st, "%s", cause.text)
			       : lmd_fail(err, st, "%s: %.300s", path, cause.text);
	}
	*out = inst;
	return LMD_OK;
}

static void close_exec(struct lmi_inst *inst, struct lmi_exec *e)
{
	if (!e)
		return;
	if (e->cplan)
		inst->backend->ops.backend->plan_destroy(inst->dev, e->cplan);
	lmi_step_destroy(e->step);
	lmi_free(e->weights);
	/* weights name operands of the plan and are compared with them until they are gone */
}

void lmi_inst_close(struct lmi_inst *inst)
{
	if (!inst)
		return;
	lmi_lane_part(inst->lane, inst->lane_id);
	for (uint32_t i = 0; i < inst->n_exec; i++)
		close_exec(inst, inst->execs[i]);
	lmi_weights_destroy(inst->weights);
	for (uint32_t i = 0; i < inst->n_exec; i++) {
		lmi_plan_destroy(inst->execs[i]->plan);
		lmi_free(inst->execs[i]);
	}
	lmi_kv_destroy(inst->kv);
	for (uint32_t g = 0; g < LMD_MAX_GROUP; g++)
		if (inst->pools[g])
			inst->backend->ops.backend->pool_destroy(inst->dev, inst->pools[g]);
	if (inst->dev_open)
		inst->backend->ops.backend->close(inst->dev);
	lmi_free(inst->dev);
	lmi_team_destroy(inst->team);
	lmi_free(inst->out);
	lmi_free(inst->ext);
	lmi_arena_destroy(inst->arena);
	if (inst->backend)
		lmi_factory_give(inst->registry, inst->backend);
	if (inst->arch)
		lmi_factory_give(inst->registry, inst->arch);
	lmi_guard_drop(&inst->guard);
	lmi_model_close(inst->file);
	lmi_free(inst);
}

/* ---- plans ---- */

static bool same_key(const struct lmd_plan_key *a, const struct lmd_plan_key *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->bucket == b->bucket &&
	       a->variant == b->variant &&
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

static enum lmd_status build(struct lmi_inst *inst, struct lmi_exec *e, struct lmd_error *err)
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
	enum lmd_status st;

	p.max_rows[LMD_SPACE_TOKENS] = inst->n_batch;
	p.max_rows[LMD_SPACE_OUTPUTS] = inst->n_out;
	p.max_rows[LMD_SPACE_SEQS] = inst->n_seq;
	st = lmi_plan_build(&e->plan, &p, err);
	if (st == LMD_OK)
		st = lmi_plan_lower(e->plan, supports, inst, err);
	if (st == LMD_OK)
		st = lmi_plan_layout(e->plan, err);
	if (st != LMD_OK)
		return st;
	e->view = lmi_plan_view(e->plan);
	e->weights = lmi_alloc(e->view->n_wref + 1u, sizeof(struct lmd_weight *));
	return e->weights ? LMD_OK
			  : lmd_fail(err, LMD_NOMEM, "no memory for %u weights", e->view->n_wref);
}

/* The output that a caller of this plan wants to read. */
static enum lmd_status find_output(struct lmi_inst *inst, struct lmi_exec *e, struct lmd_error *err)
{
	uint32_t want = e->view->key.flags & LMD_PLAN_EMBED ? LMD_OUT_EMBED : LMD_OUT_LOGITS;
	uint64_t rows, bytes;

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
		bytes = rows * v->width * sizeof(float);
		if (bytes <= inst->out_bytes)
			return LMD_OK;
		lmi_free(inst->out);
		inst->out_bytes = 0;
		inst->out = lmi_alloc((size_t)bytes, 1);
		if (!inst->out)
			return lmd_fail(err, LMD_NOMEM, "no memory for %llu rows of %u results",
					(unsigned long long)rows, v->width);
		inst->out_bytes = bytes;
		return LMD_OK;
	}
	e->out_id = LMD_NONE; /* an encoder that writes caches only */
	return LMD_OK;
}

static enum lmd_status check_memory(const struct lmi_inst *inst, const struct lmi_exec *e,
				    uint64_t weights, struct lmd_error *err)
{
	uint64_t need = inst->kv_bytes + inst->weight_bytes + weights + inst->scratch_bytes +
			e->view->scratch_bytes + inst->out_bytes;

	if (need <= inst->budget)
		return LMD_OK;
	return lmd_fail(err, LMD_NOMEM,
			"needs %llu MiB (sequences %llu, weights beyond the file %llu, values of a "
			"step %llu); %llu MiB are left",
			(unsigned long long)(need >> 20),
			(unsigned long long)(inst->kv_bytes >> 20),
			(unsigned long long)((inst->weight_bytes + weights) >> 20),
			(unsigned long long)((inst->scratch_bytes + e->view->scratch_bytes) >> 20),
			(unsigned long long)(inst->budget >> 20));
}

static enum lmd_status compile(struct lmi_inst *inst, struct lmi_exec *e, struct lmd_error *err)
{
	const struct lmd_compile c = {.struct_size = sizeof(c),
				      .plan = e->view,
				      .weights = e->weights,
				      .pools = inst->pools};
	uint64_t weights;
	enum lmd_status st = lmi_weights_query(inst->weights, e->view, &weights, err);

	if (st == LMD_OK)
		st = check_memory(inst, e, weights, err);
	if (st == LMD_OK)
		st = lmi_weights_load(inst->weights, e->view, e->weights, err);
	if (st != LMD_OK)
		return st;
	inst->weight_bytes += weights;
	st = inst->backend->ops.backend->plan_compile(inst->dev, &c, &e->cplan, err);
	if (st == LMD_OK)
		inst->scratch_bytes += e->view->scratch_bytes;
	return st;
}

enum lmd_status lmi_inst_exec(struct lmi_inst *inst, const struct lmd_plan_key *key, uint32_t *exec,
			      struct lmd_error *err)
{
	struct lmd_plan_key k = *key;
	struct lmi_exec *e;
	enum lmd_status st;

	k.struct_size = sizeof(k);
	if (inst->keep_values)
		k.flags |= LMD_PLAN_KEEP;
	for (uint32_t i = 0; i < inst->n_exec; i++) {
		const struct lmi_exec *old = inst->execs[i];

		if (!same_key(&old->key, &k))
			continue;
		*exec = i;
		return old->failed.status == LMD_OK
			       ? LMD_OK
			       : lmd_fail(err, old->failed.status, "%s", old->failed.text);
	}
	if (inst->n_exec == LMI_MAX_EXEC)
		return lmd_fail(err, LMD_NOMEM, "%d plans of one model are in use", LMI_MAX_EXEC);
	e = lmi_alloc(1, sizeof(*e));
	if (!e)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	/* kept after a failure too: weights may name its operands, and who asks again gets
	 * the same answer */
	inst->execs[inst->n_exec] = e;
	*exec = inst->n_exec++;
	e->key = k;
	st = build(inst, e, &e->failed);
	if (st == LMD_OK)
		st = find_output(inst, e, &e->failed);
	if (st == LMD_OK)
		st = compile(inst, e, &e->failed);
	if (st == LMD_OK)
		st = lmi_step_create(&e->step, e->view, lmi_kv_max_changes(inst->kv), &e->failed);
	e->failed.status = st;
	return st == LMD_OK ? st : lmd_fail(err, st, "%s", e->failed.text);
}

enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_adapter *ad,
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
					.n_stack = 1,
					.scale = ad->scale};

	if (!inst->has_adapters || !ad->slot)
		return lmd_fail(err, LMD_INVALID, "adapter slot %u of %s: the model was opened %s",
				ad->slot, ad->site,
				inst->has_adapters ? "with slots from 1" : "without adapters");
	if (!b->adapter_bind)
		return lmd_fail(err, LMD_UNSUPPORTED, "backend %s has no adapters",
				inst->backend->f->name);
	for (bind.site = 0; bind.site < inst->desc.n_lora_site; bind.site++)
		if (!strcmp(inst->desc.lora_sites[bind.site], ad->site))
			return b->adapter_bind(inst->dev, &bind, err);
	return lmd_fail(err, LMD_NOTFOUND, "no adapter can sit at %s of architecture %s", ad->site,
			inst->model->arch);
}

int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked)
{
	if (asked != LMD_POOL_UNSET)
		return asked;
	return inst->desc.pooling == LMD_POOL_UNSET ? LMD_POOL_NONE : inst->desc.pooling;
}

enum lmd_status lmi_inst_want_rows(struct lmi_inst *inst, struct lmd_error *err)
{
	if (inst->ext)
		return LMD_OK;
	if (!inst->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s takes no rows, only tokens",
				inst->model->arch);
	inst->ext = lmi_alloc((size_t)inst->n_batch * inst->desc.n_input_embd, sizeof(float));
	if (!inst->ext)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u rows of %u", inst->n_batch,
				inst->desc.n_input_embd);
	return LMD_OK;
}
