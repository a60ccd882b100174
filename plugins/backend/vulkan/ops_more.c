/* SPDX-License-Identifier: MIT
 *
 * Ops of mixtures of experts, of states, and others that not every model has. */
#include "plan.h"

static struct vkb_grid columns(uint32_t n)
{
	return vkb_fixed((n + 63u) / 64u);
}

void vkb_op_softmax(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_softmax *s = &op->u.softmax;
	uint32_t at = vkb_args(b);

	vkb_f32(b, s->scale);
	vkb_u32(b, s->sinkhorn);
	vkb_f32(b, s->eps);
	vkb_view(b, &s->x);
	vkb_view(b, &s->y);
	(void)vkb_dispatch(b, VKB_softmax, 0, 0, at,
			   vkb_rows(op->space, s->sinkhorn ? 1 : s->y.n_head, 1), vkb_fixed(1));
}

void vkb_op_reduce(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_reduce *r = &op->u.reduce;
	uint32_t at = vkb_args(b);

	vkb_u32(b, r->kind);
	vkb_u32(b, r->axis);
	vkb_u32(b, r->n);
	vkb_view(b, &r->x);
	vkb_view(b, &r->y);
	vkb_view(b, &r->y2);
	(void)vkb_dispatch(b, VKB_reduce, 0, 0, at, vkb_rows(op->space, r->y.n_head, 1),
			   vkb_fixed(1));
}

void vkb_op_mix(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_mix *m = &op->u.mix;
	uint32_t at = vkb_args(b);

	vkb_u32(b, m->c_transposed);
	vkb_view(b, &m->x);
	vkb_view(b, &m->c);
	vkb_view(b, &m->d);
	vkb_view(b, &m->z);
	vkb_view(b, &m->y);
	(void)vkb_dispatch(b, VKB_mix, 0, 0, at, columns(m->y.width),
			   vkb_rows(op->space, m->y.n_head, 1));
}

/* ---- experts ---- */

void vkb_op_route(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_route *r = &op->u.route;
	uint64_t n = (uint64_t)r->logits.width * r->logits.n_head;
	VkDeviceAddress temp = vkb_take(b, 8 * n * b->plan->max_rows[op->space]);
	uint32_t at = vkb_args(b);

	vkb_u32(b, r->fn);
	vkb_u32(b, r->k);
	vkb_address(b, vkb_flat(b, r->bias));
	vkb_u32(b, r->n_group);
	vkb_u32(b, r->n_group_used);
	vkb_u32(b, r->renorm);
	vkb_u32(b, r->id_div);
	vkb_f32(b, r->scale);
	vkb_address(b, temp);
	vkb_view(b, &r->logits);
	vkb_view(b, &r->ids);
	vkb_view(b, &r->weights);
	vkb_view(b, &r->given);
	(void)vkb_dispatch(b, VKB_route, 0, 0, at, vkb_rows(op->space, 1, 64), vkb_fixed(1));
}

struct moe {
	const struct lmd_op_moe_ffn *op;
	uint32_t space, k, width, dim;
	struct vkb_temp xw, d;
};

/* Phase 0 makes rows x times weight, phase 1 the sums. */
static void put_moe(struct vkb_build *b, const struct moe *m, uint32_t phase)
{
	const struct lmd_op_moe_ffn *o = m->op;
	uint32_t at = vkb_args(b);

	vkb_u32(b, m->k);
	vkb_u32(b, b->p->weights[o->down]->n_stack);
	vkb_u32(b, o->weight_before);
	vkb_f32(b, o->a);
	vkb_view(b, &o->x);
	vkb_view(b, &o->ids);
	vkb_view(b, &o->weights);
	if (o->weight_before)
		vkb_temp_view(b, &m->xw);
	else
		vkb_view(b, NULL);
	vkb_temp_view(b, &m->d);
	vkb_view(b, &o->y);
	vkb_view(b, &o->r_in);
	vkb_view(b, &o->r_out);
	vkb_dispatch(b, VKB_moe, 0, 0, at, columns(phase ? m->dim : o->x.width),
		     vkb_rows(m->space, phase ? 1 : m->k, 1))
		->phase = phase;
}

