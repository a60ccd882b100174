/* SPDX-License-Identifier: MIT
 *
 * Talkie (architecture talkie): norms without weights; queries and keys are normalised after the
 * rotation, and queries are then scaled by a factor per head; the normalised embedding is added
 * again after each layer. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_row own_rows[] = {
	{"blk.%d.attn_q_norm", {LMD_DIM(1), D_HEAD, 0, 0}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
	 LMI_L_ATTN, NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_REQ(T_OUTPUT, T_OUTPUT), LMI_SET_QKV,
	LMI_OWN(own_rows), LMI_SET_FFN, LMI_REQ(T_LAYER_OUT_SCALE, T_LAYER_OUT_SCALE),
};

static const struct lmi_key_f32 floats[] = {
	{"logit_scale", LMI_HP(logit_scale), LMI_REQUIRED, 1, 1e-6f, 1e6f},
};

enum { SKIP = 0 }; /* own value: the normalised embedding */

static void begin(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	(void)d;
	e->own[SKIP] = s->x;
}

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	(void)d;
	a->q_gain = &own_rows[0];
}

/* x += gain * embedding */
static void add_embedding(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	uint32_t width = d->hp.n_embd, y = lmi_f32(e, width, "x_skip");
	struct lmi_w w = lmi_w(e, &lmi_rows[T_LAYER_OUT_SCALE]);
	struct lmi_ew p = lmi_ew();
	uint8_t x = lmi_ew_in(&p, lmi_cols(lmi_flush(e, s), 0, width));
	uint8_t skip = lmi_ew_in(&p, lmi_cols(e->own[SKIP], 0, width));
	uint8_t gain = lmi_ew_in(&p, lmi_wcols(w.id, 1));

	lmi_ew_out(e, &p, lmi_ew3(&p, LMD_EW_FMA, skip, gain, x), lmi_cols(y, 0, width));
	s->x = y;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.bare_norm = true,
	.embd_norm = LMI_EMBD_NORM_BARE,
	.qk_norm = LMI_QKN_BARE,
	.qk_norm_after = true,
	.begin = begin,
	.attn = attn,
	.after = add_embedding,
};

LMI_DECODER_ARCH(talkie, traits, sets)
