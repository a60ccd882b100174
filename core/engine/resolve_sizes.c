/* SPDX-License-Identifier: MIT
 *
 * Chooses all sizes from the architecture's description: checks that the file has the tensors it
 * needs, chooses the rows of a step, the memory budget and the context length that fits, and
 * creates the pools for sequences. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/arena.h"
#include "core/engine/draft_model.h"
#include "core/engine/draft_nextn.h"
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

/* Every rank has caches of its own. */
static enum lmd_status caches_of_ranks(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmd_arch_desc *d = &inst->desc;
	uint32_t n = d->n_cache;
	struct lmd_cache *all =
		lmi_arena_array(inst->arena, (size_t)n * inst->n_rank + 1, sizeof(*all));

	if (!all || n > LMI_ENGINE_MAX_CACHE)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u caches of %u ranks", n,
				inst->n_rank);
	for (uint32_t r = 0; r < inst->n_rank && n; r++)
		memcpy(all + (size_t)r * n, d->caches, n * sizeof(*all));
	d->caches = all;
	d->n_cache = n * inst->n_rank;
	return LMD_OK;
}

static enum lmd_status describe_once(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				     uint32_t n_ctx, struct lmd_error *err)
{
	struct lmd_arch_params p = {
		.struct_size = sizeof(p),
		.n_ctx = n_ctx,
		.pooling = o->pooling,
		.n_rank = inst->n_rank,
		.n_draft = o->draft_layers || lmi_engine_draft_is_own(o) ? 1 : 0,
		.n_tap = inst->n_tap,
		.taps = inst->taps};
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
	if (d->draft && !inst->target)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s is a draft for another model: name the file as draft_model of "
				"that one",
				inst->model->arch);
	inst->has_draft =
		d->n_draft || o->lookahead || (o->draft_path && !lmi_engine_draft_is_own(o));
	if (inst->n_rank > 1)
		st = caches_of_ranks(inst, err);
	return st == LMD_OK ? lmi_plan_desc_check(d, err) : st;
}

/* Describes the model. Its draft model may want other hidden rows, which depend on the number of layers. */
static enum lmd_status describe(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				uint32_t n_ctx, struct lmd_error *err)
{
	enum lmd_status st = describe_once(inst, o, n_ctx, err);

	if (st != LMD_OK || inst->knows_draft || !o->draft_path || lmi_engine_draft_is_own(o))
		return st;
	inst->knows_draft = true;
	lmi_engine_draft_file_read(inst, o->draft_path);
	return inst->n_tap ? describe_once(inst, o, n_ctx, err) : st;
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
	case LMD_DRIVER_TOWER:
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
	inst->reads_rows = d->n_input_embd && (o->mmproj_path || d->driver == LMD_DRIVER_TOWER);
	inst->n_out = o->n_out		  ? o->n_out
		      : inst->looks_ahead ? inst->n_batch
					  : (uint32_t)(OUT_BYTES / ((uint64_t)width * 4));
	inst->n_out = clamp_u32(inst->n_out, inst->n_seq, inst->n_batch);
	return lmi_engine_nextn_keep_pages(inst, err);
}

uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_engine_model_opts *o)
{
	uint64_t slack = o->memory_limit ? 0 : SLACK_BYTES;

	if (!inst->available)
		return 0; /* unknown */
	return inst->available > slack ? inst->available - slack : 1;
}

/* Returns what a second instance will take of a device. */
static uint64_t second_on(const struct lmi_inst *inst, enum lmi_inst_second which,
			  const struct lmi_inst_device *d)
{
	const struct lmi_inst_need *need = &inst->second_needs[which];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < need->n_device; i++)
		if (!strcmp(need->devices[i].name, d->name))
			sum += lmi_engine_memory_sum(&need->devices[i].memory);
	return sum;
}

/* Of a device's own memory LMI_INST_MARGIN bytes for each instance and 1/128 of it stay free: for page tables, copies
 * of step blocks, what a backend keeps for each plan, and what a driver takes later. */
static uint64_t margin(const struct lmi_inst *inst, const struct lmi_inst_device *d)
{
	uint64_t n = 1;

	for (int i = 0; i < LMI_INST_N_SECOND; i++)
		n += second_on(inst, i, d) > 0;
	return n * LMI_INST_MARGIN + d->info->memory_bytes / 128;
}

