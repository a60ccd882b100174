/* SPDX-License-Identifier: MIT
 *
 * One loaded engine: its users, and the jobs that open and close it.  A job only accesses the
 * members of the struct that belong to it while it runs. */
#include "service/loaded_model.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/tower_file.h"
#include "core/engine/devices.h"
#include "core/engine/engine.h"
#include "core/engine/trial.h"
#include "service/event.h"
#include "service/event_ring.h"
#include "service/limits.h"
#include "service/load_guard.h"
#include "service/model_status.h"
#include "service/registry_rows.h"
#include "service/rows_head.h"
#include "service/service_state.h"

/* ---- users ---- */

static void start_close(struct lmi_service *svc, struct lmi_svc_loaded_model *r);

void lmi_svc_loaded_model_ref(struct lmi_svc_loaded_model *r)
{
	r->n_user++;
}

void lmi_svc_loaded_model_unref(struct lmi_svc_loaded_model *r, uint64_t now)
{
	assert(r->n_user);
	if (--r->n_user)
		return;
	r->idle_ns = now;
	if (r->state == LMI_SVC_MODEL_DRAINING)
		start_close(r->svc, r);
}

void lmi_svc_loaded_model_retire(struct lmi_svc_loaded_model *r)
{
	r->events->draining(r);
	if (r->state != LMI_SVC_MODEL_READY)
		return;
	r->state = LMI_SVC_MODEL_DRAINING;
	lmi_svc_draft_pair_end(r);
	if (!r->n_user)
		start_close(r->svc, r);
}

struct lmi_svc_loaded_model *lmi_svc_loaded_model_find_idle(const struct lmi_service *svc)
{
	struct lmi_svc_loaded_model *best = NULL;

	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->state == LMI_SVC_MODEL_READY && !r->n_user &&
		    (!best || r->idle_ns < best->idle_ns))
			best = r;
	return best;
}

/* ---- jobs ---- */

static enum lmd_status check_file(const struct lmi_svc_loaded_model *r, struct lmd_error *err)
{
	const struct lmi_store_model *m = &r->record->m.v[0];

	if (r->svc->o.embedded)
		return LMD_OK; /* the caller has just named the file */
	return lmi_store_model_changed(m, err);
}

