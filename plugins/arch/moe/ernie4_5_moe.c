/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5 with experts (model card baidu/ERNIE-4.5-21B-A3B-PT): leading dense layers, then
 * experts in every step-th layer, with a selection bias and, if the file gives its width, a shared
 * expert. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP,
};

static void steps(struct arch_hparams *hp, struct arch_keys *k)
{
	if (!hp->n_ff_shexp)
		hp->n_expert_shared = 0;
	arch_moe_by_step(hp, arch_key_u32(k, "interleave_moe_layer_step", ARCH_REQUIRED, 1, 1,
					  ARCH_MAX_LAYER));
}

/* Checkpoints. ERNIE 4.5. */
static const struct lmd_checkpoint_row ernie_rows[] = {
	{"layers.%d.mlp.moe_statics.e_score_correction_bias",
	 "blk.%d.exp_probs_b.bias",
	 {.layers = LMD_CKPT_IN_MOE,
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO | LMD_CKPT_OPTIONAL}},
};

static void ernie_layers(struct lmd_checkpoint *c)
{
	int64_t last = c->get_int(c, "moe_layer_end_index", -1, -1, LMD_CKPT_MAX_LAYERS);

	arch_ckpt_require_value(c, "moe_layer_interval", 1);
	if (last >= 0 && last + 1 < (int64_t)c->n_layer)
		c->fail(c, LMD_UNSUPPORTED,
			"\"moe_layer_end_index\" is %lld, but the last of "
			"%u layers must have experts in architecture %s",
			(long long)last, c->n_layer, c->arch);
	arch_ckpt_dense_first_layers(c, c->get_int(c, "moe_layer_start_index", 0, 0, c->n_layer));
}

static void checkpoint_ernie4_5_moe(struct lmd_checkpoint *c)
{
	int64_t n = c->get_int(c, "moe_num_shared_experts", 0, 0, 64);

	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	c->put_u32(c, "interleave_moe_layer_step", 1);
	arch_ckpt_put_shared_count(c, "moe_num_shared_experts");
	if (n)
		c->put_u32(c, "expert_shared_feed_forward_length",
			   n * c->need_int(c, "moe_intermediate_size", 1, 1 << 24));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "ernie4_5_moe",
	 .arch = "ernie4_5-moe",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_dense_moe,
		  ARCH_CKPT_ROWS(ernie_rows), &arch_ckpt_norms},
	 .layers = ernie_layers,
	 .keys = checkpoint_ernie4_5_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.out_bias_ignored = true,
	.adjust = steps,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(ernie4_5_moe, traits, sets)
