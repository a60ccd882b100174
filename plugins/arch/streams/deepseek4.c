/* SPDX-License-Identifier: MIT
 *
 * DeepSeek-V4 (model card deepseek-ai/DeepSeek-V4).
 *
 * Residual: hyper-connections (arXiv 2409.19606, with doubly stochastic mixing as in
 * arXiv 2512.24880): several streams; before a block a weighted sum of them is taken, after it
 * streams are mixed by a Sinkhorn-normalised matrix and the result is added to each.
 *
 * Attention: one key head whose row is key and value at once, low-rank q, the last columns rotated
 * and turned back after attention, grouped low-rank output, sinks.  Every layer sees a window of
 * raw rows; layers with a compress ratio see, beside it, one row for every `ratio` tokens: a
 * softmax-weighted sum over the block (ratio 4: over this block and the one before, and only
 * the rows that an indexer chooses; ratio 128: all).
 *
 * Experts: sqrt-softplus router; in the first layers the token's id chooses the experts. */
#include <math.h>
#include <string.h>

#include "arch/common/decoder.h"
#include "arch/streams/streams.h"

#define OVERLAP_RATIO 4u
#define FULL_RATIO    128u
#define HC_MAX        8u

/* Row inputs: per ratio the row of the position table and the position of the block. */
enum { IN_APE, IN_BLOCK, N_IN };

struct dsv4 {
	struct lmi_decoder d;
	uint32_t hc, sinkhorn;
	float hc_eps;
	uint32_t rank_q, rank_o, n_group_o;
	uint32_t idx_head, idx_dk, idx_top;
	uint32_t n_hash;
	float *clamp, *clamp_sh;      /* [n_layer] */
	uint32_t *ratio;              /* [n_layer] */
	uint32_t group[2], state;     /* groups of the two ratios; STATE group */
	uint32_t *raw, *comp, *index; /* [n_layer] caches */
	uint32_t *pool, *pool_idx;
};

static uint32_t which(uint32_t ratio)
{
	return ratio == FULL_RATIO;
}

/* ---- tensors ---- */

enum {
	D_RANK_Q = D_OWN, D_Q4, D_HC, D_HC_E, D_HC_MIX, D_OA_IN, D_RANK_O, D_RANK_O_ALL, D_COMP, D_RATIO,
	D_IDX_Q, D_IDX_COMP, D_IDX_DK, D_IDX_HEAD, D_USED
};
#define L_COMP  (LMI_L_OWN << 0)
#define L_INDEX (LMI_L_OWN << 1)
#define L_HASH  (LMI_L_OWN << 2)
#define L_BIAS  (LMI_L_OWN << 3)

enum t4 {
	O_FN, O_BASE, O_SCALE, A_NORM, A_SINKS, Q_A, Q_A_NORM, Q_B, KV, KV_NORM, O_A, O_B, HA_FN, HA_BASE,
	HA_SCALE, HF_FN, HF_BASE, HF_SCALE, C_KV, C_GATE, C_APE, C_NORM, I_PROJ, I_Q, IC_KV, IC_GATE, IC_APE,
	IC_NORM, HASH, N_T4
};
#define R LMD_TENSOR_REQUIRED
#define G (LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL)
#define GLB(stem, d0, d1) {stem, {d0, d1}, G, LMD_SPLIT_REPLICATE, 0, NULL}
#define ROW(stem, d0, d1, d2, split, when) {"blk.%d." stem, {d0, d1, d2}, R, LMD_SPLIT_##split, when, NULL}
#define REP(stem, d0, d1, when) ROW(stem, d0, d1, 0, REPLICATE, when)

