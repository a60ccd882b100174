/* SPDX-License-Identifier: MIT
 *
 * Grok-1 and 2 (model cards xai-org/grok-1, grok-2): norms before and after the blocks, softcapped
 * scores, GELU.  Grok-2 has a dense block beside the experts; their sum is divided by sqrt 2.
 * Factors that are missing in old files default to those of Grok-1. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_REQ(T_ATTN_OUT_NORM, T_LAYER_OUT_NORM),
	ARCH_SET_FFN_NORM, ARCH_ROWS_OPT(T_FFN_GATE, T_FFN_DOWN),
	ARCH_SET_MOE,
};

static const struct arch_key_f32 floats[] = {
	{"embedding_scale", ARCH_HP(embd_scale), ARCH_OPTIONAL, 78.38367176906169f, 0, 1e6f},
	{"attention.output_scale", ARCH_HP(attn_scale), ARCH_OPTIONAL, 0.08838834764831845f, 0,
	 1e3f},
	{"attn_logit_softcapping", ARCH_HP(attn_softcap), ARCH_OPTIONAL, 30.0f, 0, 1e6f},
	{"logit_scale", ARCH_HP(logit_scale), ARCH_OPTIONAL, 0.5773502691896257f, 0, 1e6f},
	{"final_logit_softcapping", ARCH_HP(logit_softcap), ARCH_OPTIONAL, 0, 0, 1e6f},
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->embd_scale_ext = hp->embd_scale;
	for (uint32_t i = 0; i < ARCH_N_ROPE; i++)
		hp->rope[i].beta_fast = arch_key_f64(k, "rope.scaling.yarn_beta_fast",
						     ARCH_OPTIONAL, 8.0, 0.0, 1e6);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= ARCH_L_DENSE;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_moe m = arch_moe_default(e);
	bool beside = arch_weight_exists(e, &arch_rows[T_FFN_UP]);
	uint32_t y, z = arch_value_act(e, d->hp.n_embd, "attn_norm_out");

	io.res = LMD_NONE;
	y = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_ATTN_OUT_NORM);
	arch_put_norm(e, arch_operand_all(e, y), &n, arch_operand_all(e, z));
	arch_residual_defer_add(e, s, z, 1.0f);

	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	io.res = LMD_NONE;
	m.act = LMD_ACT_FN_GELU;
	if (beside) {
		m.shared = arch_ffn_default();
		m.shared.act = LMD_ACT_FN_GELU;
	}
	y = arch_moe(e, &io, &m);
	n = arch_decoder_norm(e, d, 0, T_LAYER_OUT_NORM);
	/* norm(y / sqrt 2) with eps equals norm(y) with 2 * eps */
	n.eps *= beside ? 2.0f : 1.0f;
	z = arch_value_act(e, d->hp.n_embd, "layer_norm_out");
	arch_put_norm(e, arch_operand_all(e, y), &n, arch_operand_all(e, z));
	arch_residual_defer_add(e, s, z, 1.0f);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.layer = layer,
};
ARCH_DECODER_ARCH(grok, traits, sets)
