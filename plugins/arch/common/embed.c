/* SPDX-License-Identifier: MIT
 *
 * embed.c - from tokens and external rows to the residual stream. */
#include "arch/common/blocks.h"

uint32_t lmi_embed_pos(struct lmi_emit *e, const struct lmd_tensor_row *pos, int32_t off)
{
	const struct lmi_hparams *hp = e->hp;
	struct lmd_op op = lmi_op(LMD_OP_EMBED);
	struct lmi_w w = lmi_w_opt(e, &lmi_rows[T_TOKEN_EMBD]);
	uint32_t x = lmi_f32(e, hp->n_embd, "x");

	if (w.id == LMD_NONE && lmi_has(e, &lmi_rows[T_OUTPUT])) {
		w = lmi_w(e, &lmi_rows[T_OUTPUT]); /* tied, but stored under the other name */
		w.site = LMD_NONE;
	} else if (w.id == LMD_NONE) {
		w = lmi_w(e, &lmi_rows[T_TOKEN_EMBD]);
	}

	op.u.embed.y = lmi_cols(x, 0, hp->n_embd);
	op.u.embed.table = w.id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_EXTERNAL;
	op.u.embed.lora_site = w.site;
	if (hp->embd_scale != 0.0f)
		op.u.embed.scale = hp->embd_scale;
	if (hp->embd_scale_ext != 0.0f)
		op.u.embed.scale_ext = hp->embd_scale_ext;
	if (pos) {
		op.u.embed.pos_table = lmi_w(e, pos).id;
		op.u.embed.pos_off = off;
	}
	lmi_put(e, &op);
	return x;
}

uint32_t lmi_embed(struct lmi_emit *e)
{
	return lmi_embed_pos(e, NULL, 0);
}