static const struct lmd_tensor_row rows[N_T4] = {
	[O_FN] = GLB("output_hc_fn", D_HC_E, D_HC),
	[O_BASE] = GLB("output_hc_base", D_HC, 0),
	[O_SCALE] = GLB("output_hc_scale", LMD_DIM(1), 0),
	[A_NORM] = REP("attn_norm", D_EMBD, 0, 0),
	[A_SINKS] = REP("attn_sinks", D_HEAD, 0, 0),
	[Q_A] = REP("attn_q_a", D_EMBD, D_RANK_Q, 0),
	[Q_A_NORM] = REP("attn_q_a_norm", D_RANK_Q, 0, 0),
	[Q_B] = ROW("attn_q_b", D_RANK_Q, D_Q4, 0, HEADS, 0),
	[KV] = REP("attn_kv", D_EMBD, D_DK, 0),
	[KV_NORM] = REP("attn_kv_a_norm", D_DK, 0, 0),
	[O_A] = {"blk.%d.attn_output_a", {D_OA_IN, D_RANK_O, LMD_DIM(0)}, R | LMD_TENSOR_ANY_SHAPE,
		 LMD_SPLIT_HEADS, 0, NULL},
	[O_B] = ROW("attn_output_b", D_RANK_O_ALL, D_EMBD, 0, COLS, 0),
	[HA_FN] = REP("hc_attn_fn", D_HC_E, D_HC_MIX, 0),
	[HA_BASE] = REP("hc_attn_base", D_HC_MIX, 0, 0),
	[HA_SCALE] = REP("hc_attn_scale", LMD_DIM(3), 0, 0),
	[HF_FN] = REP("hc_ffn_fn", D_HC_E, D_HC_MIX, 0),
	[HF_BASE] = REP("hc_ffn_base", D_HC_MIX, 0, 0),
	[HF_SCALE] = REP("hc_ffn_scale", LMD_DIM(3), 0, 0),
	[C_KV] = REP("attn_compressor_kv", D_EMBD, D_COMP, L_COMP),
	[C_GATE] = REP("attn_compressor_gate", D_EMBD, D_COMP, L_COMP),
	[C_APE] = REP("attn_compressor_ape", D_COMP, D_RATIO, L_COMP),
	[C_NORM] = REP("attn_compressor_norm", D_DK, 0, L_COMP),
	[I_PROJ] = REP("indexer.proj", D_EMBD, D_IDX_HEAD, L_INDEX),
	[I_Q] = REP("indexer.attn_q_b", D_RANK_Q, D_IDX_Q, L_INDEX),
	[IC_KV] = REP("indexer_compressor_kv", D_EMBD, D_IDX_COMP, L_INDEX),
	[IC_GATE] = REP("indexer_compressor_gate", D_EMBD, D_IDX_COMP, L_INDEX),
	[IC_APE] = REP("indexer_compressor_ape", D_IDX_COMP, D_RATIO, L_INDEX),
	[IC_NORM] = REP("indexer_compressor_norm", D_IDX_DK, 0, L_INDEX),
	[HASH] = REP("ffn_gate_tid2eid", D_USED, D_VOCAB, L_HASH),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_OWN(rows), LMI_SET_FFN_NORM, LMI_SET_MOE, LMI_SET_SHEXP,
};

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct dsv4 *m = state;
	const struct lmi_layer *l = &m->d.hp.layer[0];
	const uint32_t ratio = layer >= 0 && (uint32_t)layer < m->d.hp.n_layer ? m->ratio[layer] : 0;

	switch (symbol) {
	case D_RANK_Q:
		return m->rank_q;
	case D_Q4:
		return (int64_t)l->n_head * l->dk;
	case D_HC:
		return m->hc;
	case D_HC_E:
		return (int64_t)m->hc * m->d.hp.n_embd;
	case D_HC_MIX:
		return (int64_t)(2 + m->hc) * m->hc;
	case D_OA_IN:
		return (int64_t)l->n_head / m->n_group_o * l->dk;
	case D_RANK_O:
		return m->rank_o;
	case D_RANK_O_ALL:
		return (int64_t)m->rank_o * m->n_group_o;
	case D_COMP:
		return (ratio == OVERLAP_RATIO ? 2 : 1) * (int64_t)l->dk;
	case D_RATIO:
		return ratio;
	case D_IDX_Q:
		return (int64_t)m->idx_head * m->idx_dk;
	case D_IDX_COMP:
		return 2 * (int64_t)m->idx_dk;
	case D_IDX_DK:
		return m->idx_dk;
	case D_IDX_HEAD:
		return m->idx_head;
	case D_USED:
		return m->d.hp.n_expert_used;
	default:
		return lmi_hp_dim(state, symbol, layer);
	}
}

/* ---- description ---- */

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true,
	       .route_fn = LMD_ROUTE_SQRT_SOFTPLUS},
};