/* Sets the budget of each device. Files that are read into memory count on the first device in host
 * memory. */
static void set_budgets(struct lmi_inst *inst, const struct lmi_engine_model_opts *o)
{
	bool counted = false;

	if (inst->copies) {
		inst->estimate.copied += inst->estimate.file;
		inst->estimate.file = 0;
	}
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];
		uint64_t have = inst->available, rest;

		d->estimate = (struct lmi_engine_memory){.adapters = inst->estimate.adapters,
							 .tower = second_on(inst, LMI_INST_TOWER, d),
							 .draft = second_on(inst, LMI_INST_DRAFT, d)};
		if (lmi_inst_device_in_host_memory(d)) {
			/* Mapped files should stay in memory as well, so they reduce the available
			 * memory; a configured limit counts only memory that cannot be read
			 * again. */
			rest = o->memory_limit ? 0
					       : SLACK_BYTES + inst->estimate.file +
							 inst->second_needs[LMI_INST_TOWER].file +
							 inst->second_needs[LMI_INST_DRAFT].file;
			if (!o->memory_limit && d->free_bytes < have)
				have = d->free_bytes; /* other models are being loaded */
			if (!counted)
				d->estimate.copied = inst->estimate.copied;
			counted = true;
			d->estimate.budget = !have ? UINT64_MAX : have > rest ? have - rest : 0;
		} else {
			rest = margin(inst, d);
			have = d->free_bytes;
			have = have > rest ? have - rest : 0;
			d->estimate.budget =
				o->memory_limit && o->memory_limit < have ? o->memory_limit : have;
		}
	}
}

/* Sums up the estimates of all devices. */
static void sum_up(struct lmi_inst *inst)
{
	struct lmi_engine_memory *m = &inst->estimate;

	m->weights = m->step = m->results = m->budget = m->tower = m->draft = 0;
	for (uint32_t i = 0; i < inst->n_device; i++) {
		const struct lmi_engine_memory *d = &inst->devices[i].estimate;

		m->weights += d->weights;
		m->step += d->step;
		m->results += d->results;
		m->tower += d->tower;
		m->draft += d->draft;
		m->budget = d->budget > UINT64_MAX - m->budget ? UINT64_MAX : m->budget + d->budget;
	}
}

static enum lmd_status make_plan(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				 struct lmd_error *err)
{
	uint64_t budgets[LMI_ENGINE_MAX_DEVICE] = {0};
	uint8_t places[LMI_ENGINE_MAX_CACHE];
	struct lmi_engine_memory_plan_in in = {.desc = &inst->desc,
					       .page_tokens = inst->page_tokens,
					       .n_ctx = o->n_ctx,
					       .max_ctx = inst->max_ctx,
					       .kv_tokens = o->kv_tokens,
					       .share = o->share_kv,
					       .k_dtype = inst->k_dtype,
					       .v_dtype = inst->v_dtype,
					       .n_seq = inst->n_seq,
					       .n_batch = inst->n_batch,
					       .budgets = inst->n_device > 1 ? budgets : NULL,
					       .cache_device = places,
					       .n_device = inst->n_device};
	enum lmd_status st;

	if (inst->desc.n_cache > LMI_ENGINE_MAX_CACHE)
		return lmd_fail(err, LMD_UNSUPPORTED, "%u caches exceed the limit of %d",
				inst->desc.n_cache, LMI_ENGINE_MAX_CACHE);
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_engine_memory *m = &inst->devices[i].estimate;

		m->sequences = 0;
		st = lmi_engine_memory_check(m, inst->devices[i].name, inst->n_device, err);
		if (st != LMD_OK)
			return st;
		budgets[i] = m->budget - (m->budget < UINT64_MAX ? lmi_engine_memory_sum(m) : 0);
	}
	in.budget = budgets[0];
	for (uint32_t i = 0; i < inst->desc.n_cache; i++)
		places[i] = (uint8_t)lmi_engine_place_cache(inst, i);
	st = lmi_engine_memory_plan_make(inst->sizes, &in, err);
	if (st != LMD_OK)
		return st;
	if (inst->n_device == 1)
		inst->sizes->device_bytes[0] = inst->sizes->kv_bytes;
	for (uint32_t i = 0; i < inst->n_device; i++)
		inst->devices[i].estimate.sequences = inst->sizes->device_bytes[i];
	return LMD_OK;
}

