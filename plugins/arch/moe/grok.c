/* SPDX-License-Identifier: MIT
 *
 * Grok-1 and 2 (model cards xai-org/grok-1, grok-2): norms before and after the blocks, softcapped
 * scores, GELU.  Grok-2 has a dense block beside the experts; their sum is divided by sqrt 2.
 * Factors that are missing in old files default to those of Grok-1. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_REQ(T_ATTN_OUT_NORM, T_LAYER_OUT_NORM),
	LMI_SET_FFN_NORM,
	LMI_OPT(T_FFN_GATE, T_FFN_DOWN),
	LMI_SET_MOE,
};

static const struct lmi_key_f32 floats[] = {
	{"embedding_scale", LMI_HP(embd_scale), LMI_OPTIONAL, 78.38367176906169f, 0, 1e6f},
	{"attention.output_scale", LMI_HP(attn_scale), LMI_OPTIONAL, 0.08838834764831845f, 0, 1e3f},
	{"attn_logit_softcapping", LMI_HP(attn_softcap), LMI_OPTIONAL, 30.0f, 0, 1e6f},
	{"logit_scale", LMI_HP(logit_scale), LMI_OPTIONAL, 0.5773502691896257f, 0, 1e6f},
	{"final_logit_softcapping", LMI_HP(logit_softcap), LMI_OPTIONAL, 0, 0, 1e6f},
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->embd_scale_ext = hp->embd_scale;
	for (uint32_t i = 0; i < LMI_N_ROPE; i++)
		hp->rope[i].beta_fast =
			lmi_key_f64(k, "rope.scaling.yarn_beta_fast", LMI_OPTIONAL, 8.0, 0.0, 1e6);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= LMI_L_DENSE;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_moe m = lmi_moe_default(e);
	bool beside = lmi_has(e, &lmi_rows[T_FFN_UP]);
	uint32_t y, z = lmi_act(e, d->hp.n_embd, "attn_norm_out");

	io.res = LMD_NONE;
	y = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_ATTN_OUT_NORM);
	lmi_put_norm(e, lmi_whole(e, y), &n, lmi_whole(e, z));
	lmi_add_later(e, s, z, 1.0f);

	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	io.res = LMD_NONE;
	m.act = LMD_ACT_GELU;
	if (beside) {
		m.shared = lmi_ffn_default();
		m.shared.act = LMD_ACT_GELU;
	}
	y = lmi_moe(e, &io, &m);
	n = lmi_decoder_norm(e, d, 0, T_LAYER_OUT_NORM);
	/* norm(y / sqrt 2) with eps equals norm(y) with 2 * eps */
	n.eps *= beside ? 2.0f : 1.0f;
	z = lmi_act(e, d->hp.n_embd, "layer_norm_out");
	lmi_put_norm(e, lmi_whole(e, y), &n, lmi_whole(e, z));
	lmi_add_later(e, s, z, 1.0f);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.layer = layer,
};
LMI_DECODER_ARCH(grok, traits, sets)
