/* SPDX-License-Identifier: MIT
 *
 * DFlash (arXiv 2602.06036): a draft model that guesses a block of tokens in one step, by block diffusion.
 *
 * Its layers are those of Qwen3.  Keys and values of the tokens so far are projections of a row c alone, which
 * is made of streams of the target (variant 0): c_r = norm(fc [streams of token r]).  A block is the last token
 * and mask tokens (variant 1); its rows see the tokens so far and each other, and the logits of a row are those
 * of its own token. */
#include "arch/common/checkpoint.h"
#include "arch/common/draft.h"
#include "arch/dense/dense.h"

enum { CONTEXT_NORM };

static const struct lmd_tensor_row own[] = {
	[CONTEXT_NORM] = {"enc.output_norm", {D_EMBD}, LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL,
			  LMD_SPLIT_REPLICATE, 0, NULL},
	ARCH_DRAFT_FC,
	ARCH_DRAFT_D2T,
	ARCH_DRAFT_OUTPUT,
};

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_OPT(T_TOKEN_EMBD, T_TOKEN_EMBD), ARCH_ROWS_REQ(T_OUTPUT_NORM, T_OUTPUT_NORM),
	ARCH_ROWS_OWN(own),	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,		ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM,	ARCH_SET_FFN,
};

/* Later forms of the format compute something else. */
static void refuse_others(const struct arch_draft *m, struct arch_keys *k)
{
	static const char *const tensors[] = {"selector_hidden.weight", "markov_w1.weight",
					      "blk.0.attn_sinks.weight", "blk.0.attn_conv_proj.weight"};
	static const char *const keys[] = {"hyper_connection.count", "selector_rank", "logit_scale",
					   "final_logit_softcapping"};

	for (size_t i = 0; i < LMD_LEN(tensors); i++)
		if (arch_hp_tensor(&m->hp, tensors[i]) != LMD_NONE)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "architecture %s: a draft model with the tensor %s is not supported",
				      m->hp.model->arch, tensors[i]);
	for (size_t i = 0; i < LMD_LEN(keys); i++)
		if (arch_key_f64(k, keys[i], ARCH_OPTIONAL, 0, -1e9, 1e9) != 0)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "architecture %s: a draft model with the key %s.%s is not supported",
				      m->hp.model->arch, m->hp.model->arch, keys[i]);
	if (arch_key_u32(k, "attention.sliding_window", ARCH_OPTIONAL, 0, 0, UINT32_MAX) &&
	    m->hp.n_layer <= ARCH_MAX_LAYER) {
		uint32_t is[ARCH_MAX_LAYER] = {0};

		(void)arch_key_u32s(k, "attention.sliding_window_pattern", ARCH_OPTIONAL, is,
				    m->hp.n_layer, 1, 0, 1);
		for (uint32_t i = 0; i < m->hp.n_layer; i++)
			if (is[i])
				arch_key_fail(k, LMD_UNSUPPORTED,
					      "architecture %s: layer %u has a window, but all layers of a "
					      "draft model must attend to all tokens",
					      m->hp.model->arch, i);
	}
}

/* One group, in which the rows of a block see each other. */
static void memory(struct arch_draft *m, struct arch_keys *k)
{
	const struct lmd_group g = {.name = "block",
				    .kind = LMD_GROUP_PAGED,
				    .ratio = 1,
				    .q_space = LMD_SPACE_TOKENS,
				    .k_space = LMD_SPACE_TOKENS};
	uint32_t group = arch_hp_add_group(&m->hp, k, &g);

	for (uint32_t il = 0; il < m->hp.n_layer && k->st == LMD_OK; il++) {
		struct arch_layer *l = &m->hp.layer[il];
		const struct lmd_cache c = {.group = group,
					    .kind = l->cache_kind,
					    .n_head = l->n_head_kv,
					    .dk = l->dk,
					    .dv = l->dv,
					    .dtype_policy = LMD_KV_DTYPE_USER};

		l->cls |= ARCH_L_FULL;
		l->group = group;
		l->cache = arch_hp_add_cache(&m->hp, k, &c);
	}
	m->hp.n_cache_pass = m->hp.n_cache;
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_RMS,
						 .rope_pairing = LMD_ROPE_HALVES};
	struct arch_draft *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	if (k.st != LMD_OK)
		return k.st;
	arch_draft_read(m, &k, NULL);
	m->desc.n_block = arch_key_u32(&k, "block_size", ARCH_OPTIONAL, 16, 2, LMD_MAX_BLOCK);
	m->desc.mask_token = (int32_t)arch_key_u32(&k, "mask_token_id", ARCH_OPTIONAL,
						   (uint32_t)model->tok->mask, 0, INT32_MAX);
	if (!m->desc.n_tap)
		arch_key_fail(&k, LMD_NOTFOUND, "%s.target_layers: missing", model->arch);
	if (m->desc.mask_token < 0)
		arch_key_fail(&k, LMD_NOTFOUND, "tokenizer.ggml.mask_token_id: missing");
	refuse_others(m, &k);
	memory(m, &k);
	if (k.st == LMD_OK)
		arch_hp_finish(&m->hp, &k, params, out);
	out->draft = &m->desc;
	return k.st;
}

