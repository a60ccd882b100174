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

static uint32_t feed_forward(struct arch_emit *e, const struct arch_ds4 *m, uint32_t x)
{
	struct arch_block_io io = {arch_operand_all(e, x),
				   arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]), LMD_NONE,
				   1.0f};
	struct arch_moe moe = arch_moe_default(e);
	const float limit = m->clamp[e->il], limit_sh = m->clamp_sh[e->il];

	if (limit > 0.0f) {
		moe.act = LMD_ACT_FN_SILU_CLAMP_IN;
		moe.p[0] = limit;
	}
	if (limit_sh > 0.0f) {
		moe.shared.act = LMD_ACT_FN_SILU_CLAMP_IN;
		moe.shared.p[0] = limit_sh;
	}
	if ((uint32_t)e->il < m->n_hash) {
		struct lmd_op op = arch_op_empty(LMD_OP_EMBED);

		moe.expert_ids = arch_value_i32(e, m->d.hp.n_expert_used, "experts_of_token");
		moe.probs_b = NULL;
		op.u.embed.y = arch_operand_all(e, moe.expert_ids);
		op.u.embed.table = arch_weight_req(e, &arch_ds4_rows[DS4_HASH]).id;
		op.u.embed.idx_kind = LMD_IDX_TOKEN;
		op.u.embed.neg = LMD_NEG_ROW;
		arch_emit_op(e, &op);
	}
	return arch_moe(e, &io, &moe);
}

/* ---- the plan ---- */

/* The same row in each stream. */
static uint32_t first_streams(struct arch_emit *e, const struct arch_ds4 *m)
{
	const uint32_t w = m->d.hp.n_embd;
	struct lmd_operand row = arch_operand_heads(arch_embed(e), 0, m->hc, w);
	uint32_t xs = arch_value_f32(e, m->hc * w, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	row.head_stride = 0;
	op.u.cast_copy.x = row;
	op.u.cast_copy.y = arch_operand_heads(xs, 0, m->hc, w);
	arch_emit_op(e, &op);
	return xs;
}

uint32_t arch_ds4_layer(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs)
{
	struct arch_ds4_mix c =
		arch_ds4_coefficients(e, m, xs, DS4_HA_FN, DS4_HA_BASE, DS4_HA_SCALE, true);
	uint32_t x = arch_ds4_block_input(e, m, xs, c.pre);
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_ds4_rows[DS4_A_NORM]);
	uint32_t y = arch_value_f32(e, m->d.hp.n_embd, "attn_norm");

	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, y));
	xs = arch_ds4_update_streams(e, m, xs, arch_ds4_attention(e, m, arch_operand_all(e, y)),
				     &c);
	c = arch_ds4_coefficients(e, m, xs, DS4_HF_FN, DS4_HF_BASE, DS4_HF_SCALE, true);
	x = arch_ds4_block_input(e, m, xs, c.pre);
	return arch_ds4_update_streams(e, m, xs, feed_forward(e, m, x), &c);
}

uint32_t arch_ds4_last(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs)
{
	struct arch_ds4_mix c =
		arch_ds4_coefficients(e, m, xs, DS4_O_FN, DS4_O_BASE, DS4_O_SCALE, false);

	e->hidden = xs;
	return arch_ds4_block_input(e, m, xs, c.pre);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct arch_ds4 *m = state;
	struct arch_residual s = {.z = LMD_NONE};
	struct lmd_norm norm;
	struct arch_emit e;
	uint32_t xs;

	arch_emit_init(&e, b, &m->d.hp, key);
	if (key->kind == LMD_PLAN_DRAFT && key->variant < m->d.hp.n_draft) {
		arch_ds4_draft(&e, m, key);
		return b->status(b->ctx);
	}
	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture deepseek4: plan kind %u of variant %u; it has kind %d, and kind %d of "
			"variants below %u",
			key->kind, key->variant, LMD_PLAN_FORWARD, LMD_PLAN_DRAFT, m->d.hp.n_draft);
		return LMD_UNSUPPORTED;
	}
	xs = first_streams(&e, m);
	for (uint32_t il = 0; il < m->d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		xs = arch_ds4_layer(&e, m, xs);
	}
	arch_set_layer(&e, -1);
	s.x = arch_ds4_last(&e, m, xs);
	norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_deepseek4 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = ARCH_DS4_N_SET,
	.sets = arch_ds4_sets,
	.describe = arch_ds4_describe,
	.dim = arch_ds4_dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.rows = arch_ds4_row_inputs,
};
