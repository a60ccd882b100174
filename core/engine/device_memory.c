/* SPDX-License-Identifier: MIT
 *
 * Memory that host and device exchange rows through, and the queue that the copies go through. */
#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/instance.h"

bool lmi_inst_device_in_host_memory(const struct lmi_inst_device *d)
{
	return d->info->caps & LMD_DEV_HOST_MEMORY;
}

static enum lmd_status no_memory(uint64_t bytes, struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of rows",
			(unsigned long long)bytes);
}

/* Are the host's rows and those of the device the same memory? */
static bool is_one(const struct lmi_engine_shared *m)
{
	return m->device && m->host && !m->pinned && !m->own;
}

/* A worker that computes in host memory needs no copies. LMD_UNSUPPORTED: the device is none. */
static enum lmd_status create_one(struct lmi_inst_device *d, struct lmi_engine_shared *m,
				  struct lmd_error *err)
{
	enum lmd_status st;

	if (!d->open->isolated)
		return LMD_UNSUPPORTED;
	st = d->ops->buffer_create(d->state, m->bytes, LMD_BUF_HOST_VISIBLE, NULL, &m->device, err);
	return st == LMD_OK ? d->ops->buffer_map(d->state, m->device, &m->host, err) : st;
}

static enum lmd_status create(struct lmi_inst_device *d, struct lmi_engine_shared *m,
			      uint32_t sides, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (lmi_inst_device_in_host_memory(d)) {
		m->host = m->own = lmi_alloc((size_t)m->bytes, 1);
		return m->host ? LMD_OK : no_memory(m->bytes, err);
	}
	if (sides == (LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST)) {
		st = create_one(d, m, err);
		if (st != LMD_UNSUPPORTED)
			return st;
		st = LMD_OK;
	}
	if (sides & LMI_ENGINE_SHARED_DEVICE)
		st = d->ops->buffer_create(d->state, m->bytes, LMD_BUF_DEVICE, NULL, &m->device,
					   err);
	if (!(sides & LMI_ENGINE_SHARED_HOST))
		return st;
	if (st == LMD_OK && d->ops->buffer_map)
		st = d->ops->buffer_create(d->state, m->bytes, LMD_BUF_PINNED, NULL, &m->pinned,
					   err);
	if (st == LMD_OK && m->pinned)
		st = d->ops->buffer_map(d->state, m->pinned, &m->host, err);
	else if (st == LMD_OK)
		m->host = m->own = lmi_alloc((size_t)m->bytes, 1);
	return st == LMD_OK && !m->host ? no_memory(m->bytes, err) : st;
}

enum lmd_status lmi_engine_shared_create(struct lmi_inst_device *d, struct lmi_engine_shared *m,
					 uint64_t bytes, uint32_t sides, struct lmd_error *err)
{
	enum lmd_status st;

	*m = (struct lmi_engine_shared){.bytes = bytes};
	st = create(d, m, sides, err);
	if (st != LMD_OK)
		lmi_engine_shared_destroy(d, m);
	return st;
}

void lmi_engine_shared_destroy(struct lmi_inst_device *d, struct lmi_engine_shared *m)
{
	if (m->pinned && m->host)
		d->ops->buffer_unmap(d->state, m->pinned);
	if (is_one(m))
		d->ops->buffer_unmap(d->state, m->device);
	if (m->pinned)
		d->ops->buffer_destroy(d->state, m->pinned);
	if (m->device)
		d->ops->buffer_destroy(d->state, m->device);
	lmi_free(m->own);
	*m = (struct lmi_engine_shared){0};
}

enum lmd_status lmi_engine_shared_upload(struct lmi_inst_device *d,
					 const struct lmi_engine_shared *m, uint64_t bytes,
					 struct lmd_error *err)
{
	if (!m->device || !bytes || is_one(m))
		return LMD_OK;
	return d->ops->buffer_copy(d->state, d->queue, m->device, NULL, 0, m->pinned,
				   m->pinned ? NULL : m->host, 0, bytes, NULL, err);
}

enum lmd_status lmi_engine_shared_download(struct lmi_inst_device *d,
					   const struct lmi_engine_shared *m, uint64_t from,
					   uint64_t bytes, struct lmd_error *err)
{
	if (!m->device || !bytes || is_one(m))
		return LMD_OK;
	return d->ops->buffer_copy(d->state, d->queue, m->pinned, m->pinned ? NULL : m->host, from,
				   m->device, NULL, from, bytes, NULL, err);
}

/* ---- the queue ---- */

enum lmd_status lmi_engine_queue_open(struct lmi_inst_device *d, struct lmd_error *err)
{
	enum lmd_status st;

	if (!lmi_inst_device_in_host_memory(d) && !d->ops->buffer_create)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"backend %s: the device has memory of its own, but no buffers",
				d->open->backend->f->name);
	if (!d->ops->queue_create)
		return LMD_OK;
	st = d->ops->queue_create(d->state, 0, &d->queue, err);
	if (st == LMD_OK)
		st = d->ops->event_create(d->state, &d->event, err);
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP && st == LMD_OK; i++)
		st = d->ops->event_create(d->state, &d->done[i], err);
	return st;
}

void lmi_engine_queue_close(struct lmi_inst_device *d)
{
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP; i++)
		if (d->done[i])
			d->ops->event_destroy(d->state, d->done[i]);
	if (d->event)
		d->ops->event_destroy(d->state, d->event);
	if (d->queue)
		d->ops->queue_destroy(d->state, d->queue);
}

enum lmd_status lmi_engine_queue_finish(struct lmi_inst_device *d, struct lmd_error *err)
{
	enum lmd_status st;

	if (!d->queue)
		return LMD_OK;
	st = d->ops->event_record(d->state, d->queue, d->event, err);
	return st == LMD_OK ? d->ops->event_wait(d->state, d->event, UINT64_MAX, err) : st;
}

enum lmd_status lmi_inst_finish_queues(struct lmi_inst *inst, uint32_t devices, enum lmd_status st,
				       struct lmd_error *err)
{
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];
		struct lmd_error later = {0};
		enum lmd_status done;

		if (!(devices >> i & 1))
			continue;
		done = lmi_inst_check(inst, d, lmi_engine_queue_finish(d, &later), &later);
		if (st == LMD_OK && done != LMD_OK) {
			st = done;
			*err = later;
		}
	}
	return st;
}
