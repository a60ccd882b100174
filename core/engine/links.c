/* SPDX-License-Identifier: MIT
 *
 * The values that go from one segment of a plan to another: their memory, and the copies in a step.
 *
 * Where both segments can reach the same memory nothing is copied. Otherwise a value goes from device
 * to device by a peer copy, or through host memory that both devices know. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/instance.h"

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the values between two devices");
}

static const struct lmd_value *output_value(const struct lmd_plan *p, uint32_t out_id)
{
	for (uint32_t i = 0; i < p->n_output; i++)
		if (p->outputs[i].id == out_id)
			return &p->values[p->outputs[i].value];
	return NULL;
}

static uint32_t leaving_of(struct lmi_engine_segment *s, uint32_t out_id)
{
	const struct lmd_value *v = output_value(s->view, out_id);

	for (uint32_t i = 0; i < s->n_out; i++)
		if (s->out[i].out_id == out_id)
			return i;
	s->out[s->n_out] = (struct lmi_engine_leaving){.out_id = out_id,
						       .space = v->space,
						       .row_bytes = v->width * 4,
						       .n_row = s->view->max_rows[v->space]};
	return s->n_out++;
}

enum lmd_status lmi_engine_links_plan(struct lmi_engine_exec *e, struct lmd_error *err)
{
	for (uint32_t i = 0; i < e->n_segment; i++) {
		struct lmi_engine_segment *s = &e->segments[i];
		const struct lmi_plan_segment_link *links = NULL;
		uint32_t n = e->cut ? lmi_plan_segments_links(e->cut, i, &links) : 0;

		s->in = lmi_alloc(n + (size_t)1, sizeof(*s->in));
		s->out = lmi_alloc(s->view->n_output + (size_t)1, sizeof(*s->out));
		s->bindings =
			lmi_alloc(n + s->view->n_output + (size_t)3, sizeof(*s->bindings));
		if (!s->in || !s->out || !s->bindings)
			return no_memory(err);
		for (uint32_t k = 0; k < n; k++)
			s->in[s->n_in++] = (struct lmi_engine_arriving){
				.input = links[k].input,
				.segment = links[k].from_segment,
				.leaving = leaving_of(&e->segments[links[k].from_segment],
						      links[k].out_id),
			};
	}
	return LMD_OK;
}

/* Can the segment use the memory in which the value left the other one? */
static bool is_shared(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
		      const struct lmi_engine_segment *to, const struct lmi_engine_arriving *a)
{
	uint32_t from = e->segments[a->segment].device;

	return from == to->device || (lmi_inst_device_in_host_memory(&inst->devices[from]) &&
				      lmi_inst_device_in_host_memory(&inst->devices[to->device]));
}

static uint64_t bytes_of(const struct lmi_engine_leaving *v)
{
	return (uint64_t)v->n_row * v->row_bytes;
}

uint64_t lmi_engine_links_bytes(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
				uint32_t device)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < e->n_segment; i++) {
		const struct lmi_engine_segment *s = &e->segments[i];

		for (uint32_t k = 0; k < s->n_out && s->device == device; k++)
			sum += bytes_of(&s->out[k]);
		for (uint32_t k = 0; k < s->n_in && s->device == device; k++)
			if (!is_shared(inst, e, s, &s->in[k]))
				sum += bytes_of(
					&e->segments[s->in[k].segment].out[s->in[k].leaving]);
	}
	return sum * inst->n_slot;
}

static enum lmd_status open_segment(struct lmi_inst *inst, struct lmi_engine_exec *e,
				    struct lmi_engine_segment *s, uint32_t slot,
				    struct lmd_error *err)
{
	const uint32_t both = LMI_ENGINE_SHARED_DEVICE | LMI_ENGINE_SHARED_HOST;
	struct lmi_inst_device *d = &inst->devices[s->device];
	enum lmd_status st = LMD_OK;

	for (uint32_t k = 0; k < s->n_out && st == LMD_OK; k++)
		st = lmi_engine_shared_create(d, &s->out[k].rows[slot], bytes_of(&s->out[k]), both,
					      err);
	for (uint32_t k = 0; k < s->n_in && st == LMD_OK; k++)
		if (!is_shared(inst, e, s, &s->in[k]))
			st = lmi_engine_shared_create(
				d, &s->in[k].rows[slot],
				bytes_of(&e->segments[s->in[k].segment].out[s->in[k].leaving]),
				both, err);
	if (st == LMD_OK && s->n_out && d->queue)
		st = d->ops->event_create(d->state, &s->left[slot], err);
	return st;
}

