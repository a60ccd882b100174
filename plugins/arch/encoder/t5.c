/* SPDX-License-Identifier: MIT
 *
 * T5 (arXiv 1910.10683) and its encoder alone.  There is no rotation and no scale of q k^T;
 * positions are encoded as a bias by distance bucket, whose table in layer 0 serves all layers.
 *
 * An ENCODE plan reads the source text (as the TOKENS of that plan) and stores the keys and values
 * of every decoder layer in the CROSS group; the FORWARD plan is the decoder, which reads them. */
#include "arch/common/blocks.h"
#include "arch/encoder/encoder.h"

enum { G_SELF, G_CROSS, G_ENC };
enum { D_BUCKET = D_OWN };
#define MAX_DISTANCE 128.0f /* fixed by the architecture */

struct t5 {
	struct arch_hparams hp;
	uint32_t n_dec;       /* decoder layers; 0: encoder only */
	uint32_t n_bucket;
	uint32_t group_enc;   /* BATCH group */
	uint32_t *self, *cross; /* [n_dec] caches */
};

enum t5_t {
	E_NORM, E_Q, E_K, E_V, E_OUT, E_REL, E_FFN_NORM, E_GATE, E_DOWN, E_UP, E_FINAL, E_N,
};
enum t5_dec_t { X_NORM = E_N, X_Q, X_K, X_V, X_OUT, X_N };

