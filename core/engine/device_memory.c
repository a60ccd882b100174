/* SPDX-License-Identifier: MIT
 *
 * Memory that host and device exchange rows through, and the queue that the copies go through. */
#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/instance.h"

static const struct lmd_backend_ops *ops_of(const struct lmi_inst *inst)
{
	return inst->backend->ops.backend;
}

static bool in_host_memory(const struct lmi_inst *inst)
{
	return inst->info.caps & LMD_DEV_HOST_MEMORY;
}

enum lmd_status lmi_engine_shared_create(struct lmi_inst *inst, struct lmi_engine_shared *m,
					 uint64_t bytes, uint32_t sides, struct lmd_error *err)
{
	const struct lmd_backend_ops *b = ops_of(inst);
	enum lmd_status st = LMD_OK;

	*m = (struct lmi_engine_shared){.bytes = bytes};
	if (in_host_memory(inst)) {
		m->host = m->own = lmi_alloc((size_t)bytes, 1);
		return m->host ? LMD_OK
			       : lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of rows",
					  (unsigned long long)bytes);
	}
	if (sides & LMI_ENGINE_SHARED_DEVICE)
		st = b->buffer_create(inst->dev, bytes, LMD_BUF_DEVICE, NULL, &m->device, err);
	if (st == LMD_OK && b->buffer_map)
		st = b->buffer_create(inst->dev, bytes, LMD_BUF_PINNED, NULL, &m->pinned, err);
	if (st == LMD_OK && m->pinned)
		st = b->buffer_map(inst->dev, m->pinned, &m->host, err);
	else if (st == LMD_OK)
		m->host = m->own = lmi_alloc((size_t)bytes, 1);
	if (st == LMD_OK && !m->host)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of rows",
			      (unsigned long long)bytes);
	if (st != LMD_OK)
		lmi_engine_shared_destroy(inst, m);
	return st;
}

void lmi_engine_shared_destroy(struct lmi_inst *inst, struct lmi_engine_shared *m)
{
	const struct lmd_backend_ops *b = inst->backend ? ops_of(inst) : NULL;

	if (m->pinned && m->host)
		b->buffer_unmap(inst->dev, m->pinned);
	if (m->pinned)
		b->buffer_destroy(inst->dev, m->pinned);
	if (m->device)
		b->buffer_destroy(inst->dev, m->device);
	lmi_free(m->own);
	*m = (struct lmi_engine_shared){0};
}

enum lmd_status lmi_engine_shared_upload(struct lmi_inst *inst, const struct lmi_engine_shared *m,
					 uint64_t bytes, struct lmd_error *err)
{
	if (!m->device || !bytes)
		return LMD_OK;
	return ops_of(inst)->buffer_copy(inst->dev, inst->queue, m->device, NULL, 0, m->pinned,
					 m->pinned ? NULL : m->host, 0, bytes, NULL, err);
}

enum lmd_status lmi_engine_shared_download(struct lmi_inst *inst, const struct lmi_engine_shared *m,
					   uint64_t bytes, struct lmd_error *err)
{
	if (!m->device || !bytes)
		return LMD_OK;
	return ops_of(inst)->buffer_copy(inst->dev, inst->queue, m->pinned, m->pinned ? NULL : m->host,
					 0, m->device, NULL, 0, bytes, NULL, err);
}

uint64_t lmi_engine_device_free(const struct lmi_inst *inst)
{
	const struct lmd_backend_ops *b = ops_of(inst);
	uint64_t total, left;

	return b->memory && b->memory(inst->dev, &total, &left, NULL) == LMD_OK
		       ? left
		       : inst->info.free_bytes;
}

/* ---- the queue ---- */

enum lmd_status lmi_engine_queue_open(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmd_backend_ops *b = ops_of(inst);
	enum lmd_status st;

	if (!in_host_memory(inst) && !b->buffer_create)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"backend %s: the device has memory of its own, but no buffers",
				inst->backend->f->name);
	inst->n_slot = 1;
	if (!b->queue_create)
		return LMD_OK;
	inst->n_slot = LMI_ENGINE_MAX_STEP;
	st = b->queue_create(inst->dev, 0, &inst->queue, err);
	if (st == LMD_OK)
		st = b->event_create(inst->dev, &inst->event, err);
	for (uint32_t i = 0; i < inst->n_slot && st == LMD_OK; i++)
		st = b->event_create(inst->dev, &inst->slot[i].event, err);
	return st;
}

void lmi_engine_queue_close(struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < inst->n_slot; i++)
		if (inst->slot[i].event)
			ops_of(inst)->event_destroy(inst->dev, inst->slot[i].event);
	if (inst->event)
		ops_of(inst)->event_destroy(inst->dev, inst->event);
	if (inst->queue)
		ops_of(inst)->queue_destroy(inst->dev, inst->queue);
}

enum lmd_status lmi_engine_queue_finish(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmd_backend_ops *b = ops_of(inst);
	enum lmd_status st;

	if (!inst->queue)
		return LMD_OK;
	st = b->event_record(inst->dev, inst->queue, inst->event, err);
	return st == LMD_OK ? b->event_wait(inst->dev, inst->event, UINT64_MAX, err) : st;
}