static void read_keys(struct dsv4 *m, struct lmi_keys *k)
{
	struct lmi_hparams *hp = &m->d.hp;
	const uint32_t n = hp->n_layer;
	double *v = lmi_hp_alloc(hp, k, n, sizeof(*v));

	m->rank_q = lmi_key_u32(k, "attention.q_lora_rank", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH);
	m->rank_o = lmi_key_u32(k, "attention.output_lora_rank", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH / 64);
	m->n_group_o = lmi_key_u32(k, "attention.output_group_count", LMI_REQUIRED, 1, 1, LMI_MAX_HEAD);
	m->hc = lmi_key_u32(k, "hyper_connection.count", LMI_REQUIRED, 1, 1, HC_MAX);
	m->sinkhorn = lmi_key_u32(k, "hyper_connection.sinkhorn_iterations", LMI_REQUIRED, 1, 1, 1000);
	m->hc_eps = (float)lmi_key_f64(k, "hyper_connection.epsilon", LMI_REQUIRED, 1e-6, 0.0, 1.0);
	m->idx_head = lmi_key_u32(k, "attention.indexer.head_count", LMI_REQUIRED, 1, 1, LMI_MAX_HEAD);
	m->idx_dk = lmi_key_u32(k, "attention.indexer.key_length", LMI_REQUIRED, 1, 1, LMI_MAX_DK / 4);
	m->idx_top = lmi_key_u32(k, "attention.indexer.top_k", LMI_REQUIRED, 1, 1, LMI_MAX_CTX);
	m->n_hash = lmi_key_u32(k, "hash_layer_count", LMI_REQUIRED, 0, 0, hp->n_layer_all);
	m->ratio = lmi_hp_alloc(hp, k, n, sizeof(uint32_t));
	m->clamp = lmi_hp_alloc(hp, k, n, sizeof(float));
	m->clamp_sh = lmi_hp_alloc(hp, k, n, sizeof(float));
	if (k->st != LMD_OK)
		return;
	(void)lmi_key_u32s(k, "attention.compress_ratios", LMI_REQUIRED, m->ratio, n, 0, 0, FULL_RATIO);
	(void)lmi_key_f64s(k, "swiglu_clamp_exp", LMI_REQUIRED, v, n, 0.0, 0.0, 1e6);
	for (uint32_t il = 0; il < n; il++)
		m->clamp[il] = m->clamp_sh[il] = (float)v[il];
	if (lmi_key_f64s(k, "swiglu_clamp_shexp", LMI_OPTIONAL, v, n, 0.0, 0.0, 1e6)) {
		for (uint32_t il = 0; il < n; il++)
			m->clamp_sh[il] = (float)v[il];
	}
}

static void check(struct dsv4 *m, struct lmi_keys *k)
{
	struct lmi_hparams *hp = &m->d.hp;
	const struct lmi_layer *l = &hp->layer[0];

	if (l->n_head % m->n_group_o)
		lmi_key_fail(k, LMD_INVALID, "%s.attention.output_group_count: %u does not divide %u heads",
			     hp->model->arch, m->n_group_o, l->n_head);
	if (l->n_head_kv != 1 || l->dk != l->dv || l->n_rot > l->dk || l->n_rot > m->idx_dk)
		lmi_key_fail(k, LMD_INVALID,
			     "%s.attention: %u key heads of %u and %u, %u rotated; expected 1 of one size",
			     hp->model->arch, l->n_head_kv, l->dk, l->dv, l->n_rot);
	if (!hp->n_expert)
		lmi_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected experts", hp->model->arch);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		uint32_t r = m->ratio[il];

		if (r && r != OVERLAP_RATIO && r != FULL_RATIO)
			lmi_key_fail(k, LMD_UNSUPPORTED,
				     "%s.attention.compress_ratios: %u in layer %u, known are 0, %u and %u",
				     hp->model->arch, r, il, OVERLAP_RATIO, FULL_RATIO);
		hp->layer[il].cls |= (r ? L_COMP : 0) | (r == OVERLAP_RATIO ? L_INDEX : 0) |
				     (il < m->n_hash ? L_HASH : L_BIAS);
	}
}

/* Layers without a ratio turn plainly, those with one by their own base and with YaRN, which leaves
 * the length of the columns alone. */
