/* SPDX-License-Identifier: MIT
 *
 * head.c - the outputs of a plan: logits and embeddings. */
#include "arch/common/blocks.h"

void lmi_head(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *norm, uint32_t bias)
{
	const struct lmi_hparams *hp = e->hp;
	struct lmd_op op = lmi_op(LMD_OP_HEAD);
	struct lmi_w w = lmi_w_opt(e, &lmi_rows[T_OUTPUT]);
	uint32_t y;

	if (w.id == LMD_NONE) {
		w = lmi_w(e, &lmi_rows[T_TOKEN_EMBD]);
		w.site = hp->site_output;
	}
	y = lmi_value(e, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, w.n, "logits");
	op.u.head.x = x;
	op.u.head.norm = *norm;
	op.u.head.w = w.id;
	op.u.head.lora_site = w.site;
	op.u.head.bias = bias;
	op.u.head.y = lmi_cols(y, 0, w.n);
	if (hp->logit_scale != 0.0f)
		op.u.head.scale = hp->logit_scale;
	op.u.head.softcap = hp->logit_softcap;
	lmi_put(e, &op);
	e->b->output(e->b->ctx, LMD_OUT_LOGITS, y);
}

void lmi_finish(struct lmi_emit *e, const struct lmd_plan_key *key, struct lmi_stream *s,
		const struct lmd_norm *norm, const struct lmi_pool *pool, uint32_t bias)
{
	static const struct lmi_pool plain = {.rank_act = LMD_ACT_TANH};
	struct lmd_norm none = lmi_no_norm();
	struct lmi_io io = lmi_read(e, s, norm);

	lmi_layer(e, -1);
	if (!(key->flags & (LMD_PLAN_LOGITS | LMD_PLAN_EMBED))) {
		e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
			   "plan key requests neither logits nor embeddings");
		return;
	}
	if (key->flags & LMD_PLAN_EMBED) {
		struct lmd_opnd x = io.x;

		if (io.norm.kind != LMD_NORM_NONE) {
			uint32_t y = lmi_f32(e, x.width, "final");

			lmi_put_norm(e, x, &io.norm, lmi_cols(y, 0, x.width));
			x = lmi_cols(y, 0, x.width);
		}
		lmi_pool(e, key, x, pool ? pool : &plain);
		if (key->flags & LMD_PLAN_LOGITS)
			lmi_head(e, x, &none, bias);
	} else {
		lmi_head(e, io.x, &io.norm, bias);
	}
}
