/* SPDX-License-Identifier: MIT
 *
 * Products of rows and weights, and the ops that consist of them. */
#include "plan.h"

/* ---- rows ---- */

void vkb_norm_dispatch(struct vkb_build *b, const struct lmd_op_norm *n, const struct vkb_temp *y,
		       uint32_t space, bool out_rows)
{
	uint32_t at = vkb_args(b), size = n->norm.n ? n->norm.n : n->x.width;
	uint32_t groups = (n->x.width + size - 1) / size;
	bool has_norm = n->norm.kind != LMD_NORM_NONE;

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
	(void)vkb_dispatch(b, VKB_norm, 0, 0, at,
			   n->over_rows ? vkb_rows(LMD_SPACE_SEQS, groups, 1)
					: vkb_rows(space, (uint64_t)n->x.n_head * groups, 1),
			   vkb_fixed(1));
}

struct vkb_x vkb_x_of(const struct vkb_temp *t)
{
	return (struct vkb_x){.at = t->at,
			      .row_bytes = 4 * t->n_head * t->width,
			      .head_bytes = 4 * t->width,
			      .n_head = t->n_head};
}

struct vkb_x vkb_prepare(struct vkb_build *b, const struct lmd_operand *o,
			 const struct lmd_norm *norm, uint32_t space, bool out_rows)
{
	struct lmd_op_norm n = {.x = *o};
	struct vkb_temp t;

	if (o->src == LMD_SRC_VALUE && o->fold <= 1 && !out_rows &&
	    (!norm || norm->kind == LMD_NORM_NONE) &&
	    b->plan->values[o->id].vtype != LMD_VTYPE_I32) {
		const struct lmd_value *v = &b->plan->values[o->id];

		return (struct vkb_x){.at = b->p->values + v->offset + 4ull * o->col0,
				      .row_bytes = v->row_bytes,
				      .head_bytes = 4 * o->head_stride,
				      .n_head = o->n_head ? o->n_head : 1};
	}
	if (norm)
		n.norm = *norm;
	t = vkb_temp(b, space, o->n_head ? o->n_head : 1, o->width);
	vkb_norm_dispatch(b, &n, &t, space, out_rows);
	return vkb_x_of(&t);
}

/* ---- products ---- */

#define COLS 4u

static uint64_t outputs_of(const struct vkb_product *p, const struct vkb_weight *w)
{
	return p->mode == VKB_SLICE_NONE ? (uint64_t)w->n * w->n_stack : w->n;
}

/* What adapters add to the outputs; 0 if the plan has none there. */
static VkDeviceAddress adapters(struct vkb_build *b, const struct vkb_product *p,
				const struct vkb_weight *w)
{
	uint32_t n = (uint32_t)outputs_of(p, w), at;
	VkDeviceAddress table = vkb_adapters(b, p->site, w->n, w->k, w->n_stack);
	struct vkb_dispatch *d;
	struct vkb_temp delta;

	if (!table)
		return 0;
	delta = vkb_temp(b, p->space, p->heads, n);
	at = vkb_args(b);
	vkb_address(b, p->x.at);
	vkb_u32(b, p->x.row_bytes);
	vkb_u32(b, p->x.head_bytes);
	vkb_u32(b, p->x.n_head);
	vkb_u32(b, p->heads);
	vkb_u32(b, p->space);
	vkb_u32(b, p->mode == VKB_SLICE_IDS);
	vkb_address(b, table);
	vkb_u32(b, n);
	vkb_u32(b, w->n_stack);
	vkb_address(b, delta.at);
	vkb_view(b, p->ids);
	d = vkb_dispatch(b, VKB_lora, 0, 0, at, vkb_rows(p->space, p->heads, 1), vkb_fixed(1));
	d->adapters = true;
	return delta.at;
}

static uint32_t put_args(struct vkb_build *b, const struct vkb_product *p,
			 const struct vkb_weight *w, VkDeviceAddress delta)
{
	uint32_t at = vkb_args(b);

	vkb_address(b, p->x.at);
	vkb_u32(b, p->x.row_bytes);
	vkb_u32(b, p->x.head_bytes);
	vkb_u32(b, p->x.n_head);
	vkb_u32(b, p->heads);
	vkb_u32(b, p->space);
	vkb_u32(b, p->mode);
	vkb_address(b, w->rows.address);
	vkb_u32(b, w->row_bytes);
	vkb_u32(b, w->n);
	vkb_u32(b, w->k);
	vkb_u32(b, w->n_stack);
	vkb_address(b, w->scale.address);
	vkb_u32(b, w->n_scale);
	vkb_address(b, w->bias.address);
	vkb_u32(b, w->n_bias);
	vkb_address(b, vkb_flat(b, p->bias2));
	vkb_f32(b, p->scale);
	vkb_f32(b, p->a);
	vkb_f32(b, p->softcap);
	vkb_f32(b, p->lo);
	vkb_f32(b, p->hi);
	vkb_u32(b, p->act);
	vkb_floats(b, p->act_param, LMD_N_ACT_FN_PARAM);
	vkb_view(b, p->ids);
	if (p->y_temp)
		vkb_temp_view(b, p->y_temp);
	else
		vkb_view(b, p->y);
	vkb_view(b, p->r_in);
	vkb_view(b, p->r_out);
	vkb_address(b, delta);
	return at;
}

