/* SPDX-License-Identifier: MIT
 *
 * Transfers on the engine's thread. A turn copies a few MiB at most, at least one page or state, so
 * that generations go on meanwhile. The parts of a save are held from its beginning, so that nothing
 * of them changes; those of a restore can be found when all of them have been copied. */
#include "core/engine/transfer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"

#define TURN_BYTES (4u << 20)

struct lmi_engine_transfer *lmi_engine_transfer_create(uint32_t n_part)
{
	struct lmi_engine_transfer *t = lmi_alloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->node = LMI_KV_NO_NODE;
	t->parts = lmi_alloc(n_part + (size_t)1, sizeof(*t->parts));
	if (t->parts)
		return t;
	lmi_free(t);
	return NULL;
}

void lmi_engine_transfer_destroy(struct lmi_engine_transfer *t)
{
	if (!t)
		return;
	lmi_engine_saved_destroy(t->saved);
	lmi_free(t->parts);
	lmi_free(t);
}

/* ---- end ---- */

/* Removes it from the list and frees it; its event has been queued. */
static void end(struct lmi_engine *e, struct lmi_engine_transfer *t)
{
	struct lmi_engine_transfer **p = &e->transfers;

	while (*p && *p != t)
		p = &(*p)->next;
	if (*p)
		*p = t->next;
	lmi_kv_give_parts(e->inst->kv, t->parts, t->n_part, t->node);
	lmi_engine_transfer_destroy(t);
	atomic_fetch_sub(&e->n_live, 1);
}

static void fail(struct lmi_engine *e, struct lmi_engine_transfer *t, const struct lmd_error *err)
{
	lmi_engine_event_emit_id(e, t->id, LMI_ENGINE_EV_FAILED)->u.error = *err;
	end(e, t);
}

static void finish(struct lmi_engine *e, struct lmi_engine_transfer *t)
{
	struct lmi_engine_event *ev = lmi_engine_event_emit_id(e, t->id, LMI_ENGINE_EV_MOVED);

	if (!t->saves && !t->finds)
		lmi_kv_name_parts(e->inst->kv, t->parts, t->n_part, t->node);
	ev->u.moved.n_token = t->saved->n_token;
	ev->u.moved.n_bytes = t->saved->n_bytes;
	ev->u.moved.n_copied = t->n_copied;
	ev->u.moved.ns = t->ns;
	ev->u.moved.saved = NULL;
	if (t->saves) {
		ev->u.moved.saved = t->saved;
		t->saved = NULL;
	}
	end(e, t);
}

/* ---- begin ---- */

/* Ends it at once. */
static void find(struct lmi_engine *e, struct lmi_engine_transfer *t)
{
	struct lmi_kv_prefix p;

	lmi_engine_finish_steps(e);
	lmi_kv_find_prefix(e->inst->kv, &t->identity, t->saved->tokens, t->n_asked, &p);
	t->saved->n_token = p.n;
	finish(e, t);
}

/* Finds the longest prefix, or the longest that ends with a page. */
static void find_prefix(const struct lmi_inst *inst, const struct lmi_engine_transfer *t,
			struct lmi_kv_prefix *p)
{
	uint32_t n = t->n_asked;

	if (t->whole_pages)
		n -= n % inst->page_tokens;
	lmi_kv_find_prefix(inst->kv, &t->identity, t->saved->tokens, n, p);
	while (t->whole_pages && p->n % inst->page_tokens)
		lmi_kv_find_prefix(inst->kv, &t->identity, t->saved->tokens,
				   p->n - p->n % inst->page_tokens, p);
}

static enum lmd_status hold(struct lmi_engine *e, struct lmi_engine_transfer *t,
			    struct lmd_error *err)
{
	struct lmi_kv *kv = e->inst->kv;
	struct lmi_kv_prefix p;

