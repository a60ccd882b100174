/* SPDX-License-Identifier: MIT
 *
 * Memory of a plan.  The arrays of the view grow by doubling on the heap, and the view points to
 * them; everything they point to is copied into the arena and never moves. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/plan/plan_priv.h"

/* Literals of the largest models amount to a few hundred MiB. */
#define ARENA_LIMIT (1ull << 30)

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "out of memory for a plan");
}

/* Makes room for item number n in an array of *cap items. */
static enum lmd_status reserve(void *array, uint32_t *cap, uint32_t n, size_t item,
			       const char *what, struct lmd_error *err)
{
	uint32_t want = *cap ? *cap * 2 : 32;
	void *old, *p;

	if (n < *cap)
		return LMD_OK;
	if (n >= LMI_PLAN_MAX)
		return lmd_fail(err, LMD_INVALID, "plan: more than %u %s", LMI_PLAN_MAX, what);
	memcpy(&old, array, sizeof(old));
	p = lmi_realloc(old, want, item);
	if (!p)
		return no_memory(err);
	memcpy(array, &p, sizeof(p));
	*cap = want;
	return LMD_OK;
}

enum lmd_status lmi_plan_new(struct lmi_plan **out, const struct lmd_plan *like,
			     struct lmd_error *err)
{
	struct lmi_plan *p = lmi_alloc(1, sizeof(*p));

	if (!p)
		return no_memory(err);
	p->arena = lmi_arena_create(ARENA_LIMIT);
	if (!p->arena) {
		lmi_free(p);
		return no_memory(err);
	}
	p->view.struct_size = sizeof(p->view);
	p->view.key = like->key;
	p->view.act_dtype = like->act_dtype;
	p->view.n_x = like->n_x;
	memcpy(p->view.max_rows, like->max_rows, sizeof(p->view.max_rows));
	*out = p;
	return LMD_OK;
}

static void *copy_array(struct lmd_arena *a, const void *src, uint32_t n, size_t item)
{
	void *dst = n ? lmi_arena_array(a, n, item) : NULL;

	if (dst)
		memcpy(dst, src, n * item);
	return dst;
}

enum lmd_status lmi_plan_copy_memory(struct lmi_plan *p, const struct lmd_plan *from,
				     struct lmd_error *err)
{
	struct lmd_arena *a = p->arena;
	struct lmd_group *groups = copy_array(a, from->groups, from->n_group, sizeof(*groups));
	struct lmd_row_in *row_ins = copy_array(a, from->row_ins, from->n_row_in, sizeof(*row_ins));

	p->caches = copy_array(a, from->caches, from->n_cache, sizeof(*p->caches));
	if ((from->n_group && !groups) || (from->n_cache && !p->caches) ||
	    (from->n_row_in && !row_ins))
		return no_memory(err);
	for (uint32_t i = 0; i < from->n_group; i++) {
		groups[i].name = lmi_arena_printf(a, "%s", groups[i].name);
		if (!groups[i].name)
			return no_memory(err);
	}
	for (uint32_t i = 0; i < from->n_row_in; i++) {
		row_ins[i].name =
			lmi_arena_printf(a, "%s", row_ins[i].name ? row_ins[i].name : "row_in");
		if (!row_ins[i].name)
			return no_memory(err);
	}
	p->view.groups = groups;
	p->view.caches = p->caches;
	p->view.row_ins = row_ins;
	p->view.n_group = from->n_group;
	p->view.n_cache = from->n_cache;
	p->view.n_row_in = from->n_row_in;
	return LMD_OK;
}

enum lmd_status lmi_plan_copy_rope(struct lmi_plan *p, const struct lmd_rope *r,
				   struct lmd_error *err)
{
	struct lmd_rope copy = *r;
	uint32_t n = r->n_rot / 2, id;

	copy.freq = copy_array(p->arena, r->freq, n, sizeof(*r->freq));
	copy.plane = copy_array(p->arena, r->plane, n, sizeof(*r->plane));
	if (!copy.freq || !copy.plane)
		return no_memory(err);
	return lmi_plan_add_rope(p, &copy, &id, err);
}

/* Values of one layer are almost always consecutive, so only the last ones are compared. */
static uint32_t same_name(const struct lmi_plan *p, const char *name)
{
	size_t len = strlen(name);
	uint32_t n = 0;

	for (uint32_t i = p->view.n_value; i-- > 0;) {
		const char *have = p->values[i].name;

		if (!strncmp(have, name, len) && (!have[len] || have[len] == '#'))
			n++;
		if (p->view.n_value - i > 256)
			break;
	}
	return n;
}

enum lmd_status lmi_plan_add_value(struct lmi_plan *p, const struct lmd_value *v, int32_t layer,
				   uint32_t *id, struct lmd_error *err)
{
	enum lmd_status st = reserve(&p->values, &p->cap_value, p->view.n_value, sizeof(*p->values),
				     "values", err);
	const char *name = v->name && *v->name ? v->name : "value";
	uint32_t n;

	if (st != LMD_OK)
		return st;
	p->view.values = p->values;
	name = layer >= 0 ? lmi_arena_printf(p->arena, "L%d.%s", layer, name)
			  : lmi_arena_printf(p->arena, "%s", name);
	if (!name)
		return no_memory(err);
	n = same_name(p, name);
	if (n)
		name = lmi_arena_printf(p->arena, "%s#%u", name, n + 1);
	if (!name)
		return no_memory(err);
	p->values[p->view.n_value] = *v;
	p->values[p->view.n_value].name = name;
	*id = p->view.n_value++;
	return LMD_OK;
}