static void fill_opts(struct lmi_svc_loaded_model *r, struct lmi_engine_opts *o)
{
	const struct lmi_service *svc = r->svc;
	const struct lmi_svc_load *l = &r->load;

	*o = (struct lmi_engine_opts){.inst = r->inst, .in_line = svc->o.in_line};
	o->inst.registry = svc->o.plugins;
	o->inst.host = svc->o.host;
	o->inst.path = r->record->m.v[0].files[0].path;
	o->inst.label = r->record->m.v[0].name;
	if (l->n_seq || !svc->o.embedded)
		o->inst.n_seq = l->n_seq ? l->n_seq : (uint32_t)svc->limits.max_running;
	o->inst.share_kv = !svc->o.embedded || o->inst.n_seq > 1;
	o->inst.n_ctx = l->n_ctx ? l->n_ctx : o->inst.n_ctx;
	o->inst.n_batch = l->n_batch ? l->n_batch : o->inst.n_batch;
	o->inst.n_thread = l->n_thread ? l->n_thread : o->inst.n_thread;
	o->inst.n_thread_batch = l->n_thread_batch ? l->n_thread_batch : o->inst.n_thread_batch;
	if (l->cpus[0])
		o->inst.place.cpus = l->cpus;
	if (l->backend[0]) {
		o->inst.backend = l->backend;
		o->inst.device = l->device;
	}
	if (l->backend[0] || l->devices[0]) /* not those of the service for other devices */
		o->inst.device_list = l->devices[0] ? l->devices : NULL;
	if (l->gpu_layers[0])
		o->inst.gpu_layers = l->gpu_layers;
	if (l->devices[0] || l->split[0])
		o->inst.split = l->split;
	if (l->override_tensor[0])
		o->inst.override_tensor = l->override_tensor;
	if (l->isolation) {
		o->inst.isolated = l->isolation == LMI_SVC_ISOLATION_PROCESS;
		o->inst.isolate_untrusted = l->isolation == LMI_SVC_ISOLATION_AUTO;
	}
	if (l->activations != UINT32_MAX)
		o->inst.activations = l->activations;
	if (l->k_dtype >= 0)
		o->inst.k_dtype = l->k_dtype;
	if (l->v_dtype >= 0)
		o->inst.v_dtype = l->v_dtype;
	o->inst.adapters = r->slots.open;
	o->inst.slot_adapters = r->adapters.refs;
	o->inst.n_slot_adapters = r->adapters.n;
	o->vocab_digest = !svc->o.embedded;
	o->inst.draft_candidates = r->pair.v;
	o->inst.n_draft_candidates = r->pair.n;
	o->inst.draft_layers = !strcmp(l->draft_path, LMI_SVC_DRAFT_AUTO);
	if (o->inst.draft_layers)
		o->inst.draft_path = NULL;
	else if (l->draft_path[0])
		o->inst.draft_path = l->draft_path;
	o->inst.mmproj_optional = !l->mmproj_path[0] && !o->inst.mmproj_path;
	if (l->mmproj_path[0])
		o->inst.mmproj_path = l->mmproj_path;
	else if (o->inst.mmproj_optional &&
		 lmi_tower_beside(r->mmproj, sizeof(r->mmproj), r->record->m.v[0].files[0].path))
		o->inst.mmproj_path = r->mmproj;
	o->inst.lookahead |= l->lookahead;
	if (l->lookup_path[0])
		o->inst.lookup_path = l->lookup_path;
	if (l->memory_limit)
		o->inst.memory_limit = l->memory_limit;
	o->inst.at_once = r->asked;
	o->n_request = LMI_SVC_RUNNING_MAX;
	o->target_ns[LMI_ENGINE_CLASS_NORMAL] = svc->limits.target_itl * LMI_NS_PER_MS;
	o->target_ns[LMI_ENGINE_CLASS_INTERACTIVE] =
		svc->limits.target_itl_interactive * LMI_NS_PER_MS;
	o->client_slowdown_percent = (uint32_t)svc->limits.client_slowdown_percent;
	o->target_ns[LMI_ENGINE_CLASS_BATCH] = svc->limits.target_itl_batch * LMI_NS_PER_MS;
}

/* Reports progress to the waiters.  It is delivered before the end of the job, which is posted
 * later. */
static void on_progress(struct lmi_mailbox_message *m)
{
	struct lmi_svc_loaded_model *r =
		(struct lmi_svc_loaded_model *)((char *)m -
						offsetof(struct lmi_svc_loaded_model, message));

	atomic_store(&r->posted, false);
	r->events->progress(r);
}

/* Lets the model use the repack cache, if there is one. */
static void use_repack_cache(struct lmi_svc_loaded_model *r, struct lmi_engine_opts *o)
{
	const struct lmi_service *svc = r->svc;

	if (!r->repack.max_bytes || !svc->o.store || svc->o.embedded ||
	    snprintf(r->repack_dir, sizeof(r->repack_dir), "%s/repacked", lmi_store_dir(svc->o.store)) >=
		    (int)sizeof(r->repack_dir) ||
	    lmi_svc_model_digest(r->repack.model, &r->record->m.v[0], NULL) != LMD_OK)
		return;
	r->repack.dir = r->repack_dir;
	o->inst.repack = &r->repack;
}

/* Runs on the job's thread. */
static bool on_load(void *arg, enum lmi_engine_load_phase phase, uint64_t done, uint64_t total)
{
	struct lmi_svc_loaded_model *r = arg;

	(void)phase;
	atomic_store(&r->load_done, done);
	atomic_store(&r->load_total, total);
	if (!atomic_exchange(&r->posted, true)) { /* the previous message has been delivered */
		r->message.deliver = on_progress;
		lmi_mailbox_post(r->svc->o.mailbox, &r->message);
	}
	return !atomic_load(&r->svc->stopping);
}

static bool go_on(void *arg)
{
	const struct lmi_svc_loaded_model *r = arg;

	return !atomic_load(&r->svc->stopping);
}

