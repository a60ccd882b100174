/* SPDX-License-Identifier: MIT
 *
 * This plan means nothing as a model.  Shapes are small and differ wherever they may differ, and
 * the inputs of each op have been written before. */
#include "core/plan/plan_ops_fixture_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lmd_group group[N_GROUP] = {
	[G_FULL] = {.name = "full", .causal = 1, .ratio = 1, .share = 1},
	[G_STATE] = {.name = "state", .kind = LMD_GROUP_STATE, .ratio = 1},
	[G_BATCH] = {.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
	[G_COMP] = {.name = "comp", .causal = 1, .ratio = 4},
	[G_CROSS] = {.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1, .k_space = LMD_SPACE_X0},
	[G_XB] = {.name = "xb",
		  .kind = LMD_GROUP_BATCH,
		  .ratio = 1,
		  .q_space = LMD_SPACE_X0,
		  .k_space = LMD_SPACE_X0},
};
const struct lmd_cache fx_caches[N_CACHE] = {
	[C_KV] = {G_FULL, LMD_CACHE_KV, HK, DK, DK, LMD_KV_DTYPE_USER, 0, 0},
	[C_CONV] = {G_STATE, LMD_CACHE_CONV, 1, 3, D, LMD_KV_DTYPE_F32, 0, 0},
	[C_SSD] = {G_STATE, LMD_CACHE_STATE, H, 8, 4, LMD_KV_DTYPE_F32, 0, 0},
	[C_INDEX] = {G_COMP, LMD_CACHE_INDEX, 1, DK, 0, LMD_KV_DTYPE_F32, 0, 0},
	[C_MLA] = {G_FULL, LMD_CACHE_V_IN_K, 1, DK, 4, LMD_KV_DTYPE_USER, 0, 0},
	[C_MAMBA] = {G_STATE, LMD_CACHE_STATE, D, 4, 1, LMD_KV_DTYPE_F32, 0, 0},
	[C_RWKV] = {G_STATE, LMD_CACHE_STATE, H, 4, 4, LMD_KV_DTYPE_F32, 0, 0},
	[C_POOL] = {G_STATE, LMD_CACHE_CONV, 1, 7, 2 * D, LMD_KV_DTYPE_F32, 0, 0},
	[C_CROSS] = {G_CROSS, LMD_CACHE_KV, HK, DK, DK, LMD_KV_DTYPE_USER, 0, 0},
	[C_SHIFT] = {G_STATE, LMD_CACHE_CONV, 1, 1, D, LMD_KV_DTYPE_F32, 0, 0},
};
static const struct lmd_row_in row_in[] = {
	{LMD_VTYPE_I32, 2, "pair"},
	{LMD_VTYPE_F32, 1, "temperature"},
};

/* ---- emitting ---- */

static void put(void *at, const struct fx_edit *e, uint32_t kind)
{
	struct lmd_operand *o = at;
	uint32_t u = (uint32_t)(int64_t)e->value;
	float x = (float)e->value;

	switch ((enum fx_member)e->member) {
	case FX_SELF:
		if (kind == LMI_PLAN_FIELD_F32)
			memcpy(at, &x, sizeof(x));
		else if (kind == LMI_PLAN_FIELD_REG)
			memcpy(at, &(uint8_t){(uint8_t)u}, 1);
		else
			memcpy(at, &u, sizeof(u));
		return;
	case FX_SRC:
		o->src = u;
		return;
	case FX_ID:
		o->id = u;
		return;
	case FX_COL0:
		o->col0 = u;
		return;
	case FX_N_HEAD:
		o->n_head = u;
		return;
	case FX_STRIDE:
		o->head_stride = u;
		return;
	case FX_WIDTH:
		o->width = u;
		return;
	case FX_FOLD:
		o->fold = u;
		return;
	case FX_NONE:
		memset(o, 0, sizeof(*o));
		return;
	}
}

static void edit(const struct fx_edit *e, struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);
	char name[64];
	uint32_t i = 0;

	snprintf(name, sizeof(name), "%s", e->field);
	if (strchr(name, '#')) {
		i = (uint32_t)atoi(strchr(name, '#') + 1);
		*strchr(name, '#') = 0;
	}
	for (uint32_t j = 0; j < info->n_fields; j++)
		if (!strcmp(info->fields[j].name, name)) {
			put(lmi_plan_field_at(&info->fields[j], op, i), e, info->fields[j].kind);
			return;
		}
	fprintf(stderr, "no field %s of %s\n", e->field, info->name);
	abort();
}

