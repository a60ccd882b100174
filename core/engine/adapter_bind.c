/* SPDX-License-Identifier: MIT
 *
 * Adapters of an engine that runs. Commands are handled one after the other: the memory is claimed in the
 * ledger of each device, the slot is emptied, and a few MiB are bound in each turn. Nothing may run on the
 * devices during that, so a turn finishes the submitted steps first. If a device is lost in one of them, all
 * commands fail: so no pointer to a command is kept while steps are finished. */
#include "core/engine/adapter_bind.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"

#define TURN_BYTES (8u << 20)

struct lmi_engine_adapter_binding {
	uint64_t id;
	uint32_t slot;
	bool begun;
	struct lmi_engine_adapter_data *data; /* NULL: the slot is emptied */
	struct lmi_engine_adapter_binding *next;
};

enum lmd_status lmi_engine_adapter_read(struct lmi_engine_adapter_data **out,
					const struct lmi_engine *e,
					const struct lmi_engine_adapter_ref *refs, uint32_t n,
					struct lmd_error *err)
{
	return lmi_inst_read_adapters(out, e->inst, refs, n, err);
}

void lmi_engine_adapter_binding_destroy(struct lmi_engine_adapter_binding *b)
{
	if (b)
		lmi_engine_adapter_data_destroy(b->data);
	lmi_free(b);
}

static enum lmd_status check(const struct lmi_engine *e, uint64_t id, uint32_t slot,
			     struct lmd_error *err)
{
	if (!id)
		return lmd_fail(err, LMD_INVALID, "command id 0 is invalid, ids start at 1");
	if (!e->inst->has_adapters)
		return lmd_fail(err, LMD_UNSUPPORTED, "the model was opened without adapters");
	if (slot < LMI_ENGINE_FIRST_ADAPTER_SLOT || slot >= LMI_ENGINE_N_ADAPTER_SLOT)
		return lmd_fail(err, LMD_INVALID, "adapter slot %u, must be %d to %d", slot,
				LMI_ENGINE_FIRST_ADAPTER_SLOT, LMI_ENGINE_N_ADAPTER_SLOT - 1);
	return LMD_OK;
}

enum lmd_status lmi_engine_adapter_bind(struct lmi_engine *e, uint64_t id, uint32_t slot,
					struct lmi_engine_adapter_data *own_data,
					struct lmd_error *err)
{
	struct lmi_engine_adapter_binding *b = lmi_alloc(1, sizeof(*b));
	const struct lmi_engine_command o = {.binding = b};
	enum lmd_status st = check(e, id, slot, err);
	uint32_t before;

	if (st == LMD_OK && !b)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a command");
	if (st != LMD_OK) {
		lmi_engine_adapter_data_destroy(own_data);
		lmi_free(b);
		return st;
	}
	*b = (struct lmi_engine_adapter_binding){.id = id, .slot = slot, .data = own_data};
	before = atomic_fetch_add(&e->n_live, 1);
	if (atomic_load(&e->closed))
		st = lmd_fail(err, LMD_CANCELLED, "the engine is closed");
	else if (before >= e->n_request || !lmi_engine_command_queue_push(&e->commands, &o))
		st = lmd_fail(err, LMD_BUSY,
			      "%u commands are waiting or running, the limit is %u, or the engine is "
			      "stopping",
			      before, e->n_request);
	if (st != LMD_OK) {
		atomic_fetch_sub(&e->n_live, 1);
		lmi_engine_adapter_binding_destroy(b);
	}
	return st;
}

/* ---- memory ---- */

/* Changes what a device's share of the adapters takes: `less` bytes are freed, then `more` are taken. */
static enum lmd_status claim_on(struct lmi_inst *inst, struct lmi_inst_device *d, uint64_t less,
				uint64_t more, struct lmd_error *err)
{
	const struct lmi_engine_memory *m = &d->estimate;
	uint64_t have = lmi_engine_memory_sum(m) - less, left;

	left = m->budget > have ? m->budget - have : 0;
	if (more > left)
		return lmd_fail(err, LMD_NOMEM,
				"device %s: the adapter takes %llu MiB, but %llu MiB are left for the "
				"model",
				d->name, (unsigned long long)((more >> 20) + 1),
				(unsigned long long)(left >> 20));
	left = lmi_engine_device_free(inst->set, d->open);
	if (more > less && more - less > left)
		return lmd_fail(err, LMD_NOMEM,
				"device %s: the adapter takes %llu MiB, but %llu MiB are free", d->name,
				(unsigned long long)((more >> 20) + 1),
				(unsigned long long)(left >> 20));
	d->estimate.adapters += more - less;
	return lmi_engine_device_claim(inst->set, d->open, &d->claim,
				       d->claim.bytes + more - less, false, false, err);
}

/* Claims the memory of a slot on all devices, in place of what the slot had. */
static enum lmd_status claim(struct lmi_inst *inst, uint32_t slot, uint64_t bytes,
			     struct lmd_error *err)
{
	uint64_t before = inst->adapter_slots[slot].bytes;
	enum lmd_status st = LMD_OK;
	uint32_t i = 0;

	while (i < inst->n_device && (st = claim_on(inst, &inst->devices[i], before, bytes, err)) == LMD_OK)
		i++;
	if (st == LMD_OK) {
		inst->estimate.adapters += bytes - before;
		return LMD_OK;
	}
	while (i-- > 0) /* what was there before fits */
		(void)claim_on(inst, &inst->devices[i], bytes, before, NULL);
	return st;
}