static void rotation(struct dsv4 *m, struct lmi_keys *k)
{
	struct lmi_hparams *hp = &m->d.hp;
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_FULL], *p = &hp->rope[LMI_ROPE_WINDOW];

	*p = *r;
	p->freq_scale = 1.0;
	p->ext_factor = 0.0;
	p->attn_factor = 1.0;
	r->base = lmi_key_f64(k, "attention.compress_rope_freq_base", LMI_REQUIRED, 1e4, 1e-3, 1e18);
	r->attn_factor = r->ext_factor != 0.0 ? 1.0 / (1.0 + 0.1 * log(1.0 / r->freq_scale)) : 1.0;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = m->ratio[il] ? LMI_ROPE_FULL : LMI_ROPE_WINDOW;
}

static void memory(struct dsv4 *m, struct lmi_keys *k)
{
	struct lmi_hparams *hp = &m->d.hp;
	const struct lmi_layer *l = &hp->layer[0];
	const uint32_t window = lmi_key_u32(k, "attention.sliding_window", LMI_REQUIRED, 1, 1, LMI_MAX_CTX);
	struct lmd_group raw = {.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = window,
				.ratio = 1, .share = 1};
	struct lmd_group comp[2] = {{.name = "blocks4", .kind = LMD_GROUP_PAGED, .causal = 1,
				     .ratio = OVERLAP_RATIO, .share = 1},
				    {.name = "blocks128", .kind = LMD_GROUP_PAGED, .causal = 1,
				     .ratio = FULL_RATIO, .share = 1}};
	struct lmd_group state = {.name = "blocks_open", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache c = {.kind = LMD_CACHE_V_IN_K, .n_head = 1, .dk = l->dk, .dv = l->dk};
	uint32_t **all[] = {&m->raw, &m->comp, &m->index, &m->pool, &m->pool_idx};
	uint32_t raw_id = lmi_hp_add_group(hp, k, &raw);
	bool used[2] = {false, false};

	for (uint32_t i = 0; i < LMD_LEN(all); i++)
		*all[i] = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	if (k->st != LMD_OK)
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		used[which(m->ratio[il])] |= m->ratio[il] != 0;
	for (uint32_t i = 0; i < 2; i++)
		m->group[i] = used[i] ? lmi_hp_add_group(hp, k, &comp[i]) : LMD_NONE;
	m->state = used[0] || used[1] ? lmi_hp_add_group(hp, k, &state) : LMD_NONE;
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const uint32_t r = m->ratio[il], over = r == OVERLAP_RATIO;
		struct lmd_cache open = {.group = m->state, .kind = LMD_CACHE_CONV, .n_head = 1,
					 .dk = (over ? 2 * r : r) - 1, .dv = (over ? 4 : 2) * l->dk,
					 .dtype_policy = LMD_KV_DTYPE_F32};
		struct lmd_cache idx = {.kind = LMD_CACHE_INDEX, .n_head = 1, .dk = m->idx_dk,
					.dtype_policy = LMD_KV_DTYPE_F32};

		c.group = raw_id;
		m->raw[il] = lmi_hp_add_cache(hp, k, &c);
		if (!r)
			continue;
		c.group = idx.group = m->group[which(r)];
		m->comp[il] = lmi_hp_add_cache(hp, k, &c);
		m->pool[il] = lmi_hp_add_cache(hp, k, &open);
		if (!over)
			continue;
		m->index[il] = lmi_hp_add_cache(hp, k, &idx);
		open.dv = 4 * m->idx_dk;
		m->pool_idx[il] = lmi_hp_add_cache(hp, k, &open);
	}
}

static const struct lmd_row_in row_ins[2 * N_IN] = {
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "in_block4"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "block4_pos"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "in_block128"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "block128_pos"},
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct lmi_keys k;
	struct dsv4 *m;

	lmi_keys_init(&k, model, err);
	m = (struct dsv4 *)lmi_decoder_open(sizeof(*m), &traits, &k, host, arena, params);
	if (!m || k.st != LMD_OK)
		return k.st;
	read_keys(m, &k);
	if (k.st == LMD_OK)
		check(m, &k);
	if (k.st == LMD_OK) {
		rotation(m, &k);
		memory(m, &k);
	}
	lmi_hp_sites(&m->d.hp, &k, sets, LMD_LEN(sets));
	if (k.st != LMD_OK)
		return k.st;
	lmi_hp_finish(&m->d.hp, &k, params, out);
	out->row_ins = row_ins;
	out->n_row_in = LMD_LEN(row_ins);
	out->traits |= LMD_TRAIT_RECURRENT;
	return k.st;
}

