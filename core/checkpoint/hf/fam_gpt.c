/* SPDX-License-Identifier: MIT
 *
 * Families with LayerNorm: GPT-2 and its descendants. */
#include "core/checkpoint/hf/families.h"

#define HEAD LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_head)
#define ATTN LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_attn)
#define GLU  LMI_CHECKPOINT_ROWS(lmi_checkpoint_rows_glu)

/* ---- GPT-2: Conv1D, whose weights are [in, out] ---- */

static const struct lmi_checkpoint_row gpt2_head[] = {
	{"wte", "token_embd", {0}},
	{"wpe", "position_embd", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
};

static const struct lmi_checkpoint_row gpt2_rows[] = {
	{"h.%d.ln_1", "blk.%d.attn_norm", {0}},
	{"h.%d.attn.c_attn", "blk.%d.attn_qkv", {.op = LMI_CKPT_TRANSPOSE}},
	{"h.%d.attn.c_proj", "blk.%d.attn_output", {.op = LMI_CKPT_TRANSPOSE}},
	{"h.%d.ln_2", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.c_fc", "blk.%d.ffn_up", {.op = LMI_CKPT_TRANSPOSE}},
	{"h.%d.mlp.c_proj", "blk.%d.ffn_down", {.op = LMI_CKPT_TRANSPOSE}},
};

static void gpt2(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_config_require_bool(f, "scale_attn_by_inverse_layer_idx", false);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gpt2 = {
	.type = "gpt2",
	.arch = "gpt2",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE,
	.rows = {LMI_CHECKPOINT_ROWS(gpt2_head), LMI_CHECKPOINT_ROWS(gpt2_rows)},
	.keys = gpt2};

/* SantaCoder and StarCoder: GPT-2 with ordinary linear layers and a single key head. */
static const struct lmi_checkpoint_row bigcode_rows[] = {
	{"h.%d.ln_1", "blk.%d.attn_norm", {0}},
	{"h.%d.attn.c_attn", "blk.%d.attn_qkv", {0}},
	{"h.%d.attn.c_proj", "blk.%d.attn_output", {0}},
	{"h.%d.ln_2", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.c_fc", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.c_proj", "blk.%d.ffn_down", {0}},
};

static void bigcode(struct lmi_checkpoint *f)
{
	gpt2(f);
	lmi_checkpoint_config_require_bool(f, "multi_query", true);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gpt_bigcode = {
	.type = "gpt_bigcode",
	.arch = "starcoder",
	.flags =
		LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE | LMI_CHECKPOINT_FAM_MQA,
	.rows = {LMI_CHECKPOINT_ROWS(gpt2_head), LMI_CHECKPOINT_ROWS(bigcode_rows)},
	.keys = bigcode};

/* ---- GPT-NeoX, BLOOM: query, key and value of each head are interleaved ---- */

static const struct lmi_checkpoint_row neox_rows[] = {
	{"embed_in", "token_embd", {0}},
	{"final_layer_norm", "output_norm", {0}},
	{"embed_out", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.attention.query_key_value", "blk.%d.attn_qkv", {.op = LMI_CKPT_QKV}},
	{"layers.%d.attention.dense", "blk.%d.attn_output", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void neox(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_bool(f, "use_parallel_residual",
				lmi_checkpoint_config_bool(f, "use_parallel_residual", true));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_gpt_neox = {
	.type = "gpt_neox",
	.arch = "gptneox",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_MHA,
	.rows = {LMI_CHECKPOINT_ROWS(neox_rows)},
	.keys = neox};

static const struct lmi_checkpoint_row bloom_rows[] = {
	{"word_embeddings", "token_embd", {0}},
	{"word_embeddings_layernorm", "token_embd_norm", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"h.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"h.%d.self_attention.query_key_value", "blk.%d.attn_qkv", {.op = LMI_CKPT_QKV}},
	{"h.%d.self_attention.dense", "blk.%d.attn_output", {0}},
	{"h.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void bloom(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_config_require_bool(f, "apply_residual_connection_post_layernorm", false);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_bloom = {
	.type = "bloom",
	.arch = "bloom",
	.flags =
		LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE | LMI_CHECKPOINT_FAM_MHA,
	.rows = {LMI_CHECKPOINT_ROWS(bloom_rows)},
	.keys = bloom};

static const struct lmi_checkpoint_row mpt_rows[] = {
	{"wte", "token_embd", {0}},
	{"norm_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"blocks.%d.norm_1", "blk.%d.attn_norm", {0}},
	{"blocks.%d.attn.Wqkv", "blk.%d.attn_qkv", {0}},
	{"blocks.%d.attn.out_proj", "blk.%d.attn_output", {0}},
	{"blocks.%d.norm_2", "blk.%d.ffn_norm", {0}},
	{"blocks.%d.ffn.up_proj", "blk.%d.ffn_up", {0}},
	{"blocks.%d.ffn.down_proj", "blk.%d.ffn_down", {0}},
};

static void mpt(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_put_f32(
		f, "attention.max_alibi_bias",
		lmi_checkpoint_config_bool(f, "attn_config.alibi", true)
			? lmi_checkpoint_config_float(f, "attn_config.alibi_bias_max", 8)
			: 0);
	if (lmi_checkpoint_config_has(f, "attn_config.clip_qkv"))
		lmi_checkpoint_put_f32(f, "attention.clamp_kqv",
				       lmi_checkpoint_config_float(f, "attn_config.clip_qkv", 0));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_mpt = {
	.type = "mpt",
	.arch = "mpt",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE,
	.rows = {LMI_CHECKPOINT_ROWS(mpt_rows)},
	.keys = mpt};

/* ---- Falcon: groups of queries, each with its key and value ---- */

static const struct lmi_checkpoint_row falcon_rows[] = {
	{"word_embeddings", "token_embd", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"h.%d.input_layernorm", "blk.%d.attn_norm", {.flags = LMI_CKPT_OPTIONAL}},
	{"h.%d.ln_mlp", "blk.%d.attn_norm", {.flags = LMI_CKPT_OPTIONAL}},
	{"h.%d.ln_attn", "blk.%d.attn_norm_2", {.flags = LMI_CKPT_OPTIONAL}},
	{"h.%d.self_attention.query_key_value", "blk.%d.attn_qkv", {.op = LMI_CKPT_QKV}},
	{"h.%d.self_attention.dense", "blk.%d.attn_output", {0}},
	{"h.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void falcon(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_config_require_bool(f, "alibi", false);
	lmi_checkpoint_config_require_bool(f, "parallel_attn", true);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_falcon = {
	.type = "falcon",
	.arch = "falcon",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_FALCON_KV,
	.rows = {LMI_CHECKPOINT_ROWS(falcon_rows)},
	.keys = falcon};

/* ---- StarCoder 2, Nemotron ---- */

static const struct lmi_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.flags = LMI_CKPT_OPTIONAL}},
};

static const struct lmi_checkpoint_row starcoder2_rows[] = {
	{"layers.%d.mlp.c_fc", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.c_proj", "blk.%d.ffn_down", {0}},
};

static void starcoder2(struct lmi_checkpoint *f)
{
	lmi_checkpoint_fam_put_folder_window(f, lmi_checkpoint_fam_window_size(f, 0), NULL);
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_starcoder2 = {
	.type = "starcoder2",
	.arch = "starcoder2",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {HEAD, ATTN, LMI_CHECKPOINT_ROWS(starcoder2_rows), LMI_CHECKPOINT_ROWS(norms)},
	.keys = starcoder2};

/* Norm weights are stored minus 1. */
static const struct lmi_checkpoint_row nemotron_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.values = LMI_CKPT_PLUS_ONE}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

const struct lmi_checkpoint_family lmi_checkpoint_family_nemotron = {
	.type = "nemotron",
	.arch = "nemotron",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {LMI_CHECKPOINT_ROWS(nemotron_rows), ATTN}};

/* ---- StableLM: each head has a norm ---- */

static const struct lmi_checkpoint_row stablelm_rows[] = {
	{"layers.%d.self_attn.q_layernorm.norms.%d", "blk.%d.attn_q_norm",
	 {.stack = LMI_CKPT_HEADS, .flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_layernorm.norms.%d", "blk.%d.attn_k_norm",
	 {.stack = LMI_CKPT_HEADS, .flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.flags = LMI_CKPT_OPTIONAL}},
};

static void stablelm(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_bool(f, "use_parallel_residual",
				lmi_checkpoint_config_bool(f, "use_parallel_residual", false));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_stablelm = {
	.type = "stablelm",
	.arch = "stablelm",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(stablelm_rows)},
	.keys = stablelm};

/* ---- Phi 1 and 2 ---- */

static const struct lmi_checkpoint_row phi_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"final_layernorm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {0}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {0}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.dense", "blk.%d.attn_output", {0}},
	{"layers.%d.mlp.fc1", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.fc2", "blk.%d.ffn_down", {0}},
};

static void phi(struct lmi_checkpoint *f)
{
	lmi_checkpoint_config_require_bool(f, "qk_layernorm", false);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_phi = {
	.type = "phi",
	.arch = "phi2",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {LMI_CHECKPOINT_ROWS(phi_rows)},
	.keys = phi};

/* ---- Cohere: the checkpoint itself uses adjacent pairs ---- */

static const struct lmi_checkpoint_row cohere_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {.flags = LMI_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {.flags = LMI_CKPT_OPTIONAL}},
};

static void cohere(struct lmi_checkpoint *f)
{
	f->tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", true);
	lmi_checkpoint_put_f32(f, "logit_scale",
			       lmi_checkpoint_config_float(f, "logit_scale", 0.0625));
}

const struct lmi_checkpoint_family lmi_checkpoint_family_cohere = {
	.type = "cohere",
	.arch = "command-r",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(cohere_rows)},
	.keys = cohere};

static void cohere2(struct lmi_checkpoint *f)
{
	cohere(f);
	lmi_checkpoint_fam_put_window(f, 4);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_cohere2 = {
	.type = "cohere2",
	.arch = "cohere2",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM,
	.rows = {HEAD, ATTN, GLU, LMI_CHECKPOINT_ROWS(cohere_rows)},
	.keys = cohere2};