/* ---- on the engine's thread ---- */

/* Removes the first command and frees it; its event has been queued. */
static void end(struct lmi_engine *e)
{
	struct lmi_engine_adapter_binding *b = e->bindings;

	e->bindings = b->next;
	lmi_engine_adapter_binding_destroy(b);
	atomic_fetch_sub(&e->n_live, 1);
}

/* Empties the slot of the first command, which nothing uses. No step may be running. */
static enum lmd_status empty(struct lmi_engine *e, struct lmd_error *err)
{
	uint32_t slot = e->bindings->slot;
	enum lmd_status st = lmi_inst_empty_slot(e->inst, slot, err);

	e->inst->adapter_slots[slot].binding = true;
	return st;
}

/* Ends the first command; what it has bound is unbound. A device whose slot cannot be emptied is lost.
 * No step may be running. */
static void undo(struct lmi_engine *e)
{
	struct lmi_engine_adapter_binding *b = e->bindings;
	uint64_t bytes = b->data ? lmi_engine_adapter_data_bytes(b->data) : 0;

	if (!b->begun)
		return;
	(void)empty(e, NULL);
	e->inst->adapter_slots[b->slot].bytes = bytes;
	(void)claim(e->inst, b->slot, 0, NULL);
	lmi_inst_clear_slot(e->inst, b->slot);
}

static void fail(struct lmi_engine *e, const struct lmd_error *err)
{
	undo(e);
	lmi_engine_event_emit_id(e, e->bindings->id, LMI_ENGINE_EV_FAILED)->u.error = *err;
	end(e);
}

static void finish(struct lmi_engine *e)
{
	struct lmi_engine_adapter_binding *b = e->bindings;
	struct lmd_error err;

	e->inst->adapter_slots[b->slot].binding = false;
	if (b->data && lmi_inst_set_slot(e->inst, b->slot, b->data, &err) != LMD_OK) {
		fail(e, &err);
		return;
	}
	lmi_engine_event_emit_id(e, b->id, LMI_ENGINE_EV_BOUND)->u.bound.bytes =
		e->inst->adapter_slots[b->slot].bytes;
	end(e);
}

static bool is_used(const struct lmi_engine *e, uint32_t slot)
{
	for (const struct lmi_engine_job *s = e->sessions; s; s = s->next)
		for (uint32_t i = 0; i < s->n_seq; i++)
			if (s->seqs[i].adapter == (int32_t)slot)
				return true;
	return false;
}

static enum lmd_status begin(struct lmi_engine *e, struct lmi_engine_adapter_binding *b,
			     struct lmd_error *err)
{
	uint64_t bytes = b->data ? lmi_engine_adapter_data_bytes(b->data) : 0;
	enum lmd_status st;

	if (is_used(e, b->slot))
		return lmd_fail(err, LMD_BUSY, "adapter slot %u is in use", b->slot);
	st = claim(e->inst, b->slot, bytes, err);
	if (st != LMD_OK)
		return st;
	b->begun = true;
	return empty(e, err);
}

void lmi_engine_adapter_begin(struct lmi_engine *e, struct lmi_engine_adapter_binding *own_b)
{
	struct lmi_engine_adapter_binding **p = &e->bindings;

	while (*p)
		p = &(*p)->next;
	*p = own_b;
	if (e->broken.status != LMD_OK)
		lmi_engine_adapter_fail(e, &e->broken);
}

bool lmi_engine_adapter_step(struct lmi_engine *e)
{
	struct lmi_engine_adapter_binding *b;
	enum lmd_status st = LMD_OK;
	struct lmd_error err;
	bool done = true;

	if (!e->bindings)
		return false;
	lmi_engine_finish_steps(e);
	b = e->bindings;
	if (!b) /* they have failed with the steps */
		return true;
	if (!b->begun)
		st = begin(e, b, &err);
	lmi_inst_hold(e->inst);
	if (st == LMD_OK && b->data)
		st = lmi_inst_bind_some(e->inst, b->data, b->slot, TURN_BYTES, &done, &err);
	lmi_inst_let_go(e->inst);
	if (st != LMD_OK)
		fail(e, &err);
	else if (done)
		finish(e);
	return true;
}

void lmi_engine_adapter_cancel(struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_adapter_binding **p = &e->bindings, *b;

	if (e->bindings)
		lmi_engine_finish_steps(e);
	while ((b = *p)) {
		if (id && b->id != id) {
			p = &b->next;
			continue;
		}
		memset(&lmi_engine_event_emit_id(e, b->id, LMI_ENGINE_EV_CANCELLED)->u.done, 0,
		       sizeof(((struct lmi_engine_event *)NULL)->u.done));
		if (b == e->bindings) {
			undo(e);
			end(e);
			continue;
		}
		*p = b->next;
		lmi_engine_adapter_binding_destroy(b);
		atomic_fetch_sub(&e->n_live, 1);
	}
}

void lmi_engine_adapter_fail(struct lmi_engine *e, const struct lmd_error *err)
{
	if (e->bindings)
		lmi_engine_finish_steps(e); /* which may get here again */
	while (e->bindings)
		fail(e, err);
}
