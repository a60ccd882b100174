/* SPDX-License-Identifier: MIT
 *
 * Qwen4 (experimental).
 *
 * Residual: low-rank hyper-connections (arXiv 2409.19606).  A block reads the mean of the
 * normalised and gated streams; its result is added to each stream with a separate weight.  At the
 * end of the model such a mix replaces the final norm.
 *
 * Mixer: gated delta layers, with attention in every few.  In attention layers an indexer scores
 * blocks of `ratio` tokens by the mean of their raw index keys; a row attends to the tokens of the
 * best blocks and of its own open block.
 *
 * Every layer has routed experts and a gated shared one. */
#include <math.h>

#include "arch/streams/qwen4exp.h"
#include "arch/streams/streams.h"

#define HC_MAX 8u

enum { IN_BLOCK, IN_NGRAM, N_IN }; /* row inputs: position of the row's block; n-gram table rows */

enum t4 {
	O_NORM, O_DOWN, O_UP, A_NORM, A_DOWN, A_UP, A_INJECT, F_NORM, F_DOWN, F_UP, F_INJECT, I_Q,
	I_K, I_Q_NORM, I_K_NORM, N_T4
};
#define R LMD_TENSOR_REQUIRED
#define G (LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL)
#define GLB(stem, d0, d1) {stem, {d0, d1}, G, LMD_SPLIT_REPLICATE, 0, NULL}
#define ROW(stem, d0, d1, when) ROW_FLAGS(stem, d0, d1, R, when)
#define ROW_FLAGS(stem, d0, d1, flags, when)                                                       \
	{"blk.%d." stem, {d0, d1}, flags, LMD_SPLIT_REPLICATE, when, NULL}
#define KEEP (R | LMD_TENSOR_KEEP_TYPE)

static const struct lmd_tensor_row rows[N_T4] = {
	[O_NORM] = GLB("output_hc_norm", D_EMBD, D_QW4_HC),
	[O_DOWN] = GLB("output_hc_down", D_QW4_WIDE, D_QW4_LOW),
	[O_UP] = GLB("output_hc_up", D_QW4_LOW, D_QW4_WIDE),
	[A_NORM] = ROW("hc_attn_norm", D_EMBD, D_QW4_HC, 0),
	[A_DOWN] = ROW("hc_attn_down", D_QW4_WIDE, D_QW4_LOW, 0),
	[A_UP] = ROW("hc_attn_up", D_QW4_LOW, D_QW4_WIDE, 0),
	[A_INJECT] = ROW("hc_attn_inject", D_QW4_WIDE, D_QW4_HC, 0),
	[F_NORM] = ROW("hc_ffn_norm", D_EMBD, D_QW4_HC, 0),
	[F_DOWN] = ROW("hc_ffn_down", D_QW4_WIDE, D_QW4_LOW, 0),
	[F_UP] = ROW("hc_ffn_up", D_QW4_LOW, D_QW4_WIDE, 0),
	[F_INJECT] = ROW("hc_ffn_inject", D_QW4_WIDE, D_QW4_HC, 0),
	[I_Q] = ROW_FLAGS("indexer.q_proj", D_EMBD, D_QW4_IDX_Q, KEEP, ARCH_L_ATTN),
	[I_K] = ROW_FLAGS("indexer.k_proj", D_EMBD, D_QW4_IDX_K, KEEP, ARCH_L_ATTN),
	[I_Q_NORM] = ROW("indexer.q_norm", D_QW4_IDX_K, 0, ARCH_L_ATTN),
	[I_K_NORM] = ROW("indexer.k_norm", D_QW4_IDX_K, 0, ARCH_L_ATTN),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_REQ(T_OUTPUT, T_OUTPUT),
	ARCH_ROWS_OWN(rows),
	ARCH_SET_DELTA,
	ARCH_ROWS_REQ(T_ATTN_Q_GATED, T_ATTN_Q_GATED),
	ARCH_ROWS_REQ(T_ATTN_K, T_ATTN_V),
	ARCH_ROWS_REQ(T_ATTN_OUT, T_ATTN_OUT),
	ARCH_SET_QK_NORM,
	ARCH_SET_MOE,
	ARCH_ROWS_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_DOWN_SHEXP),
	ARCH_ROWS_OWN(qw4_ngram_rows),
};

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct qw4 *m = state;
	int64_t d = arch_delta_dim(&m->delta, symbol);

	switch (symbol) {
	case D_QW4_HC:
		return m->hc;
	case D_QW4_LOW:
		return m->low;
	case D_QW4_WIDE:
		return (int64_t)m->hc * m->hp.n_embd;
	case D_QW4_IDX_Q:
		return (int64_t)m->idx_head * m->idx_dk;
	case D_QW4_IDX_K:
		return m->idx_dk;
	case D_QW4_HASH_D:
		return m->ngram.d;
	case D_QW4_HASH_ROWS:
		return m->ngram.n_row;
	case D_QW4_HASH_ALL:
		return (int64_t)m->ngram.n_hash * m->ngram.d;
	case D_QW4_HASH_CONV:
		return m->ngram.kernel;
	default:
		return d ? d : arch_hp_dim(state, symbol, layer);
	}
}