	lmi_engine_finish_steps(e); /* a sequence that has ended is findable when its steps are done */
	find_prefix(e->inst, t, &p);
	if (!p.n)
		return lmd_fail(err, LMD_NOTFOUND, "nothing of these %u tokens is in memory",
				t->n_asked);
	t->n_part = lmi_kv_n_parts(kv, p.n);
	t->saved->n_token = p.n;
	lmi_kv_hold_parts(kv, &p, t->parts);
	t->saved->n_bytes = 0;
	for (uint32_t i = 0; i < t->n_part; i++)
		t->saved->n_bytes +=
			lmi_engine_part_bytes(e->inst, &t->parts[i], LMI_ENGINE_MAX_DEVICE);
	return LMD_OK;
}

/* Is a part within the tokens whose pages are not copied? */
static bool is_skipped(const struct lmi_inst *inst, const struct lmi_engine_transfer *t,
		       const struct lmi_kv_part *part)
{
	return part->n_row && part->index < t->n_skip / inst->page_tokens;
}

static enum lmd_status take(struct lmi_engine *e, struct lmi_engine_transfer *t,
			    struct lmd_error *err)
{
	uint32_t node;
	enum lmd_status st = lmi_kv_take_parts(e->inst->kv, &t->identity, t->saved->tokens,
					       t->saved->n_token, t->parts, &node, err);

	if (st != LMD_OK)
		return st;
	t->n_part = lmi_kv_n_parts(e->inst->kv, t->saved->n_token);
	t->node = node;
	for (uint32_t i = 0; i < t->n_part && st == LMD_OK; i++)
		if (!t->parts[i].is_known && is_skipped(e->inst, t, &t->parts[i]))
			st = lmd_fail(err, LMD_NOTFOUND,
				      "page %u of the first %u tokens is no longer in memory",
				      t->parts[i].index, t->n_skip);
	return st;
}

void lmi_engine_transfer_begin(struct lmi_engine *e, struct lmi_engine_transfer *own_t)
{
	struct lmi_engine_transfer **p = &e->transfers;
	struct lmd_error err = e->broken;
	enum lmd_status st = err.status;

	own_t->identity.adapter = lmi_inst_adapter_key(e->inst, own_t->adapter);
	if (st == LMD_OK && own_t->finds) {
		find(e, own_t);
		return;
	}
	if (st == LMD_OK)
		st = own_t->saves ? hold(e, own_t, &err) : take(e, own_t, &err);
	if (st != LMD_OK) {
		fail(e, own_t, &err);
		return;
	}
	while (*p)
		p = &(*p)->next;
	*p = own_t;
}

void lmi_engine_transfer_cancel(struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_transfer *next;

	for (struct lmi_engine_transfer *t = e->transfers; t; t = next) {
		next = t->next;
		if (id && t->id != id)
			continue;
		memset(&lmi_engine_event_emit_id(e, t->id, LMI_ENGINE_EV_CANCELLED)->u.done, 0,
		       sizeof(((struct lmi_engine_event *)NULL)->u.done));
		end(e, t);
	}
}

void lmi_engine_transfer_fail(struct lmi_engine *e, const struct lmd_error *err)
{
	while (e->transfers)
		fail(e, e->transfers, err);
}

/* ---- copying ---- */

/* Gives a device memory that it reads and writes directly. A device that has none copies rows once
 * more, in its driver. */
static void open_staging(struct lmi_inst_device *d)
{
	if (d->staging.host || d->has_no_staging || lmi_inst_device_in_host_memory(d))
		return;
	d->has_no_staging = !d->ops->buffer_map ||
			    lmi_engine_shared_create(d, &d->staging, TURN_BYTES,
						     LMI_ENGINE_SHARED_HOST, NULL) != LMD_OK;
}

/* Returns where the device reads or writes rows at an offset of the saved bytes in a turn that began at
 * `from`: in its staging memory if they fit. */
