/* SPDX-License-Identifier: MIT
 *
 * Decomposes FFN and MOE_FFN into products, activations and sums. */
#include <string.h>

#include "core/plan/lower.h"

static struct lmd_op glu_op(uint32_t act, const float *p, const struct lmd_operand *a,
			    const struct lmd_operand *b, const struct lmd_operand *y)
{
	struct lmd_op op;

	lmi_plan_op_init(&op, LMD_OP_GLU);
	op.u.glu.a = *a;
	if (b)
		op.u.glu.b = *b;
	op.u.glu.y = *y;
	op.u.glu.act = act;
	memcpy(op.u.glu.p, p, sizeof(op.u.glu.p));
	return op;
}

bool lmi_plan_lower_ffn(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op_ffn *o = &op->u.ffn;
	const struct lmd_operand *name = o->y.src ? &o->y : &o->r_out;
	const uint32_t width = l->p->weight_refs[o->up].n;
	const bool gated = o->gate != LMD_NONE;
	struct lmd_op linear, glu;
	struct lmd_op_linear *in = &linear.u.linear;
	struct lmd_operand h;

	lmi_plan_op_init(&linear, LMD_OP_LINEAR);
	in->x = o->x;
	in->pro = o->norm;
	if (gated) {
		in->w[in->n_w] = o->gate;
		in->lora_site[in->n_w] = o->lora_site[0];
		in->y[in->n_w++] = lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, 1, width, "gate");
	}
	in->w[in->n_w] = o->up;
	in->lora_site[in->n_w] = o->lora_site[1];
	in->y[in->n_w++] = lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, 1, width, "up");
	h = in->y[in->n_w - 1];
	if (gated || o->act != LMD_ACT_FN_NONE) {
		h = lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, 1, width, "glu");
		glu = glu_op(o->act, o->p, &in->y[0], gated ? &in->y[1] : NULL, &h);
		lmi_plan_lower_emit(l, &linear);
		lmi_plan_lower_emit(l, &glu);
	} else {
		lmi_plan_lower_emit(l, &linear);
	}
	lmi_plan_op_init(&linear, LMD_OP_LINEAR);
	in->x = h;
	in->n_w = 1;
	in->w[0] = o->down;
	in->lora_site[0] = o->lora_site[2];
	in->y[0] = o->y;
	in->r_in[0] = o->r_in;
	in->r_out[0] = o->r_out;
	in->a = o->a;
	lmi_plan_lower_emit(l, &linear);
	return true;
}

/* Returns the weights of a row's experts as one head per expert. */
static struct lmd_operand expert_weights(const struct lmd_op_moe_ffn *o, uint32_t k)
{
	struct lmd_operand w = o->weights;

	if (w.n_head == 1) {
		w.n_head = k;
		w.head_stride = w.width = 1;
	}
	return w;
}

/* Multiplies x by the weight of each expert: k heads. */
static struct lmd_operand weigh_inputs(struct lmi_plan_lower *l, const struct lmd_op_moe_ffn *o,
				       uint32_t k)
{
	struct lmd_operand y =
		lmi_plan_lower_temp(l, &o->x, LMD_VTYPE_ACT, k, o->x.width, "weighted");
	struct lmd_operand w = expert_weights(o, k);
	struct lmi_plan_prog g;
	uint8_t a, b;

	lmi_plan_prog_init(&g);
	a = lmi_plan_prog_in(&g, &o->x);
	b = lmi_plan_prog_in(&g, &w);
	lmi_plan_prog_out(&g, &y, lmi_plan_prog_ins(&g, LMD_EW_MUL, a, b, 0));
	lmi_plan_lower_emit(l, &g.op);
	return y;
}

