/* SPDX-License-Identifier: MIT
 *
 * emit.c - operands, values, ops.  See emit.h. */
#include "arch/common/emit.h"

#include <string.h>

void arch_emit_init(struct arch_emit *e, const struct lmd_builder *b, const struct arch_hparams *hp,
		    const struct lmd_plan_key *key)
{
	*e = (struct arch_emit){.b = b,
				.hp = hp,
				.il = -1,
				.lora = (key->flags & LMD_PLAN_LORA) != 0,
				.rank = hp->n_rank > 1 ? key->rank : 0,
				.n_rank = hp->n_rank > 1 ? hp->n_rank : 1,
				.arch_values = {LMD_NONE, LMD_NONE, LMD_NONE, LMD_NONE},
				.hidden = LMD_NONE};
}

void arch_set_layer(struct arch_emit *e, int32_t il)
{
	e->il = il;
	e->b->layer(e->b->ctx, il);
}

const struct arch_layer *arch_current_layer(const struct arch_emit *e)
{
	return &e->hp->layer[e->il < 0 ? 0 : e->il];
}

/* ---- operands ---- */

struct lmd_operand arch_operand_none(void)
{
	return (struct lmd_operand){.src = LMD_SRC_NONE};
}

static struct lmd_operand window(uint32_t src, uint32_t id, uint32_t col0, uint32_t n_head,
				 uint32_t width)
{
	return (struct lmd_operand){.src = src,
				    .id = id,
				    .col0 = col0,
				    .n_head = n_head,
				    .head_stride = width,
				    .width = width,
				    .fold = 1};
}

struct lmd_operand arch_operand_cols(uint32_t value, uint32_t col0, uint32_t width)
{
	return window(LMD_SRC_VALUE, value, col0, 1, width);
}

struct lmd_operand arch_operand_heads(uint32_t value, uint32_t col0, uint32_t n_head,
				      uint32_t width)
{
	return window(LMD_SRC_VALUE, value, col0, n_head, width);
}

uint32_t arch_width(const struct arch_emit *e, uint32_t value)
{
	struct lmd_value v;

	return e->b->value_info(e->b->ctx, value, &v) ? v.width : 0;
}

struct lmd_operand arch_operand_all(const struct arch_emit *e, uint32_t value)
{
	return arch_operand_cols(value, 0, arch_width(e, value));
}

struct lmd_operand arch_operand_weight_heads(uint32_t weight_ref, uint32_t n_head, uint32_t width)
{
	return weight_ref == LMD_NONE ? arch_operand_none()
				      : window(LMD_SRC_WEIGHT, weight_ref, 0, n_head, width);
}

struct lmd_operand arch_operand_weight_cols(uint32_t weight_ref, uint32_t width)
{
	return arch_operand_weight_heads(weight_ref, 1, width);
}

struct lmd_operand arch_operand_row_input(uint32_t k, uint32_t width)
{
	return window(LMD_SRC_ROW_IN, k, 0, 1, width);
}

uint32_t arch_value(struct arch_emit *e, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		    const char *name)
{
	return e->b->value(e->b->ctx, space, vtype, width, name);
}

uint32_t arch_value_act(struct arch_emit *e, uint32_t width, const char *name)
{
	return arch_value(e, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, width, name);
}

uint32_t arch_value_f32(struct arch_emit *e, uint32_t width, const char *name)
{
	return arch_value(e, LMD_SPACE_TOKENS, LMD_VTYPE_F32, width, name);
}

uint32_t arch_value_i32(struct arch_emit *e, uint32_t width, const char *name)
{
	return arch_value(e, LMD_SPACE_TOKENS, LMD_VTYPE_I32, width, name);
}

uint32_t arch_literal(struct arch_emit *e, const float *v, uint32_t n, uint32_t split,
		      const char *name)
{
	return e->b->literal(e->b->ctx, v, 1, n, split, name);
}

/* ---- ops ---- */

static void init_linear(struct lmd_op_linear *l)
{
	l->scale = 1.0f;
	l->a = 1.0f;
	for (uint32_t i = 0; i < LMD_LINEAR_MAX; i++) {
		l->w[i] = LMD_NONE;
		l->lora_site[i] = LMD_NONE;
	}
}

