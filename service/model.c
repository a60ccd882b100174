/* SPDX-License-Identifier: MIT
 *
 * The models in memory: loading, waiters, idle times.  Only the loop's thread changes them, so
 * there are no locks. */
#include "service/model.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/engine/devices.h"
#include "core/engine/engine.h"
#include "service/adapter_book.h"
#include "service/event_ring.h"
#include "service/names.h"
#include "service/prefix_tier.h"
#include "service/preset.h"
#include "service/service_state.h"

const char *lmi_svc_model_name(const struct lmi_svc_model *m)
{
	return lmi_svc_model_record_name(m->record);
}

struct lmi_svc_model *lmi_svc_model_find(struct lmi_service *svc, const char *name)
{
	for (struct lmi_svc_model *m = svc->models; m; m = m->next)
		if (!strcmp(lmi_svc_model_name(m), name))
			return m;
	return NULL;
}

/* ---- loads ---- */

static void notify_waiters(struct lmi_svc_model *m, uint64_t now, struct lmi_svc_loaded_model *r,
		       const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_load_waiter *w = m->load_waiters;

	m->load_waiters = NULL;
	while (w) {
		struct lmi_svc_load_waiter *next = w->next;

		w->in_list = false;
		w->next = NULL;
		if (r)
			lmi_svc_loaded_model_ref(r);
		w->ready(w, now, r, err, retry_ms);
		w = next;
	}
}

static uint32_t pause_of(const struct lmi_service *svc, uint32_t n_fail)
{
	uint64_t ms = svc->limits.fail_ms;

	for (uint32_t i = 1; i < n_fail && ms < svc->limits.fail_max_ms; i++)
		ms *= 2;
	return (uint32_t)(ms < svc->limits.fail_max_ms ? ms : svc->limits.fail_max_ms);
}

/* Records a failure; returns the pause before the next attempt in ms. */
static uint32_t note_failure(const struct lmi_service *svc, struct lmi_svc_model *m,
			     const struct lmd_error *err)
{
	uint32_t pause;

	m->n_fail++;
	pause = pause_of(svc, m->n_fail);
	m->fail_until = svc->now + pause * LMI_NS_PER_MS;
	m->fail = *err;
	return pause;
}

void lmi_svc_model_end_pause(struct lmi_svc_model *m)
{
	m->fail_until = 0;
	m->asked = true;
}

static uint32_t ms_until(uint64_t when, uint64_t now)
{
	return (uint32_t)((when - now + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS);
}

/* ---- lost devices ---- */

/* Records a failure whose pause ends when the device can be opened again; returns the pause in ms. */
static uint32_t note_loss(const struct lmi_service *svc, struct lmi_svc_model *m,
			  const struct lmi_engine_loss *loss, const struct lmd_error *err)
{
	(void)note_failure(svc, m, err);
	m->fail_until = svc->o.host->now_ns(svc->o.host->ctx) + loss->wait_ns;
	(void)lmd_fail(&m->fail, LMD_BUSY, "model %.64s waits until device %s can be opened again: %.300s",
		       lmi_svc_model_name(m), loss->device, err->text);
	return m->fail_until > svc->now ? ms_until(m->fail_until, svc->now) : 1;
}

void lmi_svc_model_lost(struct lmi_service *svc, struct lmi_svc_loaded_model *r,
			const struct lmd_error *err)
{
	struct lmi_svc_model *m = r->model;
	struct lmi_engine_loss loss;

	if (r->lost)
		return;
	r->lost = true;
	lmi_svc_loaded_model_find_loss(r, &loss);
	svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_ERROR,
			 "model lost, it will be loaded again %s; model=%s engine=%llu: %s",
			 loss.device[0] ? "with its device" : "for the next request",
			 lmi_svc_model_name(m), (unsigned long long)r->number, err->text);
	if (m->current == r && loss.device[0]) {
		(void)note_loss(svc, m, &loss, err);
		(void)snprintf(m->lost_device, sizeof(m->lost_device), "%s", loss.device);
	} else if (m->current == r) {
		(void)note_failure(svc, m, err);
	}
	lmi_svc_loaded_model_retire(r);
}

