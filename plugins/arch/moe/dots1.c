/* SPDX-License-Identifier: MIT
 *
 * dots.llm1 (arXiv 2506.05767): queries and keys are normalised per head; leading dense layers,
 * then a sigmoid router with shared experts. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_MOE, ARCH_SET_SHEXP,
};

static const struct lmd_checkpoint_row dots_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
};

static void checkpoint_dots1(struct lmd_checkpoint *c)
{
	uint8_t *is = c->alloc(c, c->n_layer, 1);

	if (is && c->window_layers(c, is))
		arch_ckpt_put_folder_window(c, arch_ckpt_window_size(c, 0), is);
	arch_ckpt_put_shared_count(c, "n_shared_experts");
	arch_ckpt_put_routing(c, ARCH_CKPT_SIGMOID);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "dots1",
	 .arch = "dots1",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_dense_moe,
		  ARCH_CKPT_ROWS(dots_norms)},
	 .layers = arch_ckpt_dense_layers,
	 .keys = checkpoint_dots1},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(dots1, traits, sets)
