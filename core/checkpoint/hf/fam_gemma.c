/* SPDX-License-Identifier: MIT
 *
 * Gemma.  Checkpoints store the weights of norms minus 1. */
#include "core/checkpoint/hf/families.h"

static const struct lmi_checkpoint_row head[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
};
#define HEAD LMI_CHECKPOINT_ROWS(head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn)
#define GLU  LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_glu)

/* The embedding is the output head unless the configuration says otherwise. */
static void gemma(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
}

static const struct lmi_checkpoint_row gemma_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.values = LMI_CKPT_PLUS_ONE}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_gemma = {
	.type = "gemma",
	.arch = "gemma",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(gemma_norms)},
	.keys = gemma};

/* Attention scores are scaled by the head width, except in the largest models (recognised by their
 * number of layers), which use n_embd / n_head. */
static void check_scale(struct lmi_checkpoint *f, uint32_t n_layer_large)
{
	double expected =
		f->n_layer == n_layer_large ? (double)(f->n_embd / f->n_head) : f->head_dim;

	lmi_checkpoint_config_require_value(f, "query_pre_attn_scalar", expected);
}

static const struct lmi_checkpoint_row gemma2_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm",
	 {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.pre_feedforward_layernorm", "blk.%d.ffn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.post_feedforward_layernorm", "blk.%d.post_ffw_norm",
	 {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm",
	 {.values = LMI_CKPT_PLUS_ONE, .flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm",
	 {.values = LMI_CKPT_PLUS_ONE, .flags = LMI_CKPT_OPTIONAL}},
};

static void gemma2(struct lmi_checkpoint *f)
{
	gemma(f);
	check_scale(f, 46);
	lmi_checkpoint_put_f32(f, "attn_logit_softcapping",
			       lmi_checkpoint_config_float(f, "attn_logit_softcapping", 0));
	lmi_checkpoint_put_f32(f, "final_logit_softcapping",
			       lmi_checkpoint_config_float(f, "final_logit_softcapping", 0));
	lmi_checkpoint_fam_put_window(f, 2);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gemma2 = {
	.type = "gemma2",
	.arch = "gemma2",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(gemma2_norms)},
	.keys = gemma2};

static void gemma3(struct lmi_checkpoint *f)
{
	double base = lmi_checkpoint_config_float(
		f, "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq", 10000);

	gemma(f);
	check_scale(f, 62);
	lmi_checkpoint_fam_put_window(f, 6);
	if (base != 10000)
		lmi_checkpoint_put_f32(f, "rope.freq_base_swa", base);
	if (lmi_checkpoint_config_has(f, "final_logit_softcapping"))
		lmi_checkpoint_put_f32(
			f, "final_logit_softcapping",
			lmi_checkpoint_config_float(f, "final_logit_softcapping", 0));
	if (lmi_checkpoint_config_has(f, "attn_logit_softcapping"))
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"attn_logit_softcapping\": architecture gemma3 "
			"does not cap attention scores",
			f->dir);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gemma3_text = {
	.type = "gemma3_text",
	.arch = "gemma3",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(gemma2_norms)},
	.keys = gemma3};

/* The text model of a vision model. */
const struct lmi_checkpoint_family lmi_checkpoint_family_gemma3 = {
	.type = "gemma3",
	.arch = "gemma3",
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(gemma2_norms)},
	.keys = gemma3};
