/* SPDX-License-Identifier: MIT
 *
 * The slots of a loaded model. At most one load is in progress for a model. The list of waiters is walked
 * from its beginning after each change, since what is called may change it. */
#include "service/adapter_slots.h"

#include <assert.h>
#include <string.h>

#include "core/engine/adapter_bind.h"
#include "service/loaded_model.h"
#include "service/service_state.h"

#define NO_RUN 0xffffu /* no generation has a command of this end; see generate_run.c */

static struct lmi_svc_loaded_model *model_of(struct lmi_svc_adapter_slots *s)
{
	return (struct lmi_svc_loaded_model *)((char *)s -
					       offsetof(struct lmi_svc_loaded_model, slots));
}

/* Returns the engine's number of slot i. */
static int32_t number_of(uint32_t i)
{
	return LMI_ENGINE_FIRST_ADAPTER_SLOT + (int32_t)i;
}

/* Is b what is in a slot or being loaded? A file that was removed stays as it was read. */
static bool is_same(const struct lmi_svc_adapter_choice *a, const struct lmi_svc_adapter_choice *b)
{
	return a->n && a->n == b->n && (a->key == b->key || b->missing) && !strcmp(a->text, b->text);
}

/* Moves a choice; what was in *to is freed. */
static void move(struct lmi_svc_adapter_choice *to, struct lmi_svc_adapter_choice *from)
{
	lmi_svc_adapter_choice_fini(to);
	*to = *from;
	*from = (struct lmi_svc_adapter_choice){.n = 0};
}

enum lmd_status lmi_svc_adapter_slots_init(struct lmi_svc_adapter_slots *s,
					   const struct lmi_svc_adapters *opened_with,
					   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < opened_with->n && st == LMD_OK; i++)
		st = lmi_svc_adapter_choice_of(&s->v[i].choice, opened_with, i, err);
	return st;
}

void lmi_svc_adapter_slots_fini(struct lmi_svc_adapter_slots *s)
{
	assert(!s->waiters && s->state == LMI_SVC_ADAPTER_IDLE);
	for (uint32_t i = 0; i < LMI_SVC_ADAPTERS_MAX; i++)
		lmi_svc_adapter_choice_fini(&s->v[i].choice);
	lmi_svc_adapter_choice_fini(&s->choice);
}

const struct lmi_svc_adapter_choice *
lmi_svc_adapter_slots_get(const struct lmi_svc_loaded_model *r, int32_t slot)
{
	uint32_t i = (uint32_t)(slot - LMI_ENGINE_FIRST_ADAPTER_SLOT);

	return slot && i < LMI_SVC_ADAPTERS_MAX && r->slots.v[i].choice.n ? &r->slots.v[i].choice
									  : NULL;
}

/* ---- choosing a slot ---- */

static struct lmi_svc_adapter_slot *find(struct lmi_svc_adapter_slots *s,
					 const struct lmi_svc_adapter_choice *c)
{
	for (uint32_t i = 0; i < LMI_SVC_ADAPTERS_MAX; i++)
		if (is_same(&s->v[i].choice, c))
			return &s->v[i];
	return NULL;
}

/* Returns the slot that was used longest ago and that nobody holds; full: not an empty one. */
static struct lmi_svc_adapter_slot *find_victim(struct lmi_svc_adapter_slots *s, bool full)
{
	struct lmi_svc_adapter_slot *best = NULL;

	for (uint32_t i = 0; i < LMI_SVC_ADAPTERS_MAX; i++) {
		struct lmi_svc_adapter_slot *v = &s->v[i];

		if (v->n_user || (full && !v->choice.n))
			continue;
		if (!v->choice.n)
			return v;
		if (!best || v->used < best->used)
			best = v;
	}
	return best;
}

static void empty(struct lmi_svc_adapter_slots *s, struct lmi_svc_adapter_slot *v)
{
	s->n_evicted += v->choice.n != 0;
	lmi_svc_adapter_choice_fini(&v->choice);
	*v = (struct lmi_svc_adapter_slot){.used = v->used};
}

/* ---- loading ---- */

static void pump(struct lmi_svc_adapter_slots *s, uint64_t now);

static void read_job(void *arg)
{
	struct lmi_svc_adapter_slots *s = arg;

	s->err.status = lmi_engine_adapter_read(&s->data, model_of(s)->engine, s->choice.refs,
						s->choice.n, &s->err);
}