#define R LMD_TENSOR_REQUIRED
#define G LMD_TENSOR_GLOBAL
/* The rows of the encoder or the decoder; decoder layers also have cross attention. */
#define IN_DECODER ARCH_L_OWN /* layer indices that also exist in the decoder */
#define ROW(side, stem, d0, d1, flags, split, when)                                                \
	{                                                                                          \
		side ".blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, when, NULL               \
	}
#define SIDE(side, when)                                                                           \
	[E_NORM] = ROW(side, "attn_norm", D_EMBD, 0, R, REPLICATE, when),                          \
	[E_Q] = ROW(side, "attn_q", D_EMBD, D_Q, R, HEADS, when),                                  \
	[E_K] = ROW(side, "attn_k", D_EMBD, D_K, R, HEADS, when),                                  \
	[E_V] = ROW(side, "attn_v", D_EMBD, D_V, R, HEADS, when),                                  \
	[E_OUT] = ROW(side, "attn_o", D_O, D_EMBD, R, COLS, when),                                 \
	[E_REL] = ROW(side, "attn_rel_b", D_HEAD, D_BUCKET, LMD_TENSOR_KEEP_TYPE, REPLICATE, when),\
	[E_FFN_NORM] = ROW(side, "ffn_norm", D_EMBD, 0, R, REPLICATE, when),                       \
	[E_GATE] = ROW(side, "ffn_gate", D_EMBD, D_FF, 0, ROWS, when),                             \
	[E_DOWN] = ROW(side, "ffn_down", D_FF, D_EMBD, R, COLS, when),                             \
	[E_UP] = ROW(side, "ffn_up", D_EMBD, D_FF, R, ROWS, when),                                 \
	[E_FINAL] = {side ".output_norm", {D_EMBD}, R | G, LMD_SPLIT_REPLICATE, 0, NULL}

static const struct lmd_tensor_row enc_rows[E_N] = {SIDE("enc", 0)};
static const struct lmd_tensor_row dec_rows[X_N] = {
	SIDE("dec", IN_DECODER),
	[X_NORM] = ROW("dec", "cross_attn_norm", D_EMBD, 0, R, REPLICATE, IN_DECODER),
	[X_Q] = ROW("dec", "cross_attn_q", D_EMBD, D_Q, R, HEADS, IN_DECODER),
	[X_K] = ROW("dec", "cross_attn_k", D_EMBD, D_K, R, HEADS, IN_DECODER),
	[X_V] = ROW("dec", "cross_attn_v", D_EMBD, D_V, R, HEADS, IN_DECODER),
	[X_OUT] = ROW("dec", "cross_attn_o", D_O, D_EMBD, R, COLS, IN_DECODER),
};

static const struct lmd_tensor_set t5_sets[] = {ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
						ARCH_ROWS_OPT(T_OUTPUT, T_OUTPUT),
						ARCH_ROWS_OWN(enc_rows), ARCH_ROWS_OWN(dec_rows)};
static const struct lmd_tensor_set enc_sets[] = {ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
						 ARCH_ROWS_OWN(enc_rows), ARCH_SET_POOL};

static void memory(struct t5 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	const struct arch_layer *l = &hp->layer[0];
	const struct lmd_group self = {
		.name = "self", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1, .share = 1};
	const struct lmd_group cross = {.name = "cross",
					.kind = LMD_GROUP_CROSS,
					.ratio = 1,
					.q_space = LMD_SPACE_TOKENS,
					.k_space = LMD_SPACE_TOKENS};
	/* an encoder-only model has the mask given in the file */
	const struct lmd_group enc = {.name = "encoder",
				      .kind = LMD_GROUP_BATCH,
				      .ratio = 1,
				      .causal = !m->n_dec && hp->causal,
				      .q_space = LMD_SPACE_TOKENS,
				      .k_space = LMD_SPACE_TOKENS};
	struct lmd_cache c = {.kind = LMD_CACHE_KV,
			      .n_head = l->n_head_kv,
			      .dk = l->dk,
			      .dv = l->dv,
			      .dtype_policy = LMD_KV_DTYPE_USER};

	if (m->n_dec) {
		(void)arch_hp_add_group(hp, k, &self);
		(void)arch_hp_add_group(hp, k, &cross);
		m->self = arch_hp_alloc(hp, k, m->n_dec, sizeof(uint32_t));
		m->cross = arch_hp_alloc(hp, k, m->n_dec, sizeof(uint32_t));
	}
	m->group_enc = arch_hp_add_group(hp, k, &enc);
	for (uint32_t il = 0; il < m->n_dec && k->st == LMD_OK; il++) {
		hp->layer[il].cls |= IN_DECODER;
		c.group = G_SELF;
		m->self[il] = arch_hp_add_cache(hp, k, &c);
		c.group = G_CROSS;
		m->cross[il] = arch_hp_add_cache(hp, k, &c);
	}
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err, bool decoder)
{
	static const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_RMS, .no_rope = true};
	struct t5 *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	m->n_bucket =
		arch_key_u32(&k, "attention.relative_buckets_count", ARCH_REQUIRED, 4, 4, 4096);
	if (decoder)
		m->n_dec = arch_key_u32(&k, "decoder_block_count", ARCH_OPTIONAL, m->hp.n_layer, 1,
					m->hp.n_layer);
	if (k.st != LMD_OK)
		return k.st;
	m->hp.attn_scale = 1.0f;
	memory(m, &k);
	arch_hp_sites(&m->hp, &k, decoder ? t5_sets : enc_sets,
		      decoder ? (uint32_t)LMD_LEN(t5_sets) : (uint32_t)LMD_LEN(enc_sets));
	if (k.st != LMD_OK)
		return k.st;
	arch_hp_finish(&m->hp, &k, params, out);
	out->driver = decoder ? LMD_DRIVER_ENCDEC : LMD_DRIVER_ENCODER;
	if (decoder)
		out->decoder_start = (int32_t)arch_key_u32(&k, "decoder_start_token_id",
							   ARCH_OPTIONAL, 0, 0, m->hp.n_vocab - 1);
	else
		out->traits |= LMD_TRAIT_POOL_BY_KEY;
	return k.st;
}

static enum lmd_status describe_t5(const struct lmd_host *host, struct lmd_arena *arena,
				   const struct lmd_model *model,
				   const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				   struct lmd_error *err)
{
	return describe(host, arena, model, params, out, err, true);
}

static enum lmd_status describe_enc(const struct lmd_host *host, struct lmd_arena *arena,
				    const struct lmd_model *model,
				    const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				    struct lmd_error *err)
{
	return describe(host, arena, model, params, out, err, false);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct t5 *m = state;

	return symbol == D_BUCKET ? m->n_bucket : arch_hp_dim(state, symbol, layer);
}

