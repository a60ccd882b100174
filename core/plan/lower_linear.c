/* SPDX-License-Identifier: MIT
 *
 * Decomposes NORM, LINEAR, HEAD and ROPE_KV into their fused parts. */
#include <string.h>

#include "core/plan/lower.h"

static void emit_norm(struct lmi_plan_lower *l, const struct lmd_operand *x,
		      const struct lmd_norm *n, const struct lmd_operand *y)
{
	struct lmd_op op;

	lmi_plan_op_init(&op, LMD_OP_NORM);
	op.u.norm.x = *x;
	op.u.norm.norm = *n;
	op.u.norm.y = *y;
	lmi_plan_lower_emit(l, &op);
}

/* Separates h = x + a*r from the norm. */
bool lmi_plan_lower_norm(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	struct lmd_op rest = *op;
	struct lmd_op_norm *o = &rest.u.norm;
	const struct lmd_operand none = {0};
	struct lmd_operand h = o->h;
	struct lmi_plan_prog g;
	uint8_t x;

	if (!o->r.src && !o->h.src)
		return false;
	if (!h.src)
		h = lmi_plan_lower_temp(l, &o->x, LMD_VTYPE_F32, o->x.n_head, o->x.width, "sum");
	lmi_plan_prog_init(&g);
	x = lmi_plan_prog_in(&g, &o->x);
	if (o->r.src && o->a == 1)
		lmi_plan_prog_out(
			&g, &h,
			lmi_plan_prog_ins(&g, LMD_EW_ADD, x, lmi_plan_prog_in(&g, &o->r), 0));
	else if (o->r.src)
		lmi_plan_prog_out(&g, &h,
				  lmi_plan_prog_ins(&g, LMD_EW_FMA, lmi_plan_prog_in(&g, &o->r),
						    lmi_plan_prog_const(&g, o->a), x));
	else
		lmi_plan_prog_out(&g, &h, x);
	lmi_plan_lower_emit(l, &g.op);
	o->x = h;
	o->r = none;
	o->h = none;
	o->a = 1;
	lmi_plan_lower_emit(l, &rest);
	return true;
}

static bool linear_has_epilogue(const struct lmd_op_linear *o)
{
	bool residual = false;

	for (uint32_t i = 0; i < o->n_w; i++)
		residual = residual || o->r_out[i].src;
	return residual || o->act != LMD_ACT_FN_NONE || o->softcap != 0 || o->clamp_lo != 0 ||
	       o->clamp_hi != 0;
}

/* Emits activation, softcap, clamp and residual of weight i applied to v. */
static void linear_epilogue(struct lmi_plan_lower *l, const struct lmd_op_linear *o, uint32_t i,
			    struct lmd_operand v)
{
	const struct lmd_operand *name = o->y[i].src ? &o->y[i] : &o->r_out[i];
	struct lmi_plan_prog g;
	uint8_t r;

	if (o->act != LMD_ACT_FN_NONE) {
		struct lmd_op glu;
		bool last = o->y[i].src && !o->r_out[i].src && o->softcap == 0 &&
			    o->clamp_lo == 0 && o->clamp_hi == 0;

		lmi_plan_op_init(&glu, LMD_OP_GLU);
		glu.u.glu.a = v;
		glu.u.glu.act = o->act;
		memcpy(glu.u.glu.p, o->p, sizeof(o->p));
		v = last ? o->y[i]
			 : lmi_plan_lower_temp(l, name, LMD_VTYPE_F32, v.n_head, v.width, "act");
		glu.u.glu.y = v;
		lmi_plan_lower_emit(l, &glu);
		if (last)
			return;
	}
	lmi_plan_prog_init(&g);
	r = lmi_plan_prog_in(&g, &v);
	if (o->softcap != 0) {
		uint8_t cap = lmi_plan_prog_const(&g, o->softcap);

		r = lmi_plan_prog_ins(&g, LMD_EW_TANH, lmi_plan_prog_ins(&g, LMD_EW_DIV, r, cap, 0),
				      0, 0);
		r = lmi_plan_prog_ins(&g, LMD_EW_MUL, r, cap, 0);
	}
	if (o->clamp_lo != 0 || o->clamp_hi != 0) {
		r = lmi_plan_prog_ins(&g, LMD_EW_MAX, r, lmi_plan_prog_const(&g, o->clamp_lo), 0);
		r = lmi_plan_prog_ins(&g, LMD_EW_MIN, r, lmi_plan_prog_const(&g, o->clamp_hi), 0);
	}
	lmi_plan_prog_store(&g, r, &o->y[i], o->a, &o->r_in[i], &o->r_out[i]);
	lmi_plan_lower_emit(l, &g.op);
}

