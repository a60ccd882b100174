/* SPDX-License-Identifier: MIT
 *
 * Opens a model on a device. The order is: file, architecture, device, description, memory
 * estimate, pools (resolve_sizes.c); then, for each plan that is requested (exec.c): build, lower,
 * lay out, estimate, weights, compile. Nothing large is allocated before it was estimated. Closing
 * undoes whatever part of this has happened. */
#include <stdio.h>
#include <string.h>

#include "core/checkpoint/open.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/base/siphash.h"
#include "core/base/utf8.h"
#include "core/engine/adapter_bind.h"
#include "core/engine/answer_history.h"
#include "core/engine/draft_model.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/lookup_file.h"
#include "core/engine/instance.h"
#include "core/engine/memory_plan.h"
#include "core/engine/best.h"
#include "core/engine/repack_cache.h"
#include "core/engine/tail.h"
#include "core/engine/tower.h"

/* ---- file and plugins ---- */

static bool on_read(void *arg, uint64_t done, uint64_t total)
{
	const struct lmi_inst *inst = arg;

	return !inst->progress ||
	       inst->progress(inst->progress_arg, LMI_ENGINE_LOAD_READ, done, total);
}

static enum lmd_status open_model(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				  struct lmd_error *err)
{
	const struct lmi_open_opts how = {.flags = o->open_flags,
					  .plugins = inst->registry,
					  .files = o->files,
					  .n_files = o->n_files,
					  .max_copy = lmi_inst_max_copy(inst, o),
					  .progress = on_read,
					  .arg = inst};
	enum lmd_status st = lmi_model_open_with(&inst->file, o->path, &how, err);

	if (st != LMD_OK)
		return st;
	inst->model = lmi_model_view(inst->file);
	for (uint32_t i = 0; i < lmi_model_n_files(inst->file); i++) {
		struct lmi_model_file f;

		lmi_model_file(inst->file, i, &f);
		inst->file_bytes += f.bytes;
		inst->estimate.copied += f.built_bytes + (f.copied ? f.bytes : 0);
		inst->estimate.file += f.mapped ? f.bytes : 0;
	}
	return lmi_factory_take(inst->registry, LMD_KIND_ARCH, inst->model->arch, &inst->arch, err);
}

/* Guards the mapped part of each file, from its first tensor to the end of its last. */
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
		st = lmi_engine_guard_add(&inst->guard, lo, (size_t)(hi - lo), err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* ---- open and close ---- */

/* Opens everything that takes no memory growing with the model. */
static enum lmd_status open_small(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				  struct lmd_error *err)
{
	enum lmd_status st = open_model(inst, o, err);

	if (st == LMD_OK)
		st = guard_files(inst, err);
	if (st == LMD_OK)
		st = lmi_inst_open_devices(inst, o, err);
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++)
		st = lmi_engine_repack_open(inst, i, err);
	if (st == LMD_OK && o->mmproj_path)
		st = lmi_engine_tower_measure(inst, o, err);
	return st == LMD_OK ? lmi_inst_resolve_sizes(inst, o, err) : st;
}

/* Prepares the plan that most requests use. A model that lacks this plan may still serve other
 * requests. */
static enum lmd_status prepare(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmd_plan_key key = lmi_inst_main_key(inst);
	struct lmd_error why = {0};
	uint32_t exec;
	enum lmd_status st = lmi_inst_exec(inst, &key, &exec, &why);

	return st == LMD_NOMEM || st == LMD_IO || st == LMD_CANCELLED || st == LMD_DEVICE
		       ? lmd_fail(err, st, "%s", why.text)
		       : LMD_OK;
}

