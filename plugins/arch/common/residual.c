/* SPDX-License-Identifier: MIT
 *
 * residual.c - the residual stream.
 *
 * Where a norm follows a block (sandwich and post-norm layers), the sum x + a*z stays pending until
 * the next norm, which performs it, so that a layer needs no separate addition. */
#include "arch/common/blocks.h"

uint32_t arch_residual_flush(struct arch_emit *e, struct arch_residual *s)
{
	uint32_t width, y;

	if (s->z == LMD_NONE)
		return s->x;
	width = arch_width(e, s->x);
	y = arch_value_f32(e, width, "x_sum");
	arch_put_scale_add(e, arch_operand_cols(s->z, 0, width), s->a,
			   arch_operand_cols(s->x, 0, width), arch_operand_cols(y, 0, width));
	s->x = y;
	s->z = LMD_NONE;
	return y;
}

void arch_residual_defer_add(struct arch_emit *e, struct arch_residual *s, uint32_t z, float a)
{
	(void)arch_residual_flush(e, s);
	s->z = z;
	s->a = a;
}

struct arch_block_io arch_residual_read(struct arch_emit *e, struct arch_residual *s,
					const struct lmd_norm *norm)
{
	struct arch_block_io io = {.res = LMD_NONE, .norm = *norm, .a = 1.0f};
	uint32_t width = arch_width(e, s->x), h, y;

	if (norm->kind == LMD_NORM_NONE || s->z == LMD_NONE) {
		io.x = arch_operand_cols(arch_residual_flush(e, s), 0, width);
		io.res = s->x;
		return io;
	}
	h = arch_value_f32(e, width, "x_sum");
	y = arch_value_act(e, width, "norm");
	arch_put_add_norm(e, arch_operand_cols(s->x, 0, width), arch_operand_cols(s->z, 0, width),
			  s->a, arch_operand_cols(h, 0, width), norm,
			  arch_operand_cols(y, 0, width));
	s->x = h;
	s->z = LMD_NONE;
	io.x = arch_operand_cols(y, 0, width);
	io.norm = arch_no_norm();
	io.res = h;
	return io;
}

uint32_t arch_block_out(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
			const struct arch_weight *w, const struct arch_block_io *io)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t y =
		io->res == LMD_NONE ? arch_value_act(e, w->n, "out") : arch_value_f32(e, w->n, "x");

	op.u.linear.x = x;
	if (pro)
		op.u.linear.pro = *pro;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w->id;
	op.u.linear.lora_site[0] = w->site;
	if (io->res == LMD_NONE) {
		op.u.linear.y[0] = arch_operand_cols(y, 0, w->n);
	} else {
		op.u.linear.r_in[0] = arch_operand_cols(io->res, 0, w->n);
		op.u.linear.r_out[0] = arch_operand_cols(y, 0, w->n);
		op.u.linear.a = io->a;
	}
	arch_emit_op(e, &op);
	return y;
}