/* ---- description ---- */

/* Recurrent layers: by `attention.recurrent_layers`, or all but every
 * `full_attention_interval`-th. */
static void read_layers(struct qw4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	uint32_t every =
		arch_key_u32(k, "full_attention_interval", ARCH_OPTIONAL, 4, 1, ARCH_MAX_LAYER);
	uint32_t *recurrent = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*recurrent));
	bool given;

	if (!recurrent)
		return;
	given = arch_key_u32s(k, "attention.recurrent_layers", ARCH_OPTIONAL, recurrent,
			      hp->n_layer, 0, 0, 1);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		bool r = given ? recurrent[il] : (il + 1) % every != 0;

		hp->layer[il].cls = (r ? ARCH_L_RECURRENT : ARCH_L_ATTN | ARCH_L_FULL) |
				    ARCH_L_MOE | ARCH_L_SHEXP;
	}
}

static void read_keys(struct qw4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	uint32_t *ratio = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*ratio));

	m->hc = arch_key_u32(k, "hyper_connection.count", ARCH_REQUIRED, 2, 2, HC_MAX);
	m->low = arch_key_u32(k, "hyper_connection.low_rank", ARCH_REQUIRED, 1, 1,
			      ARCH_KEY_MAX_WIDTH / HC_MAX);
	m->idx_head =
		arch_key_u32(k, "attention.indexer.head_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	m->idx_dk =
		arch_key_u32(k, "attention.indexer.key_length", ARCH_REQUIRED, 2, 2, ARCH_MAX_DK);
	m->idx_top = arch_key_u32(k, "attention.indexer.top_k", ARCH_REQUIRED, 1, 1, 1u << 19);
	if (!ratio)
		return;
	(void)arch_key_u32s(k, "attention.compress_ratios", ARCH_OPTIONAL, ratio, hp->n_layer, 0, 0,
			    64);
	read_layers(m, k);
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct arch_layer *l = &hp->layer[il];

		if (!(l->cls & ARCH_L_ATTN))
			continue;
		if (m->ratio && ratio[il] != m->ratio)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "%s.attention.compress_ratios: %u in layer %u but %u in an "
				      "earlier one; all must be equal",
				      hp->model->arch, ratio[il], il, m->ratio);
		m->ratio = ratio[il];
		if (l->dk != l->dv || l->n_rot > m->idx_dk)
			arch_key_fail(k, LMD_INVALID,
				      "%s.attention.indexer.key_length: %u does not fit layer %u, "
				      "which has head sizes %u and %u and rotates %u columns",
				      hp->model->arch, m->idx_dk, il, l->dk, l->dv, l->n_rot);
	}
	if (k->st == LMD_OK && !hp->n_expert)
		arch_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected at least 1",
			      hp->model->arch);
}

/* Declares caches for index keys: raw keys of the open block are in the STATE group, pooled keys in
 * a paged group of their own. */