/* Emits the products alone, then one epilogue for each weight. */
static void linear_without_epilogue(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_linear *o = &op->u.linear;
	struct lmd_op bare = *op;
	struct lmd_op_linear *b = &bare.u.linear;

	for (uint32_t i = 0; i < o->n_w; i++) {
		const struct lmd_operand *like = o->y[i].src ? &o->y[i] : &o->r_out[i];

		b->y[i] = lmi_plan_lower_temp(l, like, LMD_VTYPE_F32, like->n_head, like->width,
					      "mm");
		memset(&b->r_in[i], 0, sizeof(b->r_in[i]));
		memset(&b->r_out[i], 0, sizeof(b->r_out[i]));
	}
	b->act = LMD_ACT_FN_NONE;
	memset(b->p, 0, sizeof(b->p));
	b->a = 1;
	b->softcap = b->clamp_lo = b->clamp_hi = 0;
	lmi_plan_lower_emit(l, &bare);
	for (uint32_t i = 0; i < o->n_w; i++)
		linear_epilogue(l, o, i, b->y[i]);
}

/* Emits one op for each weight. */
static void split_weights(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	for (uint32_t i = 0; i < op->u.linear.n_w; i++) {
		struct lmd_op one = *op;
		struct lmd_op_linear *o = &one.u.linear;

		o->n_w = 1;
		o->w[0] = o->w[i];
		o->y[0] = o->y[i];
		o->r_in[0] = o->r_in[i];
		o->r_out[0] = o->r_out[i];
		o->lora_site[0] = o->lora_site[i];
		lmi_plan_lower_emit(l, &one);
	}
}

bool lmi_plan_lower_linear(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_linear *o = &op->u.linear;

	if (o->pro.kind != LMD_NORM_NONE) {
		struct lmd_op rest = *op;

		rest.u.linear.x = lmi_plan_lower_temp(l, &o->x, LMD_VTYPE_ACT, o->x.n_head,
						      o->x.width, "norm");
		rest.u.linear.pro.kind = LMD_NORM_NONE;
		emit_norm(l, &o->x, &o->pro, &rest.u.linear.x);
		lmi_plan_lower_emit(l, &rest);
	} else if (linear_has_epilogue(o)) {
		linear_without_epilogue(l, op);
	} else if (o->n_w > 1) {
		split_weights(l, op);
	} else {
		return false;
	}
	return true;
}

