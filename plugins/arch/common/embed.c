/* SPDX-License-Identifier: MIT
 *
 * embed.c - from tokens and external rows to the residual stream. */
#include "arch/common/blocks.h"

uint32_t arch_embed_pos(struct arch_emit *e, const struct lmd_tensor_row *pos, int32_t off)
{
	const struct arch_hparams *hp = e->hp;
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct arch_weight w = arch_weight_opt(e, &arch_rows[T_TOKEN_EMBD]);
	uint32_t x = arch_value_f32(e, hp->n_embd, "x");

	if (w.id == LMD_NONE && arch_weight_exists(e, &arch_rows[T_OUTPUT])) {
		w = arch_weight_req(
			e, &arch_rows[T_OUTPUT]); /* tied, but stored under the other name */
		w.site = LMD_NONE;
	} else if (w.id == LMD_NONE) {
		w = arch_weight_req(e, &arch_rows[T_TOKEN_EMBD]);
	}

	op.u.embed.y = arch_operand_cols(x, 0, hp->n_embd);
	op.u.embed.table = w.id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_EXTERNAL;
	op.u.embed.lora_site = w.site;
	if (hp->embd_scale != 0.0f)
		op.u.embed.scale = hp->embd_scale;
	if (hp->embd_scale_ext != 0.0f)
		op.u.embed.scale_ext = hp->embd_scale_ext;
	if (pos) {
		op.u.embed.pos_table = arch_weight_req(e, pos).id;
		op.u.embed.pos_off = off;
	}
	arch_emit_op(e, &op);
	return x;
}

uint32_t arch_embed(struct arch_emit *e)
{
	return arch_embed_pos(e, NULL, 0);
}
