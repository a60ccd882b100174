/* SPDX-License-Identifier: MIT
 *
 * Shows the values of a plan that is divided among devices: segment by segment, under the numbers that
 * ops and values have in the whole plan. The functions of backends that show values write no outputs, so
 * what leaves a segment is taken from what is shown. */
#include <string.h>

#include "core/engine/instance.h"

struct showing {
	const struct lmi_engine_exec *e;
	struct lmi_engine_segment *s;
	uint32_t index, slot;
	lmd_observe_fn fn;
	void *arg;
	bool stopped;
};

/* Keeps the rows of a value that a later segment needs; the last op that writes it shows all columns. */
static void keep(struct showing *w, const struct lmd_observed *o)
{
	const struct lmd_plan *p = w->s->view;

	for (uint32_t i = 0; i < p->n_output; i++) {
		if (p->outputs[i].value != o->value)
			continue;
		for (uint32_t k = 0; k < w->s->n_out; k++) {
			struct lmi_engine_leaving *v = &w->s->out[k];
			uint32_t n = o->n_row < v->n_row ? o->n_row : v->n_row;

			if (v->out_id == p->outputs[i].id)
				memcpy(v->rows[w->slot].host, o->data, (size_t)n * v->row_bytes);
		}
	}
}

static bool show(void *arg, const struct lmd_observed *o)
{
	struct showing *w = arg;
	struct lmd_observed whole = *o;

	keep(w, o);
	if (w->e->cut && !lmi_plan_segments_whole(w->e->cut, w->index, &whole.op, &whole.value))
		return true; /* a copy of what another segment has shown */
	w->stopped = !w->fn(w->arg, &whole);
	return !w->stopped;
}

/* Sends the rows that were kept to the device, where other devices expect them. */
static enum lmd_status send(struct lmi_inst_device *d, const struct lmi_engine_segment *s,
			    uint32_t slot, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t k = 0; k < s->n_out && st == LMD_OK; k++)
		st = lmi_engine_shared_upload(d, &s->out[k].rows[slot],
					      (uint64_t)s->out[k].n_row * s->out[k].row_bytes, err);
	return st == LMD_OK ? lmi_engine_queue_finish(d, err) : st;
}

enum lmd_status lmi_engine_observe_segment(struct lmi_inst *inst, struct lmi_engine_exec *e,
					   uint32_t index, uint32_t slot,
					   const struct lmd_binding *input, lmd_observe_fn fn,
					   void *arg, bool *stopped, struct lmd_error *err)
{
	struct lmi_engine_segment *s = &e->segments[index];
	struct lmi_inst_device *d = &inst->devices[s->device];
	struct showing w = {
		.e = e, .s = s, .index = index, .slot = slot, .fn = fn, .arg = arg};
	uint32_t n_in = 0;
	enum lmd_status st;

	if (!d->ops->plan_observe)
		return lmd_fail(err, LMD_UNSUPPORTED, "backend %s cannot show values",
				d->open->backend->f->name);
	st = lmi_engine_links_bring(inst, e, s, slot, &n_in, err);
	if (st == LMD_OK)
		st = lmi_engine_queue_finish(d, err);
	if (st != LMD_OK)
		return st;
	if (input)
		s->bindings[n_in++] = *input;
	st = d->ops->plan_observe(d->state, s->compiled_plan, &e->step[slot][s->device]->view,
				  s->bindings, n_in, show, &w);
	*stopped = w.stopped;
	if (st != LMD_OK)
		return lmd_fail(err, st, "%s", d->ops->last_error(d->state));
	return send(d, s, slot, err);
}
