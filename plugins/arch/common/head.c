/* SPDX-License-Identifier: MIT
 *
 * head.c - the outputs of a plan: logits and embeddings. */
#include "arch/common/blocks.h"

struct arch_weight arch_weight_output(struct arch_emit *e)
{
	struct arch_weight w = arch_weight_opt(e, &arch_rows[T_OUTPUT]);

	if (w.id == LMD_NONE) {
		w = arch_weight_req(e, &arch_rows[T_TOKEN_EMBD]);
		w.site = e->hp->site_output;
	}
	return w;
}

void arch_emit_head(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		    const struct arch_weight *head, uint32_t bias)
{
	const struct arch_hparams *hp = e->hp;
	struct lmd_op op = arch_op_empty(LMD_OP_HEAD);
	struct arch_weight w = *head;
	uint32_t y;

	y = arch_value(e, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, w.n, "logits");
	op.u.head.x = x;
	op.u.head.norm = *norm;
	op.u.head.w = w.id;
	op.u.head.lora_site = w.site;
	op.u.head.bias = bias;
	op.u.head.y = arch_operand_cols(y, 0, w.n);
	if (hp->logit_scale != 0.0f)
		op.u.head.scale = hp->logit_scale;
	op.u.head.softcap = hp->logit_softcap;
	arch_emit_op(e, &op);
	e->b->output(e->b->ctx, LMD_OUT_LOGITS, y);
}

void arch_emit_logits(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		      uint32_t bias)
{
	struct arch_weight w = arch_weight_output(e);

	arch_emit_head(e, x, norm, &w, bias);
}

struct lmd_operand arch_normalised_stream(struct arch_emit *e, const struct arch_block_io *io)
{
	uint32_t y;

	if (io->norm.kind == LMD_NORM_NONE)
		return io->x;
	y = arch_value_f32(e, io->x.width, "final");
	arch_put_norm(e, io->x, &io->norm, arch_operand_cols(y, 0, io->x.width));
	return arch_operand_cols(y, 0, io->x.width);
}

void arch_emit_outputs(struct arch_emit *e, const struct lmd_plan_key *key, struct arch_residual *s,
		       const struct lmd_norm *norm, const struct arch_pooling *pool, uint32_t bias)
{
	static const struct arch_pooling plain = {.rank_act = LMD_ACT_FN_TANH};
	const struct arch_hparams *hp = e->hp;
	struct lmd_norm none = arch_no_norm();
	struct arch_block_io io = arch_residual_read(e, s, norm);

	arch_set_layer(e, -1);
	if (e->rank) /* rank 0 has the outputs */
		return;
	if (!(key->flags & (LMD_PLAN_LOGITS | LMD_PLAN_EMBED))) {
		e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
			   "plan key requests neither logits nor embeddings");
		return;
	}
	if (key->flags & LMD_PLAN_HIDDEN && (hp->n_tap || e->hidden != LMD_NONE)) {
		e->b->output(e->b->ctx, LMD_OUT_TAP, hp->n_tap ? arch_taps_join(e) : e->hidden);
	} else if (key->flags & LMD_PLAN_HIDDEN) {
		io.x = arch_normalised_stream(e, &io);
		io.norm = none;
		e->b->output(e->b->ctx, LMD_OUT_TAP, io.x.id);
	}
	if (key->flags & LMD_PLAN_EMBED) {
		struct lmd_operand x = arch_normalised_stream(e, &io);

		arch_emit_pooling(e, key, x, pool ? pool : &plain);
		if (key->flags & LMD_PLAN_LOGITS)
			arch_emit_logits(e, x, &none, bias);
	} else {
		arch_emit_logits(e, io.x, &io.norm, bias);
	}
}
