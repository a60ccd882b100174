/* SPDX-License-Identifier: MIT
 *
 * ffn.c - the dense feed-forward block.
 *
 * It is one FFN op where possible.  For what that op does not support (a fused gate and up with a
 * bias, scale or adapter, or a norm before the last matrix) it is LINEAR, GLU, LINEAR. */
#include <string.h>

#include "arch/common/blocks.h"

struct lmi_ffn lmi_ffn_default(void)
{
	return (struct lmi_ffn){
		.gate = &lmi_rows[T_FFN_GATE], .up = &lmi_rows[T_FFN_UP],
		.down = &lmi_rows[T_FFN_DOWN], .act = LMD_ACT_SILU, .sub_norm_kind = LMD_NORM_RMS};
}

/* Creates the result value and sets the operands y, or r_in and r_out; returns the value. */
static uint32_t target(struct lmi_emit *e, const struct lmi_io *io, uint32_t width,
		       struct lmd_opnd *y, struct lmd_opnd *r_in, struct lmd_opnd *r_out)
{
	uint32_t out;

	if (io->res == LMD_NONE) {
		out = lmi_act(e, width, "ffn");
		*y = lmi_cols(out, 0, width);
	} else {
		out = lmi_f32(e, width, "x_ffn");
		*r_in = lmi_cols(io->res, 0, width);
		*r_out = lmi_cols(out, 0, width);
	}
	return out;
}

/* gate and up fused in one matrix of 2F rows. */
static uint32_t two_halves(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ffn *f)
{
	struct lmi_w w = lmi_w(e, f->up);
	uint32_t n = w.n / 2, gu = lmi_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate_up");
	uint32_t y = lmi_act(e, n, "glu");

	lmi_put_glu(e, f->act, f->p, lmi_cols(gu, f->swap_fused ? n : 0, n),
		    lmi_cols(gu, f->swap_fused ? 0 : n, n), lmi_cols(y, 0, n));
	return y;
}

static uint32_t two_weights(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_w *gate,
			    const struct lmi_w *up, const struct lmi_ffn *f)
{
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	bool gated = gate->id != LMD_NONE;
	uint32_t n = up->n, gu = lmi_act(e, gated ? 2 * n : n, gated ? "gate_up" : "up");
	uint32_t y = lmi_act(e, n, "glu");

	l->x = io->x;
	l->pro = io->norm;
	l->n_w = gated ? 2 : 1;
	l->w[gated] = up->id;
	l->lora_site[gated] = up->site;
	l->y[gated] = lmi_cols(gu, gated ? n : 0, n);
	if (gated) {
		l->w[0] = gate->id;
		l->lora_site[0] = gate->site;
		l->y[0] = lmi_cols(gu, 0, n);
	}
	lmi_put(e, &op);
	lmi_put_glu(e, f->act, f->p, lmi_cols(gu, 0, n), gated ? lmi_cols(gu, n, n) : lmi_none(),
		    lmi_cols(y, 0, n));
	return y;
}

static uint32_t down(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ffn *f,
		     uint32_t y)
{
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	struct lmi_w w = lmi_w(e, f->down);
	uint32_t out;

	l->x = lmi_whole(e, y);
	l->n_w = 1;
	l->w[0] = w.id;
	l->lora_site[0] = w.site;
	l->a = io->a;
	if (f->sub_norm)
		l->pro = lmi_norm_req(e, f->sub_norm_kind, f->sub_norm);
	out = target(e, io, w.n, &l->y[0], &l->r_in[0], &l->r_out[0]);
	lmi_put(e, &op);
	return out;
}

uint32_t lmi_ffn(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ffn *f)
{
	struct lmd_op op = lmi_op(LMD_OP_FFN);
	struct lmd_op_ffn *o = &op.u.ffn;
	struct lmi_w gate = {.id = LMD_NONE, .site = LMD_NONE}, up, dn;
	uint32_t out;

	if (f->fused) {
		up = lmi_w(e, f->up);
		/* an adapter of the fused tensor needs all 2F outputs in one LINEAR */
		if (up.extras || f->sub_norm || (e->lora && up.site != LMD_NONE))
			return down(e, io, f, two_halves(e, io, f));
		gate = lmi_w_part(e, f->up, f->swap_fused ? up.n / 2 : 0, up.n / 2);
		up = lmi_w_part(e, f->up, f->swap_fused ? 0 : up.n / 2, up.n / 2);
		gate.site = up.site = LMD_NONE;
	} else {
		if (f->gate)
			gate = f->gate_optional ? lmi_w_opt(e, f->gate) : lmi_w(e, f->gate);
		up = lmi_w(e, f->up);
		if (f->sub_norm)
			return down(e, io, f, two_weights(e, io, &gate, &up, f));
	}
	dn = lmi_w(e, f->down);
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
	lmi_put(e, &op);
	return out;
}