/* Place in the block, and the position of the block's first token at its last one. */
static enum lmd_status fill_rows(const void *state, const struct lmd_rows_in *in, struct lmd_rows_out *out)
{
	static const int32_t ratio[2] = {OVERLAP_RATIO, FULL_RATIO};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		int32_t *ape = out->row_in[N_IN * i + IN_APE], *block = out->row_in[N_IN * i + IN_BLOCK];

		for (uint32_t t = 0; t < in->step->n_tok; t++) {
			int32_t p = in->step->pos[0][t];

			ape[t] = p % ratio[i];
			block[t] = p - p % ratio[i];
		}
	}
	return LMD_OK;
}

/* ---- hyper-connections ---- */

struct mixes {
	uint32_t pre, post, comb; /* values; post and comb LMD_NONE at the end of the model */
};

static uint32_t gate(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd scale, struct lmd_opnd base,
		     float times, float plus, const char *name)
{
	uint32_t y = lmi_f32(e, x.width, name);
	struct lmi_ew p = lmi_ew();
	uint8_t a = lmi_ew_in(&p, x);

	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_in(&p, scale), lmi_ew_in(&p, base));
	a = lmi_ew1(&p, LMD_EW_SIGMOID, a);
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_const(&p, times), lmi_ew_const(&p, plus));
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

static struct lmd_opnd weight_cols(uint32_t w, uint32_t col0, uint32_t n)
{
	struct lmd_opnd o = lmi_wcols(w, n);

	o.col0 = col0;
	return o;
}

/* The coefficients of a block (or of the end) from all streams. */
static struct mixes coefficients(struct lmi_emit *e, const struct dsv4 *m, uint32_t xs, uint32_t fn,
				 uint32_t base, uint32_t scale, bool block)
{
	const uint32_t hc = m->hc;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	struct lmi_w w = lmi_w(e, &rows[fn]);
	uint32_t mix = lmi_linear(e, lmi_whole(e, xs), &norm, &w, LMD_VTYPE_F32, "hc_mix");
	uint32_t ws = lmi_w(e, &rows[scale]).id, wb = lmi_w(e, &rows[base]).id;
	struct mixes c = {.post = LMD_NONE, .comb = LMD_NONE};
	struct lmd_op op = lmi_op(LMD_OP_SOFTMAX);
	struct lmi_ew p = lmi_ew();
	uint32_t raw;
	uint8_t a;

	c.pre = gate(e, lmi_cols(mix, 0, hc), weight_cols(ws, 0, 1), weight_cols(wb, 0, hc), 1.0f, m->hc_eps,
		     "hc_pre");
	if (!block)
		return c;
	c.post = gate(e, lmi_cols(mix, hc, hc), weight_cols(ws, 1, 1), weight_cols(wb, hc, hc), 2.0f, 0.0f,
		      "hc_post");
	raw = lmi_f32(e, hc * hc, "hc_comb_raw");
	a = lmi_ew_in(&p, lmi_cols(mix, 2 * hc, hc * hc));
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_in(&p, weight_cols(ws, 2, 1)),
		    lmi_ew_in(&p, weight_cols(wb, 2 * hc, hc * hc)));
	lmi_ew_out(e, &p, a, lmi_whole(e, raw));
	c.comb = lmi_f32(e, hc * hc, "hc_comb");
	op.u.softmax.x = lmi_heads(raw, 0, hc, hc);
	op.u.softmax.y = lmi_heads(c.comb, 0, hc, hc);
	op.u.softmax.sinkhorn = m->sinkhorn;
	op.u.softmax.eps = m->hc_eps;
	lmi_put(e, &op);
	return c;
}

static uint32_t collect(struct lmi_emit *e, const struct dsv4 *m, uint32_t xs, uint32_t pre)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = lmi_f32(e, w, "hc_in");
	struct lmd_op op = lmi_op(LMD_OP_MIX);

	op.u.mix.x = lmi_heads(xs, 0, m->hc, w);
	op.u.mix.c = lmi_heads(pre, 0, 1, m->hc);
	op.u.mix.y = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

