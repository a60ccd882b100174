/* SPDX-License-Identifier: MIT
 *
 * Snowflake Arctic (model card Snowflake/snowflake-arctic-base): a square dense feed-forward block
 * after attention and, parallel to both, experts that read the layer's input through their own
 * norm. */
#include "arch/moe/moe.h"

enum { A_GATE, A_UP, A_DOWN, A_NORM, A_N };
#define FFN(stem, split)                                                                           \
	{"blk.%d." stem, {D_EMBD, D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_##split, 0, NULL}

static const struct lmd_tensor_row rows[A_N] = {
	[A_GATE] = FFN("ffn_gate", ROWS),
	[A_UP] = FFN("ffn_up", ROWS),
	[A_DOWN] = FFN("ffn_down", COLS),
	[A_NORM] = {"blk.%d.ffn_norm_exps", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0,
		    NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_SET_FFN_NORM, LMI_OWN(rows),     LMI_SET_MOE,
};

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	const uint32_t x = s->x; /* nothing is pending between layers */
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_ffn f = lmi_decoder_ffn(e, d);
	struct lmi_moe m = lmi_moe_default(e);

	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	f.gate = &rows[A_GATE];
	f.up = &rows[A_UP];
	f.down = &rows[A_DOWN];
	s->x = lmi_ffn(e, &io, &f);

	io.x = lmi_whole(e, x);
	io.norm = lmi_norm_req(e, LMD_NORM_RMS, &rows[A_NORM]);
	io.res = s->x;
	m.need_gate = true;
	s->x = lmi_moe(e, &io, &m);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.layer = layer,
};
LMI_DECODER_ARCH(arctic, traits, sets)
