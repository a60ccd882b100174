/* SPDX-License-Identifier: MIT
 *
 * BitNet b1.58 (arXiv 2402.17764): norms before the two output matrices; ternary weights with one
 * scale per matrix.  hidden_activation defaults to SiLU. */
#include <string.h>

#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_OUTPUT_NORM),      ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_SUB_NORM, T_ATTN_SUB_NORM), ARCH_SET_FFN_NORM,  ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_FFN_SUB_NORM, T_FFN_SUB_NORM),
};

static void activation(struct arch_hparams *hp, struct arch_keys *k)
{
	static const struct {
		const char *name;
		uint32_t act;
	} acts[] = {{"silu", LMD_ACT_FN_SILU},
		    {"gelu", LMD_ACT_FN_GELU},
		    {"relu", LMD_ACT_FN_RELU},
		    {"relu2", LMD_ACT_FN_RELU2}};
	struct lmd_str s = arch_key_str(k, "hidden_activation", ARCH_OPTIONAL);

	hp->arch_u32[0] = LMD_ACT_FN_SILU;
	if (!s.ptr)
		return;
	for (uint32_t i = 0; i < LMD_LEN(acts); i++) {
		if (s.len == strlen(acts[i].name) && memcmp(s.ptr, acts[i].name, s.len) == 0) {
			hp->arch_u32[0] = acts[i].act;
			return;
		}
	}
	arch_key_fail(k, LMD_UNSUPPORTED,
		      "%s.hidden_activation: \"%.*s\" is not silu, gelu, relu or relu2",
		      k->model->arch, (int)(s.len < 32 ? s.len : 32), s.ptr);
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->sub_norm = &arch_rows[T_ATTN_SUB_NORM];
}

static void ffn(struct arch_emit *e, const struct arch_decoder *d, struct arch_ffn *f)
{
	(void)e;
	f->act = d->hp.arch_u32[0];
	f->sub_norm = &arch_rows[T_FFN_SUB_NORM];
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = activation,
	.attn = attn,
	.ffn = ffn,
};

ARCH_DECODER_ARCH(bitnet, traits, sets)
