/* SPDX-License-Identifier: MIT
 *
 * deepseek4_streams.c - hyper-connections (arXiv 2409.19606, with doubly stochastic mixing as in
 * arXiv 2512.24880): several residual streams.  A block reads a weighted sum of them; after it the
 * streams are mixed by a Sinkhorn-normalised matrix and the result is added to each. */
#include "arch/streams/deepseek4.h"

static uint32_t gate(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd scale,
		     struct lmd_opnd base, float times, float plus, const char *name)
{
	uint32_t y = lmi_f32(e, x.width, name);
	struct lmi_ew p = lmi_ew();
	uint8_t a = lmi_ew_in(&p, x), b;

	b = lmi_ew_in(&p, base);
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_in(&p, scale), b);
	a = lmi_ew1(&p, LMD_EW_SIGMOID, a);
	b = lmi_ew_const(&p, plus);
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_const(&p, times), b);
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

static struct lmd_opnd weight_cols(uint32_t w, uint32_t col0, uint32_t n)
{
	struct lmd_opnd o = lmi_wcols(w, n);

	o.col0 = col0;
	return o;
}

struct lmi_ds4_mix lmi_ds4_coefficients(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs,
					uint32_t fn, uint32_t base, uint32_t scale, bool block)
{
	const uint32_t hc = m->hc;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	struct lmi_w w = lmi_w(e, &lmi_ds4_rows[fn]);
	uint32_t mix = lmi_linear(e, lmi_whole(e, xs), &norm, &w, LMD_VTYPE_F32, "hc_mix");
	uint32_t ws = lmi_w(e, &lmi_ds4_rows[scale]).id, wb = lmi_w(e, &lmi_ds4_rows[base]).id;
	struct lmi_ds4_mix c = {.post = LMD_NONE, .comb = LMD_NONE};
	struct lmd_op op = lmi_op(LMD_OP_SOFTMAX);
	struct lmi_ew p = lmi_ew();
	uint32_t raw;
	uint8_t a, b;

	c.pre = gate(e, lmi_cols(mix, 0, hc), weight_cols(ws, 0, 1), weight_cols(wb, 0, hc), 1.0f,
		     m->hc_eps, "hc_pre");
	if (!block)
		return c;
	c.post = gate(e, lmi_cols(mix, hc, hc), weight_cols(ws, 1, 1), weight_cols(wb, hc, hc),
		      2.0f, 0.0f, "hc_post");
	raw = lmi_f32(e, hc * hc, "hc_comb_raw");
	a = lmi_ew_in(&p, lmi_cols(mix, 2 * hc, hc * hc));
	b = lmi_ew_in(&p, weight_cols(wb, 2 * hc, hc * hc));
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_in(&p, weight_cols(ws, 2, 1)), b);
	lmi_ew_out(e, &p, a, lmi_whole(e, raw));
	c.comb = lmi_f32(e, hc * hc, "hc_comb");
	op.u.softmax.x = lmi_heads(raw, 0, hc, hc);
	op.u.softmax.y = lmi_heads(c.comb, 0, hc, hc);
	op.u.softmax.sinkhorn = m->sinkhorn;
	op.u.softmax.eps = m->hc_eps;
	lmi_put(e, &op);
	return c;
}

uint32_t lmi_ds4_collect(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs, uint32_t pre)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = lmi_f32(e, w, "hc_in");
	struct lmd_op op = lmi_op(LMD_OP_MIX);

	op.u.mix.x = lmi_heads(xs, 0, m->hc, w);
	op.u.mix.c = lmi_heads(pre, 0, 1, m->hc);
	op.u.mix.y = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

/* stream[i] = sum_j comb[j, i] stream[j] + post[i] z */
uint32_t lmi_ds4_spread(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs, uint32_t z,
			const struct lmi_ds4_mix *c)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = lmi_f32(e, m->hc * w, "streams");
	struct lmd_op op = lmi_op(LMD_OP_MIX);

	op.u.mix.x = lmi_heads(xs, 0, m->hc, w);
	op.u.mix.c = lmi_heads(c->comb, 0, m->hc, m->hc);
	op.u.mix.c_transposed = 1;
	op.u.mix.d = lmi_whole(e, c->post);
	op.u.mix.z = lmi_whole(e, z);
	op.u.mix.y = lmi_heads(y, 0, m->hc, w);
	lmi_put(e, &op);
	return y;
}