static enum lmd_status open_all(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (o->n_slot_adapters > LMI_ENGINE_N_ADAPTER_SLOT - LMI_ENGINE_FIRST_ADAPTER_SLOT)
		return lmd_fail(err, LMD_INVALID, "%u adapters, the maximum is %d",
				o->n_slot_adapters,
				LMI_ENGINE_N_ADAPTER_SLOT - LMI_ENGINE_FIRST_ADAPTER_SLOT);
	st = open_small(inst, o, err);
	if (st == LMD_OK)
		st = lmi_inst_open_pools(inst, err);
	if (st == LMD_OK && o->n_adapter_files) {
		inst->own_adapter = 1;
		st = lmi_inst_add_adapters(inst, o->adapter_files, o->n_adapter_files, 1, err);
	}
	for (uint32_t i = 0; i < o->n_slot_adapters && st == LMD_OK; i++)
		st = lmi_inst_add_adapters(inst, &o->slot_adapters[i], 1,
					   LMI_ENGINE_FIRST_ADAPTER_SLOT + i, err);
	/* an observer chooses its own plan */
	if (st == LMD_OK && !o->keep_values)
		st = prepare(inst, err);
	/* the devices themselves show the memory now */
	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++)
		(void)lmi_engine_device_claim(inst->set, inst->devices[i].open,
					      &inst->devices[i].claim,
					      inst->devices[i].claim.bytes, false, false, NULL);
	return st;
}

/* Names the worker of a model. A long label is cut, and differs from others that begin alike by a hash. */
static void name_worker(struct lmi_inst *inst, const char *label)
{
	static const uint64_t key[2];
	size_t n = strlen(label);

	if (n <= LMI_ENGINE_ISOLATE_NAME)
		(void)snprintf(inst->isolate_name, sizeof(inst->isolate_name), "%s", label);
	else
		(void)snprintf(inst->isolate_name, sizeof(inst->isolate_name), "%.*s~%08x",
			       (int)lmi_utf8_valid_prefix(label, LMI_ENGINE_ISOLATE_NAME - 9), label,
			       (unsigned)lmi_siphash(key, label, n));
}

static struct lmi_inst *create(const struct lmi_engine_model_opts *o, struct lmd_error *err)
{
	struct lmi_inst *inst = lmi_alloc(1, sizeof(*inst));

	if (!inst) {
		(void)lmd_fail(err, LMD_NOMEM, "%.120s: no memory", o->path);
		return NULL;
	}
	inst->host = o->host;
	inst->registry = o->registry;
	inst->target = o->target;
	inst->keep_values = o->keep_values;
	inst->unfused = o->unfused;
	inst->cache_prefixes = !o->no_prefix_cache;
	inst->has_adapters = o->adapters || o->n_adapter_files || o->n_slot_adapters;
	inst->step_class = LMI_ENGINE_CLASS_NORMAL;
	inst->device_sampling = o->device_sampling;
	name_worker(inst, o->label ? o->label : "model");
	inst->isolated = o->isolated;
	inst->isolate_untrusted = o->isolate_untrusted && !o->keep_values;
	inst->progress = o->progress;
	inst->progress_arg = o->progress_arg;
	inst->loss = o->loss;
	inst->repack = o->repack;
	inst->available = o->memory_limit ? o->memory_limit : lmi_engine_memory_available();
	return inst;
}

/* Closes what failed to open, and puts the file's name into the message. */
static enum lmd_status give_up(struct lmi_inst *inst, const char *path, enum lmd_status st,
			       const struct lmd_error *cause, struct lmd_error *err)
{
	char shown[160];

	lmi_inst_close(inst);
	return lmi_printable_has_path(cause->text, path)
		       ? lmd_fail(err, st, "%s", cause->text)
		       : lmd_fail(err, st, "%s: %.300s",
				  lmi_printable_path(shown, sizeof(shown), path), cause->text);
}

enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_engine_model_opts *o,
			      struct lmd_error *err)
{
	struct lmi_inst *inst = create(o, err);
	struct lmd_error cause = {0};
	enum lmd_status st;

	if (!inst)
		return LMD_NOMEM;
	st = open_all(inst, o, &cause);
	if (st == LMD_OK && lmi_engine_guard_is_bad(&inst->guard))
		st = lmd_fail(&cause, LMD_IO, "the file was truncated while it was read");
	if (st != LMD_OK)
		return give_up(inst, o->path, st, &cause, err);
	inst->progress = NULL;
	inst->loss = NULL;
	inst->repack = NULL;
	*out = inst;
	return LMD_OK;
}