void fx_emit(struct em *m, struct lmd_op *op)
{
	const struct fx_edit *e = m->fx->arg;

	if (e && e->code == op->code && e->nth == m->count[op->code])
		edit(e, op);
	m->count[op->code]++;
	m->b->op(m->b->ctx, op);
}

uint32_t fx_val(struct em *m, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		const char *name)
{
	return m->b->value(m->b->ctx, space, vtype, width, name);
}

uint32_t fx_tok(struct em *m, uint32_t width, const char *name)
{
	return fx_val(m, LMD_SPACE_TOKENS, LMD_VTYPE_F32, width, name);
}

uint32_t fx_ids(struct em *m, uint32_t width, const char *name)
{
	return fx_val(m, LMD_SPACE_TOKENS, LMD_VTYPE_I32, width, name);
}

uint32_t fx_wt(struct em *m, const char *name, int64_t n, int64_t k)
{
	return fx_weight(m->fx, m->b, name, n, k);
}

struct lmd_operand fx_wvec(struct em *m, const char *name, uint32_t n)
{
	return fx_src(LMD_SRC_WEIGHT, fx_wt(m, name, 1, n), n);
}

struct lmd_norm fx_rms(struct em *m, const char *name, uint32_t n)
{
	return (struct lmd_norm){.kind = LMD_NORM_RMS, .eps = 1e-6f, .g = fx_wvec(m, name, n)};
}

/* Emits y = x W^T, the simplest way to get a value of a given width. */
uint32_t fx_linear(struct em *m, uint32_t x, uint32_t k, uint32_t n, const char *name)
{
	struct lmd_op op = fx_op(LMD_OP_LINEAR);
	uint32_t y = fx_tok(m, n, name);

	op.u.linear.x = fx_cols(x, 0, k);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = fx_wt(m, name, n, k);
	op.u.linear.y[0] = fx_cols(y, 0, n);
	fx_emit(m, &op);
	return y;
}

/* ---- ops 1 to 8 ---- */

static uint32_t embeds(struct em *m, uint32_t *hash)
{
	uint32_t x = fx_tok(m, D, "embd"), y = fx_ids(m, 6, "hash");
	struct lmd_op op = fx_op(LMD_OP_EMBED);
	uint32_t table;

	op.u.embed.y = fx_cols(x, 0, D);
	op.u.embed.table = fx_wt(m, "token_embd", V, D);
	op.u.embed.scale = 4;
	op.u.embed.pos_table = fx_wt(m, "pos_embd", 64, D);
	op.u.embed.type_table = fx_wt(m, "type_embd", 2, D);
	fx_tensor(m->fx, "ids_table", LMD_DTYPE_I32, 3, 10, 0);
	table = fx_wt(m, "ids_table", 10, 3);
	op.u.embed.type_row = 1;
	op.u.embed.lora_site = 0;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_EMBED);
	op.u.embed.y = fx_cols(y, 0, 6);
	op.u.embed.idx_kind = LMD_IDX_OPERAND;
	op.u.embed.idx = fx_src(LMD_SRC_ROW_IN, 0, 2);
	op.u.embed.n_id = 2;
	op.u.embed.table = table;
	fx_emit(m, &op);
	*hash = y;
	return x;
}

static uint32_t norms(struct em *m, uint32_t x)
{
	uint32_t h = fx_tok(m, D, "h"), y = fx_val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "normed");
	uint32_t stat = fx_tok(m, 4, "stat");
	struct lmd_op op = fx_op(LMD_OP_NORM);

	op.u.norm.x = op.u.norm.r = fx_cols(x, 0, D);
	op.u.norm.a = 0.5f;
	op.u.norm.h = fx_cols(h, 0, D);
	op.u.norm.y = fx_cols(y, 0, D);
	op.u.norm.stat = fx_cols(stat, 0, 4);
	op.u.norm.norm = fx_rms(m, "norm", D);
	op.u.norm.norm.n = 8;
	fx_emit(m, &op);
	return y;
}

