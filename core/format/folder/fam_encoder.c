/* SPDX-License-Identifier: MIT
 *
 * Encoders: BERT and RoBERTa.  RoBERTa's positions start after the padding token, so that the first
 * rows of its table are not used. */
#include "core/format/folder/families.h"

static const struct lmi_row bert_rows[] = {
	{"embeddings.word_embeddings", "token_embd", 0},
	{"embeddings.position_embeddings", "position_embd", LMI_ROW_BEHIND_PAD},
	{"embeddings.token_type_embeddings", "token_types", LMI_ROW_KEEP_DIMS},
	{"embeddings.LayerNorm", "token_embd_norm", 0},
	{"encoder.layer.%d.attention.self.query", "blk.%d.attn_q", 0},
	{"encoder.layer.%d.attention.self.key", "blk.%d.attn_k", 0},
	{"encoder.layer.%d.attention.self.value", "blk.%d.attn_v", 0},
	{"encoder.layer.%d.attention.output.dense", "blk.%d.attn_output", 0},
	{"encoder.layer.%d.attention.output.LayerNorm", "blk.%d.attn_output_norm", 0},
	{"encoder.layer.%d.intermediate.dense", "blk.%d.ffn_up", 0},
	{"encoder.layer.%d.output.dense", "blk.%d.ffn_down", 0},
	{"encoder.layer.%d.output.LayerNorm", "blk.%d.layer_output_norm", 0},
};

/* The heads for masked words and the pooler of the first token are not used. */
static const struct lmi_row bert_heads[] = {
	{"pooler.dense", "", LMI_ROW_IGNORE},
	{"embeddings.position_ids", "", LMI_ROW_IGNORE | LMI_ROW_BARE},
	{"cls.predictions.bias", "", LMI_ROW_IGNORE | LMI_ROW_BARE | LMI_ROW_ROOT},
	{"cls.predictions.decoder", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"cls.predictions.transform.dense", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"cls.predictions.transform.LayerNorm", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"cls.seq_relationship", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"lm_head.bias", "", LMI_ROW_IGNORE | LMI_ROW_BARE | LMI_ROW_ROOT},
	{"lm_head.decoder", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"lm_head.dense", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
	{"lm_head.layer_norm", "", LMI_ROW_IGNORE | LMI_ROW_ROOT},
};

static void bert(struct lmi_folder *f)
{
	lmi_folder_put_bool(f, "attention.causal", false);
	lmi_folder_put_u32(f, "@tokenizer.ggml.token_type_count",
			   lmi_conf_int(f, "type_vocab_size", 2, 1, 1024));
	if (lmi_conf_has(f, "position_embedding_type") &&
	    !lmi_conf_is(f, "position_embedding_type", "absolute"))
		lmi_folder_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"position_embedding_type\": architecture bert supports "
			"only absolute positions",
			f->dir);
}

static void roberta(struct lmi_folder *f)
{
	bert(f);
	f->n_pad_rows = 1 + (uint32_t)lmi_conf_int(f, "pad_token_id", 1, 0, 65535);
}

const struct lmi_family lmi_family_bert = {
	.type = "bert",
	.arch = "bert",
	.flags = LMI_FAM_LAYER_NORM | LMI_FAM_NO_ROPE | LMI_FAM_ALL_KV,
	.rows = {LMI_ROWS(bert_rows), LMI_ROWS(bert_heads)},
	.keys = bert};

const struct lmi_family lmi_family_roberta = {
	.type = "roberta",
	.arch = "bert",
	.flags = LMI_FAM_LAYER_NORM | LMI_FAM_NO_ROPE | LMI_FAM_ALL_KV | LMI_FAM_PAD_ROWS,
	.rows = {LMI_ROWS(bert_rows), LMI_ROWS(bert_heads)},
	.keys = roberta};

const struct lmi_family lmi_family_xlm_roberta = {
	.type = "xlm-roberta",
	.arch = "bert",
	.flags = LMI_FAM_LAYER_NORM | LMI_FAM_NO_ROPE | LMI_FAM_ALL_KV | LMI_FAM_PAD_ROWS,
	.rows = {LMI_ROWS(bert_rows), LMI_ROWS(bert_heads)},
	.keys = roberta};
