/* SPDX-License-Identifier: MIT
 *
 * BERT (arXiv 1810.04805) and its descendants: Nomic (arXiv 2402.01613), Jina v2 (arXiv 2310.19923)
 * and v3 (arXiv 2409.10173).  Each block is followed by a norm: x = norm(x + f(x)).  The models
 * differ in position encoding (learned, RoPE, bidirectional ALiBi) and feed-forward block. */
#include <stdio.h>

#include "arch/common/blocks.h"
#include "arch/common/checkpoint.h"
#include "arch/encoder/encoder.h"

struct kind {
	bool learned_pos;     /* has position_embd */
	bool rope;
	float alibi_max;
	uint32_t act;
	bool gate_optional;   /* a gate tensor, a fused one, or none, depending on the file */
	bool gated;
	struct lmd_checkpoint_maps checkpoints;
};

struct bert {
	struct arch_hparams hp;
	const struct kind *kind;
	uint32_t moe_every;   /* layers il with il % moe_every == 1 have experts; 0: none do */
};

enum bert_t { B_OUT_NORM, B_NORM_2, B_LAYER_NORM, B_UP, B_N };
#define NORM_FLAGS (LMD_TENSOR_REQUIRED | LMD_TENSOR_BIAS)
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}
static const struct lmd_tensor_row rows[B_N] = {
	[B_OUT_NORM] = ROW("attn_output_norm", D_EMBD, 0, NORM_FLAGS, REPLICATE),
	[B_NORM_2] = ROW("attn_norm_2", D_EMBD, 0, LMD_TENSOR_BIAS, REPLICATE),
	[B_LAYER_NORM] = ROW("layer_output_norm", D_EMBD, 0, NORM_FLAGS, REPLICATE),
	[B_UP] = {"blk.%d.ffn_up",
		  {D_EMBD, D_FF},
		  LMD_TENSOR_BIAS | LMD_TENSOR_ANY_SHAPE | LMD_TENSOR_LORA,
		  LMD_SPLIT_ROWS,
		  ARCH_L_DENSE,
		  NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
	ARCH_ROWS_OPT(T_POS_EMBD, T_TOKEN_TYPES),
	ARCH_SET_QKV,
	ARCH_ROWS_OPT(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	ARCH_ROWS_OWN(rows),
	ARCH_ROWS_OPT(T_FFN_GATE, T_FFN_GATE),
	ARCH_ROWS_REQ(T_FFN_DOWN, T_FFN_DOWN),
	ARCH_SET_MOE,
	ARCH_SET_POOL,
};

static enum lmd_status describe(const struct kind *kind, const struct lmd_host *host,
				struct lmd_arena *arena, const struct lmd_model *model,
				const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				struct lmd_error *err)
{
	const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_LAYER,
					  .no_rope = !kind->rope,
					  .rope_pairing = LMD_ROPE_HALVES,
					  .route_fn = LMD_ROUTE_SOFTMAX};
	struct bert *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	m->kind = kind;
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	m->moe_every = arch_key_u32(&k, "moe_every_n_layers", ARCH_OPTIONAL, 0, 0, ARCH_MAX_LAYER);
	if (k.st != LMD_OK)
		return k.st;
	m->hp.causal = false;
	m->hp.alibi_max = kind->alibi_max;
	for (uint32_t il = 0; il < m->hp.n_layer; il++) {
		bool moe = m->moe_every && m->hp.n_expert && il % m->moe_every == 1;

		m->hp.layer[il].cls = ARCH_L_ATTN | ARCH_L_FULL | (moe ? ARCH_L_MOE : ARCH_L_DENSE);
	}
	arch_hp_memory(&m->hp, &k, 1);
	arch_hp_sites(&m->hp, &k, sets, LMD_LEN(sets));
	if (k.st == LMD_OK)
		arch_hp_finish(&m->hp, &k, params, out);
	out->traits |= LMD_TRAIT_POOL_BY_KEY;
	return k.st;
}

/* Sum of the embeddings of the token, of token type 0 and of the position, then the norm. */
static uint32_t embed(struct arch_emit *e, const struct bert *m)
{
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct arch_weight w = arch_weight_req(e, &arch_rows[T_TOKEN_EMBD]);
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_LAYER, &arch_rows[T_TOKEN_EMBD_NORM]);
	uint32_t x = arch_value_f32(e, m->hp.n_embd, "embd"),
		 y = arch_value_f32(e, m->hp.n_embd, "x");

	op.u.embed.y = arch_operand_all(e, x);
	op.u.embed.table = w.id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_EXTERNAL;
	op.u.embed.lora_site = w.site;
	if (arch_weight_exists(e, &arch_rows[T_TOKEN_TYPES]))
		op.u.embed.type_table = arch_weight_req(e, &arch_rows[T_TOKEN_TYPES]).id;
	if (m->kind->learned_pos)
		op.u.embed.pos_table = arch_weight_req(e, &arch_rows[T_POS_EMBD]).id;
	arch_emit_op(e, &op);
	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, y));
	return y;
}

