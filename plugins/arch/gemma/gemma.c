/* SPDX-License-Identifier: MIT
 *
 * Gemma (arXiv 2403.08295): GeGLU, embeddings scaled by sqrt(n_embd), wide heads. */
#include "arch/common/checkpoint.h"
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	arch_gemma_embedding_scale(hp, 0.0f);
}

static const struct lmd_checkpoint_row head[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
};
const struct lmd_checkpoint_rows arch_gemma_ckpt_head = {head, LMD_LEN(head), 0};

/* The embedding is the output head unless the configuration says otherwise. */
void arch_gemma_ckpt_tied(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
}

static const struct lmd_checkpoint_row gemma_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.values = LMD_CKPT_PLUS_ONE}},
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gemma",
	 .arch = "gemma",
	 .rows = {&arch_gemma_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu,
		  ARCH_CKPT_ROWS(gemma_norms)},
	 .keys = arch_gemma_ckpt_tied},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_GELU,
	.adjust = scale,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(gemma, traits, sets)