/* Ends the load; the job's references are given back. err NULL: the choice is in its slot. */
static void end_load(struct lmi_svc_adapter_slots *s, uint64_t now, const struct lmd_error *err)
{
	struct lmi_svc_loaded_model *r = model_of(s);
	struct lmi_svc_adapter_choice failed = {.n = 0};
	struct lmi_svc_adapter_waiter *w;
	struct lmd_error why;

	s->state = LMI_SVC_ADAPTER_IDLE;
	if (err) {
		why = *err;
		move(&failed, &s->choice);
		r->svc->o.host->log(r->svc->o.host->ctx, "service", LMD_LOG_WARN,
				    "adapter failed to load; model=%s adapter=%.300s: %s",
				    lmi_svc_model_record_name(r->record), failed.text, why.text);
	} else {
		s->n_loaded++;
		move(&s->v[s->at].choice, &s->choice);
		r->svc->o.host->log(r->svc->o.host->ctx, "service", LMD_LOG_INFO,
				    "adapter loaded; model=%s adapter=%.300s slot=%u bytes=%llu",
				    lmi_svc_model_record_name(r->record), s->v[s->at].choice.text,
				    s->at, (unsigned long long)s->v[s->at].bytes);
	}
	for (w = s->waiters; err && w;) {
		struct lmi_svc_adapter_waiter *next = w->next;

		if (is_same(&failed, &w->choice)) {
			lmi_svc_adapter_slots_leave(r, w);
			w->ready(w, now, 0, &why);
			next = s->waiters; /* it may have changed */
		}
		w = next;
	}
	lmi_svc_adapter_choice_fini(&failed);
	pump(s, now);
	lmi_svc_loaded_model_unref(r, now);
}

static void submit_read(struct lmi_svc_adapter_slots *s, uint64_t now);

/* Has the engine bind the data in the slot `at`, or empty it. */
static void submit_bind(struct lmi_svc_adapter_slots *s, uint64_t now)
{
	struct lmi_svc_loaded_model *r = model_of(s);
	struct lmi_engine_adapter_data *data = s->data;
	struct lmd_error err;

	s->data = NULL;
	s->command = (++r->svc->serial << 16) | NO_RUN;
	if (lmi_engine_adapter_bind(r->engine, s->command, (uint32_t)number_of(s->at), data, &err) ==
	    LMD_OK)
		return;
	s->command = 0;
	end_load(s, now, &err);
}

/* Makes room by emptying one more slot. Returns false if there is none that nobody holds. */
static bool evict(struct lmi_svc_adapter_slots *s, uint64_t now)
{
	struct lmi_svc_adapter_slot *v = find_victim(s, true);

	if (!v)
		return false;
	empty(s, v);
	s->at = (uint32_t)(v - s->v);
	s->state = LMI_SVC_ADAPTER_EVICT;
	submit_bind(s, now);
	return true;
}

static void read_done(void *arg)
{
	struct lmi_svc_adapter_slots *s = arg;
	struct lmi_service *svc = model_of(s)->svc;
	struct lmd_error err = s->err;

	svc->n_job--;
	if (err.status != LMD_OK) {
		end_load(s, svc->now, &err);
		return;
	}
	s->v[s->at].bytes = lmi_engine_adapter_data_bytes(s->data);
	s->state = LMI_SVC_ADAPTER_BIND;
	submit_bind(s, svc->now);
}

/* Reads the files for a slot that is empty or makes way. */
static void submit_read(struct lmi_svc_adapter_slots *s, uint64_t now)
{
	struct lmi_svc_loaded_model *r = model_of(s);
	struct lmi_svc_adapter_slot *v = find_victim(s, false);
	struct lmd_error err;

	assert(v); /* nobody takes a slot meanwhile that was not held before */
	empty(s, v);
	s->at = (uint32_t)(v - s->v);
	s->state = LMI_SVC_ADAPTER_READ;
	s->job = (struct lmi_job){.run = read_job, .done = read_done, .arg = s};
	if (lmi_jobs_submit(r->svc->o.io, &s->job, &err) == LMD_OK)
		r->svc->n_job++;
	else
		end_load(s, now, &err);
}