static void expert_product(struct vkb_build *b, const struct moe *m, struct vkb_x x, uint32_t w,
			   const struct vkb_temp *y, uint32_t site, bool beside)
{
	const struct vkb_product p = {.x = x,
				      .space = m->space,
				      .heads = m->k,
				      .mode = VKB_SLICE_IDS,
				      .ids = &m->op->ids,
				      .w = w,
				      .y_temp = y,
				      .scale = 1.0f,
				      .bias2 = LMD_NONE,
				      .site = site,
				      .beside = beside};

	vkb_products(b, &p);
}

/* Gate and up side by side, with one product if they are one weight; returns what down reads. */
static struct vkb_x gate_and_up(struct vkb_build *b, const struct moe *m, struct vkb_x x)
{
	const struct lmd_op_moe_ffn *o = m->op;
	struct vkb_temp gate, up;

	if (o->gate_up != LMD_NONE) {
		struct vkb_temp both = vkb_temp(b, m->space, m->k, 2 * m->width);

		expert_product(b, m, x, o->gate_up, &both, o->lora_site[0], false);
		gate = up = both;
		gate.width = up.width = m->width;
		gate.stride = up.stride = 2 * m->width;
		up.col0 = m->width;
		return vkb_glu_rows(b, o->act, o->p, &gate, &up, o->down);
	}
	up = vkb_temp(b, m->space, m->k, m->width);
	gate = vkb_temp(b, m->space, m->k, m->width);
	expert_product(b, m, x, o->up, &up, o->lora_site[1], false);
	if (o->gate != LMD_NONE)
		expert_product(b, m, x, o->gate, &gate, o->lora_site[0], true);
	return vkb_glu_rows(b, o->act, o->p, o->gate == LMD_NONE ? &up : &gate,
			    o->gate == LMD_NONE ? NULL : &up, o->down);
}

void vkb_op_moe_ffn(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_moe_ffn *o = &op->u.moe_ffn;
	const uint32_t refs[3] = {o->gate_up, o->gate, o->up};
	struct moe m = {.op = o,
			.space = op->space,
			.k = o->ids.n_head * o->ids.width,
			.width = b->p->weights[o->down]->k,
			.dim = b->p->weights[o->down]->n};
	struct vkb_x x;

	m.d = vkb_temp(b, m.space, m.k, m.dim);
	if (o->weight_before) {
		m.xw = vkb_temp(b, m.space, m.k, o->x.width);
		put_moe(b, &m, 0);
		x = vkb_x_of(&m.xw);
		vkb_round(b, &x, m.space, refs, 3);
	} else {
		x = vkb_prepare(b, &o->x, NULL, m.space, false, refs, 3);
	}
	x = gate_and_up(b, &m, x);
	expert_product(b, &m, x, o->down, &m.d, o->lora_site[2], false);
	put_moe(b, &m, 1);
}

/* ---- states ---- */

void vkb_op_scan(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_scan *s = &op->u.scan;
	const struct vkb_cache *c = vkb_cache_of(b, s->cache);
	uint32_t at = vkb_args(b);

	vkb_u32(b, s->kind);
	vkb_u32(b, s->n_head);
	vkb_u32(b, s->n_key_head ? s->n_key_head : 1);
	vkb_u32(b, s->dk);
	vkb_u32(b, s->dv);
	vkb_u32(b, s->key_map == LMD_MAP_CYCLE);
	vkb_f32(b, s->scale);
	vkb_u32(b, c ? c->desc.group : 0);
	vkb_address(b, c ? c->side[0].mem.address : 0);
	vkb_u32(b, c ? c->side[0].room * c->n_row : 0);
	vkb_address(b, vkb_flat(b, s->w[0]));
	vkb_address(b, vkb_flat(b, s->w[1]));
	vkb_u32(b, s->in[3].n_head * s->in[3].width == s->n_head ? 1 : s->dk);
	for (int i = 0; i < LMD_SCAN_MAX_IN; i++)
		vkb_view(b, &s->in[i]);
	vkb_view(b, &s->y);
	(void)vkb_dispatch(b, VKB_scan, 0, 0, at,
			   vkb_rows(LMD_SPACE_SEQS, (uint64_t)s->n_head * s->dv, 64), vkb_fixed(1));
}