enum lmd_status lmi_inst_estimate(struct lmi_engine_memory *out, uint32_t *n_ctx,
				  struct lmi_engine_placement *where,
				  const struct lmi_engine_model_opts *opts, struct lmd_error *err)
{
	const uint32_t copy = LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT;
	struct lmi_engine_model_opts o = *opts;
	struct lmd_error cause = {0};
	struct lmi_inst *inst;
	enum lmd_status st;

	o.open_flags = LMI_OPEN_MEASURE; /* requests that need memory are counted below */
	o.progress = NULL;
	o.repack = NULL;
	inst = create(&o, err);
	if (!inst)
		return LMD_NOMEM;
	inst->copies = (opts->open_flags & copy) != 0;
	inst->only_estimate = true;
	st = open_small(inst, &o, &cause);
	if (st != LMD_OK)
		return give_up(inst, o.path, st, &cause, err);
	*out = inst->estimate;
	*n_ctx = inst->n_ctx;
	if (where)
		lmi_engine_place_report(inst, where);
	lmi_inst_close(inst);
	return LMD_OK;
}

enum lmd_status lmi_engine_estimate(struct lmi_engine_memory *out, uint32_t *n_ctx,
				    struct lmi_engine_placement *where,
				    const struct lmi_engine_model_opts *opts,
				    struct lmd_error *err)
{
	struct lmi_engine_model_opts o = *opts;

	o.n_thread = o.n_thread_batch = 1;
	o.place = (struct lmi_cpu_place){0};
	o.isolated = o.isolate_untrusted = false;
	return lmi_inst_estimate(out, n_ctx, where, &o, err);
}

static void close_rows(struct lmi_inst *inst, uint32_t device, struct lmi_engine_slot *t)
{
	struct lmi_inst_device *d = &inst->devices[device];

	lmi_engine_shared_destroy(d, &t->out_rows[device]);
	lmi_engine_shared_destroy(d, &t->hidden_rows[device]);
	if (device != inst->draft_device)
		return;
	lmi_engine_shared_destroy(d, &t->before_rows);
	lmi_engine_shared_destroy(d, &t->draft_rows);
}

void lmi_inst_close(struct lmi_inst *inst)
{
	if (!inst)
		return;
	lmi_engine_draft_model_close(inst->draft); /* uses the same devices */
	lmi_engine_tower_close(inst->tower);
	lmi_engine_nextn_close(inst->nextn);
	lmi_engine_history_destroy(inst->history);
	lmi_engine_lookup_file_close(inst->lookup_file);
	lmi_inst_hold(inst);
	lmi_engine_tail_close(inst, inst->tail);
	lmi_engine_best_close(inst, inst->best);
	for (uint32_t i = 0; i < inst->n_exec; i++)
		lmi_engine_exec_close(inst, inst->execs[i]);
	for (uint32_t k = 0; k < LMI_ENGINE_MAX_STEP; k++) {
		struct lmi_engine_slot *t = &inst->slot[k];

		for (uint32_t i = 0; i < inst->n_device; i++)
			if (inst->devices[i].ops)
				close_rows(inst, i, t);
		if (inst->place && inst->n_device)
			lmi_engine_shared_destroy(&inst->devices[lmi_engine_place_input(inst)],
						  &t->ext_rows);
		lmi_free(t->pages);
	}
	lmi_inst_close_devices(inst);
	lmi_free(inst->tree_row);                   /* a queue may have been copying from it */
	for (uint32_t i = 0; i < inst->n_exec; i++) /* weights referred to them */
		lmi_engine_exec_destroy(inst->execs[i]);
	lmi_kv_destroy(inst->kv);
	lmi_engine_place_destroy(inst->place);
	lmi_free(inst->sizes);
	lmi_arena_destroy(inst->arena);
	if (inst->arch)
		lmi_factory_give(inst->registry, inst->arch);
	for (uint32_t i = 0; i < LMI_ENGINE_N_ADAPTER_SLOT; i++)
		lmi_inst_clear_slot(inst, i);
	lmi_engine_guard_drop(&inst->guard);
	lmi_engine_repack_close(inst);
	lmi_model_close(inst->file);
	lmi_free(inst);
}