/* Computes gate and up (or gate_up) for each expert, then the activation: k heads of width F. */
static struct lmd_operand expert_hidden(struct lmi_plan_lower *l, const struct lmd_op_moe_ffn *o,
					const struct lmd_operand *x, uint32_t k)
{
	const struct lmd_operand *name = o->y.src ? &o->y : &o->r_out;
	const uint32_t width = l->p->weight_refs[o->down].k;
	const bool fused = o->gate_up != LMD_NONE, gated = fused || o->gate != LMD_NONE;
	struct lmd_op linear, glu;
	struct lmd_op_linear *in = &linear.u.linear;
	struct lmd_operand a, b, h;

	lmi_plan_op_init(&linear, LMD_OP_LINEAR);
	in->x = *x;
	in->ids = o->ids;
	if (fused) {
		in->w[0] = o->gate_up;
		in->lora_site[0] = o->lora_site[0];
		in->y[in->n_w++] =
			lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, k, 2ull * width, "gate_up");
		a = b = in->y[0];
		a.width = b.width = width;
		b.col0 = width;
	} else {
		if (gated) {
			in->w[0] = o->gate;
			in->lora_site[0] = o->lora_site[0];
			in->y[in->n_w++] =
				lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, k, width, "gate");
		}
		in->w[in->n_w] = o->up;
		in->lora_site[in->n_w] = o->lora_site[1];
		in->y[in->n_w++] = lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, k, width, "up");
		a = in->y[0];
		b = in->y[in->n_w - 1];
	}
	lmi_plan_lower_emit(l, &linear);
	if (!gated && o->act == LMD_ACT_FN_NONE)
		return a;
	h = lmi_plan_lower_temp(l, name, LMD_VTYPE_ACT, k, width, "glu");
	glu = glu_op(o->act, o->p, &a, gated ? &b : NULL, &h);
	lmi_plan_lower_emit(l, &glu);
	return h;
}

bool lmi_plan_lower_moe_ffn(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	static const float ones[64] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	};
	const struct lmd_op_moe_ffn *o = &op->u.moe_ffn;
	const struct lmd_operand *name = o->y.src ? &o->y : &o->r_out;
	const uint32_t k = (uint32_t)lmi_plan_operand_cols(&o->ids),
		       width = l->p->weight_refs[o->down].n;
	struct lmd_operand x = o->x, h, v;
	struct lmd_op linear, mix;
	struct lmi_plan_prog g;

	if (k > LMD_LEN(ones)) /* the maximum that MIX accepts */
		return false;
	if (o->weight_before)
		x = weigh_inputs(l, o, k);
	h = expert_hidden(l, o, &x, k);
	lmi_plan_op_init(&linear, LMD_OP_LINEAR);
	linear.u.linear.x = h;
	linear.u.linear.ids = o->ids;
	linear.u.linear.n_w = 1;
	linear.u.linear.w[0] = o->down;
	linear.u.linear.lora_site[0] = o->lora_site[2];
	linear.u.linear.y[0] = lmi_plan_lower_temp(l, name, LMD_VTYPE_F32, k, width, "down");
	lmi_plan_lower_emit(l, &linear);

	lmi_plan_op_init(&mix, LMD_OP_MIX);
	mix.u.mix.x = linear.u.linear.y[0];
	mix.u.mix.c = o->weights;
	if (o->weight_before)
		mix.u.mix.c = (struct lmd_operand){.src = LMD_SRC_WEIGHT,
						   .id = lmi_plan_lower_literal(l, ones, k, "ones"),
						   .n_head = 1,
						   .width = k};
	if (!o->y.src && o->a == 1) {
		mix.u.mix.z = o->r_in;
		mix.u.mix.y = o->r_out;
		lmi_plan_lower_emit(l, &mix);
		return true;
	}
	v = o->y.src ? o->y : lmi_plan_lower_temp(l, name, LMD_VTYPE_F32, 1, width, "sum");
	mix.u.mix.y = v;
	lmi_plan_lower_emit(l, &mix);
	if (o->r_out.src) {
		const struct lmd_operand none = {0};

		lmi_plan_prog_init(&g);
		lmi_plan_prog_store(&g, lmi_plan_prog_in(&g, &v), &none, o->a, &o->r_in, &o->r_out);
		lmi_plan_lower_emit(l, &g.op);
	}
	return true;
}
