/* SPDX-License-Identifier: MIT
 *
 * Splits a plan into segments, one device each.  Segment s holds value v if one of its ops uses it.
 * If an earlier segment wrote v, s receives these columns through an input and copies them into its
 * own v at its start, so that all operands remain values.  The input comes from the last segment
 * before s that wrote v, which by the same rule has everything written until then. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/plan/plan_priv.h"

struct segment {
	struct lmi_plan *plan;
	uint32_t device;
	uint32_t first, end; /* range of ops in the whole plan */
	uint32_t n_link, cap_link;
	struct lmi_plan_segment_link *links;
	uint32_t *value; /* number in this segment for each value of the whole plan; LMD_NONE: not
			  * held */
};

struct lmi_plan_segments {
	struct segment *segments;
	uint32_t n, n_value; /* n_value: of the whole plan */
};

/* Scratch memory, indexed by number in the whole plan; LMD_NONE = none. */
struct work {
	const struct lmi_plan *p;
	const uint32_t *act_dtype; /* of each device, or NULL */
	struct lmi_plan_segments *c;
	/* columns of each value written before the current segment */
	struct lmi_plan_spans *written;
	uint32_t *writer;	   /* last segment that wrote each value */
	uint32_t *weight_ref;      /* numbers of the weights in the current segment */
	bool *touched;		   /* used by the current segment */
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "out of memory while cutting a plan");
}

static void mark_touched(struct work *w, const struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		if (f->kind != LMI_PLAN_FIELD_IN && f->kind != LMI_PLAN_FIELD_OUT)
			continue;
		for (uint32_t j = 0; j < f->count; j++) {
			const struct lmd_operand *o = lmi_plan_field_get(f, op, j);

			if (o->src == LMD_SRC_VALUE)
				w->touched[o->id] = true;
		}
	}
}

/* ---- imports of a segment ---- */

static enum lmd_status import_weight(struct work *w, struct lmi_plan *to, uint32_t *id,
				     struct lmd_error *err)
{
	uint32_t from = *id;
	const struct lmd_weight_ref *ref = &w->p->weight_refs[from];
	enum lmd_status st;

	if (w->weight_ref[from] == LMD_NONE) {
		st = lmi_plan_add_weight_ref(to, ref, ref->dtype, &w->weight_ref[from], err);
		if (st != LMD_OK)
			return st;
		to->weight_refs[w->weight_ref[from]].name =
			lmi_arena_printf(to->arena, "%s", ref->name);
		if (!to->weight_refs[w->weight_ref[from]].name)
			return no_memory(err);
	}
	*id = w->weight_ref[from];
	return LMD_OK;
}

static enum lmd_status renumber(struct work *w, const struct segment *s, struct lmd_op *op,
				struct lmd_error *err)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < info->n_fields && st == LMD_OK; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count && st == LMD_OK; j++) {
			void *at = lmi_plan_field_at(f, op, j);

			if (f->kind == LMI_PLAN_FIELD_IN || f->kind == LMI_PLAN_FIELD_OUT) {
				struct lmd_operand *o = at;

				if (o->src == LMD_SRC_VALUE)
					o->id = s->value[o->id];
				else if (o->src == LMD_SRC_WEIGHT)
					st = import_weight(w, s->plan, &o->id, err);
			} else if (f->kind == LMI_PLAN_FIELD_WEIGHT_REF) {
				uint32_t *id = at;

				if (*id != LMD_NONE)
					st = import_weight(w, s->plan, id, err);
			}
		}
	}
	return st;
}

static uint64_t taps_of(const struct lmd_plan *p)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < p->n_output; i++)
		if (p->outputs[i].id >= LMD_OUT_TAP)
			used |= 1ull << (p->outputs[i].id - LMD_OUT_TAP);
	return used;
}

/* Returns the tap of segment `from` for a value, creating it if necessary with a number that the
 * whole plan does not use. */
