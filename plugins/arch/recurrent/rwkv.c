/* SPDX-License-Identifier: MIT
 *
 * rwkv.c - the parts shared by RWKV-6 (arXiv 2404.05892) and RWKV-7 (arXiv 2503.14456). */
#include "arch/recurrent/rwkv.h"

#define R LMD_TENSOR_REQUIRED
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}

const struct lmd_tensor_row rwkv_channel_rows[C_N] = {
	[C_NORM] = ROW("attn_norm_2", D_EMBD, 0, R | LMD_TENSOR_BIAS, REPLICATE),
	[C_LERP_K] = ROW("channel_mix_lerp_k", D_EMBD, 0, R, REPLICATE),
	[C_LERP_R] = ROW("channel_mix_lerp_r", D_EMBD, 0, 0, REPLICATE),
	[C_KEY] = ROW("channel_mix_key", D_EMBD, D_FF, R, ROWS),
	[C_VALUE] = ROW("channel_mix_value", D_FF, D_EMBD, R, COLS),
	[C_RECEPTANCE] = ROW("channel_mix_receptance", D_EMBD, D_EMBD, 0, ROWS),
};

static void read_keys(struct rwkv *m, struct arch_keys *k, const struct lmd_host *host,
		      struct lmd_arena *arena, const struct lmd_arch_params *params)
{
	const struct arch_hp_opts opts = {.norm_kind =
						  m->channel_mix ? LMD_NORM_LAYER : LMD_NORM_RMS,
					  .no_rope = true,
					  .no_heads = true};
	struct arch_hparams *hp = &m->hp;
	uint32_t kv;

	arch_hp_read(hp, k, host, arena, params, &opts);
	m->d = arch_key_u32(k, "wkv.head_size", ARCH_REQUIRED, 1, 1, 1024);
	kv = arch_key_u32(k, "attention.head_count_kv", ARCH_OPTIONAL, 0, 0, ARCH_MAX_HEAD);
	if (k->st != LMD_OK)
		return;
	m->n_head = hp->n_embd / m->d;
	m->n_head_kv = kv ? kv : m->n_head;
	if (hp->n_embd % m->d || !m->n_head || m->n_head % m->n_head_kv)
		arch_key_fail(k, LMD_INVALID,
			      "%s.wkv.head_size: %u and %u key heads do not divide the width %u",
			      k->model->arch, m->d, m->n_head_kv, hp->n_embd);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		hp->layer[il].cls = ARCH_L_RECURRENT | ARCH_L_DENSE;
		if (!hp->layer[il].n_ff)
			hp->layer[il].n_ff = hp->n_embd * 7 / 2;
	}
}

static void add_memory(struct rwkv *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache shift = {.kind = LMD_CACHE_CONV,
				  .n_head = 1,
				  .dk = 1,
				  .dv = hp->n_embd,
				  .dtype_policy = LMD_KV_DTYPE_F32};
	struct lmd_cache scan = {.kind = LMD_CACHE_STATE,
				 .n_head = m->n_head,
				 .dk = m->d,
				 .dv = m->d,
				 .dtype_policy = LMD_KV_DTYPE_F32};

	m->shift_att = arch_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	m->shift_ffn = arch_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	m->scan = arch_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	if (k->st != LMD_OK)
		return;
	shift.group = scan.group = arch_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		m->shift_att[il] = arch_hp_add_cache(hp, k, &shift);
		m->shift_ffn[il] = m->channel_mix ? arch_hp_add_cache(hp, k, &shift) : LMD_NONE;
		m->scan[il] = arch_hp_add_cache(hp, k, &scan);
	}
}