/* The projections q, k, v of the normalised stream, side by side in one value. */
static uint32_t project(struct arch_emit *e, const struct t5 *m, struct lmd_operand x,
			const struct lmd_norm *norm, const struct lmd_tensor_row *const w[3],
			uint32_t n)
{
	const struct arch_layer *l = &m->hp.layer[0];
	const uint32_t width[3] = {l->n_head * l->dk, l->n_head_kv * l->dk, l->n_head_kv * l->dv};
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t total = 0, at = 0, y;

	for (uint32_t i = 0; i < 3; i++)
		total += w[i] ? width[i] : 0;
	y = arch_value_act(e, total, n == 3 ? "qkv" : n == 2 ? "kv" : "q");
	op.u.linear.x = x;
	op.u.linear.pro = *norm;
	for (uint32_t i = 0; i < 3; i++) {
		struct arch_weight wi;

		if (!w[i])
			continue;
		wi = arch_weight_req(e, w[i]);
		op.u.linear.w[op.u.linear.n_w] = wi.id;
		op.u.linear.lora_site[op.u.linear.n_w] = wi.site;
		op.u.linear.y[op.u.linear.n_w++] = arch_operand_cols(y, at, width[i]);
		at += width[i];
	}
	arch_emit_op(e, &op);
	return y;
}

static void append(struct arch_emit *e, const struct arch_layer *l, uint32_t kv, uint32_t at,
		   uint32_t cache)
{
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	op.u.rope_kv.k = arch_operand_heads(kv, at, l->n_head_kv, l->dk);
	op.u.rope_kv.v = arch_operand_heads(kv, at + l->n_head_kv * l->dk, l->n_head_kv, l->dv);
	op.u.rope_kv.cache = cache;
	op.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	arch_emit_op(e, &op);
}

/* x + out(y) */
static uint32_t add_out(struct arch_emit *e, uint32_t x, uint32_t y,
			const struct lmd_tensor_row *row)
{
	struct arch_block_io io = {.res = x, .a = 1.0f};
	struct arch_weight w = arch_weight_req(e, row);

	return arch_block_out(e, arch_operand_all(e, y), NULL, &w, &io);
}

/* The bias table of the layer, or that of layer 0 if it has none. */
static uint32_t rel_table(struct arch_emit *e, const struct lmd_tensor_row *row)
{
	struct arch_weight w = arch_weight_opt(e, row);
	int32_t il = e->il;

	if (w.id == LMD_NONE) {
		e->il = 0;
		w = arch_weight_req(e, row);
		e->il = il;
	}
	return w.id;
}

static uint32_t attend(struct arch_emit *e, const struct t5 *m, struct lmd_operand q,
		       const struct lmd_attn_src *src, uint32_t table, bool bidirectional)
{
	const struct arch_layer *l = &m->hp.layer[0];
	struct lmd_op op = arch_op_empty(LMD_OP_ATTN);
	uint32_t y = arch_value_act(e, l->n_head * l->dv, "attn");

	op.u.attn.q = q;
	op.u.attn.y = arch_operand_heads(y, 0, l->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head_kv;
	op.u.attn.src[0] = *src;
	op.u.attn.scale = m->hp.attn_scale;
	if (table != LMD_NONE) {
		op.u.attn.bias = LMD_BIAS_BUCKET;
		op.u.attn.bias_w = table;
		op.u.attn.n_bucket = m->n_bucket;
		op.u.attn.bidirectional = bidirectional;
		op.u.attn.max_distance = MAX_DISTANCE;
	}
	arch_emit_op(e, &op);
	return y;
}

static uint32_t self_attention(struct arch_emit *e, const struct t5 *m, uint32_t x, bool decoder)
{
	const struct arch_layer *l = &m->hp.layer[0];
	const struct lmd_tensor_row *rows = decoder ? dec_rows : enc_rows;
	const struct lmd_tensor_row *const w[3] = {&rows[E_Q], &rows[E_K], &rows[E_V]};
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &rows[E_NORM]);
	uint32_t qkv = project(e, m, arch_operand_all(e, x), &norm, w, 3), nq = l->n_head * l->dk;
	struct lmd_attn_src src = {.list_unit = 1, .cache = LMD_NONE};

	if (decoder) {
		append(e, l, qkv, nq, m->self[e->il]);
		src.kind = LMD_KV_CACHE;
		src.cache = m->self[e->il];
		src.group = G_SELF;
	} else {
		src.kind = LMD_KV_ROWS;
		src.group = m->group_enc;
		src.k = arch_operand_heads(qkv, nq, l->n_head_kv, l->dk);
		src.v = arch_operand_heads(qkv, nq + l->n_head_kv * l->dk, l->n_head_kv, l->dv);
	}
	return add_out(e, x,
		       attend(e, m, arch_operand_heads(qkv, 0, l->n_head, l->dk), &src,
			      rel_table(e, &rows[E_REL]), !decoder),
		       &rows[E_OUT]);
}