static void index_memory(struct qw4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	const struct lmd_group g = {.name = "blocks",
				    .kind = LMD_GROUP_PAGED,
				    .causal = 1,
				    .ratio = m->ratio,
				    .share = 1};
	struct lmd_cache keys = {.kind = LMD_CACHE_INDEX,
				 .n_head = 1,
				 .dk = m->idx_dk,
				 .dtype_policy = LMD_KV_DTYPE_F32};
	const struct lmd_cache open = {.group = m->delta.group,
				       .kind = LMD_CACHE_CONV,
				       .n_head = 1,
				       .dk = m->ratio - 1,
				       .dv = m->idx_dk,
				       .dtype_policy = LMD_KV_DTYPE_F32};

	m->index = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*m->index));
	m->pool = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*m->pool));
	if (k->st != LMD_OK || m->ratio < 2)
		return;
	keys.group = m->blocks = arch_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & ARCH_L_ATTN))
			continue;
		m->index[il] = arch_hp_add_cache(hp, k, &keys);
		m->pool[il] = arch_hp_add_cache(hp, k, &open);
	}
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_RMS,
						 .rope_pairing = LMD_ROPE_HALVES,
						 .sections_kind = LMD_SECTIONS_INTERLEAVED,
						 .sections_required = true,
						 .route_renorm = true};
	struct qw4 *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;
	struct lmd_row_in *in;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	*m = (struct qw4){.blocks = LMD_NONE};
	arch_keys_init(&k, model, err);
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	arch_delta_read(&m->delta, &m->hp, &k);
	m->delta.gate_act = LMD_ACT_FN_SIGMOID;
	if (k.st == LMD_OK)
		read_keys(m, &k);
	if (k.st == LMD_OK)
		qw4_ngram_read(m, &k);
	if (k.st != LMD_OK)
		return k.st;
	arch_hp_memory(&m->hp, &k, 1);
	arch_delta_memory(&m->delta, &m->hp, &k);
	index_memory(m, &k);
	qw4_ngram_memory(m, &k);
	arch_hp_sites(&m->hp, &k, sets, LMD_LEN(sets));
	in = arch_hp_alloc(&m->hp, &k, N_IN, sizeof(*in));
	if (k.st != LMD_OK)
		return k.st;
	arch_hp_finish(&m->hp, &k, params, out);
	in[IN_BLOCK] = (struct lmd_row_in){.vtype = LMD_VTYPE_I32, .width = 1, .name = "block_pos"};
	in[IN_NGRAM] = (struct lmd_row_in){
		.vtype = LMD_VTYPE_I32, .width = m->ngram.n_hash, .name = "ngrams"};
	out->row_ins = in;
	out->n_row_in = m->ngram.n_hash ? N_IN : N_IN - 1;
	out->traits |= LMD_TRAIT_RECURRENT | (m->ngram.n_hash ? LMD_TRAIT_HOST_TOKENS : 0);
	return k.st;
}

static enum lmd_status fill_rows(const void *state, const struct lmd_rows_in *in,
				 struct lmd_rows_out *out)
{
	const struct qw4 *m = state;
	const int32_t r = m->ratio > 1 ? (int32_t)m->ratio : 1;
	int32_t *block = out->row_in[IN_BLOCK];

	for (uint32_t t = 0; t < in->step->head->n_tok; t++)
		block[t] = in->step->pos[0][t] - in->step->pos[0][t] % r;
	if (m->ngram.n_hash)
		qw4_ngram_rows_in(m, in, out->row_in[IN_NGRAM]);
	return LMD_OK;
}

/* ---- hyper-connections ---- */