enum lmd_status rwkv_describe(const struct rwkv_kind *kind, bool qwen,
			      const struct lmd_tensor_set *sets, uint32_t n_sets,
			      const struct lmd_host *host, struct lmd_arena *arena,
			      const struct lmd_model *model, const struct lmd_arch_params *params,
			      struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct rwkv *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m) {
		arch_key_fail(&k, LMD_NOMEM, "architecture %s: out of memory", model->arch);
		return k.st;
	}
	m->kind = kind;
	m->channel_mix = !qwen;
	read_keys(m, &k, host, arena, params);
	if (k.st != LMD_OK)
		return k.st;
	kind->ranks(m, &k);
	add_memory(m, &k);
	arch_hp_sites(&m->hp, &k, sets, n_sets);
	if (k.st == LMD_OK)
		arch_hp_finish(&m->hp, &k, params, out);
	out->traits |= LMD_TRAIT_RECURRENT;
	return k.st;
}

int64_t rwkv_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct rwkv *m = state;

	if (symbol >= D_RWKV_RANK && symbol < D_RWKV_RANK + RWKV_N_RANK)
		return m->rank[symbol - D_RWKV_RANK];
	switch (symbol) {
	case D_RWKV_HEAD:
		return m->d;
	case D_RWKV_N_HEAD:
		return m->n_head;
	case D_RWKV_KV:
		return (int64_t)m->n_head_kv * m->d;
	default:
		return arch_hp_dim(state, symbol, layer);
	}
}

uint32_t rwkv_shift(struct arch_emit *e, uint32_t x, uint32_t cache)
{
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);
	uint32_t y = arch_value_f32(e, arch_width(e, x), "prev");

	op.u.conv.x = arch_operand_all(e, x);
	op.u.conv.y = arch_operand_all(e, y);
	op.u.conv.kind = LMD_CONV_SHIFT;
	op.u.conv.n = 1;
	op.u.conv.left = 1;
	op.u.conv.cache = cache;
	arch_emit_op(e, &op);
	return y;
}

uint32_t rwkv_blend(struct arch_emit *e, uint32_t cur, uint32_t prev, uint32_t n,
		    struct lmd_operand mu, struct lmd_operand more)
{
	const uint32_t w = arch_width(e, cur);
	uint32_t y = arch_value_act(e, n * w, "blend");
	struct arch_ew p = arch_ew();
	uint8_t c = arch_ew_in(&p, arch_operand_all(e, cur));
	uint8_t v = arch_ew_in(&p, arch_operand_all(e, prev));
	uint8_t f = arch_ew_in(&p, mu);

	if (more.src != LMD_SRC_NONE)
		f = arch_ew2(&p, LMD_EW_ADD, f, arch_ew_in(&p, more));
	v = arch_ew2(&p, LMD_EW_SUB, v, c);
	arch_ew_out(e, &p, arch_ew3(&p, LMD_EW_FMA, v, f, c), arch_operand_heads(y, 0, n, w));
	return y;
}