static enum lmd_status tap(struct segment *from, const struct lmi_plan *whole, uint32_t value,
			   uint32_t *out_id, struct lmd_error *err)
{
	struct lmi_plan *p = from->plan;
	const uint64_t used = taps_of(&p->view) | taps_of(&whole->view);

	for (uint32_t i = 0; i < p->view.n_output; i++)
		if (p->outputs[i].value == value) {
			*out_id = p->outputs[i].id;
			return LMD_OK;
		}
	for (uint32_t k = 0; k < 48; k++)
		if (!(used >> k & 1)) {
			*out_id = LMD_OUT_TAP + k;
			return lmi_plan_add_output(p, *out_id, value, err);
		}
	return lmd_fail(err, LMD_UNSUPPORTED, "cut: more than 48 values leave a segment (%s)",
			p->values[value].name);
}

static enum lmd_status add_link(struct segment *s, uint32_t input, uint32_t from, uint32_t out_id,
				struct lmd_error *err)
{
	if (s->n_link == s->cap_link) {
		uint32_t cap = s->cap_link ? s->cap_link * 2 : 4;
		struct lmi_plan_segment_link *links = lmi_realloc(s->links, cap, sizeof(*links));

		if (!links)
			return no_memory(err);
		s->links = links;
		s->cap_link = cap;
	}
	s->links[s->n_link++] = (struct lmi_plan_segment_link){input, from, out_id};
	return LMD_OK;
}

/* Copies columns [a, b) of the input into the value. */
static enum lmd_status copy_span(struct segment *s, uint32_t input, uint32_t value,
				 const struct lmi_plan_span *span, int32_t layer,
				 struct lmd_error *err)
{
	struct lmd_op op;

	lmi_plan_op_init(&op, LMD_OP_CAST_COPY);
	op.layer = layer;
	op.space = s->plan->values[value].space;
	op.u.cast_copy.x = (struct lmd_operand){.src = LMD_SRC_INPUT,
						.id = input,
						.col0 = span->a,
						.n_head = 1,
						.width = span->b - span->a};
	op.u.cast_copy.y = op.u.cast_copy.x;
	op.u.cast_copy.y.src = LMD_SRC_VALUE;
	op.u.cast_copy.y.id = value;
	lmi_plan_op_normalise(&op);
	return lmi_plan_add_op(s->plan, &op, err);
}

static enum lmd_status import_value(struct work *w, struct segment *s, uint32_t v,
				    struct lmd_error *err)
{
	const struct lmd_value *from = &w->p->values[v];
	struct segment *writer;
	uint32_t id, input = 0, out_id = 0;
	enum lmd_status st = lmi_plan_add_value(s->plan, from, -1, &id, err);

	if (st != LMD_OK)
		return st;
	s->plan->values[id].name = lmi_arena_printf(s->plan->arena, "%s", from->name);
	if (!s->plan->values[id].name)
		return no_memory(err);
	s->value[v] = id;
	if (w->writer[v] == LMD_NONE)
		return LMD_OK;
	writer = &w->c->segments[w->writer[v]];
	st = tap(writer, w->p, writer->value[v], &out_id, err);
	if (st == LMD_OK) {
		const struct lmd_input in = {
			.space = from->space,
			.vtype = from->vtype == LMD_VTYPE_I32 ? LMD_VTYPE_I32 : LMD_VTYPE_F32,
			.width = from->width,
			.name = from->name,
		};

		st = lmi_plan_add_input(s->plan, &in, &input, err);
	}
	if (st == LMD_OK)
		st = add_link(s, input, w->writer[v], out_id, err);
	for (uint32_t i = 0; i < w->written[v].n && st == LMD_OK; i++)
		st = copy_span(s, input, id, &w->written[v].v[i], w->p->ops[s->first].layer, err);
	return st;
}

/* ---- one segment ---- */

static enum lmd_status copy_declarations(struct lmi_plan **out, const struct lmi_plan *p,
					 struct lmd_error *err)
{
	struct lmi_plan *to;
	enum lmd_status st = lmi_plan_new(&to, &p->view, err);
	uint32_t id;