/* stream[i] = sum_j comb[j, i] stream[j] + post[i] z */
static uint32_t spread(struct lmi_emit *e, const struct dsv4 *m, uint32_t xs, uint32_t z,
		       const struct mixes *c)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = lmi_f32(e, m->hc * w, "streams");
	struct lmd_op op = lmi_op(LMD_OP_MIX);

	op.u.mix.x = lmi_heads(xs, 0, m->hc, w);
	op.u.mix.c = lmi_heads(c->comb, 0, m->hc, m->hc);
	op.u.mix.c_transposed = 1;
	op.u.mix.d = lmi_whole(e, c->post);
	op.u.mix.z = lmi_whole(e, z);
	op.u.mix.y = lmi_heads(y, 0, m->hc, w);
	lmi_put(e, &op);
	return y;
}

/* ---- attention ---- */

static uint32_t product(struct lmi_emit *e, struct lmd_opnd x, uint32_t row, float scale, const char *name)
{
	struct lmi_w w = lmi_w(e, &rows[row]);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t y = lmi_f32(e, w.n, name);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.scale = scale;
	op.u.linear.y[0] = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

/* One row for each block of the layer's ratio, normalised, rotated, stored. */
static void compress(struct lmi_emit *e, const struct dsv4 *m, struct lmd_opnd x, uint32_t kv_row,
		     uint32_t gate_row, uint32_t ape_row, uint32_t norm_row, uint32_t width, uint32_t pool,
		     uint32_t cache)
{
	const uint32_t r = m->ratio[e->il], g = which(r), over = r == OVERLAP_RATIO;
	uint32_t kv = product(e, x, kv_row, 1.0f, "block_kv"), raw = product(e, x, gate_row, 1.0f, "block_gate");
	uint32_t ape = lmi_f32(e, lmi_width(e, raw), "block_ape"), score = lmi_f32(e, lmi_width(e, raw), "score");
	uint32_t y = lmi_f32(e, width, "block");
	struct lmd_op op = lmi_op(LMD_OP_EMBED);

	op.u.embed.y = lmi_whole(e, ape);
	op.u.embed.table = lmi_w(e, &rows[ape_row]).id;
	op.u.embed.idx_kind = LMD_IDX_OPND;
	op.u.embed.idx = lmi_row_in(N_IN * g + IN_APE, 1);
	op.u.embed.n_id = 1;
	lmi_put(e, &op);
	lmi_put_scale_add(e, lmi_whole(e, raw), 1.0f, lmi_whole(e, ape), lmi_whole(e, score));

	op = lmi_op(LMD_OP_CONV);
	op.u.conv.kind = LMD_CONV_POOL;
	op.u.conv.x = lmi_whole(e, kv);
	op.u.conv.score = lmi_whole(e, score);
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.n = r;
	op.u.conv.overlap = over;
	op.u.conv.left = (over ? 2 * r : r) - 1;
	op.u.conv.group = m->group[g];
	op.u.conv.cache = pool;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_ROPE_KV);
	op.u.rope_kv.k = lmi_whole(e, y);
	op.u.rope_kv.kn = lmi_norm_req(e, LMD_NORM_RMS, &rows[norm_row]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = lmi_rope(e, LMI_ROPE_FULL, m->d.hp.layer[0].n_rot);
	op.u.rope_kv.rot0 = width - m->d.hp.layer[0].n_rot;
	op.u.rope_kv.pos = lmi_row_in(N_IN * g + IN_BLOCK, 1);
	op.u.rope_kv.cache = cache;
	op.u.rope_kv.append = LMD_APPEND_K;
	lmi_put(e, &op);
}

/* The blocks that a row looks at: relu scores of a few small heads. */
static uint32_t choose(struct lmi_emit *e, const struct dsv4 *m, struct lmd_opnd x, uint32_t qr)
{
	const uint32_t h = m->idx_head, d = m->idx_dk, n_rot = m->d.hp.layer[0].n_rot;
	uint32_t q = product(e, lmi_whole(e, qr), I_Q, 1.0f, "index_q"), qq = lmi_f32(e, h * d, "index_q_rot");
	uint32_t w = product(e, x, I_PROJ, 1.0f / sqrtf((float)(h * d)), "index_w");
	uint32_t list = lmi_i32(e, m->idx_top, "index");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = lmi_heads(q, 0, h, d);
	op.u.rope_kv.q_out = lmi_heads(qq, 0, h, d);
	op.u.rope_kv.rope = lmi_rope(e, LMI_ROPE_FULL, n_rot);
	op.u.rope_kv.rot0 = d - n_rot;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_INDEX);
	op.u.index.q = lmi_heads(qq, 0, h, d);
	op.u.index.w = lmi_whole(e, w);
	op.u.index.y = lmi_whole(e, list);
	op.u.index.kind = LMD_INDEX_WEIGHTED;
	op.u.index.cache = m->index[e->il];
	op.u.index.n = m->idx_top;
	op.u.index.unit = 1;
	op.u.index.scale = 1.0f;
	lmi_put(e, &op);
	return list;
}