uint32_t rwkv_linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_tensor_row *row,
		     uint32_t act, const char *name)
{
	struct arch_weight w = arch_weight_req(e, row);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t y = arch_value_f32(e, w.n, name);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = act;
	op.u.linear.y[0] = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

uint32_t rwkv_low_rank(struct arch_emit *e, struct lmd_operand x, const struct lmd_tensor_row *w1,
		       uint32_t act, const struct lmd_tensor_row *w2, const char *name)
{
	uint32_t h = rwkv_linear(e, x, w1, act, "small");

	return rwkv_linear(e, arch_operand_all(e, h), w2, LMD_ACT_FN_NONE, name);
}

uint32_t rwkv_head_norm(struct arch_emit *e, const struct rwkv *m, uint32_t y,
			const struct lmd_tensor_row *row)
{
	struct lmd_norm norm;
	uint32_t v;

	if (!arch_weight_exists(e, row))
		return y;
	norm = arch_norm_heads(e, LMD_NORM_LAYER, row, m->n_head, m->d);
	norm.eps = 64e-5f; /* fixed by the architecture: 1e-5 * 8^2 */
	v = arch_value_f32(e, m->hp.n_embd, "heads_norm");
	arch_put_norm(e, arch_operand_heads(y, 0, m->n_head, m->d), &norm,
		      arch_operand_heads(v, 0, m->n_head, m->d));
	return v;
}

uint32_t rwkv_channel_mix(struct arch_emit *e, const struct rwkv *m, uint32_t x)
{
	const struct lmd_tensor_row *rows = rwkv_channel_rows;
	const uint32_t w = m->hp.n_embd;
	struct lmd_norm norm = arch_norm_req(e, m->hp.norm_kind, &rows[C_NORM]);
	uint32_t cur = arch_value_f32(e, w, "ffn_norm"), out = arch_value_f32(e, w, "x");
	uint32_t prev, xk, k, v, r = LMD_NONE;
	struct arch_ew p = arch_ew();
	uint8_t add;

	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, cur));
	prev = rwkv_shift(e, cur, m->shift_ffn[e->il]);
	xk = rwkv_blend(e, cur, prev, 1,
			arch_operand_weight_cols(arch_weight_req(e, &rows[C_LERP_K]).id, w),
			arch_operand_none());
	if (arch_weight_exists(e, &rows[C_RECEPTANCE])) {
		uint32_t xr = rwkv_blend(
			e, cur, prev, 1,
			arch_operand_weight_cols(arch_weight_req(e, &rows[C_LERP_R]).id, w),
			arch_operand_none());

		r = rwkv_linear(e, arch_operand_all(e, xr), &rows[C_RECEPTANCE], LMD_ACT_FN_SIGMOID,
				"receptance");
	}
	k = rwkv_linear(e, arch_operand_all(e, xk), &rows[C_KEY], LMD_ACT_FN_RELU2, "ffn_key");
	v = rwkv_linear(e, arch_operand_all(e, k), &rows[C_VALUE], LMD_ACT_FN_NONE, "ffn_value");
	add = arch_ew_in(&p, arch_operand_all(e, v));
	if (r != LMD_NONE)
		add = arch_ew2(&p, LMD_EW_MUL, add, arch_ew_in(&p, arch_operand_all(e, r)));
	add = arch_ew2(&p, LMD_EW_ADD, add, arch_ew_in(&p, arch_operand_all(e, x)));
	arch_ew_out(e, &p, add, arch_operand_all(e, out));
	return out;
}

enum lmd_status rwkv_build(const void *state, const struct lmd_builder *b,
			   const struct lmd_plan_key *key)
{
	const struct rwkv *m = state;
	struct arch_emit e;
	struct arch_residual s = {.z = LMD_NONE};
	struct arch_ffn ffn = arch_ffn_default();
	struct lmd_norm norm;
	uint32_t v_first = LMD_NONE;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	arch_emit_init(&e, b, &m->hp, key);
	s.x = arch_embed(&e);
	if (m->channel_mix) {
		uint32_t x = arch_value_f32(&e, m->hp.n_embd, "embd_norm");

		norm = arch_norm_req(&e, LMD_NORM_LAYER, &arch_rows[T_TOKEN_EMBD_NORM]);
		arch_put_norm(&e, arch_operand_all(&e, s.x), &norm, arch_operand_all(&e, x));
		s.x = x;
	}
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		s.x = m->kind->time_mix(&e, m, s.x, &v_first);
		if (m->channel_mix) {
			s.x = rwkv_channel_mix(&e, m, s.x);
		} else {
			struct arch_block_io io = {
				arch_operand_all(&e, s.x),
				arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]), s.x, 1.0f};

			s.x = arch_ffn(&e, &io, &ffn);
		}
		if (m->rescale && (il + 1) % m->rescale == 0) {
			uint32_t x = arch_value_f32(&e, m->hp.n_embd, "x");

			arch_put_scale_add(&e, arch_operand_all(&e, s.x), 0.5f, arch_operand_none(),
					   arch_operand_all(&e, x));
			s.x = x;
		}
	}
	arch_set_layer(&e, -1);
	norm = arch_norm_req(&e, m->hp.norm_kind, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}