	if (st != LMD_OK)
		return st;
	to->host = p->host;
	to->model = p->model;
	to->target = p->target;
	to->n_lora_site = p->n_lora_site;
	st = lmi_plan_copy_memory(to, &p->view, err);
	for (uint32_t i = 0; i < p->view.n_input && st == LMD_OK; i++)
		st = lmi_plan_add_input(to, &p->inputs[i], &id, err);
	for (uint32_t i = 0; i < p->view.n_rope && st == LMD_OK; i++)
		st = lmi_plan_copy_rope(to, &p->ropes[i], err);
	if (st == LMD_OK)
		*out = to;
	else
		lmi_plan_destroy(to);
	return st;
}

static enum lmd_status note_written(struct work *w, uint32_t index, struct lmd_error *err)
{
	const struct segment *s = &w->c->segments[index];

	for (uint32_t i = s->first; i < s->end; i++) {
		const struct lmi_plan_op_info *info = lmi_plan_op_info(w->p->ops[i].code);

		for (uint32_t j = 0; j < info->n_fields; j++) {
			const struct lmi_plan_field *f = &info->fields[j];

			for (uint32_t k = 0; k < f->count && f->kind == LMI_PLAN_FIELD_OUT; k++) {
				const struct lmd_operand *o =
					lmi_plan_field_get(f, &w->p->ops[i], k);

				if (o->src != LMD_SRC_VALUE)
					continue;
				w->writer[o->id] = index;
				for (uint32_t h = 0; h < o->n_head; h++) {
					uint32_t a = o->col0 + h * o->head_stride;

					if (lmi_plan_spans_add(&w->written[o->id], a,
							       a + o->width) ==
					    LMI_PLAN_SPANS_NOMEM)
						return no_memory(err);
				}
			}
		}
	}
	return LMD_OK;
}

static enum lmd_status make_segment(struct work *w, uint32_t index, struct lmd_error *err)
{
	struct segment *s = &w->c->segments[index];
	enum lmd_status st = copy_declarations(&s->plan, w->p, err);

	if (st != LMD_OK)
		return st;
	if (w->act_dtype)
		s->plan->view.act_dtype = w->act_dtype[s->device];
	if (w->p->view.key.n_rank > 1)
		s->plan->view.key.rank = s->device;
	s->value = lmi_alloc(w->p->view.n_value, sizeof(*s->value));
	if (!s->value)
		return no_memory(err);
	memset(s->value, 0xff, w->p->view.n_value * sizeof(*s->value));
	memset(w->touched, 0, w->p->view.n_value * sizeof(*w->touched));
	memset(w->weight_ref, 0xff, w->p->view.n_weight_ref * sizeof(*w->weight_ref));
	for (uint32_t i = s->first; i < s->end; i++)
		mark_touched(w, &w->p->ops[i]);
	for (uint32_t v = 0; v < w->p->view.n_value && st == LMD_OK; v++)
		if (w->touched[v])
			st = import_value(w, s, v, err);
	for (uint32_t i = s->first; i < s->end && st == LMD_OK; i++) {
		struct lmd_op op = w->p->ops[i];

		st = renumber(w, s, &op, err);
		if (st == LMD_OK)
			st = lmi_plan_add_op(s->plan, &op, err);
	}
	return st == LMD_OK ? note_written(w, index, err) : st;
}

/* Outputs of the whole plan belong to the last segment that wrote their value. */
static enum lmd_status give_outputs(struct work *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->p->view.n_output && st == LMD_OK; i++) {
		const struct lmd_output *o = &w->p->outputs[i];
		const struct segment *s = &w->c->segments[w->writer[o->value]];

		st = lmi_plan_add_output(s->plan, o->id, s->value[o->value], err);
	}
	return st;
}