/* Of the lost ones among n devices and *out, leaves the one that stays closed for the longest time. */
static void find_loss(struct lmi_engine_devices *set, const struct lmi_engine_device_share *v, uint32_t n,
		      struct lmi_engine_loss *out)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t wait_ns;

		if (!lmi_engine_device_is_lost(set, v[i].opening, &wait_ns) ||
		    (out->device[0] && wait_ns <= out->wait_ns))
			continue;
		(void)snprintf(out->device, sizeof(out->device), "%s", v[i].name);
		out->wait_ns = wait_ns;
	}
}

void lmi_svc_loaded_model_find_loss(const struct lmi_svc_loaded_model *r, struct lmi_engine_loss *out)
{
	const struct lmi_engine_placement *p = r->placement ? &r->placement->engine : NULL;
	struct lmi_engine_devices *set = r->svc->o.inst.devices;

	*out = (struct lmi_engine_loss){0};
	if (!set || !p)
		return;
	find_loss(set, p->devices, p->n_device, out);
	find_loss(set, p->tower, p->n_tower, out);
}

/* Computes a row, so that a model that cannot run fails to load.  The embedded service opens a model
 * for a request that follows at once and fails in the same way. */
static void try_engine(struct lmi_svc_loaded_model *r)
{
	r->err.status = lmi_engine_trial(r->engine, go_on, r, &r->err);
	if (r->err.status == LMD_OK)
		return;
	lmi_svc_loaded_model_find_loss(r, &r->loss);
	lmi_engine_fini(r->engine);
	r->engine = NULL;
}

static void open_engine(struct lmi_svc_loaded_model *r, const struct lmi_engine_opts *o)
{
	r->err.status = lmi_engine_open(&r->engine, o, &r->err);
	if (r->err.status != LMD_OK)
		return;
	r->placement = lmi_alloc(1, sizeof(*r->placement));
	if (r->placement)
		lmi_engine_where(r->engine, &r->placement->engine);
	if (!r->svc->o.embedded)
		try_engine(r);
}

/* Opens the engine between two notes in the state folder, which outlive a crash. */
static void open_guarded(struct lmi_svc_loaded_model *r, const struct lmi_engine_opts *o)
{
	const struct lmi_service_hooks *h = &r->svc->hooks;
	const char *dir = lmi_store_dir(r->svc->o.store);
	const char *name = lmi_svc_model_record_name(r->record);

	r->err.status = lmi_svc_load_guard_begin(dir, name, h->wall_ns ? h->wall_ns(h->arg) : 0,
						 r->asked, &r->err);
	if (r->err.status != LMD_OK)
		return;
	open_engine(r, o);
	lmi_svc_load_guard_end(dir, name, r->err.status == LMD_OK);
}

static void run_open(void *arg)
{
	struct lmi_svc_loaded_model *r = arg;
	const struct lmd_host *host = r->svc->o.host;
	uint64_t begin = host->now_ns(host->ctx);
	struct lmi_engine_opts o;
	const char **paths;

	fill_opts(r, &o);
	use_repack_cache(r, &o);
	o.inst.progress = on_load;
	o.inst.progress_arg = r;
	o.inst.loss = &r->loss;
	o.inst.files = paths =
		lmi_svc_model_paths(&r->record->m.v[0], &o.inst.n_files, &r->err);
	if (r->err.status == LMD_OK)
		r->err.status = check_file(r, &r->err);
	if (r->err.status == LMD_OK && r->svc->o.store)
		open_guarded(r, &o);
	else if (r->err.status == LMD_OK)
		open_engine(r, &o);
	lmi_free(paths);
	r->load_ns = host->now_ns(host->ctx) - begin;
}

static void run_close(void *arg)
{
	struct lmi_svc_loaded_model *r = arg;

	lmi_engine_fini(r->engine);
	r->engine = NULL;
}