bool lmi_plan_lower_head(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_head *o = &op->u.head;
	struct lmd_op gather, linear;
	struct lmd_operand v = o->y;
	struct lmi_plan_prog g;

	lmi_plan_op_init(&gather, LMD_OP_GATHER);
	gather.u.gather.x = o->x;
	gather.u.gather.idx_kind = LMD_IDX_OUT_ROW;
	gather.u.gather.y = lmi_plan_lower_temp(l, &o->x, LMD_VTYPE_F32, 1, o->x.width, "rows");
	lmi_plan_lower_emit(l, &gather);
	if (o->bias != LMD_NONE)
		v = lmi_plan_lower_temp(l, &o->y, LMD_VTYPE_F32, 1, o->y.width, "mm");
	lmi_plan_op_init(&linear, LMD_OP_LINEAR);
	linear.u.linear.x = gather.u.gather.y;
	linear.u.linear.n_w = 1;
	linear.u.linear.w[0] = o->w;
	linear.u.linear.y[0] = v;
	linear.u.linear.pro = o->norm;
	linear.u.linear.scale = o->scale;
	linear.u.linear.softcap = o->softcap;
	linear.u.linear.lora_site[0] = o->lora_site;
	lmi_plan_lower_emit(l, &linear);
	if (o->bias != LMD_NONE) {
		const struct lmd_operand bias = {
			.src = LMD_SRC_WEIGHT, .id = o->bias, .n_head = 1, .width = o->y.width};
		uint8_t x, b;

		lmi_plan_prog_init(&g);
		x = lmi_plan_prog_in(&g, &v);
		b = lmi_plan_prog_in(&g, &bias);
		lmi_plan_prog_out(&g, &o->y, lmi_plan_prog_ins(&g, LMD_EW_ADD, x, b, 0));
		lmi_plan_lower_emit(l, &g.op);
	}
	return true;
}

/* Computes a norm of q or k into a new value, which replaces the operand. */
static void separate_norm(struct lmi_plan_lower *l, struct lmd_operand *x, const struct lmd_norm *n,
			  const struct lmd_operand *y)
{
	struct lmd_operand to;

	if (!x->src || n->kind == LMD_NORM_NONE)
		return;
	to = y ? *y : lmi_plan_lower_temp(l, x, LMD_VTYPE_ACT, x->n_head, x->width, "norm");
	emit_norm(l, x, n, &to);
	*x = to;
}

/* Emits the rotation into values, the norms, then the append. */
static void norm_after(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	struct lmd_op transpose = *op, append = *op;
	struct lmd_op_rope_kv *t = &transpose.u.rope_kv, *a = &append.u.rope_kv;
	const struct lmd_operand none = {0};

	t->norm_when = LMD_QKN_NONE;
	t->v = none;
	t->cache = LMD_NONE;
	t->append = 0;
	if (o->q.src && o->qn.kind != LMD_NORM_NONE)
		t->q_out = lmi_plan_lower_temp(l, &o->q, LMD_VTYPE_ACT, o->q.n_head, o->q.width,
					       "rope");
	if (o->k.src && (o->kn.kind != LMD_NORM_NONE || !o->k_out.src))
		t->k_out = lmi_plan_lower_temp(l, &o->k, LMD_VTYPE_ACT, o->k.n_head, o->k.width,
					       "rope");
	if (o->q.src || o->k.src)
		lmi_plan_lower_emit(l, &transpose);
	separate_norm(l, &t->q_out, &o->qn, &o->q_out);
	separate_norm(l, &t->k_out, &o->kn, o->k_out.src ? &o->k_out : NULL);
	if (!o->append)
		return;
	a->norm_when = LMD_QKN_NONE;
	a->q = a->q_out = a->k_out = none;
	a->k = o->append & LMD_APPEND_K ? t->k_out : none;
	a->rope = LMD_NONE;
	a->pos = none;
	lmi_plan_lower_emit(l, &append);
}

bool lmi_plan_lower_rope_kv(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	struct lmd_op rest = *op;

	if (o->qn.kind == LMD_NORM_NONE && o->kn.kind == LMD_NORM_NONE)
		return false;
	if (o->norm_when == LMD_QKN_AFTER) {
		norm_after(l, op);
		return true;
	}
	separate_norm(l, &rest.u.rope_kv.q, &o->qn, NULL);
	separate_norm(l, &rest.u.rope_kv.k, &o->kn, NULL);
	rest.u.rope_kv.norm_when = LMD_QKN_NONE;
	lmi_plan_lower_emit(l, &rest);
	return true;
}
