/* SPDX-License-Identifier: MIT
 *
 * The devices of an instance: opening, turns, loss. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/comma_list.h"
#include "core/base/team.h"
#include "core/engine/instance.h"
#include "core/plugin/registry.h"
#include "core/worker/worker.h"

/* ---- opening ---- */

static void set_slots(struct lmi_inst *inst)
{
	inst->n_slot = LMI_ENGINE_MAX_STEP;
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (!inst->devices[i].queue)
			inst->n_slot = 1;
}

/* Lets a worker map the files of a model. */
static enum lmd_status share_files(const struct lmi_model *file, const struct lmi_inst_device *d,
				   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < lmi_model_n_memory(file) && st == LMD_OK; i++) {
		struct lmi_model_memory m;

		lmi_model_memory(file, i, &m);
		if (d->open->isolated && m.ptr)
			st = lmi_worker_share(d->state, m.ptr, m.bytes, m.fd, m.at, err);
	}
	return st;
}

static enum lmd_status open_one(struct lmi_inst *inst, struct lmi_inst_device *d,
				const struct lmi_engine_device_params *p, struct lmd_error *err)
{
	enum lmd_status st = lmi_engine_device_open(inst->set, p, &d->open, err);

	if (st != LMD_OK)
		return st;
	d->ops = d->open->ops;
	d->state = d->open->state;
	d->info = &d->open->device->info;
	d->name = d->open->device->name;
	d->free_bytes = lmi_engine_device_free(inst->set, d->open);
	st = lmi_device_arbiter_join(d->open->device->arbiter, &d->arbiter_id, err);
	d->joined = st == LMD_OK;
	if (st == LMD_OK)
		st = share_files(inst->file, d, err);
	if (st == LMD_OK && inst->target) /* a draft may use weights of its target */
		st = share_files(inst->target->file, d, err);
	if (st == LMD_OK)
		st = lmi_engine_weights_create(&d->weights, inst, d, err);
	if (st != LMD_OK)
		return st;
	lmi_device_arbiter_acquire(d->open->device->arbiter, d->arbiter_id,
				   LMI_ENGINE_CLASS_NORMAL);
	st = lmi_engine_queue_open(d, err);
	lmi_device_arbiter_release(d->open->device->arbiter);
	return lmi_inst_check(inst, d, st, err);
}

/* Destroys what the instance has on a device. */
static void close_one(struct lmi_inst *inst, struct lmi_inst_device *d)
{
	lmi_engine_weights_destroy(d->weights);
	for (uint32_t g = 0; g < LMD_MAX_GROUP; g++)
		if (d->pools[g])
			d->ops->pool_destroy(d->state, d->pools[g]);
	for (uint32_t i = 0; i < d->n_scratch; i++)
		lmi_engine_shared_destroy(d, &d->scratch[i]);
	lmi_engine_shared_destroy(d, &d->staging);
	lmi_engine_queue_close(d);
	(void)lmi_engine_device_claim(inst->set, d->open, &d->claim, 0, false, false, NULL);
	for (int i = 0; i < LMI_INST_N_SECOND; i++)
		(void)lmi_engine_device_claim(inst->set, d->open, &d->second_claims[i], 0, false, false, NULL);
}

/* Ends the use of a device. */
static void leave(struct lmi_inst *inst, struct lmi_inst_device *d)
{
	if (d->joined)
		lmi_device_arbiter_leave(d->open->device->arbiter, d->arbiter_id);
	lmi_engine_device_close(inst->set, d->open);
}

static bool is_open(const struct lmi_inst *inst, const struct lmi_engine_device_params *p,
		    uint32_t *number)
{
	char name[LMI_ENGINE_DEVICE_NAME];

	lmi_engine_device_name(p, name);
	for (*number = 0; *number < inst->n_device; (*number)++)
		if (!strcmp(inst->devices[*number].name, name))
			return true;
	return false;
}

/* Page sizes that a device can use, as a sum (struct lmd_device_info). */
static uint32_t page_sizes(const struct lmi_inst_device *d)
{
	return d->info->page_sizes | d->info->page_tokens;
}

/* Sets the page size that all devices can use: the one that the first of them prefers, or another one
 * prefers, or the largest.  It does not change once there are pools. */
static enum lmd_status choose_page_size(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmi_inst_device *last = &inst->devices[inst->n_device - 1];
	uint32_t common = inst->kv ? inst->page_tokens : UINT32_MAX, size = 0;
	uint32_t before = inst->page_tokens;

	for (uint32_t i = 0; i < inst->n_device; i++)
		common &= page_sizes(&inst->devices[i]);
	if (!common)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s has pages of %u tokens, %s of %u: a model cannot use both",
				last->name, last->info->page_tokens, inst->devices[0].name, before);
	for (uint32_t i = 0; i < inst->n_device && !size; i++)
		size = inst->devices[i].info->page_tokens & common;
	for (uint32_t bit = 1u << 8; bit && !size; bit >>= 1)
		size = bit & common;
	inst->page_tokens = size;
	return LMD_OK;
}

