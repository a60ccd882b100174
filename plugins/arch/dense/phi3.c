/* SPDX-License-Identifier: MIT
 *
 * Phi-3 and Phi-4 mini (arXiv 2404.14219): q, k, v are fused, as are gate and up; one of two sets
 * of frequency factors is chosen by context length.  The window key of the files is not used. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_FUSED, ARCH_SET_ROPE_FACTORS,
};

static const struct lmd_checkpoint_row phi3_rows[] = {
	{"layers.%d.self_attn.qkv_proj", "blk.%d.attn_qkv", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
	{"layers.%d.mlp.gate_up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

/* Files have the window as a key, but no program that reads them applies it. */
static void checkpoint_phi3(struct lmd_checkpoint *c)
{
	int64_t n = arch_ckpt_window_size(c, 0);

	c->put_u32(c, "attention.sliding_window", n);
	arch_ckpt_put_folder_window(c, n, NULL);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "phi3",
	 .arch = "phi3",
	 .rows = {&arch_ckpt_head, ARCH_CKPT_ROWS(phi3_rows), &arch_ckpt_norms},
	 .keys = checkpoint_phi3},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.ffn_fused = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(phi3, traits, sets)