/* Turned back, then two products: group by group, then all. */
static uint32_t output(struct lmi_emit *e, const struct dsv4 *m, uint32_t y)
{
	const struct lmi_layer *l = lmi_cur(e);
	const uint32_t g = m->n_group_o, n = l->n_head * l->dk;
	uint32_t back = lmi_f32(e, n, "attn_back"), low = lmi_f32(e, g * m->rank_o, "attn_low");
	struct lmd_wpart part = {.kind = LMD_WPART_TENSOR,
				 .tensor = lmi_tensor_index(e, &rows[O_A], ".weight")};
	const struct lmd_wref wa = {.struct_size = sizeof(wa), .n_part = 1, .parts = &part, .n_stack = g,
				    .n = m->rank_o, .k = n / g, .split = LMD_SPLIT_HEADS, .scale = LMD_NONE,
				    .bias = LMD_NONE, .name = "attn_output_a"};
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = lmi_heads(y, 0, l->n_head, l->dk);
	op.u.rope_kv.q_out = lmi_heads(back, 0, l->n_head, l->dk);
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.rot0 = l->dk - l->n_rot;
	op.u.rope_kv.sign = -1.0f;
	lmi_put(e, &op);
	if (part.tensor == LMD_NONE) {
		(void)lmi_w(e, &rows[O_A]);
		return back;
	}
	op = lmi_op(LMD_OP_BMM);
	op.u.bmm.x = lmi_heads(back, 0, g, n / g);
	op.u.bmm.w = e->b->wref(e->b->ctx, &wa);
	op.u.bmm.y = lmi_heads(low, 0, g, m->rank_o);
	lmi_put(e, &op);
	return product(e, lmi_whole(e, low), O_B, 1.0f, "attn_out");
}

