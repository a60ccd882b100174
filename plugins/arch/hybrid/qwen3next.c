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
	{"blk.%d.attn_qkv",
	 {D_EMBD, D_QKV2},
	 LMD_TENSOR_BIAS | LMD_TENSOR_SCALE | LMD_TENSOR_LORA,
	 LMD_SPLIT_HEADS,
	 ARCH_L_ATTN,
	 NULL},
};

static const struct arch_attn_rows attn_rows = {.q = &arch_rows[T_ATTN_Q_GATED],
						.k = &arch_rows[T_ATTN_K],
						.v = &arch_rows[T_ATTN_V],
						.qkv = &qkv_rows[0],
						.out = &arch_rows[T_ATTN_OUT]};

#define SETS                                                                                       \
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_ROWS_OPT(T_ATTN_Q_GATED, T_ATTN_Q_GATED),      \
		ARCH_ROWS_OWN(qkv_rows), ARCH_ROWS_REQ(T_ATTN_K, T_ATTN_V),                        \
		ARCH_ROWS_REQ(T_ATTN_OUT, T_ATTN_OUT), ARCH_SET_QK_NORM,                           \
		ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM)
#define SETS_MOE                                                                                   \
	ARCH_SET_MOE, ARCH_ROWS_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_GATE_INP_SHEXP), ARCH_SET_SHEXP

static const struct lmd_tensor_set sets_next[] = {SETS, ARCH_SET_DELTA_JOINT, SETS_MOE};
static const struct lmd_tensor_set sets[] = {SETS, ARCH_SET_DELTA, ARCH_SET_FFN};
static const struct lmd_tensor_set sets_moe[] = {SETS, ARCH_SET_DELTA, SETS_MOE};

static void kinds(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_delta_read(&arch_hybrid(hp)->delta, hp, k);
	arch_hybrid_kinds(hp, k, 4);
}

static void kinds_moe(struct arch_hparams *hp, struct arch_keys *k)
{
	if (!hp->n_expert) {
		arch_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected at least 1",
			      hp->model->arch);
		return;
	}
	if (!arch_key_has(k, "expert_feed_forward_length"))
		hp->n_ff_exp = hp->layer[0].n_ff / hp->n_expert_used;
	if (!hp->n_ff_shexp)
		hp->n_ff_shexp = hp->layer[0].n_ff;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= ARCH_L_SHEXP;
	kinds(hp, k);
}

static void kinds_next(struct arch_hparams *hp, struct arch_keys *k)
{
	kinds_moe(hp, k);
	arch_hybrid(hp)->delta.key_map = LMD_MAP_BLOCK;
}

static void memory(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_delta_memory(&arch_hybrid(hp)->delta, hp, k);
}

static uint32_t mixer(struct arch_emit *e, const struct arch_decoder *d,
		      const struct arch_block_io *io)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	return arch_delta(e, io, &h->delta);
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->rows = &attn_rows;
}

#define TRAITS(adjust_)                                                                            \
	.t_ffn_norm = T_POST_ATTN_NORM, .qk_norm = ARCH_QKN_HEAD, .gate = ARCH_GATE_IN_Q,          \
	.moe_gate = true, .adjust = adjust_, .memory = memory, .attn = attn, .mixer = mixer

static const struct arch_decoder_traits traits_next = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	TRAITS(kinds_next),
};

#define HP_35                                                                                      \
	{                                                                                          \
		.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES,                        \
		.sections_kind = LMD_SECTIONS_INTERLEAVED, .sections_required = true,              \
		.route_renorm = true                                                               \
	}
static const struct arch_decoder_traits traits = {.hp = HP_35, TRAITS(kinds)};
static const struct arch_decoder_traits traits_moe = {.hp = HP_35, TRAITS(kinds_moe)};

ARCH_HYBRID_ARCH(qwen3next, traits_next, sets_next)
ARCH_HYBRID_ARCH(qwen35, traits, sets)
ARCH_HYBRID_ARCH(qwen35moe, traits_moe, sets_moe)