static uint32_t post_norm(struct arch_emit *e, uint32_t x, const struct lmd_tensor_row *row)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_LAYER, row);
	uint32_t y = arch_value_f32(e, arch_width(e, x), "x");

	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, y));
	return y;
}

static uint32_t feed_forward(struct arch_emit *e, const struct bert *m,
			     const struct arch_block_io *io)
{
	struct arch_ffn ffn = arch_ffn_default();

	if (m->hp.layer[e->il].cls & ARCH_L_MOE) {
		struct arch_moe moe = arch_moe_default(e);

		moe.act = m->kind->act;
		moe.renorm = false;
		moe.gate = NULL;
		return arch_moe(e, io, &moe);
	}
	ffn.up = &rows[B_UP];
	ffn.act = m->kind->act;
	if (!m->kind->gated)
		ffn.gate = NULL;
	if (m->kind->gate_optional && !arch_weight_exists(e, &arch_rows[T_FFN_GATE])) {
		struct arch_weight up = arch_weight_req(e, &rows[B_UP]);

		ffn.gate = NULL;
		ffn.fused = up.n == 2 * m->hp.layer[e->il].n_ff;
	}
	return arch_ffn(e, io, &ffn);
}

static uint32_t layer(struct arch_emit *e, const struct bert *m, uint32_t x)
{
	struct arch_block_io io = {arch_operand_all(e, x), arch_no_norm(), x, 1.0f};
	struct arch_attn attn = arch_attn_default(e, 0);
	uint32_t h;

	attn.qk_norm = ARCH_QKN_FULL;
	attn.qk_norm_kind = LMD_NORM_LAYER;
	h = post_norm(e, arch_attn(e, &io, &attn), &rows[B_OUT_NORM]);
	if (arch_weight_exists(e, &rows[B_NORM_2])) {
		struct lmd_norm norm = arch_norm_req(e, LMD_NORM_LAYER, &rows[B_NORM_2]);
		uint32_t sum = arch_value_f32(e, m->hp.n_embd, "x_again"),
			 y = arch_value_f32(e, m->hp.n_embd, "x");

		arch_put_add_norm(e, arch_operand_all(e, h), arch_operand_all(e, x), 1.0f,
				  arch_operand_all(e, sum), &norm, arch_operand_all(e, y));
		h = y;
	}
	io = (struct arch_block_io){arch_operand_all(e, h), arch_no_norm(), h, 1.0f};
	return post_norm(e, feed_forward(e, m, &io), &rows[B_LAYER_NORM]);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct bert *m = state;
	const struct arch_pooling pool = {.rank_act = LMD_ACT_FN_TANH};
	struct lmd_norm none = arch_no_norm();
	struct arch_residual s = {.z = LMD_NONE};
	struct arch_emit e;

	if (key->kind != LMD_PLAN_FORWARD || (key->flags & LMD_PLAN_LOGITS)) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture %s computes only embeddings",
			b->model->arch);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &m->hp, key);
	s.x = embed(&e, m);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		s.x = layer(&e, m, s.x);
	}
	arch_set_layer(&e, -1);
	arch_emit_outputs(&e, key, &s, &none, &pool, LMD_NONE);
	return b->status(b->ctx);
}