static uint8_t *place(const struct lmi_inst_device *d, const struct lmi_engine_transfer *t,
		      uint64_t from, uint64_t at, uint64_t bytes)
{
	return d->staging.host && at - from + bytes <= d->staging.bytes
		       ? (uint8_t *)d->staging.host + (at - from)
		       : t->saved->bytes + at;
}

static bool is_copied(const struct lmi_inst *inst, const struct lmi_engine_transfer *t,
		      const struct lmi_kv_part *part)
{
	return !part->is_known && !is_skipped(inst, t, part);
}

/* Submits the copies of one part to all devices that have a share of it. */
static enum lmd_status submit_part(struct lmi_inst *inst, struct lmi_engine_transfer *t,
				   const struct lmi_kv_part *part, uint64_t from,
				   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];
		uint64_t bytes = lmi_engine_part_bytes(inst, part, i);
		struct lmd_pool_op op = {.kind = t->saves ? LMD_POOL_EXPORT : LMD_POOL_IMPORT,
					 .src = t->saves ? part->page : 0,
					 .dst = t->saves ? 0 : part->page,
					 .n_row = part->n_row,
					 .host_bytes = bytes};

		if (bytes && is_copied(inst, t, part)) {
			open_staging(d);
			op.host = place(d, t, from, t->at, bytes);
			if (!t->saves && op.host != t->saved->bytes + t->at)
				memcpy(op.host, t->saved->bytes + t->at, (size_t)bytes);
			st = d->ops->pool_op(d->state, d->queue, d->pools[part->group], &op, 1, NULL,
					     err);
			st = lmi_inst_check(inst, d, st, err);
			t->n_copied += bytes;
		}
		t->at += bytes;
	}
	return st;
}

/* Copies the rows of parts [first, n_done) out of the staging memory. */
static void collect(const struct lmi_inst *inst, struct lmi_engine_transfer *t, uint32_t first,
		    uint64_t from)
{
	uint64_t at = from;

	for (uint32_t k = first; k < t->n_done; k++) {
		for (uint32_t i = 0; i < inst->n_device; i++) {
			uint64_t bytes = lmi_engine_part_bytes(inst, &t->parts[k], i);
			const uint8_t *rows = place(&inst->devices[i], t, from, at, bytes);

			if (rows != t->saved->bytes + at && is_copied(inst, t, &t->parts[k]))
				memcpy(t->saved->bytes + at, rows, (size_t)bytes);
			at += bytes;
		}
	}
}

/* Copies at most TURN_BYTES, at least one part. */
static enum lmd_status copy_turn(struct lmi_inst *inst, struct lmi_engine_transfer *t,
				 struct lmd_error *err)
{
	uint32_t first = t->n_done;
	uint64_t from = t->at;
	enum lmd_status st = LMD_OK;

	while (t->n_done < t->n_part && st == LMD_OK) {
		const struct lmi_kv_part *part = &t->parts[t->n_done];

		if (t->n_done > first &&
		    t->at - from + lmi_engine_part_bytes(inst, part, LMI_ENGINE_MAX_DEVICE) >
			    TURN_BYTES)
			break;
		t->n_done++;
		st = submit_part(inst, t, part, from, err);
	}
	st = lmi_inst_finish_queues(inst, UINT32_MAX, st, err);
	if (st == LMD_OK && t->saves)
		collect(inst, t, first, from);
	return st;
}

bool lmi_engine_transfer_step(struct lmi_engine *e)
{
	struct lmi_engine_transfer *t = e->transfers;
	const struct lmd_host *host = e->inst->host;
	enum lmd_status st;
	struct lmd_error err;
	uint64_t began;

	if (!t)
		return false;
	lmi_inst_hold(e->inst);
	began = host->now_ns(host->ctx);
	st = copy_turn(e->inst, t, &err);
	t->ns += host->now_ns(host->ctx) - began;
	lmi_inst_let_go(e->inst);
	if (st != LMD_OK)
		fail(e, t, &err);
	else if (t->n_done == t->n_part)
		finish(e, t);
	return true;
}