static uint32_t attention(struct lmi_emit *e, const struct dsv4 *m, struct lmd_opnd x)
{
	const struct lmi_layer *l = lmi_cur(e);
	const uint32_t r = m->ratio[e->il], n = l->n_head * l->dk;
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &rows[Q_A_NORM]);
	uint32_t qa = product(e, x, Q_A, 1.0f, "q_a"), qr = lmi_f32(e, m->rank_q, "q_a_norm"), q, kv;
	uint32_t q_rot = lmi_f32(e, n, "q_rot"), y = lmi_f32(e, n, "attn");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV), at = lmi_op(LMD_OP_ATTN);

	lmi_put_norm(e, lmi_whole(e, qa), &norm, lmi_whole(e, qr));
	q = product(e, lmi_whole(e, qr), Q_B, 1.0f, "q");
	kv = product(e, x, KV, 1.0f, "kv");
	op.u.rope_kv.q = lmi_heads(q, 0, l->n_head, l->dk);
	op.u.rope_kv.q_out = lmi_heads(q_rot, 0, l->n_head, l->dk);
	op.u.rope_kv.qn = (struct lmd_norm){.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	op.u.rope_kv.k = lmi_whole(e, kv);
	op.u.rope_kv.kn = lmi_norm_req(e, LMD_NORM_RMS, &rows[KV_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.rot0 = l->dk - l->n_rot;
	op.u.rope_kv.cache = m->raw[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	lmi_put(e, &op);

	at.u.attn.q = lmi_heads(q_rot, 0, l->n_head, l->dk);
	at.u.attn.y = lmi_heads(y, 0, l->n_head, l->dk);
	at.u.attn.n_kv_head = 1;
	at.u.attn.scale = 1.0f / sqrtf((float)l->dk);
	at.u.attn.sinks = lmi_w(e, &rows[A_SINKS]).id;
	at.u.attn.src[0].kind = LMD_KV_CACHE;
	at.u.attn.src[0].cache = m->raw[e->il];
	at.u.attn.src[0].group = m->d.hp.caches[m->raw[e->il]].group;
	if (r) {
		compress(e, m, x, C_KV, C_GATE, C_APE, C_NORM, l->dk, m->pool[e->il], m->comp[e->il]);
		at.u.attn.src[1].kind = LMD_KV_CACHE;
		at.u.attn.src[1].cache = m->comp[e->il];
		at.u.attn.src[1].group = m->group[which(r)];
	}
	if (r == OVERLAP_RATIO) {
		compress(e, m, x, IC_KV, IC_GATE, IC_APE, IC_NORM, m->idx_dk, m->pool_idx[e->il],
			 m->index[e->il]);
		at.u.attn.src[1].list = lmi_whole(e, choose(e, m, x, qr));
		at.u.attn.src[1].list_unit = 1;
	}
	lmi_put(e, &at);
	return output(e, m, y);
}

/* ---- experts ---- */

static uint32_t feed_forward(struct lmi_emit *e, const struct dsv4 *m, uint32_t x)
{
	struct lmi_io io = {lmi_whole(e, x), lmi_norm_req(e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]), LMD_NONE, 1.0f};
	struct lmi_moe moe = lmi_moe_default(e);
	const float limit = m->clamp[e->il], limit_sh = m->clamp_sh[e->il];

	if (limit > 0.0f) {
		moe.act = LMD_ACT_SILU_CLAMP_IN;
		moe.p[0] = limit;
	}
	if (limit_sh > 0.0f) {
		moe.shared.act = LMD_ACT_SILU_CLAMP_IN;
		moe.shared.p[0] = limit_sh;
	}
	if ((uint32_t)e->il < m->n_hash) {
		struct lmd_op op = lmi_op(LMD_OP_EMBED);

		moe.given = lmi_i32(e, m->d.hp.n_expert_used, "experts_of_token");
		moe.probs_b = NULL;
		op.u.embed.y = lmi_whole(e, moe.given);
		op.u.embed.table = lmi_w(e, &rows[HASH]).id;
		op.u.embed.idx_kind = LMD_IDX_TOKEN;
		op.u.embed.neg = LMD_NEG_ROW;
		lmi_put(e, &op);
	}
	return lmi_moe(e, &io, &moe);
}

/* ---- the plan ---- */

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct dsv4 *m = state;
	const uint32_t w = m->d.hp.n_embd;
	struct lmd_opnd first;
	struct lmd_op op = lmi_op(LMD_OP_CAST_COPY);
	struct lmi_stream s = {.z = LMD_NONE};
	struct mixes c;
	struct lmd_norm norm;
	struct lmi_emit e;
	uint32_t xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture deepseek4: no plan of kind %u", key->kind);
		return LMD_UNSUPPORTED;
	}
	lmi_emit_init(&e, b, &m->d.hp, key);
	first = lmi_heads(lmi_embed(&e), 0, m->hc, w);
	first.head_stride = 0;
	xs = lmi_f32(&e, m->hc * w, "streams");
	op.u.cast_copy.x = first;
	op.u.cast_copy.y = lmi_heads(xs, 0, m->hc, w);
	lmi_put(&e, &op);
	for (uint32_t il = 0; il < m->d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t x, y;

		lmi_layer(&e, (int32_t)il);
		c = coefficients(&e, m, xs, HA_FN, HA_BASE, HA_SCALE, true);
		x = collect(&e, m, xs, c.pre);
		norm = lmi_norm_req(&e, LMD_NORM_RMS, &rows[A_NORM]);
		y = lmi_f32(&e, w, "attn_norm");
		lmi_put_norm(&e, lmi_whole(&e, x), &norm, lmi_whole(&e, y));
		xs = spread(&e, m, xs, attention(&e, m, lmi_whole(&e, y)), &c);
		c = coefficients(&e, m, xs, HF_FN, HF_BASE, HF_SCALE, true);
		xs = spread(&e, m, xs, feed_forward(&e, m, collect(&e, m, xs, c.pre)), &c);
	}
	lmi_layer(&e, -1);
	c = coefficients(&e, m, xs, O_FN, O_BASE, O_SCALE, false);
	s.x = collect(&e, m, xs, c.pre);
	norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_deepseek4 = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class, .build = build,
	.rows = fill_rows,
};