void lmi_svc_models_check_devices(struct lmi_service *svc)
{
	struct lmi_engine_devices *set = svc->o.inst.devices;
	uint32_t n = set ? lmi_engine_devices_n_loss(set) : 0;
	struct lmi_svc_loaded_model *next;

	if (n == svc->n_loss)
		return;
	svc->n_loss = n;
	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = next) {
		struct lmi_engine_loss loss;
		struct lmd_error err;

		next = r->next;
		if (r->state != LMI_SVC_MODEL_READY)
			continue;
		lmi_svc_loaded_model_find_loss(r, &loss);
		if (!loss.device[0])
			continue;
		(void)lmd_fail(&err, LMD_DEVICE, "device %s was lost", loss.device);
		lmi_svc_model_lost(svc, r, &err);
	}
}

bool lmi_svc_model_forget_loss(struct lmi_svc_model *m)
{
	bool would = m->lost_device[0] != '\0';

	m->lost_device[0] = '\0';
	return would;
}

static void load_failed(struct lmi_service *svc, struct lmi_svc_loaded_model *r)
{
	struct lmi_svc_model *m = r->model;
	struct lmd_error err = r->err;
	uint32_t pause;

	m->loading = NULL;
	if (r->loss.device[0]) {
		pause = note_loss(svc, m, &r->loss, &err);
	} else {
		(void)lmi_svc_model_forget_loss(m);
		pause = note_failure(svc, m, &err);
	}
	svc->o.host->log(svc->o.host->ctx, "service",
			 svc->o.embedded || svc->stopping ? LMD_LOG_INFO : LMD_LOG_WARN,
			 "model failed to load; model=%s failures=%u: %s", lmi_svc_model_name(m),
			 m->n_fail, err.text);
	lmi_svc_event_ring_model(svc, LMI_WIRE_EVENT_KIND_LOAD_FAILED, lmi_svc_model_name(m), err.text);
	lmi_svc_loaded_model_destroy(svc, r);
	notify_waiters(m, svc->now, NULL, &err, pause);
}

/* Unloads a model so that another one can be loaded. */
static void evict(struct lmi_svc_loaded_model *victim, struct lmi_svc_loaded_model *r)
{
	lmi_svc_event_ring_model(r->svc, LMI_WIRE_EVENT_KIND_EVICT,
				 lmi_svc_model_record_name(victim->record),
				 lmi_svc_model_record_name(r->record));
	victim->open_next = r;
	lmi_svc_loaded_model_retire(victim);
}

static void on_opened(struct lmi_svc_loaded_model *r)
{
	struct lmi_svc_loaded_model *old, *victim;
	struct lmi_service *svc = r->svc;
	struct lmi_svc_model *m = r->model;

	if (r->err.status == LMD_NOMEM && !r->retried &&
	    (victim = lmi_svc_loaded_model_find_idle(svc))) {
		r->retried = true;
		evict(victim, r);
		return;
	}
	if (r->err.status != LMD_OK) {
		load_failed(svc, r);
		return;
	}
	old = m->current;
	m->asked = false;
	m->loading = NULL;
	m->current = r;
	m->n_fail = 0;
	(void)lmi_svc_model_forget_loss(m);
	r->state = LMI_SVC_MODEL_READY;
	r->ready_ns = r->idle_ns = svc->now;
	if (svc->o.watch)
		svc->o.watch(svc->o.watch_arg, lmi_engine_fd(r->engine), true);
	svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_INFO,
			 "model ready; model=%s engine=%llu ms=%llu", lmi_svc_model_name(m),
			 (unsigned long long)r->number,
			 (unsigned long long)(r->load_ns / LMI_NS_PER_MS));
	lmi_svc_prefix_tier_ready(r);
	lmi_svc_event_ring_model(svc, LMI_WIRE_EVENT_KIND_LOAD, lmi_svc_model_name(m), NULL);
	lmi_svc_loaded_model_ref(r); /* keeps r alive during the callbacks */
	notify_waiters(m, svc->now, r, NULL, 0);
	lmi_svc_loaded_model_unref(r, svc->now);
	if (old)
		lmi_svc_loaded_model_retire(old);
}

