/* SPDX-License-Identifier: MIT
 *
 * deepseek4.c - DeepSeek-V4 (model card deepseek-ai/DeepSeek-V4): experts and the plan.
 *
 * The model has several residual streams (deepseek4_streams.c) and attention to raw and compressed
 * keys (deepseek4_attn.c).  Experts: sqrt-softplus router; in the first layers the token id
 * determines the experts. */
#include "arch/streams/deepseek4.h"
#include "arch/streams/streams.h"

/* ---- experts ---- */

static uint32_t feed_forward(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t x)
{
	struct lmi_io io = {lmi_whole(e, x), lmi_norm_req(e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]),
			    LMD_NONE, 1.0f};
	struct lmi_moe moe = lmi_moe_default(e);
	const float limit = m->clamp[e->il], limit_sh = m->clamp_sh[e->il];

	if (limit > 0.0f) {
		moe.act = LMD_ACT_SILU_CLAMP_IN;
		moe.p[0] = limit;
	}
	if (limit_sh > 0.0f) {
		moe.shared.act = LMD_ACT_SILU_CLAMP_IN;
		moe.shared.p[0] = limit_sh;
	}
	if ((uint32_t)e->il < m->n_hash) {
		struct lmd_op op = lmi_op(LMD_OP_EMBED);

		moe.given = lmi_i32(e, m->d.hp.n_expert_used, "experts_of_token");
		moe.probs_b = NULL;
		op.u.embed.y = lmi_whole(e, moe.given);
		op.u.embed.table = lmi_w(e, &lmi_ds4_rows[DS4_HASH]).id;
		op.u.embed.idx_kind = LMD_IDX_TOKEN;
		op.u.embed.neg = LMD_NEG_ROW;
		lmi_put(e, &op);
	}
	return lmi_moe(e, &io, &moe);
}

/* ---- the plan ---- */

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct lmi_ds4 *m = state;
	const uint32_t w = m->d.hp.n_embd;
	struct lmd_opnd first;
	struct lmd_op op = lmi_op(LMD_OP_CAST_COPY);
	struct lmi_stream s = {.z = LMD_NONE};
	struct lmi_ds4_mix c;
	struct lmd_norm norm;
	struct lmi_emit e;
	uint32_t xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture deepseek4: plan kind %u is not supported", key->kind);
		return LMD_UNSUPPORTED;
	}
	lmi_emit_init(&e, b, &m->d.hp, key);
	first = lmi_heads(lmi_embed(&e), 0, m->hc, w);
	first.head_stride = 0;
	xs = lmi_f32(&e, m->hc * w, "streams");
	op.u.cast_copy.x = first;
	op.u.cast_copy.y = lmi_heads(xs, 0, m->hc, w);
	lmi_put(&e, &op);
	for (uint32_t il = 0; il < m->d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t x, y;

		lmi_layer(&e, (int32_t)il);
		c = lmi_ds4_coefficients(&e, m, xs, DS4_HA_FN, DS4_HA_BASE, DS4_HA_SCALE, true);
		x = lmi_ds4_collect(&e, m, xs, c.pre);
		norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_ds4_rows[DS4_A_NORM]);
		y = lmi_f32(&e, w, "attn_norm");
		lmi_put_norm(&e, lmi_whole(&e, x), &norm, lmi_whole(&e, y));
		xs = lmi_ds4_spread(&e, m, xs, lmi_ds4_attention(&e, m, lmi_whole(&e, y)), &c);
		c = lmi_ds4_coefficients(&e, m, xs, DS4_HF_FN, DS4_HF_BASE, DS4_HF_SCALE, true);
		xs = lmi_ds4_spread(&e, m, xs,
				    feed_forward(&e, m, lmi_ds4_collect(&e, m, xs, c.pre)), &c);
	}
	lmi_layer(&e, -1);
	c = lmi_ds4_coefficients(&e, m, xs, DS4_O_FN, DS4_O_BASE, DS4_O_SCALE, false);
	s.x = lmi_ds4_collect(&e, m, xs, c.pre);
	norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_deepseek4 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMI_DS4_N_SET,
	.sets = lmi_ds4_sets,
	.describe = lmi_ds4_describe,
	.dim = lmi_ds4_dim,
	.layer_class = lmi_hp_layer_class,
	.build = build,
	.rows = lmi_ds4_row_inputs,
};
