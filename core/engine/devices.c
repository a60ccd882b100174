/* SPDX-License-Identifier: MIT
 *
 * The devices of a process. `opening` serialises the calls that open and close devices, which may take
 * long; `lock` guards the lists and is held only for moments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/team.h"
#include "core/engine/devices_impl.h"
#include "core/plugin/registry.h"
#include "core/worker/worker.h"

enum lmd_status lmi_engine_devices_create(struct lmi_engine_devices **out,
					  struct lmi_plugin_registry *registry,
					  const struct lmd_host *host, struct lmd_error *err)
{
	struct lmi_engine_devices *set = lmi_alloc(1, sizeof(*set));

	if (!set)
		return lmd_fail(err, LMD_NOMEM, "devices: no memory");
	set->registry = registry;
	set->host = host;
	(void)pthread_mutex_init(&set->opening, NULL); /* default attributes: cannot fail */
	(void)pthread_mutex_init(&set->lock, NULL);
	*out = set;
	return LMD_OK;
}

void lmi_engine_devices_destroy(struct lmi_engine_devices *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < LMI_ENGINE_DEVICES_MAX; i++)
		if (!set->entries[i].base) /* otherwise it is that of another one */
			lmi_device_arbiter_destroy(set->entries[i].device.arbiter);
	(void)pthread_mutex_destroy(&set->opening);
	(void)pthread_mutex_destroy(&set->lock);
	lmi_free(set);
}

enum lmd_status lmi_engine_device_parse(const char *name, size_t name_n, char *backend, size_t cap,
					uint32_t *index, struct lmd_error *err)
{
	size_t n = name_n;
	uint64_t v = 0;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	for (size_t i = n; i < name_n && v <= UINT16_MAX; i++)
		v = v * 10 + (uint64_t)(name[i] - '0');
	if (!n || n >= cap || v > UINT16_MAX)
		return lmd_fail(err, LMD_INVALID,
				"'%.*s' is not the name of a device, such as cpu0",
				(int)(name_n < 60 ? name_n : 60), name);
	memcpy(backend, name, n);
	backend[n] = '\0';
	*index = (uint32_t)v;
	return LMD_OK;
}

/* ---- opening ---- */

enum lmd_status lmi_engine_devices_enumerate(const struct lmd_host *host, const struct lmi_factory *f,
				 struct lmd_device_info **out, uint32_t *n, char *why, size_t why_n)
{
	const struct lmd_backend_ops *b = f->ops.backend;
	uint32_t cap = b->enumerate(host, NULL, 0, why, why_n);
	struct lmd_device_info *all = lmi_alloc(cap + 1u, sizeof(*all));

	if (!all)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < cap; i++)
		all[i].struct_size = sizeof(*all);
	*n = cap ? b->enumerate(host, all, cap, why, why_n) : 0;
	if (*n > cap)
		*n = cap;
	*out = all;
	return LMD_OK;
}

uint64_t lmi_engine_devices_now(const struct lmi_engine_devices *set)
{
	return set->host->now_ns(set->host->ctx);
}

bool lmi_engine_device_state_is_lost(const struct lmi_engine_device_state *s)
{
	return s->lost || (!s->entry->base && s->n_loss != s->entry->n_loss);
}

static enum lmd_status find_info(const struct lmi_engine_devices *set, const struct lmi_factory *f,
				 uint32_t index, struct lmd_device_info *out, struct lmd_error *err)
{
	struct lmd_device_info *all;
	char why[160] = "";
	uint32_t n;

	if (lmi_engine_devices_enumerate(set->host, f, &all, &n, why, sizeof(why)) != LMD_OK)
		return lmd_fail(err, LMD_NOMEM, "backend %s: no memory", f->f->name);
	if (index < n)
		*out = all[index];
	lmi_free(all);
	return index < n ? LMD_OK
			 : lmd_fail(err, LMD_NOTFOUND, "backend %s: device %u, there are %u%s%s",
				    f->f->name, index, n, *why ? ": " : "", why);
}

/* Can an entry be given away? That of a worker, when it need not be remembered any more. */
static bool is_over(const struct lmi_engine_devices *set, const struct lmi_engine_device_entry *e)
{
	for (const struct lmi_engine_device_state *s = set->states; s; s = s->next)
		if (s->entry == e)
			return false;
	return e->base && !lmi_device_holdoff_left(&e->holdoff, lmi_engine_devices_now(set));
}

/* Returns the entry of a name, a new one if there is none; NULL: all are in use. Called with the
 * lock held. */
static struct lmi_engine_device_entry *entry_of(struct lmi_engine_devices *set, const char *name)
{
	struct lmi_engine_device_entry *unused = NULL;

