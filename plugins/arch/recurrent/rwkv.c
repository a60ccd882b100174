/* SPDX-License-Identifier: MIT
 *
 * rwkv.c - the parts shared by RWKV-6 (arXiv 2404.05892) and RWKV-7 (arXiv 2503.14456). */
#include "arch/recurrent/rwkv.h"

#define R LMD_TENSOR_REQUIRED
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, flags, LMD_SPLIT_##split, 0, NULL}

const struct lmd_tensor_row rwkv_channel_rows[C_N] = {
	[C_NORM] = ROW("attn_norm_2", D_EMBD, 0, R | LMD_TENSOR_BIAS, REPLICATE),
	[C_LERP_K] = ROW("channel_mix_lerp_k", D_EMBD, 0, R, REPLICATE),
	[C_LERP_R] = ROW("channel_mix_lerp_r", D_EMBD, 0, 0, REPLICATE),
	[C_KEY] = ROW("channel_mix_key", D_EMBD, D_FF, R, ROWS),
	[C_VALUE] = ROW("channel_mix_value", D_FF, D_EMBD, R, COLS),
	[C_RECEPTANCE] = ROW("channel_mix_receptance", D_EMBD, D_EMBD, 0, ROWS),
};

static void read_keys(struct rwkv *m, struct lmi_keys *k, const struct lmd_host *host,
		      struct lmd_arena *arena, const struct lmd_arch_params *params)
{
	const struct lmi_hp_opts opts = {.norm_kind =
						 m->channel_mix ? LMD_NORM_LAYER : LMD_NORM_RMS,
					 .no_rope = true,
					 .no_heads = true};
	struct lmi_hparams *hp = &m->hp;
	uint32_t kv;

	lmi_hp_read(hp, k, host, arena, params, &opts);
	m->d = lmi_key_u32(k, "wkv.head_size", LMI_REQUIRED, 1, 1, 1024);
	kv = lmi_key_u32(k, "attention.head_count_kv", LMI_OPTIONAL, 0, 0, LMI_MAX_HEAD);
	if (k->st != LMD_OK)
		return;
	m->n_head = hp->n_embd / m->d;
	m->n_head_kv = kv ? kv : m->n_head;
	if (hp->n_embd % m->d || !m->n_head || m->n_head % m->n_head_kv)
		lmi_key_fail(
			k, LMD_INVALID,
			"%s.wkv.head_size: %u and %u key heads do not divide the width %u",
			k->model->arch, m->d, m->n_head_kv, hp->n_embd);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		hp->layer[il].cls = LMI_L_RECURRENT | LMI_L_DENSE;
		if (!hp->layer[il].n_ff)
			hp->layer[il].n_ff = hp->n_embd * 7 / 2;
	}
}

static void add_memory(struct rwkv *m, struct lmi_keys *k)
{
	struct lmi_hparams *hp = &m->hp;
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

	m->shift_att = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	m->shift_ffn = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	m->scan = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(uint32_t));
	if (k->st != LMD_OK)
		return;
	shift.group = scan.group = lmi_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		m->shift_att[il] = lmi_hp_add_cache(hp, k, &shift);
		m->shift_ffn[il] = m->channel_mix ? lmi_hp_add_cache(hp, k, &shift) : LMD_NONE;
		m->scan[il] = lmi_hp_add_cache(hp, k, &scan);
	}
}

enum lmd_status rwkv_describe(const struct rwkv_kind *kind, bool qwen,
			      const struct lmd_tensor_set *sets, uint32_t n_sets,
			      const struct lmd_host *host, struct lmd_arena *arena,
			      const struct lmd_model *model, const struct lmd_arch_params *params,
			      struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct rwkv *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct lmi_keys k;

	lmi_keys_init(&k, model, err);
	if (!m) {
		lmi_key_fail(&k, LMD_NOMEM, "architecture %s: out of memory", model->arch);
		return k.st;
	}
	m->kind = kind;
	m->channel_mix = !qwen;
	read_keys(m, &k, host, arena, params);
	if (k.st != LMD_OK)
		return k.st;
	kind->ranks(m, &k);
	add_memory(m, &k);
	lmi_hp_sites(&m->hp, &k, sets, n_sets);
	if (k.st == LMD_OK)
		lmi_hp_finish(&m->hp, &k, params, out);
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
		return lmi_hp_dim(state, symbol, layer);
	}
}

uint32_t rwkv_shift(struct lmi_emit *e, uint32_t x, uint32_t cache)
{
	struct lmd_op op = lmi_op(LMD_OP_CONV);
	uint32_t y = lmi_f32(e, lmi_width(e, x), "prev");

	op.u.conv.x = lmi_whole(e, x);
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.kind = LMD_CONV_SHIFT;
	op.u.conv.n = 1;
	op.u.conv.left = 1;
	op.u.conv.cache = cache;
	lmi_put(e, &op);
	return y;
}

uint32_t rwkv_blend(struct lmi_emit *e, uint32_t cur, uint32_t prev, uint32_t n, struct lmd_opnd mu,
		    struct lmd_opnd more)
{
	const uint32_t w = lmi_width(e, cur);
	uint32_t y = lmi_act(e, n * w, "blend");
	struct lmi_ew p = lmi_ew();
	uint8_t c = lmi_ew_in(&p, lmi_whole(e, cur));
	uint8_t v = lmi_ew_in(&p, lmi_whole(e, prev));
	uint8_t f = lmi_ew_in(&p, mu);