/* Tells the one who opens the model that it failed because a device was lost, if that is so. */
static void note_loss(struct lmi_inst *inst, const char *device, enum lmd_status st)
{
	uint64_t wait_ns;

	if (!inst->loss || (st != LMD_DEVICE && st != LMD_BUSY))
		return;
	(void)lmi_engine_device_losses(inst->set, device, &wait_ns);
	if (!wait_ns)
		return;
	(void)snprintf(inst->loss->device, sizeof(inst->loss->device), "%.55s", device);
	inst->loss->wait_ns = wait_ns;
}

/* Are the devices of a backend to be in a process of their own? */
static bool wants_worker(const struct lmi_inst *inst, const char *backend)
{
	const struct lmi_factory *f;
	bool untrusted;

	if (inst->isolated || !inst->isolate_untrusted || !lmi_worker_can_start() ||
	    lmi_factory_take(inst->registry, LMD_KIND_BACKEND, backend, &f, NULL) != LMD_OK)
		return inst->isolated;
	untrusted = f->untrusted;
	lmi_factory_give(inst->registry, f);
	return untrusted;
}

enum lmd_status lmi_inst_add_device(struct lmi_inst *inst, const char *backend, uint32_t index,
				    uint32_t *number, struct lmd_error *err)
{
	struct lmi_engine_device_params p = inst->device_params;
	enum lmd_status st;

	p.backend = backend;
	p.index = index;
	p.isolate = wants_worker(inst, backend) ? inst->isolate_name : NULL;
	if (is_open(inst, &p, number))
		return LMD_OK;
	if (inst->n_device == LMI_ENGINE_MAX_DEVICE)
		return lmd_fail(err, LMD_BUSY, "a model can use %d devices",
				LMI_ENGINE_MAX_DEVICE);
	*number = inst->n_device++;
	st = open_one(inst, &inst->devices[*number], &p, err);
	if (st == LMD_OK)
		st = choose_page_size(inst, err);
	if (st != LMD_OK) {
		struct lmi_inst_device *d = &inst->devices[--inst->n_device];
		char name[LMI_ENGINE_DEVICE_NAME];

		lmi_engine_device_name(&p, name);
		note_loss(inst, name, st);
		if (d->open)
			close_one(inst, d);
		leave(inst, d);
		*d = (struct lmi_inst_device){0};
		return st;
	}
	set_slots(inst);
	return inst->kv ? lmi_inst_open_device_pools(inst, *number, err) : LMD_OK;
}

/* Opens the devices of a list such as "emu0,emu1". */
static enum lmd_status open_list(struct lmi_inst *inst, const char *list, struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(list);
	enum lmd_status st = LMD_OK;
	struct lmd_str word;

	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		uint32_t index, number, before = inst->n_device;
		char backend[48];

		st = lmi_engine_device_parse(word.ptr, word.len, backend, sizeof(backend), &index, err);
		if (st == LMD_OK)
			st = lmi_inst_add_device(inst, backend, index, &number, err);
		if (st == LMD_OK && number < before)
			st = lmd_fail(err, LMD_INVALID, "device %.*s is named twice",
				      (int)word.len, word.ptr);
	}
	return st;
}

enum lmd_status lmi_inst_open_devices(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				      struct lmd_error *err)
{
	const char *name = o->backend;
	enum lmd_status st;
	uint32_t number;

	inst->set = o->devices;
	if (!inst->set) {
		st = lmi_engine_devices_create(&inst->own_set, inst->registry, inst->host, err);
		if (st != LMD_OK)
			return st;
		inst->set = inst->own_set;
	}
	inst->device_params = (struct lmi_engine_device_params){.threads = {o->n_thread,
											    o->n_thread_batch,
											    o->place},
								.activations = o->activations,
								.attention = o->attention,
								.deterministic = o->deterministic,
								.alone = inst->has_adapters,
								.at_once = o->at_once,
								.isolation_timeout_ns =
									o->isolation_timeout_ns};
	if (o->device_list && *o->device_list)
		return open_list(inst, o->device_list, err);
	if (!name || !strcmp(name, "auto"))
		name = lmi_factory_best(inst->registry, LMD_KIND_BACKEND);
	if (!name)
		return lmd_fail(err, LMD_NOTFOUND, "no backend can run on this machine");
	return lmi_inst_add_device(inst, name, o->device, &number, err);
}

/* Can the devices form a group?  Each has to run as many ranks as the others, and a power of two, so that
 * its sum is a part of the sum in pairs; a step is submitted to one device after the other. */