static uint32_t cross_attention(struct arch_emit *e, const struct t5 *m, uint32_t x)
{
	const struct arch_layer *l = &m->hp.layer[0];
	const struct lmd_tensor_row *const w[3] = {&dec_rows[X_Q], NULL, NULL};
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &dec_rows[X_NORM]);
	uint32_t q = project(e, m, arch_operand_all(e, x), &norm, w, 1);
	const struct lmd_attn_src src = {
		.kind = LMD_KV_CACHE, .cache = m->cross[e->il], .group = G_CROSS, .list_unit = 1};

	return add_out(
		e, x,
		attend(e, m, arch_operand_heads(q, 0, l->n_head, l->dk), &src, LMD_NONE, false),
		&dec_rows[X_OUT]);
}

static uint32_t feed_forward(struct arch_emit *e, uint32_t x, const struct lmd_tensor_row *rows)
{
	bool gated = arch_weight_exists(e, &rows[E_GATE]);
	struct arch_ffn ffn = {.gate = gated ? &rows[E_GATE] : NULL,
			       .up = &rows[E_UP],
			       .down = &rows[E_DOWN],
			       .act = gated ? LMD_ACT_FN_GELU : LMD_ACT_FN_RELU};
	struct arch_block_io io = {arch_operand_all(e, x),
				   arch_norm_req(e, LMD_NORM_RMS, &rows[E_FFN_NORM]), x, 1.0f};

	return arch_ffn(e, &io, &ffn);
}

/* Computes keys and values of every decoder layer from the encoder's result. */
static void fill_cross(struct arch_emit *e, const struct t5 *m, uint32_t x)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &enc_rows[E_FINAL]),
			none = arch_no_norm();
	uint32_t y = arch_value_act(e, m->hp.n_embd, "encoded");

	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, y));
	for (uint32_t il = 0; il < m->n_dec; il++) {
		const struct lmd_tensor_row *const w[3] = {NULL, &dec_rows[X_K], &dec_rows[X_V]};

		arch_set_layer(e, (int32_t)il);
		append(e, &m->hp.layer[0], project(e, m, arch_operand_all(e, y), &none, w, 2), 0,
		       m->cross[il]);
	}
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct t5 *m = state;
	const bool decoder = m->n_dec && key->kind == LMD_PLAN_FORWARD;
	const struct lmd_tensor_row *rows = decoder ? dec_rows : enc_rows;
	struct arch_residual s = {.z = LMD_NONE};
	struct lmd_norm norm;
	struct arch_emit e;

	if (key->kind != LMD_PLAN_FORWARD && (key->kind != LMD_PLAN_ENCODE || !m->n_dec)) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture %s: plan kind %u is not supported",
			b->model->arch, key->kind);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &m->hp, key);
	s.x = arch_embed(&e);
	for (uint32_t il = 0;
	     il < (decoder ? m->n_dec : m->hp.n_layer) && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		s.x = self_attention(&e, m, s.x, decoder);
		if (decoder)
			s.x = cross_attention(&e, m, s.x);
		s.x = feed_forward(&e, s.x, rows);
	}
	arch_set_layer(&e, -1);
	if (key->kind == LMD_PLAN_ENCODE) {
		fill_cross(&e, m, s.x);
	} else {
		norm = arch_norm_req(&e, LMD_NORM_RMS, &rows[E_FINAL]);
		arch_emit_outputs(&e, key, &s, &norm, NULL, LMD_NONE);
	}
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_t5 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(t5_sets),
	.sets = t5_sets,
	.describe = describe_t5,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
};

const struct lmd_arch_ops arch_t5encoder = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(enc_sets),
	.sets = enc_sets,
	.describe = describe_enc,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
};