static void on_progress(struct lmi_svc_loaded_model *r)
{
	uint64_t total = atomic_load(&r->load_total);

	for (struct lmi_svc_load_waiter *w = r->model->load_waiters, *next; w; w = next) {
		next = w->next;
		if (w->progress)
			w->progress(w, r->svc->now, atomic_load(&r->load_done), total);
	}
}

static void on_draining(struct lmi_svc_loaded_model *r)
{
	if (r->model->current == r)
		r->model->current = NULL;
}

static const struct lmi_svc_loaded_model_events events = {
	.opened = on_opened, .progress = on_progress, .draining = on_draining};

static const char *group_of(const struct lmi_service *svc, const struct lmi_svc_model *m)
{
	const char *name = lmi_svc_model_name(m);
	const struct lmi_svc_preset *p = lmi_svc_preset_find(svc, name, strlen(name));

	return p ? p->group : NULL;
}

static bool is_of_group(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
			const char *group)
{
	const char *other = group_of(svc, r->model);

	return other && !strcmp(group, other);
}

/* Finds the loaded model that has to make way for m because it is of the same group; NULL: none.
 * Returns LMD_BUSY if it cannot do so now, because it is being loaded or makes way for another one, or
 * if there are several since the configuration has changed; those then end. */
static enum lmd_status find_of_group(struct lmi_service *svc, const struct lmi_svc_model *m,
				     struct lmi_svc_loaded_model **out, struct lmd_error *err)
{
	const char *group = group_of(svc, m);
	uint32_t n = 0;

	*out = NULL;
	for (struct lmi_svc_loaded_model *r = svc->loaded_models; group && r; r = r->next) {
		if (r->model == m || !is_of_group(svc, r, group))
			continue;
		if (r->state == LMI_SVC_MODEL_LOADING || r->open_next)
			return lmd_fail(err, LMD_BUSY, "model %s of the same group, %.60s, is being loaded",
					lmi_svc_model_name(r->open_next ? r->open_next->model : r->model),
					group);
		*out = r;
		n++;
	}
	if (n < 2)
		return LMD_OK;
	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->model != m && is_of_group(svc, r, group))
			lmi_svc_loaded_model_retire(r);
	return lmd_fail(err, LMD_BUSY, "%u models of the group %.60s are being unloaded", n, group);
}

/* Starts to load the model, closing that of its group, or an idle one if there are too many.
 * Returns LMD_BUSY if all are in use. */
static enum lmd_status start_load(struct lmi_service *svc, struct lmi_svc_model *m,
				  struct lmd_error *err)
{
	struct lmi_svc_loaded_model *r, *victim = NULL;
	const struct lmi_svc_preset *preset;
	const char *name = lmi_svc_model_name(m);
	enum lmd_status st = find_of_group(svc, m, &victim, err);
	uint32_t n = 0;

	if (st != LMD_OK)
		return st;
	for (r = svc->loaded_models; r; r = r->next)
		n += r->state != LMI_SVC_MODEL_UNLOADING;
	if (n >= svc->limits.models && !victim && !(victim = lmi_svc_loaded_model_find_idle(svc)))
		return lmd_fail(err, LMD_BUSY,
				"all %u models in memory are in use, the maximum is %llu", n,
				(unsigned long long)svc->limits.models);
	r = lmi_svc_loaded_model_create(svc, m->record, &m->load, &events, m);
	if (!r)
		return lmd_fail(err, LMD_NOMEM, "no memory for a model");
	preset = lmi_svc_preset_find(svc, name, strlen(name));
	if (preset) {
		lmi_svc_preset_set_load(preset, svc->o.embedded ? &svc->o.inst : NULL, &r->load);
		st = lmi_svc_adapters_parse(&r->adapters, preset->adapters, err);
	}
	r->slots.open = m->wants_adapters || (preset && (preset->adapters || preset->adapters_dir)) ||
			lmi_svc_adapter_book_find(svc, name);
	if (st == LMD_OK)
		st = lmi_svc_adapter_slots_init(&r->slots, &r->adapters, err);
	if (st != LMD_OK) {
		lmi_svc_loaded_model_destroy(svc, r);
		return st;
	}
	m->loading = r;
	r->asked = m->asked;
	m->asked = false;
	if (victim) {
		evict(victim, r);
	} else {
		lmi_svc_loaded_model_submit(svc, r);
	}
	return LMD_OK;
}

