/* SPDX-License-Identifier: MIT
 *
 * Encoders: BERT and RoBERTa.  RoBERTa's positions start after the padding token, so that the first
 * rows of its table are not used. */
#include "core/checkpoint/hf/families.h"

static const struct lmi_checkpoint_row bert_rows[] = {
	{"embeddings.word_embeddings", "token_embd", {0}},
	{"embeddings.position_embeddings", "position_embd", {.op = LMI_CKPT_AFTER_PAD}},
	{"embeddings.token_type_embeddings", "token_types", {.flags = LMI_CKPT_KEEP_DIMS}},
	{"embeddings.LayerNorm", "token_embd_norm", {0}},
	{"encoder.layer.%d.attention.self.query", "blk.%d.attn_q", {0}},
	{"encoder.layer.%d.attention.self.key", "blk.%d.attn_k", {0}},
	{"encoder.layer.%d.attention.self.value", "blk.%d.attn_v", {0}},
	{"encoder.layer.%d.attention.output.dense", "blk.%d.attn_output", {0}},
	{"encoder.layer.%d.attention.output.LayerNorm", "blk.%d.attn_output_norm", {0}},
	{"encoder.layer.%d.intermediate.dense", "blk.%d.ffn_up", {0}},
	{"encoder.layer.%d.output.dense", "blk.%d.ffn_down", {0}},
	{"encoder.layer.%d.output.LayerNorm", "blk.%d.layer_output_norm", {0}},
};

/* The heads for masked words and the pooler of the first token are not used. */
static const struct lmi_checkpoint_row bert_heads[] = {
	{"pooler.dense", "", {.flags = LMI_CKPT_UNUSED}},
	{"embeddings.position_ids", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_BARE_FROM}},
	{"cls.predictions.bias", "",
	 {.flags = LMI_CKPT_UNUSED | LMI_CKPT_BARE_FROM | LMI_CKPT_ROOT}},
	{"cls.predictions.decoder", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"cls.predictions.transform.dense", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"cls.predictions.transform.LayerNorm", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"cls.seq_relationship", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"lm_head.bias", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_BARE_FROM | LMI_CKPT_ROOT}},
	{"lm_head.decoder", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"lm_head.dense", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
	{"lm_head.layer_norm", "", {.flags = LMI_CKPT_UNUSED | LMI_CKPT_ROOT}},
};

static void bert(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_bool(f, "attention.causal", false);
	lmi_checkpoint_put_u32(f, "@tokenizer.ggml.token_type_count",
			       lmi_checkpoint_config_int(f, "type_vocab_size", 2, 1, 1024));
	if (lmi_checkpoint_config_has(f, "position_embedding_type") &&
	    !lmi_checkpoint_config_equals(f, "position_embedding_type", "absolute"))
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"position_embedding_type\": architecture bert supports "
			"only absolute positions",
			f->dir);
}

static void roberta(struct lmi_checkpoint *f)
{
	bert(f);
	f->n_pad_rows = 1 + (uint32_t)lmi_checkpoint_config_int(f, "pad_token_id", 1, 0, 65535);
}

const struct lmi_checkpoint_family lmi_checkpoint_family_bert = {
	.type = "bert",
	.arch = "bert",
	.flags =
		LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE | LMI_CHECKPOINT_FAM_MHA,
	.rows = {LMI_CHECKPOINT_ROWS(bert_rows), LMI_CHECKPOINT_ROWS(bert_heads)},
	.keys = bert};

const struct lmi_checkpoint_family lmi_checkpoint_family_roberta = {
	.type = "roberta",
	.arch = "bert",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE |
		 LMI_CHECKPOINT_FAM_MHA | LMI_CHECKPOINT_FAM_PAD_ROWS,
	.rows = {LMI_CHECKPOINT_ROWS(bert_rows), LMI_CHECKPOINT_ROWS(bert_heads)},
	.keys = roberta};

const struct lmi_checkpoint_family lmi_checkpoint_family_xlm_roberta = {
	.type = "xlm-roberta",
	.arch = "bert",
	.flags = LMI_CHECKPOINT_FAM_LAYER_NORM | LMI_CHECKPOINT_FAM_NO_ROPE |
		 LMI_CHECKPOINT_FAM_MHA | LMI_CHECKPOINT_FAM_PAD_ROWS,
	.rows = {LMI_CHECKPOINT_ROWS(bert_rows), LMI_CHECKPOINT_ROWS(bert_heads)},
	.keys = roberta};