	for (uint32_t i = LMI_ENGINE_DEVICES_MAX; i-- > 0;) {
		struct lmi_engine_device_entry *e = &set->entries[i];

		if (e->used && !strcmp(e->device.name, name))
			return e;
		if (!e->used || ((!unused || unused->used) && is_over(set, e)))
			unused = e;
	}
	if (!unused)
		return NULL;
	*unused = (struct lmi_engine_device_entry){.used = true};
	unused->device.number = (uint32_t)(unused - set->entries);
	(void)snprintf(unused->device.name, sizeof(unused->device.name), "%.55s", name);
	return unused;
}

/* Creates the team; a worker has threads of its own, of which only the number is found here. */
static enum lmd_status open_team(struct lmi_engine_device_state *s,
				 const struct lmi_engine_device_params *p, struct lmd_error *err)
{
	const char *cpus = p->threads.place.cpus;

	s->open.threads = p->threads;
	s->own_n_thread = !p->threads.n;
	s->cpus = cpus ? lmi_strndup(cpus, strlen(cpus)) : NULL;
	if (cpus && !s->cpus)
		return lmd_fail(err, LMD_NOMEM, "cpus: no memory");
	s->open.threads.place.cpus = s->cpus;
	return s->open.isolated ? lmi_team_resolve(&s->open.threads, err)
				: lmi_team_open(&s->open.team, &s->open.threads, err);
}

void lmi_engine_device_choose_threads(struct lmi_engine_open_device *d, uint32_t n_row)
{
	if (d->isolated)
		lmi_worker_choose_threads(d->state, n_row);
	else
		lmi_team_choose(d->team, &d->threads, n_row);
}

static void destroy(struct lmi_engine_devices *set, struct lmi_engine_device_state *s, bool is_open)
{
	if (is_open)
		s->open.ops->close(s->open.state);
	lmi_free(s->open.state);
	lmi_team_destroy(s->open.team);
	lmi_factory_give(set->registry, s->open.backend);
	lmi_free(s->cpus);
	lmi_free(s);
}