/* Begins a load for a waiter. Returns false if all slots are held. */
static bool begin_load(struct lmi_svc_adapter_slots *s, uint64_t now,
		       const struct lmi_svc_adapter_waiter *w)
{
	struct lmd_error err;

	if (!find_victim(s, false))
		return false;
	if (lmi_svc_adapter_choice_copy(&s->choice, &w->choice, &err) != LMD_OK)
		return false; /* when something is given back, it is tried again */
	lmi_svc_loaded_model_ref(model_of(s));
	submit_read(s, now);
	return true;
}

bool lmi_svc_adapter_slots_event(struct lmi_svc_loaded_model *r, uint64_t now,
				 const struct lmi_engine_event *ev)
{
	struct lmi_svc_adapter_slots *s = &r->slots;
	struct lmd_error err;

	if (!s->command || s->command != ev->id)
		return false;
	s->command = 0;
	if (ev->kind == LMI_ENGINE_EV_BOUND && s->state == LMI_SVC_ADAPTER_EVICT) {
		submit_read(s, now);
		return true;
	}
	if (ev->kind == LMI_ENGINE_EV_BOUND) {
		end_load(s, now, NULL);
		return true;
	}
	if (ev->kind == LMI_ENGINE_EV_FAILED)
		err = ev->u.error;
	else
		(void)lmd_fail(&err, LMD_CANCELLED, "cancelled: the model is being unloaded");
	s->v[s->at].bytes = 0;
	if (err.status == LMD_NOMEM && s->state == LMI_SVC_ADAPTER_BIND && evict(s, now))
		return true;
	end_load(s, now, &err);
	return true;
}

/* ---- waiting ---- */

static int32_t take(struct lmi_svc_adapter_slots *s, struct lmi_svc_adapter_slot *v)
{
	v->n_user++;
	v->used = ++s->serial;
	return number_of((uint32_t)(v - s->v));
}

/* Serves one waiter or begins a load. Returns false if nothing can be done now. */
static bool serve_one(struct lmi_svc_adapter_slots *s, uint64_t now)
{
	struct lmi_svc_loaded_model *r = model_of(s);

	for (struct lmi_svc_adapter_waiter *w = s->waiters; w; w = w->next) {
		struct lmi_svc_adapter_slot *v = find(s, &w->choice);

		if (v) {
			int32_t slot = take(s, v);

			lmi_svc_adapter_slots_leave(r, w);
			w->ready(w, now, slot, NULL);
			return true;
		}
		if (s->state == LMI_SVC_ADAPTER_IDLE && begin_load(s, now, w))
			return true;
	}
	return false;
}

static void pump(struct lmi_svc_adapter_slots *s, uint64_t now)
{
	if (s->pumping)
		return;
	s->pumping = true;
	while (serve_one(s, now))
		;
	s->pumping = false;
}

void lmi_svc_adapter_slots_wait(struct lmi_svc_loaded_model *r, struct lmi_svc_adapter_waiter *w)
{
	struct lmi_svc_adapter_waiter **end = &r->slots.waiters;

	assert(r->slots.open && w->choice.n);
	while (*end)
		end = &(*end)->next;
	w->next = NULL;
	w->in_list = true;
	*end = w;
	r->slots.changed = true;
}

void lmi_svc_adapter_slots_leave(struct lmi_svc_loaded_model *r, struct lmi_svc_adapter_waiter *w)
{
	for (struct lmi_svc_adapter_waiter **p = &r->slots.waiters; *p && w->in_list; p = &(*p)->next) {
		if (*p != w)
			continue;
		*p = w->next;
		w->next = NULL;
		w->in_list = false;
		return;
	}
}

void lmi_svc_adapter_slots_hold(struct lmi_svc_loaded_model *r, int32_t slot)
{
	if (slot)
		r->slots.v[slot - LMI_ENGINE_FIRST_ADAPTER_SLOT].n_user++;
}

void lmi_svc_adapter_slots_give(struct lmi_svc_loaded_model *r, int32_t slot)
{
	struct lmi_svc_adapter_slot *v;

	if (!slot)
		return;
	v = &r->slots.v[slot - LMI_ENGINE_FIRST_ADAPTER_SLOT];
	assert(v->n_user);
	v->n_user--;
	r->slots.changed |= r->slots.waiters != NULL;
}

void lmi_svc_adapter_slots_tick(struct lmi_svc_loaded_model *r, uint64_t now)
{
	if (!r->slots.changed)
		return;
	r->slots.changed = false;
	pump(&r->slots, now);
}
