/* SPDX-License-Identifier: MIT
 *
 * Qwen3-Next (model card Qwen/Qwen3-Next-80B-A3B-Instruct) and Qwen3.5, dense and with experts
 * (model card Qwen/Qwen3.5-397B-A17B): gated delta layers (arXiv 2412.06464); every fourth layer
 * has attention with normalised queries and keys and a sigmoid gate that is part of the q matrix;
 * routed experts and a shared expert with its own gate.  Qwen3.5 has interleaved M-RoPE and maps
 * value heads to key heads cyclically, not in blocks. */
#include "arch/hybrid/hybrid.h"

/* query with gate, key and value, for files with fused matrices */
static const struct lmd_tensor_row qkv_rows[] = {
	{"blk.%d.attn_qkv", {D_EMBD, D_QKV2}, LMD_TENSOR_BIAS | LMD_TENSOR_SCALE, LMD_SPLIT_HEADS,
	 LMI_L_ATTN, NULL},
};

static const struct lmi_attn_rows attn_rows = {
	.q = &lmi_rows[T_ATTN_Q_GATED], .k = &lmi_rows[T_ATTN_K], .v = &lmi_rows[T_ATTN_V],
	.qkv = &qkv_rows[0], .out = &lmi_rows[T_ATTN_OUT]};

#define SETS                                                                                       \
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_OPT(T_ATTN_Q_GATED, T_ATTN_Q_GATED),              \
		LMI_OWN(qkv_rows), LMI_REQ(T_ATTN_K, T_ATTN_V), LMI_REQ(T_ATTN_OUT, T_ATTN_OUT),   \
		LMI_SET_QK_NORM, LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM)
#define SETS_MOE                                                                                   \
	LMI_SET_MOE, LMI_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_GATE_INP_SHEXP), LMI_SET_SHEXP

static const struct lmd_tensor_set sets_next[] = {SETS, LMI_SET_DELTA_JOINT, SETS_MOE};
static const struct lmd_tensor_set sets[] = {SETS, LMI_SET_DELTA, LMI_SET_FFN};
static const struct lmd_tensor_set sets_moe[] = {SETS, LMI_SET_DELTA, SETS_MOE};

static void kinds(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_delta_read(&lmi_hybrid(hp)->delta, hp, k);
	lmi_hybrid_kinds(hp, k, 4);
}

static void kinds_moe(struct lmi_hparams *hp, struct lmi_keys *k)
{
	if (!hp->n_expert) {
		lmi_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected at least 1",
			     hp->model->arch);
		return;
	}
	if (!lmi_key_has(k, "expert_feed_forward_length"))
		hp->n_ff_exp = hp->layer[0].n_ff / hp->n_expert_used;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->layer[0].n_ff;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= LMI_L_SHEXP;
	kinds(hp, k);
}

static void kinds_next(struct lmi_hparams *hp, struct lmi_keys *k)
{
	kinds_moe(hp, k);
	lmi_hybrid(hp)->delta.key_map = LMD_MAP_BLOCK;
}

static void memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_delta_memory(&lmi_hybrid(hp)->delta, hp, k);
}

static uint32_t mixer(struct lmi_emit *e, const struct lmi_decoder *d, const struct lmi_io *io)
{
	const struct lmi_hybrid *h = d->hp.own_data;

	return lmi_delta(e, io, &h->delta);
}

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	(void)d;
	a->rows = &attn_rows;
}

#define TRAITS(adjust_)                                                                            \
	.t_ffn_norm = T_POST_ATTN_NORM, .qk_norm = LMI_QKN_HEAD, .gate = LMI_GATE_IN_Q,            \
	.moe_gate = true, .adjust = adjust_, .memory = memory, .attn = attn, .mixer = mixer

static const struct lmi_decoder_traits traits_next = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	TRAITS(kinds_next),
};

#define HP_35                                                                                      \
	{                                                                                          \
		.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES,                        \
		.sections_kind = LMD_SECTIONS_INTERLEAVED, .sections_required = true,              \
		.route_renorm = true                                                               \
	}
static const struct lmi_decoder_traits traits = {.hp = HP_35, TRAITS(kinds)};
static const struct lmi_decoder_traits traits_moe = {.hp = HP_35, TRAITS(kinds_moe)};

LMI_HYBRID_ARCH(qwen3next, traits_next, sets_next)
LMI_HYBRID_ARCH(qwen35, traits, sets)
LMI_HYBRID_ARCH(qwen35moe, traits_moe, sets_moe)