/* Returns a block's input.  Stores the weights of its result in *inject, unless NULL. */
static uint32_t collect(struct arch_emit *e, const struct qw4 *m, uint32_t xs, enum t4 first,
			uint32_t *inject)
{
	const uint32_t w = m->hp.n_embd, wide = m->hc * w;
	struct lmd_norm norm = arch_norm_heads(e, LMD_NORM_RMS, &rows[first], m->hc, w);
	struct arch_weight down = arch_weight_req(e, &rows[first + 1]),
			   up = arch_weight_req(e, &rows[first + 2]);
	uint32_t xn = arch_value_f32(e, wide, "hc_norm"), low = arch_value_act(e, m->low, "hc_low"),
		 gate;
	uint32_t gated = arch_value_f32(e, wide, "hc_gated"), y = arch_value_f32(e, w, "hc_in");
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	float mean[HC_MAX];

	arch_put_norm(e, arch_operand_heads(xs, 0, m->hc, w), &norm,
		      arch_operand_heads(xn, 0, m->hc, w));
	op.u.linear.x = arch_operand_all(e, xn);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = down.id;
	op.u.linear.lora_site[0] = down.site;
	op.u.linear.scale = 1.0f / (float)m->hc;
	op.u.linear.act = LMD_ACT_FN_SILU;
	op.u.linear.y[0] = arch_operand_all(e, low);
	arch_emit_op(e, &op);
	gate = arch_linear(e, arch_operand_all(e, low), NULL, &up, LMD_VTYPE_F32, "hc_gate");
	arch_put_glu(e, LMD_ACT_FN_SIGMOID, NULL, arch_operand_all(e, gate),
		     arch_operand_all(e, xn), arch_operand_all(e, gated));

	for (uint32_t i = 0; i < m->hc; i++)
		mean[i] = 1.0f / (float)m->hc;
	op = arch_op_empty(LMD_OP_MIX);
	op.u.mix.x = arch_operand_heads(gated, 0, m->hc, w);
	op.u.mix.c = arch_operand_weight_heads(arch_literal(e, mean, m->hc, LMD_SPLIT_REPLICATE, "hc_mean"), 1, m->hc);
	op.u.mix.y = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	if (inject) {
		struct arch_weight wi = arch_weight_req(e, &rows[first + 3]);
		uint32_t raw = arch_linear(e, arch_operand_all(e, xn), NULL, &wi, LMD_VTYPE_F32,
					   "hc_inject_raw");
		struct arch_ew p = arch_ew();
		uint8_t a = arch_ew_in(&p, arch_operand_all(e, raw));

		*inject = arch_value_f32(e, m->hc, "hc_inject");
		a = arch_ew1(&p, LMD_EW_SIGMOID,
			     arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, 1.0f / (float)m->hc)));
		arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_ADD, a, a), arch_operand_all(e, *inject));
	}
	return y;
}