static void init_moe(struct lmd_op_moe_ffn *m)
{
	m->gate = m->up = m->gate_up = m->down = LMD_NONE;
	m->a = 1.0f;
	for (uint32_t i = 0; i < 3; i++)
		m->lora_site[i] = LMD_NONE;
}

static void init_ffn(struct lmd_op_ffn *f)
{
	f->gate = f->up = f->down = LMD_NONE;
	f->a = 1.0f;
	for (uint32_t i = 0; i < 3; i++)
		f->lora_site[i] = LMD_NONE;
}

static void init_attn(struct lmd_op_attn *a)
{
	a->scale = 1.0f;
	a->sinks = LMD_NONE;
	a->bias_w = LMD_NONE;
	for (uint32_t i = 0; i < 2; i++) {
		a->src[i].cache = LMD_NONE;
		a->src[i].group = LMD_NONE;
		a->src[i].list_unit = 1;
		a->rel[i].r = LMD_NONE;
	}
}

struct lmd_op arch_op_empty(enum lmd_op_code code)
{
	struct lmd_op op;

	memset(&op, 0, sizeof(op));
	op.struct_size = sizeof(op);
	op.code = code;
	op.layer = -1;
	switch (code) {
	case LMD_OP_EMBED:
		op.u.embed.table = op.u.embed.pos_table = op.u.embed.type_table = LMD_NONE;
		op.u.embed.lora_site = LMD_NONE;
		op.u.embed.n_id = 1;
		op.u.embed.scale = op.u.embed.scale_ext = 1.0f;
		break;
	case LMD_OP_NORM: op.u.norm.a = 1.0f; break;
	case LMD_OP_LINEAR: init_linear(&op.u.linear); break;
	case LMD_OP_ROPE_KV:
		op.u.rope_kv.rope = op.u.rope_kv.cache = LMD_NONE;
		op.u.rope_kv.sign = 1.0f;
		break;
	case LMD_OP_ATTN: init_attn(&op.u.attn); break;
	case LMD_OP_FFN: init_ffn(&op.u.ffn); break;
	case LMD_OP_HEAD:
		op.u.head.w = op.u.head.bias = op.u.head.lora_site = LMD_NONE;
		op.u.head.scale = 1.0f;
		break;
	case LMD_OP_ROUTE:
		op.u.route.bias = LMD_NONE;
		op.u.route.id_div = 1;
		op.u.route.scale = 1.0f;
		break;
	case LMD_OP_MOE_FFN: init_moe(&op.u.moe_ffn); break;
	case LMD_OP_BMM: op.u.bmm.w = LMD_NONE; break;
	case LMD_OP_GATHER: op.u.gather.n_id = 1; break;
	case LMD_OP_SOFTMAX: op.u.softmax.scale = 1.0f; break;
	case LMD_OP_CONV:
		op.u.conv.w = op.u.conv.cache = op.u.conv.group = LMD_NONE;
		op.u.conv.dilation = 1;
		break;
	case LMD_OP_SCAN:
		op.u.scan.w[0] = op.u.scan.w[1] = op.u.scan.cache = LMD_NONE;
		op.u.scan.scale = 1.0f;
		break;
	case LMD_OP_INDEX:
		op.u.index.cache = op.u.index.of = LMD_NONE;
		op.u.index.unit = 1;
		op.u.index.scale = 1.0f;
		break;
	case LMD_OP_PATCH:
		op.u.patch.w = LMD_NONE;
		for (uint32_t i = 0; i < 2; i++)
			op.u.patch.kernel[i] = op.u.patch.stride[i] = op.u.patch.dilation[i] = 1;
		break;
	default: break; /* only operands, or counts without a neutral value */
	}
	return op;
}

void arch_emit_op(struct arch_emit *e, const struct lmd_op *op)
{
	e->b->op(e->b->ctx, op);
}

void arch_put_add_norm(struct arch_emit *e, struct lmd_operand x, struct lmd_operand r, float a,
		       struct lmd_operand h, const struct lmd_norm *norm, struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_NORM);

	op.u.norm.x = x;
	op.u.norm.r = r;
	op.u.norm.a = a;
	op.u.norm.h = h;
	op.u.norm.norm = *norm;
	op.u.norm.y = y;
	arch_emit_op(e, &op);
}

