/* SPDX-License-Identifier: MIT
 *
 * Spark 2.5 (architecture spark2_5): GeGLU, a sigmoid gate per head on the attention result, and a
 * window in the layers selected by the pattern. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	if (!lmi_key_is_array(k, "attention.sliding_window_pattern"))
		lmi_key_fail(k, LMD_NOTFOUND,
			     "%s.attention.sliding_window_pattern: the file has no such array",
			     k->model->arch);
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, false);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED},
	.gate = LMI_GATE_SIGMOID,
	.act = LMD_ACT_GELU,
	.adjust = adjust,
};

LMI_DECODER_ARCH(spark2_5, traits, sets)