static void append_waiter(struct lmi_svc_model *m, struct lmi_svc_load_waiter *w)
{
	struct lmi_svc_load_waiter **end = &m->load_waiters;

	while (*end)
		end = &(*end)->next;
	w->next = NULL;
	w->in_list = true;
	*end = w;
}

void lmi_svc_model_remove_waiter(struct lmi_svc_model *m, struct lmi_svc_load_waiter *w)
{
	for (struct lmi_svc_load_waiter **p = &m->load_waiters; *p && w->in_list; p = &(*p)->next) {
		if (*p != w)
			continue;
		*p = w->next;
		w->next = NULL;
		w->in_list = false;
		return;
	}
}

void lmi_svc_model_add_waiter(struct lmi_service *svc, uint64_t now, struct lmi_svc_model *m,
			      struct lmi_svc_load_waiter *w)
{
	struct lmd_error err;

	w->in_list = false;
	if (m->current) {
		lmi_svc_loaded_model_ref(m->current);
		w->ready(w, now, m->current, NULL, 0);
		return;
	}
	if (!m->loading && m->n_fail && now < m->fail_until) {
		w->ready(w, now, NULL, &m->fail,
			 ms_until(m->fail_until, now));
		return;
	}
	append_waiter(m, w);
	if (m->loading)
		return;
	/* w may be answered before start_load returns */
	if (start_load(svc, m, &err) != LMD_OK) {
		lmi_svc_model_remove_waiter(m, w);
		w->ready(w, now, NULL, &err, err.status == LMD_BUSY ? 1000 : 0);
	}
}

enum lmd_status lmi_svc_model_reload(struct lmi_service *svc, uint64_t now, struct lmi_svc_model *m,
				     const struct lmi_svc_load *load, struct lmi_svc_load_waiter *w,
				     struct lmd_error *err)
{
	enum lmd_status st;

	(void)now;
	if (m->loading)
		return lmd_fail(err, LMD_BUSY, "%s is being loaded", lmi_svc_model_name(m));
	if (load)
		m->load = *load;
	append_waiter(m, w);
	st = start_load(svc, m, err);
	if (st != LMD_OK)
		lmi_svc_model_remove_waiter(m, w);
	return st;
}

enum lmd_status lmi_svc_model_load_slots(struct lmi_service *svc, struct lmi_svc_model *m,
					 struct lmi_svc_load_waiter *w, struct lmd_error *err)
{
	m->wants_adapters = true;
	if (!m->loading)
		return lmi_svc_model_reload(svc, svc->now, m, NULL, w, err);
	append_waiter(m, w);
	return LMD_OK;
}

/* ---- the table ---- */

enum lmd_status lmi_svc_model_get_or_create(struct lmi_service *svc,
					    struct lmi_svc_model_record *own_record,
					    struct lmi_svc_model **out, struct lmd_error *err)
{
	struct lmi_svc_model *m = lmi_svc_model_find(svc, own_record->m.v[0].name);
	const struct lmi_svc_preset *preset;

	if (m) {
		bool same = !strcmp(m->record->m.v[0].digest, own_record->m.v[0].digest);

		lmi_svc_model_record_give(m->record);
		m->record = own_record;
		if (!same) {
			m->n_fail = 0;
			(void)lmi_svc_model_forget_loss(m);
			if (m->current)
				lmi_svc_loaded_model_retire(m->current);
		}
		*out = m;
		return LMD_OK;
	}
	m = lmi_alloc(1, sizeof(*m));
	if (!m) {
		lmi_svc_model_record_give(own_record);
		return lmd_fail(err, LMD_NOMEM, "no memory for a model");
	}
	m->record = own_record;
	m->load = (struct lmi_svc_load){.activations = UINT32_MAX,
					.k_dtype = -1,
					.v_dtype = -1,
					.keep_ms = (int64_t)svc->limits.keep_alive_ms};
	preset = lmi_svc_preset_find(svc, own_record->m.v[0].name,
				     strlen(own_record->m.v[0].name));
	if (!m->load.keep_ms)
		m->load.keep_ms = -1;
	if (preset && preset->has_keep_alive && !svc->o.embedded)
		m->load.keep_ms = preset->keep_alive_ms;
	m->next = svc->models;
	svc->models = m;
	*out = m;
	return LMD_OK;
}