static uint32_t put_conv(struct vkb_build *b, const struct lmd_op_conv *o, const struct vkb_cache *c)
{
	const struct vkb_weight *w = o->kind == LMD_CONV_DEPTHWISE ? b->p->weights[o->w] : NULL;
	uint32_t at = vkb_args(b);

	vkb_u32(b, o->kind);
	vkb_address(b, w ? vkb_flat(b, o->w) : 0);
	vkb_address(b, w ? w->bias.address : 0);
	vkb_u32(b, o->kernel);
	vkb_u32(b, o->dilation);
	vkb_u32(b, o->left);
	vkb_u32(b, o->n);
	vkb_u32(b, o->overlap);
	vkb_u32(b, o->map);
	vkb_u32(b, o->group);
	vkb_u32(b, o->act);
	vkb_floats(b, o->p, LMD_N_ACT_FN_PARAM);
	vkb_u32(b, c != NULL);
	vkb_u32(b, c ? c->desc.group : 0);
	vkb_address(b, c ? c->side[0].mem.address : 0);
	vkb_u32(b, c ? c->side[0].room * c->n_row : 0);
	vkb_u32(b, c ? c->desc.dk : 0);
	vkb_u32(b, c ? c->side[0].room / 4 : 0);
	vkb_view(b, &o->x);
	vkb_view(b, &o->score);
	vkb_view(b, &o->y);
	return at;
}

void vkb_op_conv(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_conv *o = &op->u.conv;
	const struct vkb_cache *c = vkb_cache_of(b, o->cache);
	uint32_t at = put_conv(b, o, c);

	(void)vkb_dispatch(b, VKB_conv, 0, 0, at, columns(o->y.n_head * o->y.width),
			   vkb_rows(op->space, 1, 1));
	if (c)
		vkb_dispatch(b, VKB_conv, 0, 0, at, columns(c->side[0].room / 4),
			     vkb_rows(LMD_SPACE_SEQS, 1, 1))
			->phase = 1;
}

/* ---- PATCH ---- */

void vkb_op_patch(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_patch *o = &op->u.patch;
	uint32_t x_space = o->x.src == LMD_SRC_INPUT ? o->x_space : vkb_space(b, &o->x);
	const struct vkb_temp t = vkb_temp(b, op->space, 1, b->p->weights[o->w]->k);
	const struct vkb_product p = {.x = vkb_x_of(&t),
				      .space = op->space,
				      .heads = 1,
				      .w = o->w,
				      .y = &o->y,
				      .scale = 1.0f,
				      .bias2 = LMD_NONE,
				      .site = LMD_NONE};
	uint32_t at = vkb_args(b);

	vkb_u32(b, x_space);
	vkb_u32(b, op->space);
	vkb_u32(b, o->n_dim);
	for (int i = 0; i < 2; i++)
		vkb_u32(b, o->kernel[i]);
	for (int i = 0; i < 2; i++)
		vkb_u32(b, o->stride[i]);
	for (int i = 0; i < 2; i++)
		vkb_u32(b, o->pad[i]);
	for (int i = 0; i < 2; i++)
		vkb_u32(b, o->dilation[i]);
	vkb_view(b, &o->x);
	vkb_temp_view(b, &t);
	(void)vkb_dispatch(b, VKB_patch, 0, 0, at, columns(t.width), vkb_rows(op->space, 1, 1));
	vkb_products(b, &p);
}
