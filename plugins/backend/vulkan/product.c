/* SPDX-License-Identifier: MIT
 *
 * Products of rows and weights, and the ops that consist of them. */
#include "plan.h"

/* ---- products ---- */

#define FEW  3u                  /* items that are computed one by one */
#define COLS 4u                  /* items of a lane, in float */
#define MANY 8u                  /* and in integers */
#define HAS_ACTIVATION (1u << 31)          /* of SHAPE in shaders/product.glsl */
#define TILE_FROM    17u                 /* items that are computed by tiles */
#define TILE_OUTPUTS 64u /* as in shaders/product_tile.glsl and product8_tile.glsl */
#define TILE_ITEMS   32u

static uint64_t outputs_of(const struct vkb_product *p, const struct vkb_weight *w)
{
	return p->mode == VKB_SLICE_NONE ? (uint64_t)w->n * w->n_stack : w->n;
}

/* What adapters add to the outputs, and factors; 0 if the plan has none there. */
static VkDeviceAddress adapters(struct vkb_build *b, const struct vkb_product *p,
				const struct vkb_weight *w)
{
	uint32_t n = (uint32_t)outputs_of(p, w), at;
	VkDeviceAddress table = vkb_adapters(b, p->site, w->n, w->k, w->n_stack);
	struct vkb_dispatch *d;
	struct vkb_temp delta;

	if (!table)
		return 0;
	delta = vkb_temp(b, p->space, p->heads, 2 * n);
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
	const struct vkb_x *x = &p->x;

	if (x->ints && vkb_is_integer(b->dev, w)) {
		vkb_address(b, x->ints);
		vkb_u32(b, x->int_row);
		vkb_u32(b, 0);
	} else if (vkb_is_rounded(b->dev, w) && x->floats) {
		vkb_address(b, x->floats);
		vkb_u32(b, 4 * w->k * x->n_head);
		vkb_u32(b, 4 * w->k);
	} else {
		vkb_address(b, x->at);
		vkb_u32(b, x->row_bytes);
		vkb_u32(b, x->head_bytes);
	}
	vkb_u32(b, x->n_head);
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

/* The shader of a product, and what it computes at once. */
struct way {
	enum vkb_module module;
	uint32_t outputs;        /* of a workgroup */
	uint32_t shape;          /* SHAPE of shaders/product.glsl without the number of items */
	uint32_t cols;           /* items if they are many */
};

static struct way way_of(const struct vkb_build *b, const struct vkb_product *p,
			 const struct vkb_weight *w)
{
	uint32_t split = b->dev->split, each = outputs_of(p, w) >= 1024 ? 4 : 2;
	uint32_t act = p->act ? HAS_ACTIVATION : 0;

	if (!p->x.ints || !vkb_is_integer(b->dev, w))
		return (struct way){.module =
					    vkb_module_for(w->dtype, VKB_product, VKB_product_all),
				    .outputs = 4,
				    .shape = act,
				    .cols = COLS};
	return (struct way){.module = b->dev->product8,
			    .outputs = 64 / split * each,
			    .shape = split << 8 | each << 16 | act,
			    .cols = MANY};
}

static enum vkb_module tile_of(const struct vkb_build *b, const struct vkb_product *p,
			       const struct vkb_weight *w)
{
	if (!p->x.ints || !vkb_is_integer(b->dev, w))
		return vkb_module_for(w->dtype, VKB_product_tile, VKB_product_tile_all);
	return b->dev->has_dot ? VKB_product8_tile_dot : VKB_product8_tile;
}

/* One item at a time for few rows and for slices, several otherwise: the same sums.  Tiles of many rows add
 * in another order. */
void vkb_products(struct vkb_build *b, const struct vkb_product *p)
{
	const struct vkb_weight *w = b->p->weights[p->w];
	VkDeviceAddress delta = adapters(b, p, w);
	uint32_t at = put_args(b, p, w, delta);
	const struct way way = way_of(b, p, w);
	struct vkb_grid x = vkb_fixed((outputs_of(p, w) + way.outputs - 1) / way.outputs);
	struct vkb_dispatch *d;

	d = vkb_dispatch(b, way.module, w->dtype, way.shape | 1, at, x,
			 vkb_rows(p->space, p->heads, 1));
	d->beside = p->beside && !delta;
	d->work = outputs_of(p, w) * w->k * p->heads;
	if (p->mode == VKB_SLICE_NONE)
		vkb_when(d, p->space, p->heads, 0, FEW);
	vkb_split(b, d);
	if (p->mode != VKB_SLICE_NONE)
		return;
	d = vkb_dispatch(b, way.module, w->dtype, way.shape | way.cols, at, x,
			 vkb_rows(p->space, p->heads, way.cols));
	d->beside = true;
	d->work = outputs_of(p, w) * w->k * p->heads;
	vkb_when(d, p->space, p->heads, FEW + 1, b->dev->tile ? TILE_FROM - 1 : UINT32_MAX);
	vkb_split(b, d);
	if (!b->dev->tile)
		return;
	x = vkb_fixed((outputs_of(p, w) + TILE_OUTPUTS - 1) / TILE_OUTPUTS);
	d = vkb_dispatch(b, tile_of(b, p, w), w->dtype, way.shape & HAS_ACTIVATION, at, x,
			 vkb_rows(p->space, p->heads, TILE_ITEMS));
	d->beside = true;
	d->work = outputs_of(p, w) * w->k * p->heads;
	vkb_when(d, p->space, p->heads, TILE_FROM, UINT32_MAX);
	vkb_split(b, d);
}

static const struct lmd_operand *wanted(const struct lmd_operand *o)
{
	return o->src == LMD_SRC_NONE ? NULL : o;
}

void vkb_op_linear(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_linear *l = &op->u.linear;
	const struct lmd_operand *target = wanted(&l->y[0]) ? &l->y[0] : &l->r_out[0];
	struct vkb_x x = vkb_prepare(b, &l->x, &l->pro, op->space, false, l->w, l->n_w);

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

void vkb_op_ffn(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	const struct lmd_operand *target = wanted(&f->y) ? &f->y : &f->r_out;
	uint32_t heads = target->n_head, width = b->p->weights[f->up]->n;
	const uint32_t first[2] = {f->up, f->gate};
	struct vkb_temp gate = {0}, up;
	struct vkb_x h;
	struct vkb_product p = {.x = vkb_prepare(b, &f->x, &f->norm, op->space, false, first, 2),
				.space = op->space,
				.heads = heads,
				.scale = 1.0f,
				.bias2 = LMD_NONE,
				.site = f->lora_site[1]};

	up = vkb_temp(b, op->space, heads, width);
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
	h = vkb_glu_rows(b, f->act, f->p, f->gate == LMD_NONE ? &up : &gate,
			 f->gate == LMD_NONE ? NULL : &up, f->down);
	p = (struct vkb_product){.x = h,
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
		.x = vkb_prepare(b, &h->x, &h->norm, LMD_SPACE_OUTPUTS, true, &h->w, 1),
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
		.x = vkb_prepare(b, &m->x, NULL, op->space, false, NULL, 0),
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