static enum lmd_status find_segments(struct lmi_plan_segments *c, const struct lmi_plan *p,
				     const uint8_t *device_of, struct lmd_error *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->view.n_op; i++)
		n += !i || device_of[i] != device_of[i - 1];
	c->segments = lmi_alloc(n, sizeof(*c->segments));
	if (!c->segments)
		return no_memory(err);
	for (uint32_t i = 0; i < p->view.n_op; i++) {
		if (!i || device_of[i] != device_of[i - 1])
			c->segments[c->n++] =
				(struct segment){.device = device_of[i], .first = i, .end = i};
		c->segments[c->n - 1].end++;
	}
	return LMD_OK;
}

static enum lmd_status split_plan(struct work *w, const uint8_t *device_of, struct lmd_error *err)
{
	const struct lmi_plan *p = w->p;
	enum lmd_status st;

	w->written = lmi_alloc(p->view.n_value, sizeof(*w->written));
	w->writer = lmi_alloc(p->view.n_value, sizeof(*w->writer));
	w->weight_ref = lmi_alloc(p->view.n_weight_ref + 1, sizeof(*w->weight_ref));
	w->touched = lmi_alloc(p->view.n_value, sizeof(*w->touched));
	if (!w->written || !w->writer || !w->weight_ref || !w->touched)
		return no_memory(err);
	memset(w->writer, 0xff, p->view.n_value * sizeof(*w->writer));
	w->c->n_value = p->view.n_value;
	st = find_segments(w->c, p, device_of, err);
	for (uint32_t i = 0; st == LMD_OK && i < w->c->n; i++)
		st = make_segment(w, i, err);
	if (st == LMD_OK)
		st = give_outputs(w, err);
	for (uint32_t i = 0; st == LMD_OK && i < w->c->n; i++)
		st = lmi_plan_layout(w->c->segments[i].plan, err);
	return st;
}

enum lmd_status lmi_plan_split_by_device(struct lmi_plan_segments **out, const struct lmi_plan *p,
					 const uint8_t *device_of, const uint32_t *act_dtype,
					 struct lmd_error *err)
{
	struct work w = {.p = p, .act_dtype = act_dtype, .c = lmi_alloc(1, sizeof(*w.c))};
	enum lmd_status st;

	if (!w.c)
		return no_memory(err);
	st = split_plan(&w, device_of, err);
	for (uint32_t i = 0; w.written && i < p->view.n_value; i++)
		lmi_free(w.written[i].v);
	lmi_free(w.written);
	lmi_free(w.writer);
	lmi_free(w.weight_ref);
	lmi_free(w.touched);
	if (st == LMD_OK)
		*out = w.c;
	else
		lmi_plan_segments_destroy(w.c);
	return st;
}

uint32_t lmi_plan_segments_count(const struct lmi_plan_segments *c)
{
	return c->n;
}

const struct lmi_plan *lmi_plan_segments_plan(const struct lmi_plan_segments *c, uint32_t i,
					      uint32_t *device)
{
	*device = c->segments[i].device;
	return c->segments[i].plan;
}

uint32_t lmi_plan_segments_links(const struct lmi_plan_segments *c, uint32_t i,
				 const struct lmi_plan_segment_link **out)
{
	*out = c->segments[i].links;
	return c->segments[i].n_link;
}

bool lmi_plan_segments_whole(const struct lmi_plan_segments *c, uint32_t i, uint32_t *op,
			     uint32_t *value)
{
	const struct segment *s = &c->segments[i];
	uint32_t n_copy = s->plan->view.n_op - (s->end - s->first);

	if (*op < n_copy)
		return false;
	*op += s->first - n_copy;
	for (uint32_t v = 0; v < c->n_value; v++) {
		if (s->value[v] != *value)
			continue;
		*value = v;
		return true;
	}
	return false;
}

void lmi_plan_segments_destroy(struct lmi_plan_segments *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		lmi_plan_destroy(c->segments[i].plan);
		lmi_free(c->segments[i].links);
		lmi_free(c->segments[i].value);
	}
	lmi_free(c->segments);
	lmi_free(c);
}