	if (more.src != LMD_SRC_NONE)
		f = lmi_ew2(&p, LMD_EW_ADD, f, lmi_ew_in(&p, more));
	v = lmi_ew2(&p, LMD_EW_SUB, v, c);
	lmi_ew_out(e, &p, lmi_ew3(&p, LMD_EW_FMA, v, f, c), lmi_heads(y, 0, n, w));
	return y;
}

uint32_t rwkv_linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row,
		     uint32_t act, const char *name)
{
	struct lmi_w w = lmi_w(e, row);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t y = lmi_f32(e, w.n, name);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = act;
	op.u.linear.y[0] = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

uint32_t rwkv_small(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *w1,
		    uint32_t act, const struct lmd_tensor_row *w2, const char *name)
{
	uint32_t h = rwkv_linear(e, x, w1, act, "small");

	return rwkv_linear(e, lmi_whole(e, h), w2, LMD_ACT_NONE, name);
}

uint32_t rwkv_head_norm(struct lmi_emit *e, const struct rwkv *m, uint32_t y,
			const struct lmd_tensor_row *row)
{
	struct lmd_norm norm;
	uint32_t v;

	if (!lmi_has(e, row))
		return y;
	norm = lmi_norm_heads(e, LMD_NORM_LAYER, row, m->n_head, m->d);
	norm.eps = 64e-5f; /* fixed by the architecture: 1e-5 * 8^2 */
	v = lmi_f32(e, m->hp.n_embd, "heads_norm");
	lmi_put_norm(e, lmi_heads(y, 0, m->n_head, m->d), &norm, lmi_heads(v, 0, m->n_head, m->d));
	return v;
}

uint32_t rwkv_channel_mix(struct lmi_emit *e, const struct rwkv *m, uint32_t x)
{
	const struct lmd_tensor_row *rows = rwkv_channel_rows;
	const uint32_t w = m->hp.n_embd;
	struct lmd_norm norm = lmi_norm_req(e, m->hp.norm_kind, &rows[C_NORM]);
	uint32_t cur = lmi_f32(e, w, "ffn_norm"), out = lmi_f32(e, w, "x");
	uint32_t prev, xk, k, v, r = LMD_NONE;
	struct lmi_ew p = lmi_ew();
	uint8_t add;

	lmi_put_norm(e, lmi_whole(e, x), &norm, lmi_whole(e, cur));
	prev = rwkv_shift(e, cur, m->shift_ffn[e->il]);
	xk = rwkv_blend(e, cur, prev, 1, lmi_wcols(lmi_w(e, &rows[C_LERP_K]).id, w), lmi_none());
	if (lmi_has(e, &rows[C_RECEPTANCE])) {
		uint32_t xr = rwkv_blend(e, cur, prev, 1,
					 lmi_wcols(lmi_w(e, &rows[C_LERP_R]).id, w), lmi_none());

		r = rwkv_linear(e, lmi_whole(e, xr), &rows[C_RECEPTANCE], LMD_ACT_SIGMOID,
				"receptance");
	}
	k = rwkv_linear(e, lmi_whole(e, xk), &rows[C_KEY], LMD_ACT_RELU2, "ffn_key");
	v = rwkv_linear(e, lmi_whole(e, k), &rows[C_VALUE], LMD_ACT_NONE, "ffn_value");
	add = lmi_ew_in(&p, lmi_whole(e, v));
	if (r != LMD_NONE)
		add = lmi_ew2(&p, LMD_EW_MUL, add, lmi_ew_in(&p, lmi_whole(e, r)));
	add = lmi_ew2(&p, LMD_EW_ADD, add, lmi_ew_in(&p, lmi_whole(e, x)));
	lmi_ew_out(e, &p, add, lmi_whole(e, out));
	return out;
}

enum lmd_status rwkv_build(const void *state, const struct lmd_builder *b,
			   const struct lmd_plan_key *key)
{
	const struct rwkv *m = state;
	struct lmi_emit e;
	struct lmi_stream s = {.z = LMD_NONE};
	struct lmi_ffn ffn = lmi_ffn_default();
	struct lmd_norm norm;
	uint32_t v_first = LMD_NONE;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	lmi_emit_init(&e, b, &m->hp, key);
	s.x = lmi_embed(&e);
	if (m->channel_mix) {
		uint32_t x = lmi_f32(&e, m->hp.n_embd, "embd_norm");

		norm = lmi_norm_req(&e, LMD_NORM_LAYER, &lmi_rows[T_TOKEN_EMBD_NORM]);
		lmi_put_norm(&e, lmi_whole(&e, s.x), &norm, lmi_whole(&e, x));
		s.x = x;
	}
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		lmi_layer(&e, (int32_t)il);
		s.x = m->kind->time_mix(&e, m, s.x, &v_first);
		if (m->channel_mix) {
			s.x = rwkv_channel_mix(&e, m, s.x);
		} else {
			struct lmi_io io = {lmi_whole(&e, s.x),
					    lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]),
					    s.x, 1.0f};

			s.x = lmi_ffn(&e, &io, &ffn);
		}
		if (m->rescale && (il + 1) % m->rescale == 0) {
			uint32_t x = lmi_f32(&e, m->hp.n_embd, "x");

			lmi_put_scale_add(&e, lmi_whole(&e, s.x), 0.5f, lmi_none(),
					  lmi_whole(&e, x));
			s.x = x;
		}
	}
	lmi_layer(&e, -1);
	norm = lmi_norm_req(&e, m->hp.norm_kind, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}
