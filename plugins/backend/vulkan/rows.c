/* SPDX-License-Identifier: MIT
 *
 * The rows that products read: in place, normed, multiplied by an activation function, and rounded to 8
 * bits for weights of block types (plugins/backend/ref/op_linear_int8.c). */
#include "backend/common/int8_types.h"
#include "backend/common/planes.h"
#include "plan.h"

bool vkb_is_integer(const struct vkb_dev *dev, const struct vkb_weight *w)
{
	return dev->int8 && w->k % 32 == 0 &&
	       (host_mem_planes_has(w->dtype) || w->dtype == LMD_DTYPE_Q4_1);
}

bool vkb_is_rounded(const struct vkb_dev *dev, const struct vkb_weight *w)
{
	return dev->int8 && !vkb_is_integer(dev, w) && host_mem_int8_type(w->dtype) && w->k % 32 == 0;
}

/* What the products of some weights read. */
struct needs {
	bool ints, rounded, floats;
	uint32_t k;
};

static struct needs needs_of(const struct vkb_build *b, const uint32_t *refs, uint32_t n)
{
	/* adapters read floats */
	struct needs x = {.floats = b->plan->key.flags & LMD_PLAN_LORA};

	for (uint32_t i = 0; i < n; i++) {
		const struct vkb_weight *w = refs[i] == LMD_NONE ? NULL : b->p->weights[refs[i]];

		if (!w)
			continue;
		x.k = w->k;
		if (vkb_is_integer(b->dev, w))
			x.ints = true;
		else if (vkb_is_rounded(b->dev, w))
			x.rounded = true;
		else
			x.floats = true;
	}
	return x;
}

static uint64_t rows_of(const struct vkb_build *b, uint32_t space)
{
	return space < LMD_N_SPACE ? b->plan->max_rows[space] : 1;
}

static void take_ints(struct vkb_build *b, struct vkb_x *x, uint32_t space, uint32_t k)
{
	x->int_row = (k + k / 4 + 15) / 16 * 16;
	x->ints = vkb_take(b, rows_of(b, space) * x->n_head * x->int_row);
}

/* ---- norms ---- */

/* x: where rounded rows go, instead of y; or NULL. */
static void norm_dispatch(struct vkb_build *b, const struct lmd_op_norm *n, const struct vkb_temp *y,
			  const struct vkb_x *x, uint32_t space, bool out_rows)
{
	uint32_t at = vkb_args(b), size = n->norm.n ? n->norm.n : n->x.width;
	uint32_t groups = (n->x.width + size - 1) / size;
	bool has_norm = n->norm.kind != LMD_NORM_NONE;
	bool has_bias = has_norm && n->norm.b.src != LMD_SRC_NONE;

	vkb_u32(b, (n->over_rows ? 1 : 0) | (out_rows ? 2 : 0) | (n->norm.g_plus_one ? 4 : 0));
	vkb_f32(b, n->a);
	vkb_u32(b, n->norm.kind);
	vkb_f32(b, n->norm.eps);
	vkb_u32(b, size);
	vkb_view(b, &n->x);
	vkb_view(b, &n->r);
	vkb_view(b, &n->h);
	if (y)
		vkb_temp_view(b, y);
	else
		vkb_view(b, &n->y);
	vkb_view(b, &n->stat);
	vkb_view(b, has_norm ? &n->norm.g : NULL);
	vkb_view(b, has_norm ? &n->norm.b : NULL);
	vkb_address(b, x ? x->ints : 0);
	vkb_u32(b, x ? x->int_row : 0);
	(void)vkb_dispatch(b, VKB_norm, (x ? 1 : 0) | (has_bias ? 2 : 0), 0, at,
			   n->over_rows ? vkb_rows(LMD_SPACE_SEQS, groups, 1)
					: vkb_rows(space, (uint64_t)n->x.n_head * groups, 1),
			   vkb_fixed(1));
}

void vkb_norm_dispatch(struct vkb_build *b, const struct lmd_op_norm *n, const struct vkb_temp *y,
		       uint32_t space, bool out_rows)
{
	norm_dispatch(b, n, y, NULL, space, out_rows);
}

/* ---- rounding ---- */

/* Rounds rows, or act(x) * up if act_fn is not NULL; up may be 0. */
static void round_dispatch(struct vkb_build *b, const struct vkb_x *x, uint32_t space, uint32_t k,
			   const uint32_t *act_fn, const float *param, VkDeviceAddress up)
{
	uint32_t at = vkb_args(b);

	vkb_address(b, x->at);
	vkb_u32(b, x->row_bytes);
	vkb_u32(b, x->head_bytes);
	vkb_u32(b, x->n_head);
	vkb_u32(b, space);
	vkb_u32(b, k);
	vkb_address(b, x->ints);
	vkb_u32(b, x->int_row);
	vkb_address(b, x->floats);
	vkb_u32(b, act_fn != NULL);
	vkb_address(b, up);
	vkb_u32(b, act_fn ? *act_fn : 0);
	vkb_floats(b, param, LMD_N_ACT_FN_PARAM);
	(void)vkb_dispatch(b, VKB_round, 0, 0, at,
			   vkb_rows(space, (uint64_t)x->n_head * (k / 32), 64), vkb_fixed(1));
}

