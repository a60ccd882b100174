/* SPDX-License-Identifier: MIT
 *
 * Structs are written as they are, each followed by what its pointers point to; the reader replaces the
 * pointers. A count is believed only as far as the message has so many items. */
#include "core/worker/plan_codec.h"

#include "core/base/arena.h"

static void put_part(struct lmi_worker_out *o, const struct lmd_weight_part *p, uint32_t k)
{
	(void)lmi_worker_out_put(o, p, sizeof(*p));
	if (p->kind == LMD_WEIGHT_PART_LITERAL)
		(void)lmi_worker_out_put(o, p->literal, (size_t)p->n_row * k * sizeof(float));
}

void lmi_worker_put_weight_ref(struct lmi_worker_out *o, const struct lmd_weight_ref *w)
{
	(void)lmi_worker_out_put(o, w, sizeof(*w));
	lmi_worker_out_text(o, w->name);
	for (uint32_t i = 0; i < w->n_part; i++)
		put_part(o, &w->parts[i], w->k);
}

void lmi_worker_get_weight_ref(struct lmi_worker_in *i, struct lmd_arena *a,
			       struct lmd_weight_ref *out)
{
	struct lmd_weight_part *parts = NULL;

	lmi_worker_in_read(i, out, sizeof(*out));
	out->name = lmi_worker_in_text(i, a);
	if (out->n_part > i->n / sizeof(*parts))
		i->failed = true;
	if (!i->failed)
		parts = lmi_arena_array(a, out->n_part, sizeof(*parts));
	i->failed |= !parts && out->n_part;
	for (uint32_t k = 0; k < out->n_part && !i->failed; k++) {
		lmi_worker_in_read(i, &parts[k], sizeof(parts[k]));
		parts[k].literal =
			parts[k].kind == LMD_WEIGHT_PART_LITERAL
				? lmi_worker_in_array(i, a, (uint64_t)parts[k].n_row * out->k,
						      sizeof(float))
				: NULL;
	}
	out->parts = parts;
	if (i->failed)
		out->n_part = 0;
}

static void put_names(struct lmi_worker_out *o, const struct lmd_plan *p)
{
	for (uint32_t k = 0; k < p->n_value; k++)
		lmi_worker_out_text(o, p->values[k].name);
	for (uint32_t k = 0; k < p->n_input; k++)
		lmi_worker_out_text(o, p->inputs[k].name);
	for (uint32_t k = 0; k < p->n_group; k++)
		lmi_worker_out_text(o, p->groups[k].name);
	for (uint32_t k = 0; k < p->n_row_in; k++)
		lmi_worker_out_text(o, p->row_ins[k].name);
}

static void put_rope(struct lmi_worker_out *o, const struct lmd_rope *r)
{
	(void)lmi_worker_out_put(o, r->freq, r->n_rot / 2 * sizeof(*r->freq));
	(void)lmi_worker_out_put(o, r->plane, r->n_rot / 2 * sizeof(*r->plane));
}

void lmi_worker_put_plan(struct lmi_worker_out *o, const struct lmd_plan *p, bool ops)
{
	struct lmd_plan head = *p;

	head.n_op = ops ? p->n_op : 0;
	(void)lmi_worker_out_put(o, &head, sizeof(head));
	(void)lmi_worker_out_put(o, p->values, p->n_value * sizeof(*p->values));
	(void)lmi_worker_out_put(o, p->ops, head.n_op * sizeof(*p->ops));
	(void)lmi_worker_out_put(o, p->ropes, p->n_rope * sizeof(*p->ropes));
	(void)lmi_worker_out_put(o, p->inputs, p->n_input * sizeof(*p->inputs));
	(void)lmi_worker_out_put(o, p->outputs, p->n_output * sizeof(*p->outputs));
	(void)lmi_worker_out_put(o, p->groups, p->n_group * sizeof(*p->groups));
	(void)lmi_worker_out_put(o, p->caches, p->n_cache * sizeof(*p->caches));
	(void)lmi_worker_out_put(o, p->row_ins, p->n_row_in * sizeof(*p->row_ins));
	put_names(o, p);
	for (uint32_t k = 0; k < p->n_rope; k++)
		put_rope(o, &p->ropes[k]);
	for (uint32_t k = 0; k < p->n_weight_ref; k++)
		lmi_worker_put_weight_ref(o, &p->weight_refs[k]);
}

static void get_weight_refs(struct lmi_worker_in *i, struct lmd_arena *a, struct lmd_plan *p)
{
	struct lmd_weight_ref *w = NULL;

	if (p->n_weight_ref > i->n / sizeof(*w))
		i->failed = true;
	if (!i->failed && p->n_weight_ref)
		w = lmi_arena_array(a, p->n_weight_ref, sizeof(*w));
	i->failed |= !w && p->n_weight_ref;
	for (uint32_t k = 0; k < p->n_weight_ref && !i->failed; k++)
		lmi_worker_get_weight_ref(i, a, &w[k]);
	p->weight_refs = w;
}

void lmi_worker_get_plan(struct lmi_worker_in *i, struct lmd_arena *a, struct lmd_plan *out)
{
	struct lmd_value *values;
	struct lmd_rope *ropes;
	struct lmd_input *inputs;
	struct lmd_group *groups;
	struct lmd_row_in *row_ins;

	lmi_worker_in_read(i, out, sizeof(*out));
	values = lmi_worker_in_array(i, a, out->n_value, sizeof(*values));
	out->ops = lmi_worker_in_array(i, a, out->n_op, sizeof(*out->ops));
	ropes = lmi_worker_in_array(i, a, out->n_rope, sizeof(*ropes));
	inputs = lmi_worker_in_array(i, a, out->n_input, sizeof(*inputs));
	out->outputs = lmi_worker_in_array(i, a, out->n_output, sizeof(*out->outputs));
	groups = lmi_worker_in_array(i, a, out->n_group, sizeof(*groups));
	out->caches = lmi_worker_in_array(i, a, out->n_cache, sizeof(*out->caches));
	row_ins = lmi_worker_in_array(i, a, out->n_row_in, sizeof(*row_ins));
	for (uint32_t k = 0; k < out->n_value && !i->failed; k++)
		values[k].name = lmi_worker_in_text(i, a);
	for (uint32_t k = 0; k < out->n_input && !i->failed; k++)
		inputs[k].name = lmi_worker_in_text(i, a);
	for (uint32_t k = 0; k < out->n_group && !i->failed; k++)
		groups[k].name = lmi_worker_in_text(i, a);
	for (uint32_t k = 0; k < out->n_row_in && !i->failed; k++)
		row_ins[k].name = lmi_worker_in_text(i, a);
	for (uint32_t k = 0; k < out->n_rope && !i->failed; k++) {
		uint32_t n = ropes[k].n_rot / 2;

		ropes[k].freq = lmi_worker_in_array(i, a, n, sizeof(*ropes[k].freq));
		ropes[k].plane = lmi_worker_in_array(i, a, n, sizeof(*ropes[k].plane));
	}
	out->values = values;
	out->ropes = ropes;
	out->inputs = inputs;
	out->groups = groups;
	out->row_ins = row_ins;
	get_weight_refs(i, a, out);
}