static void attentions(struct em *m, uint32_t x)
{
	uint32_t qkv = fx_tok(m, (H + 2 * HK) * DK, "qkv"), q = fx_tok(m, H * DK, "q_rope");
	uint32_t k = fx_tok(m, HK * DK, "k_rope"), y = fx_tok(m, 3 * H * DK, "attn");
	const uint32_t w = H * DK, kw = HK * DK;
	struct lmd_rope_params rp = {.n_rot = DK,
				     .pairing = LMD_ROPE_HALVES,
				     .base = 10000,
				     .freq_scale = 1,
				     .attn_factor = 1};
	struct lmd_op op = fx_op(LMD_OP_LINEAR);

	op.u.linear.x = fx_cols(x, 0, D);
	op.u.linear.n_w = 3;
	op.u.linear.pro = fx_rms(m, "attn_norm", D);
	op.u.linear.w[0] = fx_wt(m, "q", w, D);
	op.u.linear.w[1] = fx_wt(m, "k", kw, D);
	op.u.linear.w[2] = fx_wt(m, "v", kw, D);
	op.u.linear.y[0] = fx_cols(qkv, 0, w);
	op.u.linear.y[1] = fx_cols(qkv, w, kw);
	op.u.linear.y[2] = fx_cols(qkv, w + kw, kw);
	op.u.linear.lora_site[1] = 2;
	fx_emit(m, &op);

	op = fx_op(LMD_OP_ROPE_KV);
	op.u.rope_kv.q = fx_heads(qkv, 0, H, DK, DK);
	op.u.rope_kv.k = fx_heads(qkv, w, HK, DK, DK);
	op.u.rope_kv.v = fx_heads(qkv, w + kw, HK, DK, DK);
	op.u.rope_kv.q_out = fx_heads(q, 0, H, DK, DK);
	op.u.rope_kv.k_out = fx_heads(k, 0, HK, DK, DK);
	op.u.rope_kv.qn = fx_rms(m, "q_norm", DK);
	op.u.rope_kv.kn = fx_rms(m, "k_norm", DK);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = m->b->rope(m->b->ctx, &rp);
	op.u.rope_kv.cache = C_KV;
	op.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	fx_emit(m, &op);
	/* norm after the rotation, into a latent cache */
	op.u.rope_kv.q = op.u.rope_kv.v = op.u.rope_kv.q_out = op.u.rope_kv.k_out =
		op.u.rope_kv.qn.g = (struct lmd_operand){0};
	op.u.rope_kv.k = fx_cols(qkv, w, DK);
	op.u.rope_kv.norm_when = LMD_QKN_AFTER;
	op.u.rope_kv.cache = C_MLA;
	op.u.rope_kv.append = LMD_APPEND_K;
	fx_emit(m, &op);

	op = fx_op(LMD_OP_ATTN);
	op.u.attn.q = fx_heads(q, 0, H, DK, DK);
	op.u.attn.y = fx_heads(y, 0, H, DK, DK);
	op.u.attn.n_kv_head = HK;
	op.u.attn.scale = 0.25f;
	op.u.attn.src[0] =
		(struct lmd_attn_src){.kind = LMD_KV_CACHE, .cache = C_KV, .group = G_FULL};
	op.u.attn.src[1].cache = op.u.attn.src[1].group = LMD_NONE;
	op.u.attn.sinks = fx_wt(m, "sinks", 1, H);
	op.u.attn.softcap = 50;
	op.u.attn.bias = LMD_BIAS_ALIBI;
	op.u.attn.bias_w =
		m->b->literal(m->b->ctx, (const float[]){1, 0.5f, 0.25f, 0.125f}, 1, H, LMD_SPLIT_HEADS,
				 "slopes");
	fx_emit(m, &op);
	op.u.attn.softcap = 0;
	op.u.attn.sinks = LMD_NONE;
	op.u.attn.src[0] = (struct lmd_attn_src){
		.kind = LMD_KV_ROWS,
		.cache = LMD_NONE,
		.group = G_BATCH,
		.k = fx_heads(k, 0, HK, DK, DK),
		.v = fx_heads(qkv, w + kw, HK, DK, DK),
	};
	op.u.attn.y = fx_heads(y, w, H, DK, DK);
	op.u.attn.bias = LMD_BIAS_BUCKET;
	op.u.attn.bias_w = fx_wt(m, "rel_b", 16, H);
	op.u.attn.n_bucket = 16;
	op.u.attn.bidirectional = 1;
	op.u.attn.max_distance = 128;
	fx_emit(m, &op);
	op.u.attn.n_bucket = op.u.attn.bidirectional = 0;
	op.u.attn.max_distance = 0;
	op.u.attn.y = fx_heads(y, 2 * w, H, DK, DK);
	op.u.attn.bias = LMD_BIAS_REL;
	op.u.attn.bias_w = LMD_NONE;
	op.u.attn.rel[0] = (struct lmd_attn_rel){
		.q2 = fx_heads(qkv, 0, H, DK, DK), .r = fx_wt(m, "rel_r", 9, DK), .off = 4};
	fx_emit(m, &op);
}

