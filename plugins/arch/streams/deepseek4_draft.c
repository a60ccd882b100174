/* SPDX-License-Identifier: MIT
 *
 * deepseek4_draft.c - the draft layer of DeepSeek-V4, a head that predicts one token more (arch/common/nextn.c).
 *
 * A hidden row has all streams of the token before, as they are before the streams are joined.  Each of them is
 * joined with the embedding by the same matrix,
 *
 *     x_r[i] = W [norm_e(E[token r]) | norm_h(h_(r-1)[i])],
 *
 * and a layer without compressed keys computes the streams from which the logits and the next hidden row are made. */
#include "arch/streams/deepseek4.h"

/* The first streams of the layer. */
static uint32_t joined(struct arch_emit *e, const struct arch_ds4 *m)
{
	const uint32_t n = e->hp->n_embd, hc = m->hc;
	const struct lmd_input in = {.space = LMD_SPACE_TOKENS,
				     .vtype = LMD_VTYPE_F32,
				     .width = hc * n,
				     .name = "hidden"};
	struct lmd_norm enorm = arch_norm_req(e, LMD_NORM_RMS, &arch_nextn_rows[ARCH_NEXTN_E_NORM]);
	struct lmd_norm hnorm = arch_norm_req(e, LMD_NORM_RMS, &arch_nextn_rows[ARCH_NEXTN_H_NORM]);
	struct arch_weight w = arch_weight_req(e, &arch_nextn_rows[ARCH_NEXTN_JOIN]);
	uint32_t token = arch_nextn_embed(e), both = arch_value_act(e, hc * 2 * n, "token_hidden"),
		 xs = arch_value_f32(e, hc * n, "streams");
	struct lmd_operand first = arch_operand_heads(token, 0, hc, n),
			   to = arch_operand_heads(both, 0, hc, n),
			   hidden = {.src = LMD_SRC_INPUT,
				     .id = e->b->input(e->b->ctx, &in),
				     .n_head = hc,
				     .head_stride = n,
				     .width = n,
				     .fold = 1};

	first.head_stride = 0;
	to.head_stride = 2 * n;
	arch_put_norm(e, first, &enorm, to);
	to.col0 = n;
	arch_put_norm(e, hidden, &hnorm, to);
	for (uint32_t i = 0; i < hc; i++)
		arch_put_linear(e, arch_operand_cols(both, i * 2 * n, 2 * n), NULL, &w,
				arch_operand_cols(xs, i * n, n));
	return xs;
}

void arch_ds4_draft(struct arch_emit *e, const struct arch_ds4 *m, const struct lmd_plan_key *key)
{
	const struct lmd_tensor_row *row;
	struct lmd_norm norm;
	uint32_t xs, y = arch_value_f32(e, e->hp->n_embd, "x_norm");

	arch_set_layer(e, (int32_t)(e->hp->n_layer + key->variant));
	xs = arch_ds4_layer(e, m, joined(e, m));
	row = arch_nextn_head_norm(e);
	norm = arch_norm_req(e, LMD_NORM_RMS, row ? row : &arch_rows[T_OUTPUT_NORM]);
	arch_put_norm(e, arch_operand_all(e, arch_ds4_last(e, m, xs)), &norm,
		      arch_operand_all(e, y));
	if (key->flags & LMD_PLAN_HIDDEN)
		e->b->output(e->b->ctx, LMD_OUT_TAP, e->hidden);
	arch_nextn_head(e, arch_operand_all(e, y), LMD_NONE);
}