enum lmd_status lmi_inst_fit(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
			     struct lmd_error *err)
{
	enum lmd_status st;

	set_budgets(inst, o);
	st = lmi_inst_measure(inst, err);
	/* a device that was found to be needed has no budget yet */
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (st == LMD_OK && !inst->devices[i].estimate.budget) {
			set_budgets(inst, o);
			st = lmi_inst_measure(inst, err);
		}
	if (st == LMD_OK)
		st = make_plan(inst, o, err);
	sum_up(inst);
	return st;
}

static enum lmd_status claim_on(struct lmi_inst *inst, struct lmi_inst_device *d, bool check,
				struct lmd_error *err)
{
	const struct lmi_engine_memory *m = &d->estimate;
	const uint64_t seconds[LMI_INST_N_SECOND] = {[LMI_INST_TOWER] = m->tower, [LMI_INST_DRAFT] = m->draft};
	enum lmd_status st = lmi_engine_device_claim(inst->set, d->open, &d->claim,
						     lmi_engine_memory_sum(m) - m->tower - m->draft, true,
						     check, err);

	for (int i = 0; i < LMI_INST_N_SECOND && st == LMD_OK; i++)
		st = lmi_engine_device_claim(inst->set, d->open, &d->second_claims[i], seconds[i], true, check,
					     err);
	return st;
}

/* Reserves the memory, so that no other model is promised it. */
static enum lmd_status claim(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
			     struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		st = claim_on(inst, d, !o->memory_limit || !lmi_inst_device_in_host_memory(d), err);
	}
	return st;
}

void lmi_inst_drop_claims(struct lmi_inst *inst, enum lmi_inst_second which)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		(void)lmi_engine_device_claim(inst->set, inst->devices[i].open,
					      &inst->devices[i].second_claims[which], 0, false, false, NULL);
}

static void log_sizes(const struct lmi_inst *inst, const struct lmi_engine_model_opts *o)
{
	bool cut = inst->sizes->cut;

	inst->host->log(inst->host->ctx, "engine", cut ? LMD_LOG_WARN : LMD_LOG_INFO,
			"context chosen%s model=%s%s%s%s n_ctx=%u trained=%u sequences=%u "
			"kv_mib=%llu",
			cut ? " by memory" : "", o->label ? o->label : inst->model->name,
			o->label ? " (" : "", o->label ? inst->model->name : "",
			o->label ? ")" : "", inst->n_ctx, inst->desc.n_ctx_train, inst->n_seq,
			(unsigned long long)(inst->kv_bytes >> 20));
}

static enum lmd_status measure_adapters(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
					struct lmd_error *err)
{
	enum lmd_status st = lmi_inst_measure_adapters(inst, o->adapter_files, o->n_adapter_files,
						       &inst->estimate.adapters, err);

	for (uint32_t i = 0; i < o->n_slot_adapters && st == LMD_OK; i++) {
		uint64_t bytes;

		st = lmi_inst_measure_adapters(inst, &o->slot_adapters[i], 1, &bytes, err);
		if (st == LMD_OK && !lmi_add_ok(inst->estimate.adapters, bytes,
						&inst->estimate.adapters))
			st = lmd_fail(err, LMD_INVALID, "the adapters are too large");
	}
	return st;
}

/* Chooses devices and context length, describes the model for it and sets the types of caches. */
enum lmd_status lmi_inst_resolve_sizes(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				       struct lmd_error *err)
{
	enum lmd_status st = lmi_engine_place_ranks(inst, o, &inst->n_rank, err);
	struct lmd_cache *caches;