/* stream[i] += inject[i] z */
static uint32_t add_to_streams(struct arch_emit *e, const struct qw4 *m, uint32_t xs, uint32_t z,
			       uint32_t inject)
{
	const uint32_t w = m->hp.n_embd;
	uint32_t y = arch_value_f32(e, m->hc * w, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	op.u.mix.x = arch_operand_heads(xs, 0, m->hc, w);
	op.u.mix.d = arch_operand_all(e, inject);
	op.u.mix.z = arch_operand_all(e, z);
	op.u.mix.y = arch_operand_heads(y, 0, m->hc, w);
	arch_emit_op(e, &op);
	return y;
}

/* ---- attention ---- */

/* Computes one index key per block: the mean of the raw keys; normalises, rotates and stores it. */
static void pool_keys(struct arch_emit *e, const struct qw4 *m, struct lmd_operand x)
{
	struct arch_weight w = arch_weight_req(e, &rows[I_K]);
	uint32_t raw = arch_linear(e, x, NULL, &w, LMD_VTYPE_F32, "index_k_raw");
	uint32_t k = arch_value_f32(e, m->idx_dk, "index_k");
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);

	op.u.conv.kind = LMD_CONV_POOL;
	op.u.conv.x = arch_operand_all(e, raw);
	op.u.conv.y = arch_operand_all(e, k);
	op.u.conv.n = m->ratio;
	op.u.conv.left = m->ratio - 1;
	op.u.conv.group = m->blocks;
	op.u.conv.cache = m->pool[e->il];
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_ROPE_KV);
	op.u.rope_kv.k = arch_operand_all(e, k);
	op.u.rope_kv.kn = arch_norm_req(e, LMD_NORM_RMS, &rows[I_K_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = arch_rope(e, ARCH_ROPE_FULL, arch_current_layer(e)->n_rot);
	op.u.rope_kv.pos = arch_operand_row_input(IN_BLOCK, 1);
	op.u.rope_kv.cache = m->index[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	arch_emit_op(e, &op);
}

/* The list of tokens that a row attends to. */
static struct lmd_operand choose(struct arch_emit *e, const struct qw4 *m, struct lmd_operand x)
{
	const uint32_t h = m->idx_head, d = m->idx_dk, n = m->idx_top + m->ratio - 1;
	struct arch_weight w = arch_weight_req(e, &rows[I_Q]);
	uint32_t q = arch_linear(e, x, NULL, &w, LMD_VTYPE_F32, "index_q");
	uint32_t rot = arch_value_f32(e, h * d, "index_q_rot"),
		 list = arch_value_i32(e, n, "index");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	pool_keys(e, m, x);
	op.u.rope_kv.q = arch_operand_heads(q, 0, h, d);
	op.u.rope_kv.q_out = arch_operand_heads(rot, 0, h, d);
	op.u.rope_kv.qn = arch_norm_req(e, LMD_NORM_RMS, &rows[I_Q_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = arch_rope(e, ARCH_ROPE_FULL, arch_current_layer(e)->n_rot);
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_INDEX);
	op.u.index.q = arch_operand_heads(rot, 0, h, d);
	op.u.index.y = arch_operand_all(e, list);
	op.u.index.kind = LMD_INDEX_SUM;
	op.u.index.cache = m->index[e->il];
	op.u.index.n = n;
	op.u.index.each = m->ratio;
	op.u.index.of = arch_current_layer(e)->group;
	arch_emit_op(e, &op);
	return arch_operand_all(e, list);
}

static uint32_t attention(struct arch_emit *e, const struct qw4 *m, const struct arch_block_io *io)
{
	static const struct arch_attn_rows gated = {.q = &arch_rows[T_ATTN_Q_GATED],
						    .k = &arch_rows[T_ATTN_K],
						    .v = &arch_rows[T_ATTN_V],
						    .out = &arch_rows[T_ATTN_OUT]};
	struct arch_attn a = arch_attn_default(e, 0);

	a.rows = &gated;
	a.qk_norm = ARCH_QKN_HEAD;
	a.gate = ARCH_GATE_IN_Q;
	if (m->ratio > 1) {
		a.key_list = choose(e, m, io->x);
		a.key_list_unit = 1;
	}
	return arch_attn(e, io, &a);
}

/* ---- the plan ---- */

static uint32_t copies(struct arch_emit *e, const struct qw4 *m)
{
	const uint32_t w = m->hp.n_embd;
	struct lmd_operand first = arch_operand_heads(arch_embed(e), 0, m->hc, w);
	uint32_t xs = arch_value_f32(e, m->hc * w, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	first.head_stride = 0;
	op.u.cast_copy.x = first;
	op.u.cast_copy.y = arch_operand_heads(xs, 0, m->hc, w);
	arch_emit_op(e, &op);
	return xs;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct qw4 *m = state;
	const struct lmd_norm none = arch_no_norm();
	struct arch_residual s = {.z = LMD_NONE};
	struct arch_emit e;
	uint32_t xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture qwen4exp: plan kind %u is not supported", key->kind);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &m->hp, key);
	xs = copies(&e, m);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		const uint32_t cls = m->hp.layer[il].cls;
		struct arch_block_io io = {.norm = none, .res = LMD_NONE, .a = 1.0f};
		struct arch_moe moe;
		uint32_t inject, y;

		arch_set_layer(&e, (int32_t)il);
		if (cls & QW4_L_NGRAM)
			xs = qw4_ngram(&e, m, xs, IN_NGRAM);
		io.x = arch_operand_all(&e, collect(&e, m, xs, A_NORM, &inject));
		y = cls & ARCH_L_ATTN ? attention(&e, m, &io) : arch_delta(&e, &io, &m->delta);
		xs = add_to_streams(&e, m, xs, y, inject);
		io.x = arch_operand_all(&e, collect(&e, m, xs, F_NORM, &inject));
		moe = arch_moe_default(&e);
		moe.shared_gate = &arch_rows[T_FFN_GATE_INP_SHEXP];
		xs = add_to_streams(&e, m, xs, arch_moe(&e, &io, &moe), inject);
	}
	arch_set_layer(&e, -1);
	s.x = collect(&e, m, xs, O_NORM, NULL);
	arch_emit_outputs(&e, key, &s, &none, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_qwen4exp = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.rows = fill_rows,
};