static enum lmd_status check_pause(struct lmi_engine_devices *set,
				   const struct lmi_engine_device_state *s, struct lmd_error *err)
{
	uint64_t left;

	(void)pthread_mutex_lock(&set->lock);
	left = lmi_device_holdoff_left(&s->entry->holdoff, lmi_engine_devices_now(set));
	(void)pthread_mutex_unlock(&set->lock);
	return left ? lmd_fail(err, LMD_BUSY, "device %s was lost; it can be opened again in %llu ms",
			       s->entry->device.name,
			       (unsigned long long)((left + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS))
		    : LMD_OK;
}

void lmi_engine_device_name(const struct lmi_engine_device_params *p,
			    char out[LMI_ENGINE_DEVICE_NAME])
{
	if (p->isolate)
		(void)snprintf(out, LMI_ENGINE_DEVICE_NAME, "%.20s%u@%.*s", p->backend, p->index,
			       LMI_ENGINE_ISOLATE_NAME, p->isolate);
	else
		(void)snprintf(out, LMI_ENGINE_DEVICE_NAME, "%.44s%u", p->backend, p->index);
}

static enum lmd_status too_many(struct lmd_error *err)
{
	return lmd_fail(err, LMD_BUSY, "%d devices are in use", LMI_ENGINE_DEVICES_MAX);
}

/* Finds the entry of the device, and that of its worker if it is to have one. Called with the lock
 * held. */
static enum lmd_status find_entry(struct lmi_engine_device_entry **out, struct lmi_engine_devices *set,
				  const struct lmi_factory *f,
				  const struct lmi_engine_device_params *p,
				  const struct lmd_device_info *info, struct lmd_error *err)
{
	struct lmi_engine_device_params own = *p;
	char name[LMI_ENGINE_DEVICE_NAME];
	enum lmd_status st = LMD_OK;
	struct lmi_engine_device_entry *base, *e;

	own.backend = f->f->name;
	own.isolate = NULL;
	lmi_engine_device_name(&own, name);
	base = entry_of(set, name);
	if (!base)
		return too_many(err);
	base->device.info = *info;
	if (!base->device.arbiter)
		st = lmi_device_arbiter_create(&base->device.arbiter, set->host, err);
	*out = base;
	if (st != LMD_OK || !p->isolate)
		return st;
	own.isolate = p->isolate;
	lmi_engine_device_name(&own, name);
	e = entry_of(set, name);
	if (!e)
		return too_many(err);
	base->has_workers = true;
	e->base = base;
	e->device.info = lmi_worker_info(info);
	e->device.arbiter = base->device.arbiter;
	e->device.number = base->device.number; /* turns on both are the same */
	*out = e;
	return LMD_OK;
}

static enum lmd_status open_backend(struct lmi_engine_devices *set, struct lmi_engine_device_state *s,
				    const struct lmi_engine_device_params *p,
				    const struct lmd_device_info *info, struct lmd_error *err)
{
	const struct lmi_factory *f = s->open.backend;
	const struct lmi_team_threads *t = &s->open.threads;
	const struct lmi_worker_opts o = {.backend = f,
					  .trust = lmi_plugin_registry_trust(set->registry),
					  .threads = *t,
					  .params = {.struct_size = sizeof(o.params),
						     .index = p->index,
						     .n_thread = t->n > t->n_many ? t->n : t->n_many,
						     .activations = p->activations,
						     .attention = p->attention,
						     .deterministic = p->deterministic,
						     .team = s->open.team},
					  .info = *info,
					  .label = p->isolate,
					  .timeout_ns = p->isolation_timeout_ns};

	s->open.ops = s->open.isolated ? &lmi_worker_backend_ops : f->ops.backend;
	s->open.state = lmi_alloc(
		s->open.isolated ? lmi_worker_state_bytes() : f->f->state_bytes + 1, 1);
	if (!s->open.state)
		return lmd_fail(err, LMD_NOMEM, "backend %s: no memory for its state", f->f->name);
	return s->open.isolated ? lmi_worker_open(s->open.state, &o, err)
				: f->ops.backend->open(s->open.state, set->host, &o.params, err);
}

static enum lmd_status open_state(struct lmi_engine_devices *set, struct lmi_engine_device_state *s,
				  const struct lmi_engine_device_params *p, struct lmd_error *err)
{
	const struct lmi_factory *f = s->open.backend;
	struct lmd_device_info info = {0};
	enum lmd_status st = find_info(set, f, p->index, &info, err);

	if (st != LMD_OK)
		return st;
	s->open.isolated = p->isolate != NULL;
	(void)pthread_mutex_lock(&set->lock);
	st = find_entry(&s->entry, set, f, p, &info, err);
	if (st == LMD_OK)
		s->n_loss = s->entry->n_loss;
	s->open.number = ++set->n_opened;
	(void)pthread_mutex_unlock(&set->lock);
	if (st != LMD_OK)
		return st;
	s->open.device = &s->entry->device;
	if (!p->at_once)
		st = check_pause(set, s, err);
	if (st == LMD_OK)
		st = open_team(s, p, err);
	if (st == LMD_OK)
		st = open_backend(set, s, p, &info, err);
	if (st == LMD_DEVICE)
		lmi_engine_device_set_lost(set, &s->open, err ? err->text : "");
	return st;
}

/* Takes ownership of f, a reference to the backend. */
static enum lmd_status open_new(struct lmi_engine_devices *set, const struct lmi_factory *f,
				const struct lmi_engine_device_params *p,
				struct lmi_engine_open_device **out, struct lmd_error *err)
{
	struct lmi_engine_device_state *s = lmi_alloc(1, sizeof(*s));
	enum lmd_status st;

	if (!s) {
		st = lmd_fail(err, LMD_NOMEM, "backend %s: no memory", f->f->name);
		lmi_factory_give(set->registry, f);
		return st;
	}
	s->open.backend = f;
	s->activations = p->activations;
	s->attention = p->attention;
	s->deterministic = p->deterministic;
	s->alone = p->alone || p->isolate;
	s->n_user = 1;
	st = open_state(set, s, p, err);
	if (st != LMD_OK) {
		destroy(set, s, false);
		return st;
	}
	(void)pthread_mutex_lock(&set->lock);
	s->next = set->states;
	set->states = s;
	s->entry->lost = false;
	(void)pthread_mutex_unlock(&set->lock);
	*out = &s->open;
	return LMD_OK;
}

/* Would opening the device with these threads give those that it has? If it was opened with as many as there
 * are processors, it has as many, whatever their number is by now. */
static bool same_threads(const struct lmi_engine_device_state *s,
			 const struct lmi_team_threads *asked)
{
	const struct lmi_team_threads *open = &s->open.threads;
	const char *a = open->place.cpus ? open->place.cpus : "",
		   *b = asked->place.cpus ? asked->place.cpus : "";
	struct lmi_team_threads t = *asked;

	if (strcmp(a, b) != 0 || open->place.strict != t.place.strict ||
	    open->place.numa != t.place.numa)
		return false;
	if (!t.n && s->own_n_thread)
		t.n = open->n;
	return lmi_team_resolve(&t, NULL) == LMD_OK && open->n == t.n && open->n_many == t.n_many;
}

/* Returns a state that another model can use as well, or NULL. */
static struct lmi_engine_device_state *find_shared(struct lmi_engine_devices *set,
						   const struct lmi_factory *f,
						   const struct lmi_engine_device_params *p)
{
	char name[LMI_ENGINE_DEVICE_NAME + 8];

	(void)snprintf(name, sizeof(name), "%.48s%u", f->f->name, p->index);
	if (p->alone || p->isolate)
		return NULL;
	for (struct lmi_engine_device_state *s = set->states; s; s = s->next)
		if (!s->alone && !lmi_engine_device_state_is_lost(s) && s->open.backend == f &&
		    !strcmp(s->open.device->name, name) && same_threads(s, &p->threads) &&
		    s->activations == p->activations && s->attention == p->attention &&
		    s->deterministic == p->deterministic)
			return s;
	return NULL;
}

enum lmd_status lmi_engine_device_open(struct lmi_engine_devices *set,
				       const struct lmi_engine_device_params *p,
				       struct lmi_engine_open_device **out, struct lmd_error *err)
{
	const struct lmi_factory *f;
	struct lmi_engine_device_state *s;
	enum lmd_status st =
		lmi_factory_take(set->registry, LMD_KIND_BACKEND, p->backend, &f, err);

	if (st != LMD_OK)
		return st;
	(void)pthread_mutex_lock(&set->opening);
	(void)pthread_mutex_lock(&set->lock);
	s = find_shared(set, f, p);
	if (s)
		s->n_user++;
	(void)pthread_mutex_unlock(&set->lock);
	if (s) {
		lmi_factory_give(set->registry, f);
		*out = &s->open;
	} else {
		st = open_new(set, f, p, out, err);
	}
	(void)pthread_mutex_unlock(&set->opening);
	return st;
}

void lmi_engine_device_close(struct lmi_engine_devices *set, struct lmi_engine_open_device *d)
{
	struct lmi_engine_device_state *s = (struct lmi_engine_device_state *)d; /* its first member */
	struct lmi_engine_device_state **at = &set->states;

	if (!d)
		return;
	(void)pthread_mutex_lock(&set->opening);
	(void)pthread_mutex_lock(&set->lock);
	if (!--s->n_user) {
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
	} else {
		s = NULL;
	}
	(void)pthread_mutex_unlock(&set->lock);
	if (s)
		destroy(set, s, true);
	(void)pthread_mutex_unlock(&set->opening);
}

/* ---- loss ---- */

void lmi_engine_device_set_lost(struct lmi_engine_devices *set, struct lmi_engine_open_device *d,
				const char *why)
{
	struct lmi_engine_device_state *s = (struct lmi_engine_device_state *)d; /* its first member */
	struct lmi_engine_device_entry *e = s->entry;
	bool is_new;
	uint32_t n;
	uint64_t pause;

	(void)pthread_mutex_lock(&set->lock);
	is_new = !lmi_engine_device_state_is_lost(s);
	s->lost = true;
	if (is_new) {
		e->n_loss++;
		e->lost = true;
		lmi_device_holdoff_lost(&e->holdoff, lmi_engine_devices_now(set));
		atomic_fetch_add(&set->n_loss, 1);
	}
	n = e->n_loss;
	pause = e->holdoff.pause_ns;
	(void)pthread_mutex_unlock(&set->lock);
	if (is_new)
		set->host->log(set->host->ctx, "engine", LMD_LOG_ERROR,
			       "device lost; device=%s losses=%u retry_ms=%llu: %s", e->device.name,
			       n, (unsigned long long)(pause / LMI_NS_PER_MS), why);
}

uint32_t lmi_engine_devices_n_loss(const struct lmi_engine_devices *set)
{
	return atomic_load(&set->n_loss);
}

bool lmi_engine_device_is_lost(struct lmi_engine_devices *set, uint64_t number, uint64_t *wait_ns)
{
	bool lost = false;

	*wait_ns = 0;
	(void)pthread_mutex_lock(&set->lock);
	for (const struct lmi_engine_device_state *s = set->states; s; s = s->next) {
		if (s->open.number != number || !lmi_engine_device_state_is_lost(s))
			continue;
		lost = true;
		*wait_ns = lmi_device_holdoff_left(&s->entry->holdoff, lmi_engine_devices_now(set));
	}
	(void)pthread_mutex_unlock(&set->lock);
	return lost;
}

uint32_t lmi_engine_device_losses(struct lmi_engine_devices *set, const char *name,
				  uint64_t *wait_ns)
{
	uint32_t n = 0;

	*wait_ns = 0;
	(void)pthread_mutex_lock(&set->lock);
	for (uint32_t i = 0; i < LMI_ENGINE_DEVICES_MAX; i++) {
		const struct lmi_engine_device_entry *e = &set->entries[i];

		if (!e->used || strcmp(e->device.name, name) != 0)
			continue;
		n = e->n_loss;
		*wait_ns = lmi_device_holdoff_left(&e->holdoff, lmi_engine_devices_now(set));
	}
	(void)pthread_mutex_unlock(&set->lock);
	return n;
}