enum lmd_status lmi_plan_add_op(struct lmi_plan *p, const struct lmd_op *op, struct lmd_error *err)
{
	enum lmd_status st =
		reserve(&p->ops, &p->cap_op, p->view.n_op, sizeof(*p->ops), "ops", err);

	if (st == LMD_OK) {
		p->view.ops = p->ops;
		p->ops[p->view.n_op++] = *op;
	}
	return st;
}

/* Different parts of one tensor are different weights: "t", "t#2", ... */
static const char *weight_name(const struct lmi_plan *p, const char *name)
{
	size_t len = strlen(name);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->view.n_weight_ref; i++) {
		const char *have = p->weight_refs[i].name;

		if (!strncmp(have, name, len) && (!have[len] || have[len] == '#'))
			n++;
	}
	return n ? lmi_arena_printf(p->arena, "%s#%u", name, n + 1)
		 : lmi_arena_printf(p->arena, "%s", name);
}

enum lmd_status lmi_plan_add_weight_ref(struct lmi_plan *p, const struct lmd_weight_ref *w,
					uint32_t dtype, uint32_t *id, struct lmd_error *err)
{
	enum lmd_status st = reserve(&p->weight_refs, &p->cap_weight_ref, p->view.n_weight_ref,
				     sizeof(*p->weight_refs), "weights", err);
	struct lmd_weight_part *parts;
	struct lmd_weight_ref *dst;


	if (st != LMD_OK)
		return st;
	p->view.weight_refs = p->weight_refs;
	parts = lmi_arena_array(p->arena, w->n_part, sizeof(*parts));
	if (!parts)
		return no_memory(err);
	memcpy(parts, w->parts, w->n_part * sizeof(*parts));
	for (uint32_t i = 0; i < w->n_part; i++) {
		size_t n = (size_t)parts[i].n_row *
			   (w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? w->n : w->k);
		float *copy;

		if (parts[i].kind != LMD_WEIGHT_PART_LITERAL)
			continue;
		copy = lmi_arena_array(p->arena, n, sizeof(*copy));
		if (!copy)
			return no_memory(err);
		memcpy(copy, parts[i].literal, n * sizeof(*copy));
		parts[i].literal = copy;
	}
	dst = &p->weight_refs[p->view.n_weight_ref];
	*dst = *w;
	dst->struct_size = sizeof(*dst);
	dst->parts = parts;
	dst->name = weight_name(p, w->name);
	if (!dst->name)
		return no_memory(err);
	dst->dtype = dtype;
	*id = p->view.n_weight_ref++;
	return LMD_OK;
}

enum lmd_status lmi_plan_add_rope(struct lmi_plan *p, const struct lmd_rope *r, uint32_t *id,
				  struct lmd_error *err)
{
	enum lmd_status st = reserve(&p->ropes, &p->cap_rope, p->view.n_rope, sizeof(*p->ropes),
				     "rotation tables", err);

	if (st == LMD_OK) {
		p->view.ropes = p->ropes;
		p->ropes[p->view.n_rope] = *r;
		*id = p->view.n_rope++;
	}
	return st;
}

enum lmd_status lmi_plan_add_input(struct lmi_plan *p, const struct lmd_input *in, uint32_t *id,
				   struct lmd_error *err)
{
	enum lmd_status st = reserve(&p->inputs, &p->cap_input, p->view.n_input, sizeof(*p->inputs),
				     "inputs", err);
	const char *name;

	if (st != LMD_OK)
		return st;
	p->view.inputs = p->inputs;
	name = lmi_arena_printf(p->arena, "%s", in->name && *in->name ? in->name : "input");
	if (!name)
		return no_memory(err);
	p->inputs[p->view.n_input] = *in;
	p->inputs[p->view.n_input].name = name;
	*id = p->view.n_input++;
	return LMD_OK;
}

enum lmd_status lmi_plan_add_output(struct lmi_plan *p, uint32_t out_id, uint32_t value,
				    struct lmd_error *err)
{
	enum lmd_status st = reserve(&p->outputs, &p->cap_output, p->view.n_output,
				     sizeof(*p->outputs), "outputs", err);

	if (st == LMD_OK) {
		p->view.outputs = p->outputs;
		p->outputs[p->view.n_output++] = (struct lmd_output){
			.id = out_id,
			.value = value,
			.dtype = p->values[value].vtype == LMD_VTYPE_I32 ? LMD_DTYPE_I32
									 : LMD_DTYPE_F32,
		};
	}
	return st;
}

const struct lmd_plan *lmi_plan_view(const struct lmi_plan *p)
{
	return &p->view;
}

void lmi_plan_destroy(struct lmi_plan *p)
{
	if (!p)
		return;
	lmi_free(p->values);
	lmi_free(p->ops);
	lmi_free(p->weight_refs);
	lmi_free(p->ropes);
	lmi_free(p->inputs);
	lmi_free(p->outputs);
	lmi_arena_destroy(p->arena);
	lmi_free(p);
}
