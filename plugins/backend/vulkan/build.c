/* SPDX-License-Identifier: MIT
 *
 * What the ops use to compile: arguments, windows, temporary memory and dispatches. */
#include "plan.h"

#include <string.h>

void vkb_failed(struct vkb_build *b, enum lmd_status st)
{
	if (b->status == LMD_OK)
		b->status = st;
}

void vkb_u32(struct vkb_build *b, uint32_t v)
{
	if (b->real)
		b->p->args[b->p->n_args] = v;
	b->p->n_args++;
}

/* Uniform buffers begin at multiples of up to 256 bytes. */
uint32_t vkb_args(struct vkb_build *b)
{
	while (b->p->n_args % 64)
		vkb_u32(b, 0);
	return b->p->n_args;
}

void vkb_f32(struct vkb_build *b, float v)
{
	uint32_t w;

	memcpy(&w, &v, sizeof(w));
	vkb_u32(b, w);
}

void vkb_address(struct vkb_build *b, VkDeviceAddress a)
{
	vkb_u32(b, (uint32_t)a);
	vkb_u32(b, (uint32_t)(a >> 32));
}

void vkb_floats(struct vkb_build *b, const float *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vkb_f32(b, v ? v[i] : 0.0f);
}

/* ---- windows ---- */

#define PRESENT 1u
#define I32     2u
#define INPUT   4u
#define BLOCK   8u
#define OWN     LMD_N_SPACE

struct window {
	VkDeviceAddress at;
	uint32_t row_bytes, value_width, space, flags, slot;
};

static void put_view(struct vkb_build *b, const struct window *w, uint32_t col0, uint32_t n_head,
		     uint32_t head_stride, uint32_t width, uint32_t fold)
{
	vkb_address(b, w->at);
	vkb_u32(b, w->row_bytes);
	vkb_u32(b, col0);
	vkb_u32(b, n_head ? n_head : 1);
	vkb_u32(b, head_stride);
	vkb_u32(b, width);
	vkb_u32(b, fold ? fold : 1);
	vkb_u32(b, w->value_width ? w->value_width : 1);
	vkb_u32(b, w->space);
	vkb_u32(b, w->flags);
	vkb_u32(b, w->slot);
}

static struct window window_of(struct vkb_build *b, const struct lmd_operand *o)
{
	struct window w = {.space = OWN};

	switch (o->src) {
	case LMD_SRC_VALUE: {
		const struct lmd_value *v = &b->plan->values[o->id];

		w = (struct window){.at = b->p->values + v->offset,
				    .row_bytes = v->row_bytes,
				    .value_width = v->width,
				    .space = v->space,
				    .flags = PRESENT | (v->vtype == LMD_VTYPE_I32 ? I32 : 0)};
		break;
	}
	case LMD_SRC_ROW_IN: {
		const struct lmd_row_in *r = &b->plan->row_ins[o->id];

		w = (struct window){.at = b->p->layout.row_in[o->id],
				    .row_bytes = 4 * r->width,
				    .value_width = r->width,
				    .space = LMD_SPACE_TOKENS,
				    .flags = PRESENT | BLOCK |
					     (r->vtype == LMD_VTYPE_I32 ? I32 : 0)};
		break;
	}
	case LMD_SRC_INPUT: {
		const struct lmd_input *x = &b->plan->inputs[o->id];

		w = (struct window){.value_width = x->width,
				    .space = x->own_rows ? OWN : x->space,
				    .flags = INPUT | (x->vtype == LMD_VTYPE_I32 ? I32 : 0),
				    .slot = o->id};
		break;
	}
	case LMD_SRC_WEIGHT: {
		const struct vkb_weight *x = b->p->weights[o->id];

		w.at = vkb_flat(b, o->id);
		w.value_width = x ? x->n_stack * x->n * x->k : 1;
		w.flags = PRESENT;
		break;
	}
	default:
		break;
	}
	return w;
}

void vkb_view(struct vkb_build *b, const struct lmd_operand *o)
{
	static const struct lmd_operand none = {.src = LMD_SRC_NONE};
	struct window w;

	o = o ? o : &none;
	w = window_of(b, o);
	put_view(b, &w, o->col0, o->n_head, o->head_stride, o->width,
		 o->src == LMD_SRC_WEIGHT ? 1 : o->fold);
}