/* One item at a time for few rows and for slices, several otherwise: the same sums. */
void vkb_products(struct vkb_build *b, const struct vkb_product *p)
{
	const struct vkb_weight *w = b->p->weights[p->w];
	VkDeviceAddress delta = adapters(b, p, w);
	uint32_t at = put_args(b, p, w, delta);
	struct vkb_grid x = vkb_fixed((outputs_of(p, w) + 3) / 4);
	struct vkb_dispatch *d;

	d = vkb_dispatch(b, VKB_product, w->dtype, 1, at, x, vkb_rows(p->space, p->heads, 1));
	d->beside = p->beside && !delta;
	if (p->mode != VKB_SLICE_NONE)
		return;
	d->each = p->heads;
	d->hi = 3;
	d = vkb_dispatch(b, VKB_product, w->dtype, COLS, at, x, vkb_rows(p->space, p->heads, COLS));
	d->beside = true;
	d->each = p->heads;
	d->lo = 4;
	d->hi = UINT32_MAX;
}

static const struct lmd_operand *wanted(const struct lmd_operand *o)
{
	return o->src == LMD_SRC_NONE ? NULL : o;
}

void vkb_op_linear(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_linear *l = &op->u.linear;
	const struct lmd_operand *target = wanted(&l->y[0]) ? &l->y[0] : &l->r_out[0];
	struct vkb_x x = vkb_prepare(b, &l->x, &l->pro, op->space, false);

	for (uint32_t i = 0; i < l->n_w; i++) {
		const struct vkb_product p = {
			.x = x,
			.space = op->space,
			.heads = target->n_head,
			.mode = l->ids.src == LMD_SRC_NONE ? VKB_SLICE_NONE : VKB_SLICE_IDS,
			.ids = wanted(&l->ids),
			.w = l->w[i],
			.y = wanted(&l->y[i]),
			.r_in = wanted(&l->r_in[i]),
			.r_out = wanted(&l->r_out[i]),
			.scale = l->scale,
			.a = l->a,
			.softcap = l->softcap,
			.lo = l->clamp_lo,
			.hi = l->clamp_hi,
			.act = l->act,
			.act_param = l->p,
			.bias2 = LMD_NONE,
			.site = l->lora_site[i],
			.beside = i > 0,
		};

		vkb_products(b, &p);
	}
}

void vkb_glu_temp(struct vkb_build *b, uint32_t act, const float *p, const struct vkb_temp *gate,
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

void vkb_op_ffn(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	const struct lmd_operand *target = wanted(&f->y) ? &f->y : &f->r_out;
	uint32_t heads = target->n_head, width = b->p->weights[f->up]->n;
	struct vkb_temp gate = {0}, up, h;
	struct vkb_product p = {.x = vkb_prepare(b, &f->x, &f->norm, op->space, false),
				.space = op->space,
				.heads = heads,
				.scale = 1.0f,
				.bias2 = LMD_NONE,
				.site = f->lora_site[1]};

	up = vkb_temp(b, op->space, heads, width);
	h = vkb_temp(b, op->space, heads, width);
	p.w = f->up;
	p.y_temp = &up;
	vkb_products(b, &p);
	if (f->gate != LMD_NONE) {
		gate = vkb_temp(b, op->space, heads, width);
		p.w = f->gate;
		p.site = f->lora_site[0];
		p.y_temp = &gate;
		p.beside = true;
		vkb_products(b, &p);
	}
	vkb_glu_temp(b, f->act, f->p, f->gate == LMD_NONE ? &up : &gate,
		     f->gate == LMD_NONE ? NULL : &up, &h);
	p = (struct vkb_product){.x = vkb_x_of(&h),
				 .space = op->space,
				 .heads = heads,
				 .w = f->down,
				 .y = wanted(&f->y),
				 .r_in = wanted(&f->r_in),
				 .r_out = wanted(&f->r_out),
				 .scale = 1.0f,
				 .a = f->a,
				 .bias2 = LMD_NONE,
				 .site = f->lora_site[2]};
	vkb_products(b, &p);
}

void vkb_op_head(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_head *h = &op->u.head;
	const struct vkb_product p = {
		.x = vkb_prepare(b, &h->x, &h->norm, LMD_SPACE_OUTPUTS, true),
		.space = LMD_SPACE_OUTPUTS,
		.heads = 1,
		.w = h->w,
		.y = &h->y,
		.scale = h->scale,
		.softcap = h->softcap,
		.bias2 = h->bias,
		.site = h->lora_site,
	};

	vkb_products(b, &p);
}

void vkb_op_bmm(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_bmm *m = &op->u.bmm;
	const struct vkb_product p = {
		.x = vkb_prepare(b, &m->x, NULL, op->space, false),
		.space = op->space,
		.heads = m->y.n_head,
		.mode = VKB_SLICE_HEAD,
		.w = m->w,
		.y = &m->y,
		.scale = 1.0f,
		.bias2 = LMD_NONE,
		.site = LMD_NONE,
	};

	vkb_products(b, &p);
}
