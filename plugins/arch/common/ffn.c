/* SPDX-License-Identifier: MIT
 *
 * ffn.c - the dense feed-forward block.
 *
 * It is one FFN op where possible.  For what that op does not support (a fused gate and up with a
 * bias, scale or adapter, or a norm before the last matrix) it is LINEAR, GLU, LINEAR. */
#include <string.h>

#include "arch/common/ranks.h"

struct arch_ffn arch_ffn_default(void)
{
	return (struct arch_ffn){.gate = &arch_rows[T_FFN_GATE],
				 .up = &arch_rows[T_FFN_UP],
				 .down = &arch_rows[T_FFN_DOWN],
				 .act = LMD_ACT_FN_SILU,
				 .sub_norm_kind = LMD_NORM_RMS};
}

/* Creates the result value and sets the operands y, or r_in and r_out; returns the value. */
static uint32_t target(struct arch_emit *e, const struct arch_block_io *io, uint32_t width,
		       struct lmd_operand *y, struct lmd_operand *r_in, struct lmd_operand *r_out)
{
	uint32_t out;

	if (io->res == LMD_NONE) {
		out = arch_value_act(e, width, "ffn");
		*y = arch_operand_cols(out, 0, width);
	} else {
		out = arch_value_f32(e, width, "x_ffn");
		*r_in = arch_operand_cols(io->res, 0, width);
		*r_out = arch_operand_cols(out, 0, width);
	}
	return out;
}

/* gate and up fused in one matrix of 2F rows. */
static uint32_t fused_gate_up(struct arch_emit *e, const struct arch_block_io *io,
			      const struct arch_ffn *f)
{
	struct arch_weight w = arch_weight_req(e, f->up);
	uint32_t n = w.n / 2, gu = arch_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate_up");
	uint32_t y = arch_value_act(e, n, "glu");

	arch_put_glu(e, f->act, f->p, arch_operand_cols(gu, f->swap_fused ? n : 0, n),
		     arch_operand_cols(gu, f->swap_fused ? 0 : n, n), arch_operand_cols(y, 0, n));
	return y;
}

static uint32_t separate_gate_up(struct arch_emit *e, const struct arch_block_io *io,
				 const struct arch_weight *gate, const struct arch_weight *up,
				 const struct arch_ffn *f)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	bool gated = gate->id != LMD_NONE;
	uint32_t n = up->n, gu = arch_value_act(e, gated ? 2 * n : n, gated ? "gate_up" : "up");
	uint32_t y = arch_value_act(e, n, "glu");

	l->x = io->x;
	l->pro = io->norm;
	l->n_w = gated ? 2 : 1;
	l->w[gated] = up->id;
	l->lora_site[gated] = up->site;
	l->y[gated] = arch_operand_cols(gu, gated ? n : 0, n);
	if (gated) {
		l->w[0] = gate->id;
		l->lora_site[0] = gate->site;
		l->y[0] = arch_operand_cols(gu, 0, n);
	}
	arch_emit_op(e, &op);
	arch_put_glu(e, f->act, f->p, arch_operand_cols(gu, 0, n),
		     gated ? arch_operand_cols(gu, n, n) : arch_operand_none(),
		     arch_operand_cols(y, 0, n));
	return y;
}

static uint32_t down(struct arch_emit *e, const struct arch_block_io *io, const struct arch_ffn *f,
		     uint32_t y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	struct arch_weight w = arch_weight_req(e, f->down);
	uint32_t out;

	l->x = arch_operand_all(e, y);
	l->n_w = 1;
	l->w[0] = w.id;
	l->lora_site[0] = w.site;
	l->a = io->a;
	if (f->sub_norm)
		l->pro = arch_norm_req(e, f->sub_norm_kind, f->sub_norm);
	out = target(e, io, w.n, &l->y[0], &l->r_in[0], &l->r_out[0]);
	arch_emit_op(e, &op);
	return out;
}

/* The part of a rank: its columns of `down`, and the rows of `gate` and `up` that they belong to. */
static uint32_t ffn_part(struct arch_emit *e, const struct arch_block_io *io,
			 const struct arch_ffn *f, const struct lmd_tensor *down,
			 const struct arch_part *p)
{
	const uint32_t n = (uint32_t)down->dims[0];
	struct arch_window win = {.row0 = p->at, .n_row = p->n};
	struct lmd_op op = arch_op_empty(LMD_OP_FFN);
	struct lmd_op_ffn *o = &op.u.ffn;
	struct arch_weight w;
	uint32_t out;

	o->x = io->x;
	o->norm = io->norm;
	o->act = f->act;
	memcpy(o->p, f->p, sizeof(o->p));
	if (f->fused) {
		win.row0 = p->at + (f->swap_fused ? n : 0);
		o->gate = arch_weight_window(e, f->up, &win).id;
		win.row0 = p->at + (f->swap_fused ? 0 : n);
	} else if (f->gate && (!f->gate_optional || arch_weight_exists(e, f->gate))) {
		o->gate = arch_weight_window(e, f->gate, &win).id;
	}
	o->up = arch_weight_window(e, f->up, &win).id;
	win = (struct arch_window){.k0 = p->at, .n_k = p->n, .no_bias = e->rank > 0};
	w = arch_weight_window(e, f->down, &win);
	o->down = w.id;
	out = arch_value_f32(e, w.n, "ffn_part");
	o->y = arch_operand_cols(out, 0, w.n);
	arch_emit_op(e, &op);
	return arch_sum_block(e, out, io, false, io->res == LMD_NONE ? "ffn" : "x_ffn");
}

uint32_t arch_ffn(struct arch_emit *e, const struct arch_block_io *io, const struct arch_ffn *f)
{
	const struct lmd_tensor *t = arch_weight_tensor(e, f->down);
	struct arch_part part;
	struct lmd_op op = arch_op_empty(LMD_OP_FFN);
	struct lmd_op_ffn *o = &op.u.ffn;
	struct arch_weight gate = {.id = LMD_NONE, .site = LMD_NONE}, up, dn;
	uint32_t out;

	if (t && !f->sub_norm && arch_columns_part(e, t, &part))
		return ffn_part(e, io, f, t, &part);
	if (f->fused) {
		up = arch_weight_req(e, f->up);
		/* an adapter of the fused tensor needs all 2F outputs in one LINEAR */
		if (up.extras || f->sub_norm || (e->lora && up.site != LMD_NONE))
			return down(e, io, f, fused_gate_up(e, io, f));
		gate = arch_weight_rows(e, f->up, f->swap_fused ? up.n / 2 : 0, up.n / 2);
		up = arch_weight_rows(e, f->up, f->swap_fused ? 0 : up.n / 2, up.n / 2);
		gate.site = up.site = LMD_NONE;
	} else {
		if (f->gate)
			gate = f->gate_optional ? arch_weight_opt(e, f->gate)
						: arch_weight_req(e, f->gate);
		up = arch_weight_req(e, f->up);
		if (f->sub_norm)
			return down(e, io, f, separate_gate_up(e, io, &gate, &up, f));
	}
	dn = arch_weight_req(e, f->down);
	o->x = io->x;
	o->norm = io->norm;
	o->gate = gate.id;
	o->up = up.id;
	o->down = dn.id;
	o->act = f->act;
	memcpy(o->p, f->p, sizeof(o->p));
	o->a = io->a;
	o->lora_site[0] = gate.site;
	o->lora_site[1] = up.site;
	o->lora_site[2] = dn.site;
	out = target(e, io, dn.n, &o->y, &o->r_in, &o->r_out);
	arch_emit_op(e, &op);
	return out;
}