/* Stores the keys and values of a layer for rows of the target. */
static void store(struct arch_emit *e, struct lmd_operand c)
{
	const struct arch_layer *l = arch_current_layer(e);
	const uint32_t nk = l->n_head_kv * l->dk, nv = l->n_head_kv * l->dv;
	const struct arch_weight k = arch_weight_req(e, &arch_rows[T_ATTN_K]),
				 v = arch_weight_req(e, &arch_rows[T_ATTN_V]);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR), put = arch_op_empty(LMD_OP_ROPE_KV);
	uint32_t kv = arch_value_act(e, nk + nv, "kv");

	op.u.linear.x = c;
	op.u.linear.n_w = 2;
	op.u.linear.w[0] = k.id;
	op.u.linear.w[1] = v.id;
	op.u.linear.y[0] = arch_operand_cols(kv, 0, nk);
	op.u.linear.y[1] = arch_operand_cols(kv, nk, nv);
	arch_emit_op(e, &op);
	put.u.rope_kv.rope = arch_rope(e, l->rope, l->n_rot);
	put.u.rope_kv.kn = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_ATTN_K_NORM]);
	put.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	put.u.rope_kv.k = arch_operand_heads(kv, 0, l->n_head_kv, l->dk);
	put.u.rope_kv.v = arch_operand_heads(kv, nk, l->n_head_kv, l->dv);
	put.u.rope_kv.cache = l->cache;
	put.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	arch_emit_op(e, &put);
}

static void build_context(struct arch_emit *e, const struct arch_draft *m)
{
	struct lmd_norm n = arch_norm_req(e, LMD_NORM_RMS, &own[CONTEXT_NORM]);
	uint32_t fused = arch_draft_fuse(e, m, LMD_VTYPE_F32), c = arch_value_act(e, m->hp.n_embd, "context");

	arch_put_norm(e, arch_operand_all(e, fused), &n, arch_operand_all(e, c));
	for (uint32_t il = 0; il < m->hp.n_layer; il++) {
		arch_set_layer(e, (int32_t)il);
		store(e, arch_operand_all(e, c));
	}
}

static void build_block(struct arch_emit *e, const struct arch_draft *m)
{
	struct arch_ffn f = arch_ffn_default();
	struct arch_block_io io = {.a = 1.0f};
	uint32_t x = arch_draft_embed(e);

	for (uint32_t il = 0; il < m->hp.n_layer; il++) {
		struct arch_attn a;

		arch_set_layer(e, (int32_t)il);
		a = arch_attn_default(e, 0);
		a.qk_norm = ARCH_QKN_HEAD;
		io.x = arch_operand_all(e, x);
		io.norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_ATTN_NORM]);
		io.res = x;
		x = arch_attn(e, &io, &a);
		io.x = arch_operand_all(e, x);
		io.norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]);
		io.res = x;
		x = arch_ffn(e, &io, &f);
	}
	arch_draft_head(e, x);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct arch_draft *m = state;
	struct arch_emit e;

	arch_emit_init(&e, b, &m->hp, key);
	if (!arch_draft_key_ok(&e, key))
		return LMD_UNSUPPORTED;
	if (key->variant)
		build_block(&e, m);
	else
		build_context(&e, m);
	return b->status(b->ctx);
}

/* ---- checkpoints ---- */

static const struct lmd_checkpoint_row ckpt_rows[] = {
	{"fc", "fc", {0}},
	{"norm", "output_norm", {0}},
	{"hidden_norm", "enc.output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_OPTIONAL}},
	{"embed_tokens", "token_embd", {.flags = LMD_CKPT_OPTIONAL}},
};

/* Which layers have a window, as in Qwen3; refuse_others reads it. */
static void put_windows(struct lmd_checkpoint *c)
{
	bool upper = c->get_bool(c, "use_sliding_window", false);
	int64_t n_full = c->get_int(c, "max_window_layers", 28, 0, INT32_MAX);
	uint8_t *is = c->alloc(c, c->n_layer, 1);

	if (!is || c->is_null(c, "sliding_window"))
		return;
	if (!c->window_layers(c, is))
		for (uint32_t i = 0; i < c->n_layer; i++)
			is[i] = upper && i >= n_full;
	c->put_u32(c, "attention.sliding_window", arch_ckpt_window_size(c, 4096));
	c->put_bools(c, "attention.sliding_window_pattern", is, c->n_layer);
}

/* target_layer_ids are layers after which streams are read. */
static void ckpt_keys(struct lmd_checkpoint *c)
{
	static const char layers[] = "dflash_config.target_layer_ids|target_layer_ids";

	c->tied = false; /* a head in the file is the draft model's own */
	put_windows(c);
	c->put_u32(c, "block_size",
		   c->get_int(c, "dflash_config.block_size|block_size", 16, 2, LMD_MAX_BLOCK));
	c->put_u32(c, "mask_token_id",
		   c->need_int(c, "dflash_config.mask_token_id|mask_token_id", 0, INT32_MAX));
	arch_draft_put_layers(c, layers, true);
}

static const struct lmd_checkpoint_map maps[] = {
	{.type = "DFlashDraftModel",
	 .arch = "dflash",
	 .rows = {ARCH_CKPT_ROWS(ckpt_rows), &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_qk_norms},
	 .keys = ckpt_keys},
};
static const struct lmd_checkpoint_maps checkpoints = ARCH_CKPT_MAPS(maps);

const struct lmd_arch_ops arch_dflash = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = arch_hp_dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.checkpoints = &checkpoints,
};
