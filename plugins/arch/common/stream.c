/* SPDX-License-Identifier: MIT
 *
 * stream.c - the residual stream.
 *
 * Where a norm follows a block (sandwich and post-norm layers), the sum x + a*z stays pending until
 * the next norm, which performs it, so that a layer needs no separate addition. */
#include "arch/common/blocks.h"

uint32_t lmi_flush(struct lmi_emit *e, struct lmi_stream *s)
{
	uint32_t width, y;

	if (s->z == LMD_NONE)
		return s->x;
	width = lmi_width(e, s->x);
	y = lmi_f32(e, width, "x_sum");
	lmi_put_scale_add(e, lmi_cols(s->z, 0, width), s->a, lmi_cols(s->x, 0, width),
			  lmi_cols(y, 0, width));
	s->x = y;
	s->z = LMD_NONE;
	return y;
}

void lmi_add_later(struct lmi_emit *e, struct lmi_stream *s, uint32_t z, float a)
{
	(void)lmi_flush(e, s);
	s->z = z;
	s->a = a;
}

struct lmi_io lmi_read(struct lmi_emit *e, struct lmi_stream *s, const struct lmd_norm *norm)
{
	struct lmi_io io = {.res = LMD_NONE, .norm = *norm, .a = 1.0f};
	uint32_t width = lmi_width(e, s->x), h, y;

	if (norm->kind == LMD_NORM_NONE || s->z == LMD_NONE) {
		io.x = lmi_cols(lmi_flush(e, s), 0, width);
		io.res = s->x;
		return io;
	}
	h = lmi_f32(e, width, "x_sum");
	y = lmi_act(e, width, "norm");
	lmi_put_add_norm(e, lmi_cols(s->x, 0, width), lmi_cols(s->z, 0, width), s->a,
			 lmi_cols(h, 0, width), norm, lmi_cols(y, 0, width));
	s->x = h;
	s->z = LMD_NONE;
	io.x = lmi_cols(y, 0, width);
	io.norm = lmi_no_norm();
	io.res = h;
	return io;
}

uint32_t lmi_block_out(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *pro,
		       const struct lmi_w *w, const struct lmi_io *io)
{
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t y = io->res == LMD_NONE ? lmi_act(e, w->n, "out") : lmi_f32(e, w->n, "x");

	op.u.linear.x = x;
	if (pro)
		op.u.linear.pro = *pro;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w->id;
	op.u.linear.lora_site[0] = w->site;
	if (io->res == LMD_NONE) {
		op.u.linear.y[0] = lmi_cols(y, 0, w->n);
	} else {
		op.u.linear.r_in[0] = lmi_cols(io->res, 0, w->n);
		op.u.linear.r_out[0] = lmi_cols(y, 0, w->n);
		op.u.linear.a = io->a;
	}
	lmi_put(e, &op);
	return y;
}