static bool in_use(const struct lmi_service *svc, const struct lmi_svc_model *m)
{
	if (m->current || m->loading || m->load_waiters ||
	    (m->lost_device[0] && !svc->stopping) ||
	    (m->n_fail && svc->now < m->fail_until && !svc->stopping) || lmi_svc_names_refer_to(svc, m))
		return true;
	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->model == m)
			return true;
	return false;
}

void lmi_svc_models_collect(struct lmi_service *svc)
{
	struct lmi_svc_model **p = &svc->models;

	while (*p) {
		struct lmi_svc_model *m = *p;

		if (in_use(svc, m)) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		lmi_svc_model_record_give(m->record);
		lmi_free(m);
	}
}

/* ---- time ---- */

static uint64_t keep_end(const struct lmi_svc_loaded_model *r)
{
	int64_t keep = r->load.keep_ms;

	if (r->state != LMI_SVC_MODEL_READY || r->n_user || keep < 0)
		return UINT64_MAX;
	return r->idle_ns + (uint64_t)keep * LMI_NS_PER_MS;
}

void lmi_svc_loaded_model_keep(struct lmi_svc_loaded_model *r, int64_t keep_ms)
{
	r->load.keep_ms = keep_ms;
	if (r->model->current == r) /* and when it is loaded again */
		r->model->load.keep_ms = keep_ms;
}

/* When a model whose device was lost is loaded again. */
static uint64_t return_time(const struct lmi_service *svc, const struct lmi_svc_model *m)
{
	return m->lost_device[0] && !m->current && !m->loading && !svc->closed ? m->fail_until
									      : UINT64_MAX;
}

/* Loads a model again whose device can be opened again.  If too many models are in memory, tries again
 * a second later. */
static void bring_back(struct lmi_service *svc, struct lmi_svc_model *m)
{
	struct lmd_error err;
	enum lmd_status st = start_load(svc, m, &err);

	if (st == LMD_BUSY) {
		m->fail_until = svc->now + 1000 * LMI_NS_PER_MS;
		m->fail = err;
	} else if (st != LMD_OK) {
		(void)lmi_svc_model_forget_loss(m);
		(void)note_failure(svc, m, &err);
	}
}

void lmi_svc_models_tick(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_loaded_model *next;

	for (struct lmi_svc_model *m = svc->models; m; m = m->next)
		if (return_time(svc, m) <= now)
			bring_back(svc, m);

	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = next) {
		next = r->next;
		if (r->job_waits)
			lmi_svc_loaded_model_submit(svc, r);
		else if (keep_end(r) <= now)
			lmi_svc_loaded_model_retire(r);
	}
}

uint64_t lmi_svc_models_deadline(const struct lmi_service *svc)
{
	uint64_t when = UINT64_MAX;

	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next) {
		uint64_t end = r->job_waits ? svc->now + 10 * LMI_NS_PER_MS : keep_end(r);

		if (r->slots.changed && r->slots.waiters)
			end = svc->now;
		when = end < when ? end : when;
	}
	for (const struct lmi_svc_model *m = svc->models; m; m = m->next) {
		uint64_t end = return_time(svc, m);

		when = end < when ? end : when;
	}
	return when;
}

void lmi_svc_models_fini(struct lmi_service *svc)
{
	struct lmi_svc_loaded_model *next;

	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = next) {
		next = r->next;
		if (r->state == LMI_SVC_MODEL_READY)
			lmi_svc_loaded_model_retire(r);
	}
}
