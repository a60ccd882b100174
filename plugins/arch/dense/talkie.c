/* SPDX-License-Identifier: MIT
 *
 * Talkie (architecture talkie): norms without weights; queries and keys are normalised after the
 * rotation, and queries are then scaled by a factor per head; the normalised embedding is added
 * again after each layer. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_row own_rows[] = {
	{"blk.%d.attn_q_norm",
	 {LMD_DIM(1), D_HEAD, 0, 0},
	 LMD_TENSOR_REQUIRED,
	 LMD_SPLIT_REPLICATE,
	 ARCH_L_ATTN,
	 NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_REQ(T_OUTPUT, T_OUTPUT),
	ARCH_SET_QKV,
	ARCH_ROWS_OWN(own_rows),
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_LAYER_OUT_SCALE, T_LAYER_OUT_SCALE),
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
};

enum { SKIP = 0 }; /* own value: the normalised embedding */

static void begin(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s)
{
	(void)d;
	e->arch_values[SKIP] = s->x;
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->q_gain = &own_rows[0];
}

/* x += gain * embedding */
static void add_embedding(struct arch_emit *e, const struct arch_decoder *d,
			  struct arch_residual *s)
{
	uint32_t width = d->hp.n_embd, y = arch_value_f32(e, width, "x_skip");
	struct arch_weight w = arch_weight_req(e, &arch_rows[T_LAYER_OUT_SCALE]);
	struct arch_ew p = arch_ew();
	uint8_t x = arch_ew_in(&p, arch_operand_cols(arch_residual_flush(e, s), 0, width));
	uint8_t skip = arch_ew_in(&p, arch_operand_cols(e->arch_values[SKIP], 0, width));
	uint8_t gain = arch_ew_in(&p, arch_operand_weight_cols(w.id, 1));

	arch_ew_out(e, &p, arch_ew3(&p, LMD_EW_FMA, skip, gain, x), arch_operand_cols(y, 0, width));
	s->x = y;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.bare_norm = true,
	.embd_norm = ARCH_EMBD_NORM_BARE,
	.qk_norm = ARCH_QKN_BARE,
	.qk_norm_after = true,
	.begin = begin,
	.attn = attn,
	.after = add_embedding,
};

ARCH_DECODER_ARCH(talkie, traits, sets)
