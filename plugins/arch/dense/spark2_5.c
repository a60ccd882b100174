/* SPDX-License-Identifier: MIT
 *
 * Spark 2.5 (architecture spark2_5): GeGLU, a sigmoid gate per head on the attention result, and a
 * window in the layers selected by the pattern. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	if (!arch_key_is_array(k, "attention.sliding_window_pattern"))
		arch_key_fail(k, LMD_NOTFOUND,
			      "%s.attention.sliding_window_pattern: the file has no such array",
			      k->model->arch);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED},
	.gate = ARCH_GATE_SIGMOID,
	.act = LMD_ACT_FN_GELU,
	.adjust = adjust,
};

ARCH_DECODER_ARCH(spark2_5, traits, sets)