static void opened(void *arg)
{
	struct lmi_svc_loaded_model *r = arg;

	r->svc->n_job--;
	lmi_svc_registry_rows_drop(r->svc); /* its quarantine may have begun or ended */
	lmi_svc_draft_pair_opened(r);
	if (r->err.status != LMD_OK) { /* of an engine that has failed its trial */
		lmi_free(r->placement);
		r->placement = NULL;
	}
	lmi_svc_event(r->svc, "model_loaded", NULL, lmi_svc_model_record_name(r->record),
		      r->err.status == LMD_OK ? "ok" : r->err.text);
	r->events->opened(r);
}

static void closed(void *arg);

void lmi_svc_loaded_model_submit(struct lmi_service *svc, struct lmi_svc_loaded_model *r)
{
	bool close = r->state == LMI_SVC_MODEL_UNLOADING;
	struct lmd_error err;
	enum lmd_status st;

	if (!close)
		lmi_svc_draft_pair_begin(r);
	r->job = (struct lmi_job){.run = close ? run_close : run_open,
				  .done = close ? closed : opened,
				  .arg = r};
	st = lmi_jobs_submit(svc->o.io, &r->job, &err);
	r->job_waits = st == LMD_BUSY;
	if (st == LMD_BUSY)
		return;
	svc->n_job++;
	if (st == LMD_OK)
		return;
	/* the daemon is stopping, so blocking here delays no client */
	if (close)
		run_close(r);
	else
		r->err = err;
	r->job.done(r);
}

static void start_close(struct lmi_service *svc, struct lmi_svc_loaded_model *r)
{
	assert(!r->n_user);
	r->state = LMI_SVC_MODEL_UNLOADING;
	if (svc->o.watch)
		svc->o.watch(svc->o.watch_arg, lmi_engine_fd(r->engine), false);
	lmi_svc_loaded_model_submit(svc, r);
}

struct lmi_svc_loaded_model *
lmi_svc_loaded_model_create(struct lmi_service *svc, struct lmi_svc_model_record *record,
			    const struct lmi_svc_load *load,
			    const struct lmi_svc_loaded_model_events *events,
			    struct lmi_svc_model *model)
{
	struct lmi_svc_loaded_model *r = lmi_alloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->svc = svc;
	r->model = model;
	r->events = events;
	r->record = lmi_svc_model_record_take(record);
	r->load = *load;
	r->inst = svc->o.inst;
	r->repack.max_bytes = svc->limits.repack_cache;
	r->number = ++svc->n_engine;
	r->next = svc->loaded_models;
	if (r->next)
		r->next->prev = r;
	svc->loaded_models = r;
	svc->n_loaded_model++;
	return r;
}

void lmi_svc_loaded_model_destroy(struct lmi_service *svc, struct lmi_svc_loaded_model *r)
{
	*(r->prev ? &r->prev->next : &svc->loaded_models) = r->next;
	if (r->next)
		r->next->prev = r->prev;
	svc->n_loaded_model--;
	lmi_svc_model_record_give(r->record);
	lmi_svc_draft_pair_fini(&r->pair);
	lmi_svc_adapter_slots_fini(&r->slots);
	lmi_svc_adapters_fini(&r->adapters);
	lmi_free(r->placement);
	lmi_free(r);
}

static void closed(void *arg)
{
	struct lmi_svc_loaded_model *r = arg, *open_next = r->open_next;
	struct lmi_service *svc = r->svc;
	struct lmi_svc_unload_waiter *g = r->unload_waiters;

	svc->n_job--;
	svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_INFO,
			 "model unloaded; model=%s engine=%llu",
			 lmi_svc_model_record_name(r->record), (unsigned long long)r->number);
	lmi_svc_event(svc, "model_unloaded", NULL, lmi_svc_model_record_name(r->record), "");
	lmi_svc_event_ring_model(svc, LMI_WIRE_EVENT_KIND_UNLOAD,
				 lmi_svc_model_record_name(r->record), NULL);
	lmi_svc_loaded_model_destroy(svc, r);
	while (g) {
		struct lmi_svc_unload_waiter *next = g->next;

		g->unloaded(g, svc->now);
		g = next;
	}
	if (open_next)
		lmi_svc_loaded_model_submit(svc, open_next);
}
