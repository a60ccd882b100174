/* SPDX-License-Identifier: MIT
 *
 * Snowflake Arctic (model card Snowflake/snowflake-arctic-base): a square dense feed-forward block
 * after attention and, parallel to both, experts that read the layer's input through their own
 * norm. */
#include "arch/moe/moe.h"

enum { A_GATE, A_UP, A_DOWN, A_NORM, A_N };
#define FFN(stem, split)                                                                           \
	{"blk.%d." stem, {D_EMBD, D_EMBD}, LMD_TENSOR_REQUIRED | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}

static const struct lmd_tensor_row rows[A_N] = {
	[A_GATE] = FFN("ffn_gate", ROWS),
	[A_UP] = FFN("ffn_up", ROWS),
	[A_DOWN] = FFN("ffn_down", COLS),
	[A_NORM] = {"blk.%d.ffn_norm_exps", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0,
		    NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,  ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_ROWS_OWN(rows), ARCH_SET_MOE,
};

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const uint32_t x = s->x; /* nothing is pending between layers */
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_ffn f = arch_decoder_ffn(e, d);
	struct arch_moe m = arch_moe_default(e);

	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	f.gate = &rows[A_GATE];
	f.up = &rows[A_UP];
	f.down = &rows[A_DOWN];
	s->x = arch_ffn(e, &io, &f);

	io.x = arch_operand_all(e, x);
	io.norm = arch_norm_req(e, LMD_NORM_RMS, &rows[A_NORM]);
	io.res = s->x;
	m.need_gate = true;
	s->x = arch_moe(e, &io, &m);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.layer = layer,
};
ARCH_DECODER_ARCH(arctic, traits, sets)
