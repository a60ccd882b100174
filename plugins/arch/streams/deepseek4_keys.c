/* SPDX-License-Identifier: MIT
 *
 * deepseek4_keys.c - tensors, keys, memory and row inputs of DeepSeek-V4. */
#include <math.h>

#include "arch/streams/deepseek4.h"

#define HC_MAX 8u

/* ---- tensors ---- */

enum {
	D_RANK_Q = D_OWN, D_Q4, D_HC, D_HC_E, D_HC_MIX, D_OA_IN, D_RANK_O, D_RANK_O_ALL, D_COMP,
	D_RATIO, D_IDX_Q, D_IDX_COMP, D_IDX_DK, D_IDX_HEAD, D_USED
};
#define L_COMP  (ARCH_L_OWN << 0)
#define L_INDEX (ARCH_L_OWN << 1)
#define L_HASH  (ARCH_L_OWN << 2)
#define L_BIAS  (ARCH_L_OWN << 3)

#define R LMD_TENSOR_REQUIRED
#define G (LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL)
#define GLB(stem, d0, d1) {stem, {d0, d1}, G, LMD_SPLIT_REPLICATE, 0, NULL}
#define ROW(stem, d0, d1, d2, split, when)                                                         \
	{"blk.%d." stem, {d0, d1, d2}, R | ARCH_LORA(split), LMD_SPLIT_##split, when, NULL}
#define REP(stem, d0, d1, when) ROW(stem, d0, d1, 0, REPLICATE, when)

const struct lmd_tensor_row arch_ds4_rows[DS4_N] = {
	[DS4_O_FN] = GLB("output_hc_fn", D_HC_E, D_HC),
	[DS4_O_BASE] = GLB("output_hc_base", D_HC, 0),
	[DS4_O_SCALE] = GLB("output_hc_scale", LMD_DIM(1), 0),
	[DS4_A_NORM] = REP("attn_norm", D_EMBD, 0, 0),
	[DS4_A_SINKS] = REP("attn_sinks", D_HEAD, 0, 0),
	[DS4_Q_A] = REP("attn_q_a", D_EMBD, D_RANK_Q, 0),
	[DS4_Q_A_NORM] = REP("attn_q_a_norm", D_RANK_Q, 0, 0),
	[DS4_Q_B] = ROW("attn_q_b", D_RANK_Q, D_Q4, 0, HEADS, 0),
	[DS4_KV] = REP("attn_kv", D_EMBD, D_DK, 0),
	[DS4_KV_NORM] = REP("attn_kv_a_norm", D_DK, 0, 0),
	[DS4_O_A] = {"blk.%d.attn_output_a",
		     {D_OA_IN, D_RANK_O, LMD_DIM(0)},
		     R | LMD_TENSOR_ANY_SHAPE | LMD_TENSOR_LORA,
		     LMD_SPLIT_HEADS,
		     0,
		     NULL},
	[DS4_O_B] = ROW("attn_output_b", D_RANK_O_ALL, D_EMBD, 0, COLS, 0),
	[DS4_HA_FN] = REP("hc_attn_fn", D_HC_E, D_HC_MIX, 0),
	[DS4_HA_BASE] = REP("hc_attn_base", D_HC_MIX, 0, 0),
	[DS4_HA_SCALE] = REP("hc_attn_scale", LMD_DIM(3), 0, 0),
	[DS4_HF_FN] = REP("hc_ffn_fn", D_HC_E, D_HC_MIX, 0),
	[DS4_HF_BASE] = REP("hc_ffn_base", D_HC_MIX, 0, 0),
	[DS4_HF_SCALE] = REP("hc_ffn_scale", LMD_DIM(3), 0, 0),
	[DS4_C_KV] = REP("attn_compressor_kv", D_EMBD, D_COMP, L_COMP),
	[DS4_C_GATE] = REP("attn_compressor_gate", D_EMBD, D_COMP, L_COMP),
	[DS4_C_APE] = REP("attn_compressor_ape", D_COMP, D_RATIO, L_COMP),
	[DS4_C_NORM] = REP("attn_compressor_norm", D_DK, 0, L_COMP),
	[DS4_I_PROJ] = REP("indexer.proj", D_EMBD, D_IDX_HEAD, L_INDEX),
	[DS4_I_Q] = REP("indexer.attn_q_b", D_RANK_Q, D_IDX_Q, L_INDEX),
	[DS4_IC_KV] = REP("indexer_compressor_kv", D_EMBD, D_IDX_COMP, L_INDEX),
	[DS4_IC_GATE] = REP("indexer_compressor_gate", D_EMBD, D_IDX_COMP, L_INDEX),
	[DS4_IC_APE] = REP("indexer_compressor_ape", D_IDX_COMP, D_RATIO, L_INDEX),
	[DS4_IC_NORM] = REP("indexer_compressor_norm", D_IDX_DK, 0, L_INDEX),
	[DS4_HASH] = {"blk.%d.ffn_gate_tid2eid", /* a table of expert numbers */
		      {D_USED, D_VOCAB},
		      R | LMD_TENSOR_KEEP_TYPE,
		      LMD_SPLIT_REPLICATE,
		      L_HASH,
		      NULL},
};

const struct lmd_tensor_set arch_ds4_sets[ARCH_DS4_N_SET] = {
	ARCH_SET_GLOBAL, ARCH_ROWS_OWN(arch_ds4_rows), ARCH_SET_FFN_NORM, ARCH_SET_MOE,
	ARCH_SET_SHEXP,
};

/* Layers that are described: those of the trunk and the draft layers. */
static uint32_t n_described(const struct arch_ds4 *m)
{
	return m->d.hp.n_layer + m->d.hp.n_draft;
}

int64_t arch_ds4_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_ds4 *m = state;
	const struct arch_layer *l = &m->d.hp.layer[0];
	const uint32_t ratio = layer >= 0 && (uint32_t)layer < n_described(m) ? m->ratio[layer] : 0;

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
		return (ratio == DS4_OVERLAP_RATIO ? 2 : 1) * (int64_t)l->dk;
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
		return arch_hp_dim(state, symbol, layer);
	}
}