	if (st == LMD_OK)
		st = lmi_inst_open_group(inst, err);
	if (st == LMD_OK)
		st = describe(inst, o, o->n_ctx, err);
	if (st == LMD_OK)
		st = check_tensors(inst, err);
	if (st == LMD_OK)
		st = choose_sizes(inst, o, err);
	if (st == LMD_OK)
		st = measure_adapters(inst, o, err);
	if (st != LMD_OK)
		return st;
	st = lmi_engine_kv_types_choose(inst, o, err);
	if (st != LMD_OK)
		return st;
	inst->sizes = lmi_alloc(1, sizeof(*inst->sizes));
	if (!inst->sizes)
		return lmd_fail(err, LMD_NOMEM, "no memory for the sizes of a model");
	st = lmi_engine_place_create(inst, o, err);
	if (st == LMD_OK)
		st = o->draft_path && !lmi_engine_draft_is_own(o) ? lmi_engine_draft_fit(inst, o, err)
								  : lmi_engine_place_choose(inst, o, err);
	if (st == LMD_OK && inst->sizes->n_ctx != o->n_ctx)
		st = describe(inst, o, inst->sizes->n_ctx, err);
	if (st == LMD_OK && !inst->only_estimate)
		st = claim(inst, o, err);
	if (st != LMD_OK)
		return st;
	inst->n_ctx = inst->sizes->n_ctx;
	inst->ctx_cut = inst->sizes->cut;
	inst->kv_bytes = inst->estimate.sequences = inst->sizes->kv_bytes;
	caches = lmi_arena_array(inst->arena, inst->desc.n_cache + 1u, sizeof(*caches));
	if (!caches)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u caches", inst->desc.n_cache);
	for (uint32_t i = 0; i < inst->desc.n_cache; i++) {
		struct lmd_cache *c = &caches[i];
		bool is_free = inst->desc.caches[i].dtype_policy == LMD_KV_DTYPE_USER;

		*c = inst->desc.caches[i];
		c->k_dtype = is_free ? inst->k_dtype : LMD_DTYPE_F32;
		c->v_dtype = is_free && c->kind == LMD_CACHE_KV ? inst->v_dtype : c->k_dtype;
	}
	inst->desc.caches = caches;
	log_sizes(inst, o);
	return LMD_OK;
}

/* ---- pools ---- */

static enum lmd_status open_pool(struct lmi_inst *inst, uint32_t device, uint32_t g,
				 struct lmd_error *err)
{
	const struct lmi_engine_memory_plan *place = inst->sizes;
	struct lmi_inst_device *dev = &inst->devices[device];
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
		.page_tokens = inst->page_tokens,
		.n_seq = inst->n_seq,
		.n_index = lmi_kv_n_logical_pages(desc, inst->page_tokens, inst->n_ctx,
						  inst->n_batch),
		.n_slot = place->n_slot[g],
	};

	if (!caches || !ids)
		return lmd_fail(err, LMD_NOMEM, "group %s: no memory", desc->name);
	for (uint32_t i = 0; i < n; i++) {
		if (inst->desc.caches[i].group != g || lmi_engine_place_cache(inst, i) != device)
			continue;
		caches[d.n_cache] = inst->desc.caches[i];
		ids[d.n_cache++] = i;
	}
	return dev->ops->pool_create(dev->state, &d, &dev->pools[g], err);
}

/* All devices have the page tables of all groups; the pages have only the caches of the device. */
enum lmd_status lmi_inst_open_device_pools(struct lmi_inst *inst, uint32_t device,
					   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t g = 0; g < inst->desc.n_group && st == LMD_OK; g++)
		if (inst->desc.groups[g].kind != LMD_GROUP_BATCH)
			st = open_pool(inst, device, g, err);
	return lmi_inst_check(inst, &inst->devices[device], st, err);
}

/* Room for the page tables of one sequence in all groups, in each slot. */
static enum lmd_status make_page_lists(struct lmi_inst *inst, struct lmd_error *err)
{
	inst->n_pages = lmi_kv_max_changes(inst->kv) / inst->n_seq * inst->desc.n_group;
	for (uint32_t i = 0; i < inst->n_slot; i++) {
		inst->slot[i].pages = lmi_alloc(inst->n_pages + (size_t)1, sizeof(uint32_t));
		if (!inst->slot[i].pages)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u page table entries",
					inst->n_pages);
	}
	return LMD_OK;
}

enum lmd_status lmi_inst_open_pools(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmi_engine_memory_plan *place = inst->sizes;
	struct lmi_kv_opts k = {.groups = inst->desc.groups,
				.n_group = inst->desc.n_group,
				.page_tokens = inst->page_tokens,
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
	}
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++)
		st = lmi_inst_open_device_pools(inst, i, err);
	if (st == LMD_OK)
		st = lmi_kv_create(&inst->kv, &k, err);
	return st == LMD_OK ? make_page_lists(inst, err) : st;
}