static uint32_t feed_forward(struct em *m, uint32_t x)
{
	uint32_t r = fx_tok(m, D, "ffn"), g = fx_val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "glu");
	struct lmd_op op = fx_op(LMD_OP_FFN);

	op.u.ffn.x = op.u.ffn.r_in = fx_cols(x, 0, D);
	op.u.ffn.norm = fx_rms(m, "ffn_norm", D);
	op.u.ffn.gate = fx_wt(m, "gate", 24, D);
	op.u.ffn.up = fx_wt(m, "up", 24, D);
	op.u.ffn.down = fx_wt(m, "down", D, 24);
	op.u.ffn.act = LMD_ACT_FN_SILU;
	op.u.ffn.r_out = fx_cols(r, 0, D);
	op.u.ffn.lora_site[2] = 1;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_GLU);
	op.u.glu.a = fx_cols(x, 0, D);
	op.u.glu.b = fx_cols(r, 0, D);
	op.u.glu.y = fx_cols(g, 0, D);
	op.u.glu.act = LMD_ACT_FN_OAI;
	op.u.glu.p[0] = 1.702f;
	op.u.glu.p[1] = 7;
	fx_emit(m, &op);
	return r;
}

/* ---- the plan ---- */

static void build(struct fx *fx, const struct lmd_builder *b)
{
	struct em m = {.fx = fx, .b = b};
	uint32_t x, hash, logits;
	struct lmd_op op;

	if (fx->params.key.kind == LMD_PLAN_TAIL) {
		fx_tail(&m);
		return;
	}
	x = embeds(&m, &hash);
	b->layer(b->ctx, 0);
	(void)norms(&m, x);
	attentions(&m, x);
	x = feed_forward(&m, x);
	b->layer(b->ctx, 1);
	fx_experts(&m, x);
	fx_row_ops(&m, x, hash);
	fx_ew_and_mix(&m, x);
	b->layer(b->ctx, 2);
	fx_convs(&m, x);
	fx_scans(&m, x);
	fx_sparse(&m, x);
	fx_maps(&m);
	b->layer(b->ctx, -1);
	logits = fx_val(&m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, V, "logits");
	op = fx_op(LMD_OP_HEAD);
	op.u.head.x = fx_cols(x, 0, D);
	op.u.head.norm = fx_rms(&m, "output_norm", D);
	op.u.head.w = fx_wt(&m, "token_embd", V, D);
	op.u.head.bias = fx_wt(&m, "output_b", 1, V);
	op.u.head.y = fx_cols(logits, 0, V);
	op.u.head.softcap = 30;
	fx_emit(&m, &op);
	b->output(b->ctx, LMD_OUT_LOGITS, logits);
	b->output(b->ctx, LMD_OUT_TAP, x);
}

void fx_init_all_ops(struct fx *fx)
{
	fx_init(fx, build);
	fx->params.key.flags = LMD_PLAN_LOGITS | LMD_PLAN_LORA | LMD_PLAN_TREE;
	fx->desc.n_group = N_GROUP;
	fx->desc.groups = group;
	fx->desc.n_cache = N_CACHE;
	fx->desc.caches = fx_caches;
	fx->desc.n_row_in = LMD_LEN(row_in);
	fx->desc.row_ins = row_in;
	fx->desc.n_x = 2;
	fx->desc.n_lora_site = 3;
	fx->desc.n_input_embd = D;
}