/* ---- description ---- */

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_by_key = true,
	       .route_fn = LMD_ROUTE_SQRT_SOFTPLUS},
	.own_plan = true,
};

static void read_keys(struct arch_ds4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->d.hp;
	const uint32_t n = n_described(m);
	double *v = arch_hp_alloc(hp, k, n, sizeof(*v));

	m->rank_q =
		arch_key_u32(k, "attention.q_lora_rank", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	m->rank_o = arch_key_u32(k, "attention.output_lora_rank", ARCH_REQUIRED, 1, 1,
				 ARCH_KEY_MAX_WIDTH / 64);
	m->n_group_o =
		arch_key_u32(k, "attention.output_group_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	m->hc = arch_key_u32(k, "hyper_connection.count", ARCH_REQUIRED, 1, 1, HC_MAX);
	m->sinkhorn =
		arch_key_u32(k, "hyper_connection.sinkhorn_iterations", ARCH_REQUIRED, 1, 1, 1000);
	m->hc_eps =
		(float)arch_key_f64(k, "hyper_connection.epsilon", ARCH_REQUIRED, 1e-6, 0.0, 1.0);
	m->idx_head =
		arch_key_u32(k, "attention.indexer.head_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	m->idx_dk = arch_key_u32(k, "attention.indexer.key_length", ARCH_REQUIRED, 1, 1,
				 ARCH_MAX_DK / 4);
	m->idx_top = arch_key_u32(k, "attention.indexer.top_k", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	m->n_hash = arch_key_u32(k, "hash_layer_count", ARCH_REQUIRED, 0, 0, hp->n_layer_all);
	m->ratio = arch_hp_alloc(hp, k, n, sizeof(uint32_t));
	m->clamp = arch_hp_alloc(hp, k, n, sizeof(float));
	m->clamp_sh = arch_hp_alloc(hp, k, n, sizeof(float));
	if (k->st != LMD_OK)
		return;
	(void)arch_key_u32s(k, "attention.compress_ratios", ARCH_REQUIRED, m->ratio, n, 0, 0,
			    DS4_FULL_RATIO);
	(void)arch_key_f64s(k, "swiglu_clamp_exp", ARCH_REQUIRED, v, n, 0.0, 0.0, 1e6);
	for (uint32_t il = 0; il < n; il++)
		m->clamp[il] = m->clamp_sh[il] = (float)v[il];
	if (arch_key_f64s(k, "swiglu_clamp_shexp", ARCH_OPTIONAL, v, n, 0.0, 0.0, 1e6)) {
		for (uint32_t il = 0; il < n; il++)
			m->clamp_sh[il] = (float)v[il];
	}
}

/* A draft layer sees a window of raw rows alone. One with compressed keys is not run. */
static void describe_draft(struct arch_ds4 *m, const struct lmd_arch_params *params)
{
	struct arch_hparams *hp = &m->d.hp;

	hp->n_draft = arch_nextn_count(hp, params);
	for (uint32_t il = hp->n_layer; il < n_described(m); il++) {
		hp->layer[il] = hp->layer[0];
		hp->layer[il].kv_layer = il;
	}
}

static void check(struct arch_ds4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->d.hp;
	const struct arch_layer *l = &hp->layer[0];

	if (l->n_head % m->n_group_o)
		arch_key_fail(k, LMD_INVALID,
			      "%s.attention.output_group_count: %u does not divide %u heads",
			      hp->model->arch, m->n_group_o, l->n_head);
	if (l->n_head_kv != 1 || l->dk != l->dv || l->n_rot > l->dk || l->n_rot > m->idx_dk)
		arch_key_fail(k, LMD_INVALID,
			      "%s.attention: %u key heads of sizes %u and %u with %u rotated "
			      "columns; expected 1 head with equal sizes",
			      hp->model->arch, l->n_head_kv, l->dk, l->dv, l->n_rot);
	if (!hp->n_expert)
		arch_key_fail(k, LMD_INVALID, "%s.expert_count: 0, expected at least 1",
			      hp->model->arch);
	while (hp->n_draft && (m->ratio[n_described(m) - 1] || m->n_hash >= n_described(m)))
		hp->n_draft--;
	for (uint32_t il = 0; il < n_described(m); il++) {
		uint32_t r = m->ratio[il];

		if (r && r != DS4_OVERLAP_RATIO && r != DS4_FULL_RATIO)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "%s.attention.compress_ratios: %u in layer %u; supported: 0, "
				      "%u and %u",
				      hp->model->arch, r, il, DS4_OVERLAP_RATIO, DS4_FULL_RATIO);
		hp->layer[il].cls |= (r ? L_COMP : 0) | (r == DS4_OVERLAP_RATIO ? L_INDEX : 0) |
				     (il < m->n_hash ? L_HASH : L_BIAS);
	}
}

/* Sets the rotation: layers without a ratio have ordinary RoPE; those with one have their own base
 * and YaRN with magnitude 1. */
static void rotation(struct arch_ds4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->d.hp;
	struct arch_rope_hp *r = &hp->rope[ARCH_ROPE_FULL], *p = &hp->rope[ARCH_ROPE_WINDOW];

	*p = *r;
	p->freq_scale = 1.0;
	p->ext_factor = 0.0;
	p->attn_factor = 1.0;
	r->base = arch_key_f64(k, "attention.compress_rope_freq_base", ARCH_REQUIRED, 1e4, 1e-3,
			       1e18);
	r->attn_factor = r->ext_factor != 0.0 ? 1.0 / (1.0 + 0.1 * log(1.0 / r->freq_scale)) : 1.0;
	for (uint32_t il = 0; il < n_described(m); il++)
		hp->layer[il].rope = m->ratio[il] ? ARCH_ROPE_FULL : ARCH_ROPE_WINDOW;
}

static void memory(struct arch_ds4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->d.hp;
	const struct arch_layer *l = &hp->layer[0];
	const uint32_t window =
		arch_key_u32(k, "attention.sliding_window", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	struct lmd_group raw = {.name = "window",
				.kind = LMD_GROUP_PAGED,
				.causal = 1,
				.window = window,
				.ratio = 1,
				.share = 1};
	struct lmd_group comp[2] = {{.name = "blocks4",
				     .kind = LMD_GROUP_PAGED,
				     .causal = 1,
				     .ratio = DS4_OVERLAP_RATIO,
				     .share = 1},
				    {.name = "blocks128",
				     .kind = LMD_GROUP_PAGED,
				     .causal = 1,
				     .ratio = DS4_FULL_RATIO,
				     .share = 1}};
	struct lmd_group state = {
		.name = "blocks_open", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache c = {.kind = LMD_CACHE_V_IN_K, .n_head = 1, .dk = l->dk, .dv = l->dk};
	uint32_t **all[] = {&m->raw, &m->comp, &m->index, &m->pool, &m->pool_idx};
	uint32_t raw_id = arch_hp_add_group(hp, k, &raw);
	bool used[2] = {false, false};

	for (uint32_t i = 0; i < LMD_LEN(all); i++)
		*all[i] = arch_hp_alloc(hp, k, n_described(m), sizeof(uint32_t));
	if (k->st != LMD_OK)
		return;
	for (uint32_t il = 0; il < n_described(m); il++)
		used[arch_ds4_ratio_index(m->ratio[il])] |= m->ratio[il] != 0;
	for (uint32_t i = 0; i < 2; i++)
		m->group[i] = used[i] ? arch_hp_add_group(hp, k, &comp[i]) : LMD_NONE;
	m->state = used[0] || used[1] ? arch_hp_add_group(hp, k, &state) : LMD_NONE;
	for (uint32_t il = 0; il < n_described(m) && k->st == LMD_OK; il++) {
		const uint32_t r = m->ratio[il], over = r == DS4_OVERLAP_RATIO;
		struct lmd_cache open = {.group = m->state,
					 .kind = LMD_CACHE_CONV,
					 .n_head = 1,
					 .dk = (over ? 2 * r : r) - 1,
					 .dv = (over ? 4 : 2) * l->dk,
					 .dtype_policy = LMD_KV_DTYPE_F32};
		struct lmd_cache idx = {.kind = LMD_CACHE_INDEX,
					.n_head = 1,
					.dk = m->idx_dk,
					.dtype_policy = LMD_KV_DTYPE_F32};

		c.group = raw_id;
		m->raw[il] = arch_hp_add_cache(hp, k, &c);
		if (!r)
			continue;
		c.group = idx.group = m->group[arch_ds4_ratio_index(r)];
		m->comp[il] = arch_hp_add_cache(hp, k, &c);
		m->pool[il] = arch_hp_add_cache(hp, k, &open);
		if (!over)
			continue;
		m->index[il] = arch_hp_add_cache(hp, k, &idx);
		open.dv = 4 * m->idx_dk;
		m->pool_idx[il] = arch_hp_add_cache(hp, k, &open);
	}
}

static const struct lmd_row_in row_ins[2 * DS4_N_IN] = {
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "in_block4"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "block4_pos"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "in_block128"},
	{.vtype = LMD_VTYPE_I32, .width = 1, .name = "block128_pos"},
};

enum lmd_status arch_ds4_describe(const struct lmd_host *host, struct lmd_arena *arena,
				  const struct lmd_model *model,
				  const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				  struct lmd_error *err)
{
	struct arch_keys k;
	struct arch_ds4 *m;

	arch_keys_init(&k, model, err);
	m = (struct arch_ds4 *)arch_decoder_open(sizeof(*m), &traits, &k, host, arena, params);
	if (!m || k.st != LMD_OK)
		return k.st;
	describe_draft(m, params);
	read_keys(m, &k);
	if (k.st == LMD_OK)
		check(m, &k);
	if (k.st == LMD_OK) {
		rotation(m, &k);
		memory(m, &k);
	}
	arch_hp_sites(&m->d.hp, &k, arch_ds4_sets, ARCH_DS4_N_SET);
	if (k.st != LMD_OK)
		return k.st;
	arch_hp_finish(&m->d.hp, &k, params, out);
	out->row_ins = row_ins;
	out->n_row_in = LMD_LEN(row_ins);
	out->traits |= LMD_TRAIT_RECURRENT;
	out->n_hidden = out->n_draft ? m->hc * m->d.hp.n_embd : 0;
	return k.st;
}

/* For each row: its index within the block, and the position of the block's first token (read only
 * at the last row of a block). */
enum lmd_status arch_ds4_row_inputs(const void *state, const struct lmd_rows_in *in,
				    struct lmd_rows_out *out)
{
	static const int32_t ratio[2] = {DS4_OVERLAP_RATIO, DS4_FULL_RATIO};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		int32_t *ape = out->row_in[DS4_N_IN * i + DS4_IN_APE],
			*block = out->row_in[DS4_N_IN * i + DS4_IN_BLOCK];

		for (uint32_t t = 0; t < in->step->head->n_tok; t++) {
			int32_t p = in->step->pos[0][t];

			ape[t] = p % ratio[i];
			block[t] = p - p % ratio[i];
		}
	}
	return LMD_OK;
}
