/* SPDX-License-Identifier: MIT
 *
 * Chooses all sizes from the architecture's description: checks that the file has the tensors it
 * needs, chooses the rows of a step, the memory budget and the context length that fits, and
 * creates the pools for sequences. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/engine/instance.h"
#include "core/engine/memory_plan.h"
#include "core/plan/model_check.h"

#define BATCH_DEFAULT 512u
#define BATCH_MAX     65536u
#define WHOLE_MAX     8192u
#define OUT_BYTES     (64ull << 20)
#define N_SEQ_MAX     4096u
/* Reserved for everything else when the budget is derived from the machine's available memory. */
#define SLACK_BYTES (256ull << 20)

/* ---- description and estimate ---- */

static enum lmd_status describe(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
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
		return lmd_fail(err, LMD_INTERNAL, "architecture %s: the vocabulary is empty",
				inst->model->arch);
	return lmi_plan_desc_check(d, err);
}

/* Rejects a file with missing tensors before anything is allocated for it. */
static enum lmd_status check_tensors(const struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_plan_model_check c;
	enum lmd_status st =
		lmi_plan_model_check(&c, inst->model, inst->arch->ops.arch, &inst->desc, err);

	if (st == LMD_OK)
		st = lmi_plan_model_check_status(&c, err);
	lmi_plan_model_check_fini(&c);
	return st;
}

/* Returns true if rows attend only to rows of their own step or to later rows: the sequence must
 * run in one step. */
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

static enum lmd_status choose_sizes(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				    struct lmd_error *err)
{
	const struct lmd_arch_desc *d = &inst->desc;
	uint32_t width = d->n_vocab > d->n_embd_out ? d->n_vocab : d->n_embd_out;
	uint32_t whole = o->n_whole ? o->n_whole : o->n_ctx ? o->n_ctx : d->n_ctx_train;

	inst->n_seq = o->n_seq ? o->n_seq : 1;
	inst->looks_ahead = looks_ahead(d);
	if (inst->n_seq > N_SEQ_MAX)
		return lmd_fail(err, LMD_INVALID, "%u sequences exceed the limit of %u",
				inst->n_seq, N_SEQ_MAX);
	if (o->n_batch > BATCH_MAX)
		return lmd_fail(err, LMD_INVALID, "%u rows in a step exceed the limit of %u",
				o->n_batch, BATCH_MAX);
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

uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_engine_model_opts *o)
{
	uint64_t slack = o->memory_limit ? 0 : SLACK_BYTES;

	if (!inst->available)
		return 0; /* unknown */
	return inst->available > slack ? inst->available - slack : 1;
}

static void set_budget(struct lmi_inst *inst, const struct lmi_engine_model_opts *o)
{
	uint64_t have = inst->available, rest;

	if (inst->copies) {
		inst->estimate.copied += inst->estimate.file;
		inst->estimate.file = 0;
	}
	/* Mapped files should stay in memory as well, so they reduce the available memory; a
	 * configured limit counts only memory that cannot be read again. */
	rest = o->memory_limit ? 0 : SLACK_BYTES + inst->estimate.file;
	if (!(inst->info.caps & LMD_DEV_HOST_MEMORY)) {
		/* files stay in the host's memory */
		have = lmi_engine_device_free(inst);
		have = o->memory_limit && o->memory_limit < have ? o->memory_limit : have;
		rest = 0;
	}
	inst->budget = !have ? UINT64_MAX : have > rest ? have - rest : 0;
	inst->estimate.budget = inst->budget;
}

/* Measures what does not depend on the context length; fails if that alone exceeds the budget. */
static enum lmd_status measure(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmi_engine_memory *m = &inst->estimate;
	enum lmd_status st;

	m->sequences = 0;
	st = lmi_inst_measure(inst, m, err);
	return st == LMD_OK ? lmi_engine_memory_check(m, err) : st;
}

