/* SPDX-License-Identifier: MIT
 *
 * Text model of Qwen3-VL (arXiv 2511.21631): Qwen3 with interleaved positions of four parts;
 * picture rows bring further columns, which join the stream after the first layers. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_POOL,
};

#define MAX_DEEPSTACK 64u

static void deepstack(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t n = lmi_key_u32(k, "n_deepstack_layers", LMI_OPTIONAL, 0, 0, MAX_DEEPSTACK);

	for (uint32_t il = 0; il < n && il < hp->n_layer; il++)
		hp->layer[il].deep_after = il + 1;
	hp->n_embd_inp = hp->n_embd * (1 + n);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = deepstack,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(qwen3vl, traits, sets)