void vkb_binding_view(struct vkb_build *b, uint32_t slot, uint32_t width, bool i32)
{
	const struct window w = {
		.value_width = width, .space = OWN, .flags = INPUT | (i32 ? I32 : 0), .slot = slot};

	put_view(b, &w, 0, 1, 0, width, 1);
}

uint32_t vkb_space(const struct vkb_build *b, const struct lmd_operand *o)
{
	if (o->src == LMD_SRC_VALUE)
		return b->plan->values[o->id].space;
	if (o->src == LMD_SRC_INPUT && !b->plan->inputs[o->id].own_rows)
		return b->plan->inputs[o->id].space;
	return o->src == LMD_SRC_ROW_IN ? LMD_SPACE_TOKENS : OWN;
}

VkDeviceAddress vkb_adapters(struct vkb_build *b, uint32_t site, uint32_t n, uint32_t k,
			     uint32_t n_stack)
{
	VkDeviceAddress table = 0;

	if (site == LMD_NONE || !(b->plan->key.flags & LMD_PLAN_LORA))
		return 0;
	if (b->real)
		b->p->places[b->p->n_place] = (struct vkb_place){site, n, k, n_stack};
	b->p->n_place++;
	if (b->status == LMD_OK)
		vkb_failed(b, vkb_site_table(b->dev, site, &table, b->err));
	return table;
}

VkDeviceAddress vkb_flat(struct vkb_build *b, uint32_t weight_ref)
{
	struct vkb_weight *w = weight_ref == LMD_NONE ? NULL : b->p->weights[weight_ref];

	if (!w || !b->real)
		return 0;
	if (b->status == LMD_OK)
		vkb_failed(b, vkb_weight_flat(b->dev, w, b->err));
	return w->flat;
}

/* ---- temporary memory ---- */

VkDeviceAddress vkb_take(struct vkb_build *b, uint64_t bytes)
{
	uint64_t at = b->temp;

	b->temp += (bytes + 255) / 256 * 256;
	if (b->p->temp_bytes < b->temp)
		b->p->temp_bytes = b->temp;
	return b->p->temp_mem.address + at;
}

struct vkb_temp vkb_temp(struct vkb_build *b, uint32_t space, uint32_t n_head, uint32_t width)
{
	uint64_t rows = space < LMD_N_SPACE ? b->plan->max_rows[space] : 1;

	return (struct vkb_temp){.at = vkb_take(b, 4 * rows * n_head * width),
				 .space = space,
				 .n_head = n_head,
				 .width = width};
}

void vkb_temp_view(struct vkb_build *b, const struct vkb_temp *t)
{
	uint32_t stride = t->stride ? t->stride : t->width;
	const struct window w = {.at = t->at,
				 .row_bytes = 4 * t->n_head * stride,
				 .value_width = t->n_head * stride,
				 .space = t->space,
				 .flags = PRESENT};

	put_view(b, &w, t->col0, t->n_head, stride, t->width, 1);
}

/* ---- dispatches ---- */

struct vkb_grid vkb_rows(uint32_t space, uint64_t mul, uint64_t div)
{
	return space < LMD_N_SPACE ? (struct vkb_grid){space, mul, div}
				   : (struct vkb_grid){VKB_FIXED, (mul + div - 1) / div, 1};
}

struct vkb_grid vkb_fixed(uint64_t n)
{
	return (struct vkb_grid){VKB_FIXED, n, 1};
}

void vkb_when(struct vkb_dispatch *d, uint32_t space, uint32_t each, uint32_t lo, uint32_t hi)
{
	d->of = space;
	d->each = each;
	d->lo = lo;
	d->hi = hi;
}

struct vkb_dispatch *vkb_dispatch(struct vkb_build *b, enum vkb_module m, uint32_t spec0,
				  uint32_t spec1, uint32_t at, struct vkb_grid x, struct vkb_grid y)
{
	struct vkb_dispatch *d = b->real ? &b->p->dispatches[b->p->n_dispatch] : &b->unused;

	b->p->n_dispatch++;
	if (b->p->n_args - at > VKB_MOST_ARGS)
		vkb_failed(b, lmd_fail(b->err, LMD_INTERNAL, "vulkan: op %u has %u words of arguments",
				       b->op, b->p->n_args - at));
	*d = (struct vkb_dispatch){
		.op = b->op, .at = at, .groups = b->p->n_groups++, .x = x, .y = y};
	if (b->real && b->status == LMD_OK)
		vkb_failed(b, vkb_pipeline(b->dev, m, spec0, spec1, &d->pipeline, b->err));
	return d;
}