static const struct lmd_checkpoint_row bert_rows[] = {
	{"embeddings.word_embeddings", "token_embd", {0}},
	{"embeddings.position_embeddings", "position_embd", {.op = LMD_CKPT_AFTER_PAD}},
	{"embeddings.token_type_embeddings", "token_types", {.flags = LMD_CKPT_KEEP_DIMS}},
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
static const struct lmd_checkpoint_row bert_heads[] = {
	{"pooler.dense", "", {.flags = LMD_CKPT_UNUSED}},
	{"embeddings.position_ids", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_BARE_FROM}},
	{"cls.predictions.bias",
	 "",
	 {.flags = LMD_CKPT_UNUSED | LMD_CKPT_BARE_FROM | LMD_CKPT_ROOT}},
	{"cls.predictions.decoder", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"cls.predictions.transform.dense", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"cls.predictions.transform.LayerNorm", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"cls.seq_relationship", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"lm_head.bias", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_BARE_FROM | LMD_CKPT_ROOT}},
	{"lm_head.decoder", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"lm_head.dense", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
	{"lm_head.layer_norm", "", {.flags = LMD_CKPT_UNUSED | LMD_CKPT_ROOT}},
};

static void checkpoint_bert(struct lmd_checkpoint *c)
{
	c->put_bool(c, "attention.causal", false);
	c->put_u32(c, "@tokenizer.ggml.token_type_count",
		   c->get_int(c, "type_vocab_size", 2, 1, 1024));
	if (c->has(c, "position_embedding_type") &&
	    !c->is_text(c, "position_embedding_type", "absolute"))
		c->fail(c, LMD_UNSUPPORTED,
			"\"position_embedding_type\": architecture bert supports "
			"only absolute positions");
}

static void roberta(struct lmd_checkpoint *c)
{
	checkpoint_bert(c);
	c->n_pad_rows = 1 + (uint32_t)c->get_int(c, "pad_token_id", 1, 0, 65535);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "bert",
	 .arch = "bert",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE | LMD_CKPT_MHA,
	 .rows = {ARCH_CKPT_ROWS(bert_rows), ARCH_CKPT_ROWS(bert_heads)},
	 .keys = checkpoint_bert},
	{.type = "roberta",
	 .arch = "bert",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE | LMD_CKPT_MHA | LMD_CKPT_PAD_ROWS,
	 .rows = {ARCH_CKPT_ROWS(bert_rows), ARCH_CKPT_ROWS(bert_heads)},
	 .keys = roberta},
	{.type = "xlm-roberta",
	 .arch = "bert",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE | LMD_CKPT_MHA | LMD_CKPT_PAD_ROWS,
	 .rows = {ARCH_CKPT_ROWS(bert_rows), ARCH_CKPT_ROWS(bert_heads)},
	 .keys = roberta},
};

#define BERT(ident, ...)                                                                           \
	static const struct kind ident##_kind = {__VA_ARGS__};                                     \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return describe(&ident##_kind, host, arena, model, params, out, err);              \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets),                                                           \
		.sets = sets,                                                                      \
		.describe = ident##_describe,                                                      \
		.dim = arch_hp_dim,                                                                \
		.layer_class = arch_hp_layer_class,                                                \
		.build = build,                                                                    \
		.checkpoints = &ident##_kind.checkpoints,                                          \
	};

BERT(bert, .learned_pos = true, .act = LMD_ACT_FN_GELU, .checkpoints = ARCH_CKPT_MAPS(checkpoints))
BERT(jina_bert_v2, .alibi_max = 8.0f, .act = LMD_ACT_FN_GELU, .gated = true, .gate_optional = true)
BERT(jina_bert_v3, .rope = true, .act = LMD_ACT_FN_GELU)
BERT(nomic_bert, .rope = true, .act = LMD_ACT_FN_SILU, .gated = true)
BERT(nomic_bert_moe, .rope = true, .act = LMD_ACT_FN_GELU)