static void round_rows(struct vkb_build *b, struct vkb_x *x, uint32_t space, const struct needs *need)
{
	if (need->ints && !x->ints)
		take_ints(b, x, space, need->k);
	if (need->rounded)
		x->floats = vkb_take(b, rows_of(b, space) * x->n_head * 4 * need->k);
}

void vkb_round(struct vkb_build *b, struct vkb_x *x, uint32_t space, const uint32_t *refs, uint32_t n)
{
	const struct needs need = needs_of(b, refs, n);

	if (!need.ints && !need.rounded)
		return;
	round_rows(b, x, space, &need);
	round_dispatch(b, x, space, need.k, NULL, NULL, 0);
}

/* ---- preparing ---- */

struct vkb_x vkb_x_of(const struct vkb_temp *t)
{
	uint32_t stride = t->stride ? t->stride : t->width;

	return (struct vkb_x){.at = t->at + 4ull * t->col0,
			      .row_bytes = 4 * t->n_head * stride,
			      .head_bytes = 4 * stride,
			      .n_head = t->n_head};
}

/* Are the columns of a head floats that follow each other? */
static bool is_plain(const struct vkb_build *b, const struct lmd_operand *o)
{
	return o->src == LMD_SRC_VALUE && o->fold <= 1 &&
	       b->plan->values[o->id].vtype != LMD_VTYPE_I32;
}

static bool is_in_place(const struct vkb_build *b, const struct lmd_operand *o,
			const struct lmd_norm *norm, bool out_rows)
{
	return is_plain(b, o) && !out_rows && (!norm || norm->kind == LMD_NORM_NONE);
}

struct vkb_x vkb_prepare(struct vkb_build *b, const struct lmd_operand *o,
			 const struct lmd_norm *norm, uint32_t space, bool out_rows,
			 const uint32_t *refs, uint32_t n_ref)
{
	const struct needs need = needs_of(b, refs, n_ref);
	struct lmd_op_norm n = {.x = *o};
	struct vkb_x x = {.n_head = o->n_head ? o->n_head : 1};
	struct vkb_temp t;

	if (norm)
		n.norm = *norm;
	if (is_in_place(b, o, norm, out_rows)) {
		const struct lmd_value *v = &b->plan->values[o->id];

		x.at = b->p->values + v->offset + 4ull * o->col0;
		x.row_bytes = v->row_bytes;
		x.head_bytes = 4 * o->head_stride;
	} else if (need.ints && !need.rounded && !need.floats && is_plain(b, o) &&
		   (!n.norm.n || n.norm.n >= o->width)) {
		/* the norm rounds its rows itself; nobody reads floats */
		take_ints(b, &x, space, need.k);
		t = (struct vkb_temp){.space = space, .n_head = x.n_head, .width = o->width};
		norm_dispatch(b, &n, &t, &x, space, out_rows);
		return x;
	} else {
		t = vkb_temp(b, space, x.n_head, o->width);
		norm_dispatch(b, &n, &t, NULL, space, out_rows);
		x = vkb_x_of(&t);
	}
	vkb_round(b, &x, space, refs, n_ref);
	return x;
}

static void glu_dispatch(struct vkb_build *b, uint32_t act, const float *p, const struct vkb_temp *gate,
			 const struct vkb_temp *up, const struct vkb_temp *y)
{
	uint32_t at = vkb_args(b);

	vkb_u32(b, act);
	vkb_floats(b, p, LMD_N_ACT_FN_PARAM);
	vkb_temp_view(b, gate);
	if (up)
		vkb_temp_view(b, up);
	else
		vkb_view(b, NULL);
	vkb_temp_view(b, y);
	(void)vkb_dispatch(b, VKB_glu, 0, 0, at, vkb_fixed((y->width + 63) / 64),
			   vkb_rows(y->space, y->n_head, 1));
}

struct vkb_x vkb_glu_rows(struct vkb_build *b, uint32_t act, const float *p,
			  const struct vkb_temp *gate, const struct vkb_temp *up, uint32_t ref)
{
	const struct needs need = needs_of(b, &ref, 1);
	struct vkb_x x = vkb_x_of(gate);
	struct vkb_temp h;

	if (need.floats) {
		h = vkb_temp(b, gate->space, gate->n_head, gate->width);
		glu_dispatch(b, act, p, gate, up, &h);
		x = vkb_x_of(&h);
	}
	if (!need.ints && !need.rounded)
		return x;
	round_rows(b, &x, gate->space, &need);
	if (need.floats)
		round_dispatch(b, &x, gate->space, need.k, NULL, NULL, 0);
	else
		round_dispatch(b, &x, gate->space, need.k, &act, p, up ? vkb_x_of(up).at : 0);
	return x;
}