enum lmd_status lmi_engine_links_open(struct lmi_inst *inst, struct lmi_engine_exec *e,
				      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	lmi_inst_hold(inst);
	for (uint32_t i = 0; i < e->n_segment; i++)
		for (uint32_t slot = 0; slot < inst->n_slot && st == LMD_OK; slot++)
			st = open_segment(inst, e, &e->segments[i], slot, err);
	lmi_inst_let_go(inst);
	return st;
}

void lmi_engine_links_close(struct lmi_inst *inst, struct lmi_engine_exec *e)
{
	for (uint32_t i = 0; i < e->n_segment && e->segments; i++) {
		struct lmi_engine_segment *s = &e->segments[i];
		struct lmi_inst_device *d = &inst->devices[s->device];

		for (uint32_t slot = 0; slot < LMI_ENGINE_MAX_STEP; slot++) {
			for (uint32_t k = 0; k < s->n_out; k++)
				lmi_engine_shared_destroy(d, &s->out[k].rows[slot]);
			for (uint32_t k = 0; k < s->n_in; k++)
				lmi_engine_shared_destroy(d, &s->in[k].rows[slot]);
			if (s->left[slot])
				d->ops->event_destroy(d->state, s->left[slot]);
			s->left[slot] = NULL;
		}
	}
}

/* ---- in a step ---- */

/* Rows of a space in this step. */
static uint32_t live_rows(const struct lmi_engine_exec *e, uint32_t slot,
			  const struct lmi_engine_leaving *v)
{
	const struct lmd_step_header *h = e->step[slot][e->first]->head;
	uint32_t n = v->space == LMD_SPACE_TOKENS    ? h->n_tok
		     : v->space == LMD_SPACE_OUTPUTS ? h->n_out
		     : v->space == LMD_SPACE_SEQS    ? h->n_seq
						     : v->n_row;

	return n < v->n_row ? n : v->n_row;
}

/* Waits until the values have left a segment. */
static enum lmd_status wait_left(struct lmi_inst *inst, struct lmi_engine_segment *from,
				 uint32_t slot, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[from->device];

	if (!from->recorded[slot])
		return LMD_OK;
	return lmi_inst_check(inst, d,
			      d->ops->event_wait(d->state, from->left[slot], UINT64_MAX, err), err);
}

static bool are_peers(const struct lmi_inst_device *a, const struct lmi_inst_device *b)
{
	return a->ops == b->ops && (a->info->caps & b->info->caps & LMD_DEV_PEER);
}

/* Makes the queue of a device wait until the values have left a segment, or the host. */
static enum lmd_status order(struct lmi_inst *inst, struct lmi_engine_segment *from,
			     struct lmi_inst_device *to, uint32_t slot, struct lmd_error *err)
{
	const struct lmi_inst_device *d = &inst->devices[from->device];

	if (from->recorded[slot] && to->queue && d->ops == to->ops && to->ops->queue_wait_event)
		return lmi_inst_check(inst, to,
				      to->ops->queue_wait_event(to->state, to->queue,
								from->left[slot], err),
				      err);
	return wait_left(inst, from, slot, err);
}

static enum lmd_status bring(struct lmi_inst *inst, struct lmi_engine_exec *e,
			     struct lmi_engine_segment *s, struct lmi_engine_arriving *a,
			     uint32_t slot, struct lmd_error *err)
{
	struct lmi_engine_segment *from = &e->segments[a->segment];
	struct lmi_inst_device *src = &inst->devices[from->device];
	struct lmi_inst_device *dst = &inst->devices[s->device];
	const struct lmi_engine_leaving *v = &from->out[a->leaving];
	const struct lmi_engine_shared *rows = &v->rows[slot];
	uint64_t bytes = (uint64_t)live_rows(e, slot, v) * v->row_bytes;
	enum lmd_status st;

	if (src == dst)
		return LMD_OK;
	if (is_shared(inst, e, s, a) || lmi_inst_device_in_host_memory(dst))
		return wait_left(inst, from, slot, err);
	if (!bytes)
		return LMD_OK;
	if (lmi_inst_device_in_host_memory(src)) {
		st = wait_left(inst, from, slot, err);
		if (st != LMD_OK)
			return st;
		memcpy(a->rows[slot].host, rows->host, (size_t)bytes);
		st = lmi_engine_shared_upload(dst, &a->rows[slot], bytes, err);
		return lmi_inst_check(inst, dst, st, err);
	}
	st = order(inst, from, dst, slot, err);
	if (st != LMD_OK)
		return st;
	st = dst->ops->buffer_copy(dst->state, dst->queue, a->rows[slot].device, NULL, 0,
				   are_peers(src, dst) ? rows->device : NULL,
				   are_peers(src, dst) ? NULL : rows->host, 0, bytes, NULL, err);
	return lmi_inst_check(inst, dst, st, err);
}