/* Chooses the context length, describes the model for it and sets the types of caches. */
enum lmd_status lmi_inst_resolve_sizes(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				       struct lmi_engine_memory_plan *place, struct lmd_error *err)
{
	struct lmi_engine_memory_plan_in in = {.desc = &inst->desc,
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
	st = lmi_inst_measure_adapters(inst, o->adapter_files, o->n_adapter_files,
				       &inst->estimate.adapters, err);
	if (st != LMD_OK)
		return st;
	inst->kv_dtype = o->kv_dtype < 0 ? inst->info.kv_dtype : (uint32_t)o->kv_dtype;
	st = measure(inst, err);
	if (st != LMD_OK)
		return st;
	in.kv_dtype = inst->kv_dtype;
	in.n_seq = inst->n_seq;
	in.n_batch = inst->n_batch;
	in.budget = inst->budget -
		    (inst->budget < UINT64_MAX ? lmi_engine_memory_sum(&inst->estimate) : 0);
	st = lmi_engine_memory_plan_make(place, &in, err);
	if (st == LMD_OK && place->n_ctx != o->n_ctx)
		st = describe(inst, o, place->n_ctx, err);
	if (st != LMD_OK)
		return st;
	inst->n_ctx = place->n_ctx;
	inst->ctx_cut = place->cut;
	inst->kv_bytes = inst->estimate.sequences = place->kv_bytes;
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
			"context chosen%s model=%s%s%s%s n_ctx=%u trained=%u sequences=%u "
			"kv_mib=%llu",
			place->cut ? " by memory" : "", o->label ? o->label : inst->model->name,
			o->label ? " (" : "", o->label ? inst->model->name : "",
			o->label ? ")" : "", inst->n_ctx, inst->desc.n_ctx_train, inst->n_seq,
			(unsigned long long)(inst->kv_bytes >> 20));
	return LMD_OK;
}

/* ---- pools ---- */

static enum lmd_status open_pool(struct lmi_inst *inst, const struct lmi_engine_memory_plan *place,
				 uint32_t g, struct lmd_error *err)
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
		.n_index = lmi_kv_n_logical_pages(desc, inst->info.page_tokens, inst->n_ctx,
						  inst->n_batch),
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

/* Room for the page tables of one sequence in all groups, in each slot. */
static enum lmd_status make_page_lists(struct lmi_inst *inst, struct lmd_error *err)
{
	if (!inst->queue)
		return LMD_OK;
	inst->n_pages = lmi_kv_max_changes(inst->kv) / inst->n_seq * inst->desc.n_group;
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		inst->slot[i].pages = lmi_alloc(inst->n_pages + (size_t)1, sizeof(uint32_t));
		if (!inst->slot[i].pages)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u page table entries",
					inst->n_pages);
	}
	return LMD_OK;
}

enum lmd_status lmi_inst_open_pools(struct lmi_inst *inst,
				    const struct lmi_engine_memory_plan *place,
				    struct lmd_error *err)
{
	struct lmi_kv_opts k = {.groups = inst->desc.groups,
				.n_group = inst->desc.n_group,
				.page_tokens = inst->info.page_tokens,
				.n_seq = inst->n_seq,
				.n_ctx = inst->n_ctx,
				.cache_prefixes = inst->cache_prefixes,
				.n_cross = inst->n_batch};
	enum lmd_status st = LMD_OK;

	if (getrandom(k.hash_key, sizeof(k.hash_key), 0) != (ssize_t)sizeof(k.hash_key))
		return lmd_fail(err, LMD_INTERNAL, "no random key for the prefix cache: %s",
				strerror(errno));
	for (uint32_t g = 0; g < inst->desc.n_group && st == LMD_OK; g++) {
		k.n_page[g] = place->n_page[g];
		k.n_slot[g] = place->n_slot[g];
		if (inst->desc.groups[g].of_target)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"architecture %s is a draft for another model, which is "
					"not loaded",
					inst->model->arch);
		if (inst->desc.groups[g].kind != LMD_GROUP_BATCH)
			st = open_pool(inst, place, g, err);
	}
	if (st == LMD_OK)
		st = lmi_kv_create(&inst->kv, &k, err);
	return st == LMD_OK ? make_page_lists(inst, err) : st;
}