static bool may_group(const struct lmi_inst *inst)
{
	const struct lmd_backend_ops *ops = inst->devices[0].ops;
	const uint32_t n = inst->n_device, share = inst->n_rank / n;

	if (n < 2 || inst->n_rank % n || !share || (share & (share - 1)) || inst->keep_values ||
	    !ops->group_create || !ops->group_destroy)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (inst->devices[i].ops != ops || !inst->devices[i].queue)
			return false;
	return true;
}

enum lmd_status lmi_inst_open_group(struct lmi_inst *inst, struct lmd_error *err)
{
	void *states[LMI_ENGINE_MAX_DEVICE];
	enum lmd_status st;

	if (!may_group(inst))
		return LMD_OK;
	for (uint32_t i = 0; i < inst->n_device; i++)
		states[i] = inst->devices[i].state;
	lmi_inst_hold(inst);
	st = inst->devices[0].ops->group_create(states, inst->n_device, &inst->group, err);
	lmi_inst_let_go(inst);
	inst->n_group = st == LMD_OK ? inst->n_device : 0;
	return st == LMD_NOMEM || st == LMD_DEVICE ? st : LMD_OK; /* there are copies otherwise */
}

void lmi_inst_close_devices(struct lmi_inst *inst)
{
	if (inst->group)
		inst->devices[0].ops->group_destroy(inst->group);
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (inst->devices[i].open)
			close_one(inst, &inst->devices[i]);
	lmi_inst_let_go(inst);
	for (uint32_t i = 0; i < inst->n_device; i++)
		leave(inst, &inst->devices[i]);
	lmi_engine_devices_destroy(inst->own_set);
}

/* ---- turns ---- */

/* All instances take their devices in the order of the set, so that they cannot block each other. */
void lmi_inst_hold(struct lmi_inst *inst)
{
	uint32_t last = 0;

	if (inst->n_held++)
		return;
	for (uint32_t n = 0; n < inst->n_device; n++) {
		struct lmi_inst_device *next = NULL;

		for (uint32_t i = 0; i < inst->n_device; i++) {
			struct lmi_inst_device *d = &inst->devices[i];

			if (d->joined && d->open->device->number >= last &&
			    (!next || d->open->device->number < next->open->device->number))
				next = d;
		}
		if (!next)
			return;
		last = next->open->device->number + 1;
		lmi_device_arbiter_acquire(next->open->device->arbiter, next->arbiter_id,
					   inst->step_class);
		next->held = true;
	}
}

void lmi_inst_let_go(struct lmi_inst *inst)
{
	if (--inst->n_held)
		return;
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		if (d->held)
			lmi_device_arbiter_release(d->open->device->arbiter);
		d->held = false;
	}
}

static bool holds(const struct lmi_inst *inst, uint32_t number)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (inst->devices[i].held && inst->devices[i].open->device->number == number)
			return true;
	return false;
}

bool lmi_inst_hold_within(struct lmi_inst *inst, const struct lmi_inst *outer)
{
	bool all = true;

	inst->n_held++;
	for (uint32_t i = 0; i < inst->n_device && all; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		if (holds(outer, d->open->device->number))
			continue;
		all = d->held = lmi_device_arbiter_try_acquire(d->open->device->arbiter,
							       d->arbiter_id, inst->step_class);
	}
	if (!all)
		lmi_inst_let_go(inst);
	return all;
}

bool lmi_inst_is_wanted(const struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (lmi_device_arbiter_is_wanted(inst->devices[i].open->device->arbiter))
			return true;
	return false;
}

void lmi_inst_run_team(struct lmi_inst *inst, lmd_part_fn fn, void *arg)
{
	struct lmi_inst_device *d = &inst->devices[0];
	struct lmi_device_arbiter *a = d->open->device->arbiter;

	if (d->held) {
		lmi_team_run(d->open->team, fn, arg);
	} else if (lmi_device_arbiter_try_acquire(a, d->arbiter_id, inst->step_class)) {
		lmi_team_run(d->open->team, fn, arg);
		lmi_device_arbiter_release(a);
	} else {
		fn(arg, 0, 1);
	}
}

enum lmd_status lmi_inst_check(struct lmi_inst *inst, struct lmi_inst_device *d, enum lmd_status st,
			       struct lmd_error *err)
{
	char why[LMD_ERROR_TEXT] = "";

	if (st != LMD_DEVICE)
		return st;
	if (err)
		(void)snprintf(why, sizeof(why), "%s", err->text);
	lmi_engine_device_set_lost(inst->set, d->open, why);
	note_loss(inst, d->name, st);
	return lmd_fail(err, st, "device %s was lost: %.400s", d->name, why);
}