/* Fills in the bindings of the values that arrive; returns their number. */
static uint32_t bind_in(struct lmi_inst *inst, struct lmi_engine_exec *e,
			struct lmi_engine_segment *s, uint32_t slot)
{
	for (uint32_t k = 0; k < s->n_in; k++) {
		struct lmi_engine_arriving *a = &s->in[k];
		const struct lmi_engine_segment *from = &e->segments[a->segment];
		const struct lmi_engine_leaving *v = &from->out[a->leaving];
		const struct lmi_engine_shared *rows =
			is_shared(inst, e, s, a) ? &v->rows[slot] : &a->rows[slot];
		bool host = lmi_inst_device_in_host_memory(&inst->devices[s->device]);

		if (host && !lmi_inst_device_in_host_memory(&inst->devices[from->device]))
			rows = &v->rows[slot]; /* the copy that it left in host memory */
		s->bindings[k] =
			(struct lmd_binding){.id = a->input,
					     .n_row = v->n_row,
					     .row_bytes = v->row_bytes,
					     .ptr = host ? rows->host : NULL,
					     .buffer = host ? NULL : rows->device};
	}
	return s->n_in;
}

enum lmd_status lmi_engine_links_bring(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmi_engine_segment *s, uint32_t slot, uint32_t *n,
				       struct lmd_error *err)
{
	for (uint32_t k = 0; k < s->n_in; k++) {
		enum lmd_status st = bring(inst, e, s, &s->in[k], slot, err);

		if (st != LMD_OK)
			return st;
	}
	*n = bind_in(inst, e, s, slot);
	return LMD_OK;
}

uint32_t lmi_engine_links_bind_out(struct lmi_inst *inst, struct lmi_engine_segment *s,
				   uint32_t slot, struct lmd_binding *out)
{
	for (uint32_t k = 0; k < s->n_out; k++) {
		const struct lmi_engine_shared *rows = &s->out[k].rows[slot];

		out[k] = (struct lmd_binding){
			.id = s->out[k].out_id,
			.n_row = s->out[k].n_row,
			.row_bytes = s->out[k].row_bytes,
			.ptr = lmi_inst_device_in_host_memory(&inst->devices[s->device])
				       ? rows->host
				       : NULL,
			.buffer = rows->device};
	}
	return s->n_out;
}

/* Does another segment need a value of this one in host memory? */
static bool goes_through_host(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
			      const struct lmi_engine_segment *s, uint32_t leaving)
{
	const struct lmi_inst_device *src = &inst->devices[s->device];

	for (uint32_t i = 0; i < e->n_segment; i++) {
		const struct lmi_engine_segment *to = &e->segments[i];

		for (uint32_t k = 0; k < to->n_in; k++)
			if (&e->segments[to->in[k].segment] == s && to->in[k].leaving == leaving &&
			    to->device != s->device &&
			    !are_peers(src, &inst->devices[to->device]))
				return true;
	}
	return false;
}

enum lmd_status lmi_engine_links_leave(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmi_engine_segment *s, uint32_t slot,
				       struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[s->device];
	enum lmd_status st = LMD_OK;

	for (uint32_t k = 0; k < s->n_out && st == LMD_OK; k++)
		if (goes_through_host(inst, e, s, k))
			st = lmi_engine_shared_download(d, &s->out[k].rows[slot], 0,
							(uint64_t)live_rows(e, slot, &s->out[k]) *
								s->out[k].row_bytes,
							err);
	if (!s->left[slot])
		return st;
	if (st == LMD_OK)
		st = d->ops->event_record(d->state, d->queue, s->left[slot], err);
	s->recorded[slot] = st == LMD_OK;
	return st;
}

enum lmd_status lmi_engine_links_result(struct lmi_inst *inst, struct lmi_engine_exec *e,
					uint32_t slot, struct lmd_error *err)
{
	struct lmd_error why, *to = err;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < e->n_segment; i++) {
		enum lmd_status now = wait_left(inst, &e->segments[i], slot, to);

		if (st == LMD_OK && now != LMD_OK) {
			st = now;
			to = &why; /* the first one is the cause */
		}
		e->segments[i].recorded[slot] = false;
	}
	return st;
}
