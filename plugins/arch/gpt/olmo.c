/* SPDX-License-Identifier: MIT
 *
 * OLMo (arXiv 2402.00838): LLaMA with LayerNorm without weights; queries, keys and values may be
 * clamped. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_OPT(T_OUTPUT, T_OUTPUT),
	ARCH_SET_QKV,
	ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"attention.clamp_kqv", ARCH_HP(clamp_qkv), ARCH_OPTIONAL, 0, 0, 1e6f},
};

/* Checkpoints. OLMo: LayerNorm without weights; OLMo 2 and 3: norms after the blocks. */
static const struct lmd_checkpoint_row olmo_head[] = {
	{"embed_tokens", "token_embd", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
};

static void checkpoint_olmo(struct lmd_checkpoint *c)
{
	if (c->has(c, "clip_qkv"))
		c->put_f32(c, "attention.clamp_kqv", c->get_float(c, "clip_qkv", 0));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "olmo",
	 .arch = "olmo",
	 .pretokenizer = "olmo",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {ARCH_CKPT_ROWS(olmo_head), &arch_ckpt_attn_adj, &arch_ckpt_glu},
	 .keys = checkpoint_olmo},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.bare_norm = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(olmo, traits, sets)
