/* SPDX-License-Identifier: MIT
 *
 * Hunyuan-A13B (model card tencent/Hunyuan-A13B-Instruct): queries and keys are normalised after
 * the rotation; every layer has a shared expert.  Experts have the layer's feed_forward_length;
 * expert_feed_forward_length is ignored.
 *
 * hy_v3 is its successor: norm before the rotation, a sigmoid router with a selection bias; a layer
 * is dense unless it has a router. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_MOE, LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static void widths(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->n_ff_exp = hp->layer[0].n_ff;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->n_ff_exp;
	hp->n_dense_lead = 0;
	lmi_moe_by_step(hp, 1);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = widths,
};
LMI_DECODER_ARCH(hunyuan_moe, traits, sets)

/* Some converters omitted the suffix ".bias". */
static const struct lmd_tensor_row bare_bias[] = {
	{"blk.%d.exp_probs_b", {D_EXPERT}, LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, LMI_L_MOE, NULL},
};

static const struct lmd_tensor_set sets3[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_MOE, LMI_OWN(bare_bias), LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static void layers3(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->n_ff_exp;
	lmi_moe_by_tensor(hp);
}

static void bias(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	(void)d;
	if (lmi_has(e, &bare_bias[0]))
		m->probs_b = &bare_bias[0];
}

static const struct lmi_decoder_traits traits3 = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = layers3,
	.moe = bias,
};
LMI_DECODER_ARCH(hy_v3, traits3, sets3)