void arch_put_norm(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		   struct lmd_operand y)
{
	arch_put_add_norm(e, x, arch_operand_none(), 1.0f, arch_operand_none(), norm, y);
}

void arch_put_linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
		     const struct arch_weight *w, struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w->id;
	op.u.linear.lora_site[0] = w->site;
	op.u.linear.y[0] = y;
	if (pro)
		op.u.linear.pro = *pro;
	arch_emit_op(e, &op);
}

uint32_t arch_linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
		     const struct arch_weight *w, enum lmd_vtype vtype, const char *name)
{
	struct lmd_value v;
	enum lmd_space space = LMD_SPACE_TOKENS;
	uint32_t y;

	if (x.src == LMD_SRC_VALUE && e->b->value_info(e->b->ctx, x.id, &v))
		space = (enum lmd_space)v.space;
	y = arch_value(e, space, vtype, w->n, name);
	arch_put_linear(e, x, pro, w, arch_operand_cols(y, 0, w->n));
	return y;
}

void arch_put_glu(struct arch_emit *e, uint32_t act, const float p[LMD_N_ACT_FN_PARAM],
		  struct lmd_operand a, struct lmd_operand b, struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_GLU);

	op.u.glu.a = a;
	op.u.glu.b = b;
	op.u.glu.y = y;
	op.u.glu.act = act;
	if (p)
		memcpy(op.u.glu.p, p, sizeof(op.u.glu.p));
	arch_emit_op(e, &op);
}

/* ---- elementwise programs ---- */

struct arch_ew arch_ew(void)
{
	return (struct arch_ew){arch_op_empty(LMD_OP_EW)};
}

uint8_t arch_ew_in(struct arch_ew *p, struct lmd_operand x)
{
	struct lmd_op_ew *w = &p->op.u.ew;

	w->in[w->n_in] = x;
	return (uint8_t)w->n_in++;
}

static uint8_t instruction(struct arch_ew *p, enum lmd_ew op, uint8_t a, uint8_t b, uint8_t c,
			   float imm)
{
	struct lmd_op_ew *w = &p->op.u.ew;
	uint8_t dst = (uint8_t)(LMD_EW_MAX_IN + w->n_ins);

	w->ins[w->n_ins++] = (struct lmd_ew_ins){
		.op = (uint8_t)op, .dst = dst, .a = a, .b = b, .c = c, .imm = imm};
	return dst;
}

uint8_t arch_ew_const(struct arch_ew *p, float v)
{
	return instruction(p, LMD_EW_CONST, 0, 0, 0, v);
}

uint8_t arch_ew1(struct arch_ew *p, enum lmd_ew ins, uint8_t a)
{
	return instruction(p, ins, a, 0, 0, 0.0f);
}

uint8_t arch_ew2(struct arch_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b)
{
	return instruction(p, ins, a, b, 0, 0.0f);
}

uint8_t arch_ew3(struct arch_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b, uint8_t c)
{
	return instruction(p, ins, a, b, c, 0.0f);
}

void arch_ew_out2(struct arch_ew *p, uint8_t reg, struct lmd_operand y)
{
	p->op.u.ew.out[1] = y;
	p->op.u.ew.out_reg[1] = reg;
}

void arch_ew_out(struct arch_emit *e, struct arch_ew *p, uint8_t reg, struct lmd_operand y)
{
	p->op.u.ew.n_out = p->op.u.ew.out[1].src ? 2 : 1;
	p->op.u.ew.out[0] = y;
	p->op.u.ew.out_reg[0] = reg;
	arch_emit_op(e, &p->op);
}

void arch_put_mul(struct arch_emit *e, struct lmd_operand x, struct lmd_operand s,
		  struct lmd_operand y)
{
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, x), b = arch_ew_in(&p, s);

	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, a, b), y);
}

void arch_put_scale_add(struct arch_emit *e, struct lmd_operand x, float c, struct lmd_operand z,
			struct lmd_operand y)
{
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, x), b = z.src ? arch_ew_in(&p, z) : 0, r = a;

	if (c != 1.0f)
		r = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, c));
	if (z.src)
		r = arch_ew2(&p, LMD_EW_ADD, r, b);
	arch_ew_out(e, &p, r, y);
}
