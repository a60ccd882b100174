/* SPDX-License-Identifier: MIT
 *
 * A plan that is cut into as many segments as it has ops, all on one device: what the engine does with a
 * model on several devices.  Inputs and outputs of the whole plan keep their memory; a value that one
 * segment leaves for others has memory of its own.  The calls follow each other on the queue without
 * waiting, and all segments read the same step block. */
#include "core/base/alloc.h"
#include "core/conformance/opcase_exec.h"

#define MAX_SEGMENT 16

struct part {
	const struct lmd_plan *view;
	struct lmd_weight **weights;
	struct lmd_compiled_plan *plan;
	struct lmd_binding out[OC_MAX_TAP]; /* of its outputs, by index */
	void *host[OC_MAX_TAP];		    /* memory of links on a device in host memory */
	bool is_link[OC_MAX_TAP];
};

struct oc_segments {
	struct lmi_plan_segments *cut;
	uint32_t n;
	struct part parts[MAX_SEGMENT];
};

static enum lmd_status cut(struct oc_exec *x, struct oc_segments *s)
{
	const struct lmd_plan *v = x->c->view;
	uint8_t device[MAX_SEGMENT];

	if (v->n_op < 2 || v->n_op > MAX_SEGMENT)
		return lmd_fail(x->err, LMD_INTERNAL, "case %s: %u ops to cut", x->c->def->name,
				v->n_op);
	for (uint32_t i = 0; i < v->n_op; i++)
		device[i] = i % 2;
	s->n = v->n_op;
	return lmi_plan_split_by_device(&s->cut, x->c->plan, device, NULL, x->err);
}

/* Finds the binding of an output of the whole plan; NULL: it is none. */
static const struct lmd_binding *find_output(const struct oc_exec *x, uint32_t id)
{
	for (uint32_t i = 0; i < x->c->view->n_output; i++)
		if (x->c->view->outputs[i].id == id)
			return &x->out[i];
	return NULL;
}

static enum lmd_status bind_outputs(struct oc_exec *x, struct part *p)
{
	enum lmd_status st = LMD_OK;

	if (p->view->n_output > OC_MAX_TAP)
		return lmd_fail(x->err, LMD_INTERNAL, "case %s: %u values leave a segment",
				x->c->def->name, p->view->n_output);
	for (uint32_t i = 0; i < p->view->n_output && st == LMD_OK; i++) {
		const struct lmd_output *o = &p->view->outputs[i];
		const struct lmd_value *v = &p->view->values[o->value];
		const struct lmd_binding *whole = find_output(x, o->id);
		uint32_t n_row = p->view->max_rows[v->space];

		if (whole) {
			p->out[i] = *whole;
			continue;
		}
		p->is_link[i] = true;
		p->host[i] = lmi_alloc((size_t)(n_row ? n_row : 1) * v->width, 4);
		if (!p->host[i])
			return lmd_fail(x->err, LMD_NOMEM, "out of memory for values");
		st = oc_exec_bind(x, &p->out[i], p->host[i], o->id, n_row, v->width, false);
	}
	return st;
}

static enum lmd_status compile(struct oc_exec *x, struct part *p)
{
	struct lmd_compile c = {
		.struct_size = sizeof(c),
		.plan = p->view,
		.layout = &x->c->step->layout,
		.n_seq = OC_SEQ_SLOTS,
		.pools = x->pools,
	};
	enum lmd_status st = oc_exec_load_weights(x, p->view, &p->weights);

	c.weights = p->weights;
	if (st == LMD_OK)
		st = x->be->ops->plan_compile(x->be->state, &c, &p->plan, x->err);
	return st == LMD_OK ? bind_outputs(x, p) : st;
}

/* Finds where a value left an earlier segment. */
static const struct lmd_binding *find_link(const struct oc_segments *s,
					   const struct lmi_plan_segment_link *link)
{
	const struct part *p = &s->parts[link->from_segment];

	for (uint32_t i = 0; i < p->view->n_output; i++)
		if (p->view->outputs[i].id == link->out_id)
			return &p->out[i];
	return NULL;
}

static enum lmd_status run_part(struct oc_exec *x, uint32_t index)
{
	const struct oc_segments *s = x->segments;
	const struct part *p = &s->parts[index];
	const struct lmi_plan_segment_link *links;
	uint32_t n_link = lmi_plan_segments_links(s->cut, index, &links), n = 0;
	struct lmd_binding in[OC_MAX_INPUT + OC_MAX_TAP * MAX_SEGMENT];
	enum lmd_status st;

	for (uint32_t i = 0; i < x->c->n_input; i++)
		in[n++] = x->in[i];
	for (uint32_t i = 0; i < n_link; i++) {
		const struct lmd_binding *from = find_link(s, &links[i]);

		if (!from || n == LMD_LEN(in))
			return lmd_fail(x->err, LMD_INTERNAL, "case %s: a link leads nowhere",
					x->c->def->name);
		in[n] = *from;
		in[n++].id = links[i].input;
	}
	st = x->be->ops->plan_run(x->be->state, x->q, p->plan, &x->c->step->view, in, n, p->out,
				  p->view->n_output, NULL);
	return st == LMD_OK ? st
			    : lmd_fail(x->err, st, "segment %u: %s", index,
				       x->be->ops->last_error(x->be->state));
}

enum lmd_status oc_segments_run(struct oc_exec *x)
{
	struct oc_segments *s = x->segments = lmi_alloc(1, sizeof(*s));
	enum lmd_status st =
		s ? cut(x, s) : lmd_fail(x->err, LMD_NOMEM, "out of memory for segments");
	uint32_t device;

	if (st != LMD_OK)
		return st;
	s->n = lmi_plan_segments_count(s->cut);
	for (uint32_t i = 0; i < s->n && st == LMD_OK; i++) {
		s->parts[i].view = lmi_plan_view(lmi_plan_segments_plan(s->cut, i, &device));
		st = compile(x, &s->parts[i]);
	}
	for (uint32_t i = 0; i < s->n && st == LMD_OK; i++)
		st = run_part(x, i);
	return st;
}

void oc_segments_close(struct oc_exec *x)
{
	struct oc_segments *s = x->segments;

	for (uint32_t i = 0; s && i < s->n; i++) {
		struct part *p = &s->parts[i];

		for (uint32_t k = 0; k < OC_MAX_TAP; k++) {
			if (p->is_link[k] && p->out[k].buffer)
				x->be->ops->buffer_destroy(x->be->state, p->out[k].buffer);
			lmi_free(p->host[k]);
		}
		x->be->ops->plan_destroy(x->be->state, p->plan);
		oc_exec_free_weights(x, p->view, p->weights);
	}
	if (s)
		lmi_plan_segments_destroy(s->cut);
	lmi_free(s);
	x->segments = NULL;
}
