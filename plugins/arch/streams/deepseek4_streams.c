/* SPDX-License-Identifier: MIT
 *
 * deepseek4_streams.c - hyper-connections (arXiv 2409.19606, with doubly stochastic mixing as in
 * arXiv 2512.24880): several residual streams.  A block reads a weighted sum of them; after it the
 * streams are mixed by a Sinkhorn-normalised matrix and the result is added to each. */
#include "arch/streams/deepseek4.h"

static uint32_t gate(struct arch_emit *e, struct lmd_operand x, struct lmd_operand scale,
		     struct lmd_operand base, float times, float plus, const char *name)
{
	uint32_t y = arch_value_f32(e, x.width, name);
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, x), b;

	b = arch_ew_in(&p, base);
	a = arch_ew3(&p, LMD_EW_FMA, a, arch_ew_in(&p, scale), b);
	a = arch_ew1(&p, LMD_EW_SIGMOID, a);
	b = arch_ew_const(&p, plus);
	a = arch_ew3(&p, LMD_EW_FMA, a, arch_ew_const(&p, times), b);
	arch_ew_out(e, &p, a, arch_operand_all(e, y));
	return y;
}

static struct lmd_operand weight_cols(uint32_t w, uint32_t col0, uint32_t n)
{
	struct lmd_operand o = arch_operand_weight_cols(w, n);

	o.col0 = col0;
	return o;
}

struct arch_ds4_mix arch_ds4_coefficients(struct arch_emit *e, const struct arch_ds4 *m,
					  uint32_t xs, uint32_t fn, uint32_t base, uint32_t scale,
					  bool block)
{
	const uint32_t hc = m->hc;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	struct arch_weight w = arch_weight_req(e, &arch_ds4_rows[fn]);
	uint32_t mix = arch_linear(e, arch_operand_all(e, xs), &norm, &w, LMD_VTYPE_F32, "hc_mix");
	uint32_t ws = arch_weight_req(e, &arch_ds4_rows[scale]).id,
		 wb = arch_weight_req(e, &arch_ds4_rows[base]).id;
	struct arch_ds4_mix c = {.post = LMD_NONE, .comb = LMD_NONE};
	struct lmd_op op = arch_op_empty(LMD_OP_SOFTMAX);
	struct arch_ew p = arch_ew();
	uint32_t raw;
	uint8_t a, b;

	c.pre = gate(e, arch_operand_cols(mix, 0, hc), weight_cols(ws, 0, 1),
		     weight_cols(wb, 0, hc), 1.0f, m->hc_eps, "hc_pre");
	if (!block)
		return c;
	c.post = gate(e, arch_operand_cols(mix, hc, hc), weight_cols(ws, 1, 1),
		      weight_cols(wb, hc, hc), 2.0f, 0.0f, "hc_post");
	raw = arch_value_f32(e, hc * hc, "hc_comb_raw");
	a = arch_ew_in(&p, arch_operand_cols(mix, 2 * hc, hc * hc));
	b = arch_ew_in(&p, weight_cols(wb, 2 * hc, hc * hc));
	a = arch_ew3(&p, LMD_EW_FMA, a, arch_ew_in(&p, weight_cols(ws, 2, 1)), b);
	arch_ew_out(e, &p, a, arch_operand_all(e, raw));
	c.comb = arch_value_f32(e, hc * hc, "hc_comb");
	op.u.softmax.x = arch_operand_heads(raw, 0, hc, hc);
	op.u.softmax.y = arch_operand_heads(c.comb, 0, hc, hc);
	op.u.softmax.sinkhorn = m->sinkhorn;
	op.u.softmax.eps = m->hc_eps;
	arch_emit_op(e, &op);
	return c;
}

uint32_t arch_ds4_block_input(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs,
			      uint32_t pre)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = arch_value_f32(e, w, "hc_in");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	op.u.mix.x = arch_operand_heads(xs, 0, m->hc, w);
	op.u.mix.c = arch_operand_heads(pre, 0, 1, m->hc);
	op.u.mix.y = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

/* stream[i] = sum_j comb[j, i] stream[j] + post[i] z */
uint32_t arch_ds4_update_streams(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs,
				 uint32_t z, const struct arch_ds4_mix *c)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = arch_value_f32(e, m->hc * w, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	op.u.mix.x = arch_operand_heads(xs, 0, m->hc, w);
	op.u.mix.c = arch_operand_heads(c->comb, 0, m->hc, m->hc);
	op.u.mix.c_transposed = 1;
	op.u.mix.d = arch_operand_all(e, c->post);
	op.u.mix.z = arch_operand_all(e, z);
	op.u.mix.y = arch_operand_heads(y, 0, m->hc, w);
	arch_emit_op(e, &op);
	return y;
}
