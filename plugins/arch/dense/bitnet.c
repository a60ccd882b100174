/* SPDX-License-Identifier: MIT
 *
 * BitNet b1.58 (arXiv 2402.17764): norms before the two output matrices; ternary weights with one
 * scale per matrix.  hidden_activation defaults to SiLU. */
#include <string.h>

#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_OUTPUT_NORM), LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_REQ(T_ATTN_SUB_NORM, T_ATTN_SUB_NORM), LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_REQ(T_FFN_SUB_NORM, T_FFN_SUB_NORM),
};

static void activation(struct lmi_hparams *hp, struct lmi_keys *k)
{
	static const struct {
		const char *name;
		uint32_t act;
	} acts[] = {{"silu", LMD_ACT_SILU}, {"gelu", LMD_ACT_GELU}, {"relu", LMD_ACT_RELU},
		    {"relu2", LMD_ACT_RELU2}};
	struct lmd_str s = lmi_key_str(k, "hidden_activation", LMI_OPTIONAL);

	hp->own[0] = LMD_ACT_SILU;
	if (!s.ptr)
		return;
	for (uint32_t i = 0; i < LMD_LEN(acts); i++) {
		if (s.len == strlen(acts[i].name) && memcmp(s.ptr, acts[i].name, s.len) == 0) {
			hp->own[0] = acts[i].act;
			return;
		}
	}
	lmi_key_fail(k, LMD_UNSUPPORTED,
		     "%s.hidden_activation: \"%.*s\" is not silu, gelu, relu or relu2",
		     k->model->arch, (int)(s.len < 32 ? s.len : 32), s.ptr);
}

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	(void)d;
	a->sub_norm = &lmi_rows[T_ATTN_SUB_NORM];
}

static void ffn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_ffn *f)
{
	(void)e;
	f->act = d->hp.own[0];
	f->sub_norm = &lmi_rows[T_FFN_SUB_NORM];
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = activation,
	.attn = attn,
	.ffn = ffn,
};

LMI_DECODER_ARCH(bitnet, traits, sets)
