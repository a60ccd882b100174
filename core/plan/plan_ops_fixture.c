/* SPDX-License-Identifier: MIT
 *
 * Nothing here means anything as a model; shapes are small, different where they may differ, and
 * each op finds its inputs written. */
#include "core/plan/plan_ops_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X1 (LMD_SPACE_X0 + 1)

enum { D = 16, V = 32, H = 4, HK = 2, DK = 8 };
enum { G_FULL, G_STATE, G_BATCH, G_COMP, G_CROSS, G_XB, N_GROUP };
enum { C_KV, C_CONV, C_SSD, C_INDEX, C_MLA, C_MAMBA, C_RWKV, C_POOL, C_CROSS, C_SHIFT, N_CACHE };

static const struct lmd_group group[N_GROUP] = {
	[G_FULL] = {.name = "full", .causal = 1, .ratio = 1, .share = 1},
	[G_STATE] = {.name = "state", .kind = LMD_GROUP_STATE, .ratio = 1},
	[G_BATCH] = {.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
	[G_COMP] = {.name = "comp", .causal = 1, .ratio = 4},
	[G_CROSS] = {.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1, .k_space = LMD_SPACE_X0},
	[G_XB] = {.name = "xb", .kind = LMD_GROUP_BATCH, .ratio = 1, .q_space = LMD_SPACE_X0,
		  .k_space = LMD_SPACE_X0},
};
static const struct lmd_cache cache[N_CACHE] = {
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

struct em {
	struct fx *fx;
	const struct lmd_builder *b;
	uint32_t count[LMD_N_OP];
};

static void put(void *at, const struct fx_edit *e, uint32_t kind)
{
	struct lmd_opnd *o = at;
	uint32_t u = (uint32_t)(int64_t)e->value;
	float x = (float)e->value;

	switch ((enum fx_member)e->member) {
	case FX_SELF:
		if (kind == LMI_FIELD_F32)
			memcpy(at, &x, sizeof(x));
		else if (kind == LMI_FIELD_REG)
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
	const struct lmi_op_info *info = lmi_op_info(op->code);
	char name[64];
	uint32_t i = 0;

	snprintf(name, sizeof(name), "%s", e->field);
	if (strchr(name, '#')) {
		i = (uint32_t)atoi(strchr(name, '#') + 1);
		*strchr(name, '#') = 0;
	}
	for (uint32_t j = 0; j < info->n_fields; j++)
		if (!strcmp(info->fields[j].name, name)) {
			put(lmi_field_at(&info->fields[j], op, i), e, info->fields[j].kind);
			return;
		}
	fprintf(stderr, "no field %s of %s\n", e->field, info->name);
	abort();
}

static void emit(struct em *m, struct lmd_op *op)
{
	const struct fx_edit *e = m->fx->arg;

	if (e && e->code == op->code && e->nth == m->count[op->code])
		edit(e, op);
	m->count[op->code]++;
	m->b->op(m->b->ctx, op);
}

static uint32_t val(struct em *m, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		    const char *name)
{
	return m->b->value(m->b->ctx, space, vtype, width, name);
}

static uint32_t tok(struct em *m, uint32_t width, const char *name)
{
	return val(m, LMD_SPACE_TOKENS, LMD_VTYPE_F32, width, name);
}

static uint32_t ids(struct em *m, uint32_t width, const char *name)
{
	return val(m, LMD_SPACE_TOKENS, LMD_VTYPE_I32, width, name);
}

static uint32_t wt(struct em *m, const char *name, int64_t n, int64_t k)
{
	return fx_weight(m->fx, m->b, name, n, k);
}

static struct lmd_opnd wvec(struct em *m, const char *name, uint32_t n)
{
	return fx_src(LMD_SRC_WEIGHT, wt(m, name, 1, n), n);
}

static struct lmd_norm rms(struct em *m, const char *name, uint32_t n)
{
	return (struct lmd_norm){.kind = LMD_NORM_RMS, .eps = 1e-6f, .g = wvec(m, name, n)};
}

/* y = x W^T, the simplest way to a value of some width. */
static uint32_t linear(struct em *m, uint32_t x, uint32_t k, uint32_t n, const char *name)
{
	struct lmd_op op = fx_op(LMD_OP_LINEAR);
	uint32_t y = tok(m, n, name);

	op.u.linear.x = fx_cols(x, 0, k);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = wt(m, name, n, k);
	op.u.linear.y[0] = fx_cols(y, 0, n);
	emit(m, &op);
	return y;
}

/* ---- ops 1 to 8 ---- */

static uint32_t embeds(struct em *m, uint32_t *hash)
{
	uint32_t x = tok(m, D, "embd"), y = ids(m, 6, "hash");
	struct lmd_op op = fx_op(LMD_OP_EMBED);
	uint32_t table;

	op.u.embed.y = fx_cols(x, 0, D);
	op.u.embed.table = wt(m, "token_embd", V, D);
	op.u.embed.scale = 4;
	op.u.embed.pos_table = wt(m, "pos_embd", 64, D);
	op.u.embed.type_table = wt(m, "type_embd", 2, D);
	fx_tensor(m->fx, "ids_table", LMD_DTYPE_I32, 3, 10, 0);
	table = wt(m, "ids_table", 10, 3);
	op.u.embed.type_row = 1;
	op.u.embed.lora_site = 0;
	emit(m, &op);
	op = fx_op(LMD_OP_EMBED);
	op.u.embed.y = fx_cols(y, 0, 6);
	op.u.embed.idx_kind = LMD_IDX_OPND;
	op.u.embed.idx = fx_src(LMD_SRC_ROW_IN, 0, 2);
	op.u.embed.n_id = 2;
	op.u.embed.table = table;
	emit(m, &op);
	*hash = y;
	return x;
}

static uint32_t norms(struct em *m, uint32_t x)
{
	uint32_t h = tok(m, D, "h"), y = val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "normed");
	uint32_t stat = tok(m, 4, "stat");
	struct lmd_op op = fx_op(LMD_OP_NORM);

	op.u.norm.x = op.u.norm.r = fx_cols(x, 0, D);
	op.u.norm.a = 0.5f;
	op.u.norm.h = fx_cols(h, 0, D);
	op.u.norm.y = fx_cols(y, 0, D);
	op.u.norm.stat = fx_cols(stat, 0, 4);
	op.u.norm.norm = rms(m, "norm", D);
	op.u.norm.norm.n = 8;
	emit(m, &op);
	return y;
}

static void attentions(struct em *m, uint32_t x)
{
	uint32_t qkv = tok(m, (H + 2 * HK) * DK, "qkv"), q = tok(m, H * DK, "q_rope");
	uint32_t k = tok(m, HK * DK, "k_rope"), y = tok(m, 3 * H * DK, "attn");
	const uint32_t w = H * DK, kw = HK * DK;
	struct lmd_rope_params rp = {.n_rot = DK, .pairing = LMD_ROPE_HALVES, .base = 10000,
				     .freq_scale = 1, .attn_factor = 1};
	struct lmd_op op = fx_op(LMD_OP_LINEAR);

	op.u.linear.x = fx_cols(x, 0, D);
	op.u.linear.n_w = 3;
	op.u.linear.pro = rms(m, "attn_norm", D);
	op.u.linear.w[0] = wt(m, "q", w, D);
	op.u.linear.w[1] = wt(m, "k", kw, D);
	op.u.linear.w[2] = wt(m, "v", kw, D);
	op.u.linear.y[0] = fx_cols(qkv, 0, w);
	op.u.linear.y[1] = fx_cols(qkv, w, kw);
	op.u.linear.y[2] = fx_cols(qkv, w + kw, kw);
	op.u.linear.lora_site[1] = 2;
	emit(m, &op);

	op = fx_op(LMD_OP_ROPE_KV);
	op.u.rope_kv.q = fx_heads(qkv, 0, H, DK, DK);
	op.u.rope_kv.k = fx_heads(qkv, w, HK, DK, DK);
	op.u.rope_kv.v = fx_heads(qkv, w + kw, HK, DK, DK);
	op.u.rope_kv.q_out = fx_heads(q, 0, H, DK, DK);
	op.u.rope_kv.k_out = fx_heads(k, 0, HK, DK, DK);
	op.u.rope_kv.qn = rms(m, "q_norm", DK);
	op.u.rope_kv.kn = rms(m, "k_norm", DK);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = m->b->rope(m->b->ctx, &rp);
	op.u.rope_kv.cache = C_KV;
	op.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	emit(m, &op);
	/* norm after the rotation, into a latent cache */
	op.u.rope_kv.q = op.u.rope_kv.v = op.u.rope_kv.q_out = op.u.rope_kv.k_out = op.u.rope_kv.qn.g =
		(struct lmd_opnd){0};
	op.u.rope_kv.k = fx_cols(qkv, w, DK);
	op.u.rope_kv.norm_when = LMD_QKN_AFTER;
	op.u.rope_kv.cache = C_MLA;
	op.u.rope_kv.append = LMD_APPEND_K;
	emit(m, &op);

	op = fx_op(LMD_OP_ATTN);
	op.u.attn.q = fx_heads(q, 0, H, DK, DK);
	op.u.attn.y = fx_heads(y, 0, H, DK, DK);
	op.u.attn.n_kv_head = HK;
	op.u.attn.scale = 0.25f;
	op.u.attn.src[0] = (struct lmd_attn_src){.kind = LMD_KV_CACHE, .cache = C_KV, .group = G_FULL};
	op.u.attn.src[1].cache = op.u.attn.src[1].group = LMD_NONE;
	op.u.attn.sinks = wt(m, "sinks", 1, H);
	op.u.attn.softcap = 50;
	op.u.attn.bias = LMD_BIAS_ALIBI;
	op.u.attn.bias_w = m->b->literal(m->b->ctx, (const float[]){1, 0.5f, 0.25f, 0.125f}, 1, H,
					 "slopes");
	emit(m, &op);
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
	op.u.attn.bias_w = wt(m, "rel_b", 16, H);
	op.u.attn.n_bucket = 16;
	op.u.attn.bidirectional = 1;
	op.u.attn.max_distance = 128;
	emit(m, &op);
	op.u.attn.n_bucket = op.u.attn.bidirectional = 0;
	op.u.attn.max_distance = 0;
	op.u.attn.y = fx_heads(y, 2 * w, H, DK, DK);
	op.u.attn.bias = LMD_BIAS_REL;
	op.u.attn.bias_w = LMD_NONE;
	op.u.attn.rel[0] = (struct lmd_attn_rel){
		.q2 = fx_heads(qkv, 0, H, DK, DK), .r = wt(m, "rel_r", 9, DK), .off = 4};
	emit(m, &op);
}

static uint32_t feed_forward(struct em *m, uint32_t x)
{
	uint32_t r = tok(m, D, "ffn"), g = val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "glu");
	struct lmd_op op = fx_op(LMD_OP_FFN);

	op.u.ffn.x = op.u.ffn.r_in = fx_cols(x, 0, D);
	op.u.ffn.norm = rms(m, "ffn_norm", D);
	op.u.ffn.gate = wt(m, "gate", 24, D);
	op.u.ffn.up = wt(m, "up", 24, D);
	op.u.ffn.down = wt(m, "down", D, 24);
	op.u.ffn.act = LMD_ACT_SILU;
	op.u.ffn.r_out = fx_cols(r, 0, D);
	op.u.ffn.lora_site[2] = 1;
	emit(m, &op);
	op = fx_op(LMD_OP_GLU);
	op.u.glu.a = fx_cols(x, 0, D);
	op.u.glu.b = fx_cols(r, 0, D);
	op.u.glu.y = fx_cols(g, 0, D);
	op.u.glu.act = LMD_ACT_OAI;
	op.u.glu.p[0] = 1.702f;
	op.u.glu.p[1] = 7;
	emit(m, &op);
	return r;
}

/* ---- experts ---- */

static void experts(struct em *m, uint32_t x)
{
	uint32_t logits = linear(m, x, D, 8, "router"), id = ids(m, 2, "expert");
	uint32_t w = tok(m, 2, "share"), y = tok(m, D, "moe"), r = tok(m, D, "moe_r");
	uint32_t z = tok(m, 2 * 12, "expert_lin"), bmm = tok(m, H * 6, "bmm");
	struct lmd_op op = fx_op(LMD_OP_ROUTE);

	op.u.route.logits = fx_cols(logits, 0, 8);
	op.u.route.ids = fx_cols(id, 0, 2);
	op.u.route.weights = fx_cols(w, 0, 2);
	op.u.route.fn = LMD_ROUTE_SIGMOID;
	op.u.route.k = 2;
	op.u.route.bias = wt(m, "router_b", 1, 8);
	op.u.route.n_group = 4;
	op.u.route.n_group_used = 2;
	op.u.route.renorm = 1;
	emit(m, &op);
	op = fx_op(LMD_OP_MOE_FFN);
	op.u.moe_ffn.x = op.u.moe_ffn.r_in = fx_cols(x, 0, D);
	op.u.moe_ffn.ids = fx_cols(id, 0, 2);
	op.u.moe_ffn.weights = fx_cols(w, 0, 2);
	op.u.moe_ffn.gate = fx_stack(m->fx, m->b, "gate_e", 8, 12, D);
	op.u.moe_ffn.up = fx_stack(m->fx, m->b, "up_e", 8, 12, D);
	op.u.moe_ffn.down = fx_stack(m->fx, m->b, "down_e", 8, D, 12);
	op.u.moe_ffn.act = LMD_ACT_SILU;
	op.u.moe_ffn.y = fx_cols(y, 0, D);
	op.u.moe_ffn.r_out = fx_cols(r, 0, D);
	emit(m, &op);
	op.u.moe_ffn.y = (struct lmd_opnd){0};
	op.u.moe_ffn.r_out = fx_cols(tok(m, D, "moe_fused"), 0, D);
	op.u.moe_ffn.gate = op.u.moe_ffn.up = LMD_NONE;
	op.u.moe_ffn.gate_up = fx_stack(m->fx, m->b, "gate_up_e", 8, 24, D);
	op.u.moe_ffn.weight_before = 1;
	emit(m, &op);
	op = fx_op(LMD_OP_LINEAR); /* the third */
	op.u.linear.x = fx_cols(x, 0, D);
	op.u.linear.ids = fx_cols(id, 0, 2);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = fx_stack(m->fx, m->b, "up_e", 8, 12, D);
	op.u.linear.y[0] = fx_heads(z, 0, 2, 12, 12);
	op.u.linear.act = LMD_ACT_RELU2;
	op.u.linear.softcap = 30;
	op.u.linear.clamp_lo = -2;
	op.u.linear.clamp_hi = 2;
	emit(m, &op);
	op = fx_op(LMD_OP_BMM);
	op.u.bmm.x = fx_heads(x, 0, H, 4, 4);
	op.u.bmm.w = fx_stack(m->fx, m->b, "bmm", H, 6, 4);
	op.u.bmm.y = fx_heads(bmm, 0, H, 6, 6);
	emit(m, &op);
}

/* ---- rows ---- */

static void row_ops(struct em *m, uint32_t x, uint32_t hash)
{
	uint32_t seq = val(m, LMD_SPACE_SEQS, LMD_VTYPE_F32, D, "pooled");
	uint32_t out = val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, D, "leaving");
	uint32_t back = tok(m, D, "back"), ext = tok(m, D, "ext"), many = tok(m, 3 * D, "many");
	uint32_t top = ids(m, 3, "top"), top_v = tok(m, 3, "top_v"), sum = tok(m, H, "sum");
	uint32_t soft = tok(m, D, "soft");
	struct lmd_op op = fx_op(LMD_OP_REDUCE);

	op.u.reduce.x = fx_cols(x, 0, D);
	op.u.reduce.y = fx_cols(seq, 0, D);
	op.u.reduce.kind = LMD_REDUCE_MEAN;
	op.u.reduce.axis = LMD_AXIS_SEQ;
	emit(m, &op);
	op.u.reduce.y = fx_cols(top, 0, 3);
	op.u.reduce.y2 = fx_cols(top_v, 0, 3);
	op.u.reduce.kind = LMD_REDUCE_TOP_K;
	op.u.reduce.axis = LMD_AXIS_ROW;
	op.u.reduce.n = 3;
	emit(m, &op);
	op = fx_op(LMD_OP_REDUCE);
	op.u.reduce.x = fx_heads(x, 0, H, 4, 4);
	op.u.reduce.y = fx_heads(sum, 0, H, 1, 1);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	emit(m, &op);

	op = fx_op(LMD_OP_GATHER);
	op.u.gather.x = fx_cols(x, 0, D);
	op.u.gather.y = fx_cols(out, 0, D);
	op.u.gather.idx_kind = LMD_IDX_OUT_ROW;
	emit(m, &op);
	op.u.gather.x = fx_cols(seq, 0, D);
	op.u.gather.y = fx_cols(back, 0, D);
	op.u.gather.idx_kind = LMD_IDX_SEQ_OF;
	emit(m, &op);
	op.u.gather.x = fx_src(LMD_SRC_INPUT, 0, D);
	op.u.gather.y = fx_cols(ext, 0, D);
	op.u.gather.idx_kind = LMD_IDX_EXT;
	emit(m, &op);
	op.u.gather.x = fx_cols(x, 0, D);
	op.u.gather.y = fx_cols(many, 0, 3 * D);
	op.u.gather.idx_kind = LMD_IDX_OPND;
	op.u.gather.idx = fx_cols(hash, 0, 3);
	op.u.gather.n_id = 3;
	emit(m, &op);

	op = fx_op(LMD_OP_SOFTMAX);
	op.u.softmax.x = fx_heads(x, 0, H, 4, 4);
	op.u.softmax.y = fx_heads(soft, 0, H, 4, 4);
	op.u.softmax.sinkhorn = 3;
	op.u.softmax.eps = 1e-6f;
	emit(m, &op);
}

static void ew_and_mix(struct em *m, uint32_t x)
{
	uint32_t a = tok(m, D, "ew_a"), c = tok(m, D, "ew_b"), mixed = tok(m, 2 * 4, "mixed");
	uint32_t copy = val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "copy");
	uint32_t red = tok(m, D, "reduced"), all = tok(m, 2 * D, "gathered");
	struct lmd_op op = fx_op(LMD_OP_EW);

	op.u.ew.n_in = 3;
	op.u.ew.in[0] = fx_heads(x, 0, H, 4, 4);
	op.u.ew.in[1] = fx_src(LMD_SRC_ROW_IN, 1, 1);
	op.u.ew.in[2] = wvec(m, "gain", 4);
	op.u.ew.n_out = 2;
	op.u.ew.out[0] = fx_heads(a, 0, H, 4, 4);
	op.u.ew.out[1] = fx_heads(c, 0, H, 4, 4);
	op.u.ew.n_ins = 3;
	op.u.ew.ins[0] = (struct lmd_ew_ins){.op = LMD_EW_CONST, .dst = 8, .imm = 3};
	op.u.ew.ins[1] = (struct lmd_ew_ins){.op = LMD_EW_FMA, .dst = 9, .a = 0, .b = 1, .c = 8};
	op.u.ew.ins[2] = (struct lmd_ew_ins){.op = LMD_EW_MUL, .dst = 10, .a = 9, .b = 2};
	op.u.ew.out_reg[0] = 10;
	op.u.ew.out_reg[1] = 9;
	emit(m, &op);
	op = fx_op(LMD_OP_MIX);
	op.u.mix.x = fx_heads(x, 0, 4, 4, 4);
	op.u.mix.c = wvec(m, "mix_c", 8);
	op.u.mix.d = fx_cols(x, 0, 2);
	op.u.mix.z = fx_cols(x, 4, 4);
	op.u.mix.y = fx_heads(mixed, 0, 2, 4, 4);
	emit(m, &op);
	op = fx_op(LMD_OP_CAST_COPY);
	op.u.cast_copy.x = fx_cols(x, 0, D);
	op.u.cast_copy.y = fx_cols(copy, 0, D);
	emit(m, &op);
	op = fx_op(LMD_OP_ALLREDUCE);
	op.u.collective.x = fx_cols(x, 0, D);
	op.u.collective.y = fx_cols(red, 0, D);
	emit(m, &op);
	op = fx_op(LMD_OP_ALLGATHER);
	op.u.collective.x = fx_cols(x, 0, D);
	op.u.collective.y = fx_cols(all, 0, 2 * D);
	emit(m, &op);
}

/* ---- time ---- */

static void convs(struct em *m, uint32_t x)
{
	uint32_t dw = tok(m, D, "dw"), shift = tok(m, D, "shift"), pool = tok(m, D / 2, "pool");
	struct lmd_op op = fx_op(LMD_OP_CONV);

	op.u.conv.x = fx_cols(x, 0, D);
	op.u.conv.y = fx_cols(dw, 0, D);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = wt(m, "conv", D, 4);
	op.u.conv.kernel = 4;
	op.u.conv.left = 3;
	op.u.conv.act = LMD_ACT_SILU;
	op.u.conv.cache = C_CONV;
	emit(m, &op);
	op = fx_op(LMD_OP_CONV);
	op.u.conv.x = fx_cols(x, 0, D);
	op.u.conv.y = fx_cols(shift, 0, D);
	op.u.conv.kind = LMD_CONV_SHIFT;
	op.u.conv.n = 1;
	op.u.conv.cache = C_SHIFT;
	emit(m, &op);
	op.u.conv.y = fx_cols(pool, 0, D / 2);
	op.u.conv.score = fx_cols(dw, 0, D);
	op.u.conv.kind = LMD_CONV_POOL;
	op.u.conv.n = 4;
	op.u.conv.overlap = 1;
	op.u.conv.group = G_COMP;
	op.u.conv.cache = C_POOL;
	emit(m, &op);
}

static void scan(struct em *m, uint32_t kind, uint32_t cache_id, const struct lmd_opnd *in,
		 uint32_t n_in, const char *name)
{
	const struct lmd_cache *c = &cache[cache_id];
	struct lmd_op op = fx_op(LMD_OP_SCAN);
	uint32_t y = tok(m, c->n_head * c->dv, name);

	op.u.scan.kind = kind;
	op.u.scan.cache = cache_id;
	op.u.scan.n_head = c->n_head;
	op.u.scan.n_key_head = kind == LMD_SCAN_MAMBA2 || kind == LMD_SCAN_DELTA ? 2 : c->n_head;
	op.u.scan.dk = c->dk;
	op.u.scan.dv = c->dv;
	memcpy(op.u.scan.in, in, n_in * sizeof(*in));
	op.u.scan.y = fx_cols(y, 0, c->n_head * c->dv);
	if (kind == LMD_SCAN_MAMBA1) {
		op.u.scan.w[0] = wt(m, "mamba_a", D, 4);
		op.u.scan.w[1] = wt(m, "mamba_d", 1, D);
	} else if (kind == LMD_SCAN_MAMBA2) {
		op.u.scan.w[0] = wt(m, "ssd_a", 1, H);
	} else if (kind == LMD_SCAN_RWKV6) {
		op.u.scan.w[0] = wt(m, "rwkv_u", 1, D);
	}
	emit(m, &op);
}

static void scans(struct em *m, uint32_t x)
{
	const struct lmd_opnd h44 = fx_heads(x, 0, 4, 4, 4), cols = fx_cols(x, 0, D);
	const struct lmd_opnd h1 = fx_cols(x, 0, 4), kk = fx_heads(x, 0, 2, 8, 8);
	const struct lmd_opnd k2 = fx_heads(x, 0, 2, 4, 4);

	scan(m, LMD_SCAN_MAMBA1, C_MAMBA, (const struct lmd_opnd[]){cols, cols, h1, h1}, 4, "mamba1");
	scan(m, LMD_SCAN_MAMBA2, C_SSD, (const struct lmd_opnd[]){h44, h1, kk, cols}, 4, "mamba2");
	scan(m, LMD_SCAN_RWKV6, C_RWKV, (const struct lmd_opnd[]){h44, h44, cols, h44}, 4, "rwkv6");
	scan(m, LMD_SCAN_RWKV7, C_RWKV, (const struct lmd_opnd[]){h44, h44, h44, h44, h44, h44}, 6,
	     "rwkv7");
	scan(m, LMD_SCAN_GLA, C_RWKV, (const struct lmd_opnd[]){h44, h44, h44, h1}, 4, "gla");
	scan(m, LMD_SCAN_DELTA, C_RWKV, (const struct lmd_opnd[]){k2, k2, h44, h44, h1}, 5, "delta");
}

static void sparse(struct em *m, uint32_t x)
{
	uint32_t list = ids(m, 4, "list"), y = tok(m, H * DK, "sparse"), q = linear(m, x, D, H * DK, "q2");
	struct lmd_op op = fx_op(LMD_OP_INDEX);

	op.u.index.q = fx_heads(q, 0, H, DK, DK);
	op.u.index.w = fx_cols(x, 0, H);
	op.u.index.y = fx_cols(list, 0, 4);
	op.u.index.kind = LMD_INDEX_WEIGHTED;
	op.u.index.cache = C_INDEX;
	op.u.index.n = 4;
	emit(m, &op);
	op = fx_op(LMD_OP_ATTN); /* the fourth */
	op.u.attn.q = fx_heads(q, 0, H, DK, DK);
	op.u.attn.y = fx_heads(y, 0, H, DK, DK);
	op.u.attn.n_kv_head = HK;
	op.u.attn.scale = 1;
	op.u.attn.src[0] = (struct lmd_attn_src){.kind = LMD_KV_CACHE, .cache = C_KV,
						 .group = G_FULL, .list = fx_cols(list, 0, 4),
						 .list_unit = 4};
	op.u.attn.src[1].cache = op.u.attn.src[1].group = LMD_NONE;
	emit(m, &op);
}

/* ---- X spaces ---- */

static void maps(struct em *m)
{
	const struct lmd_input image = {.space = LMD_SPACE_X0, .vtype = LMD_VTYPE_F32, .width = 3,
					.own_rows = 1, .name = "image"};
	uint32_t in = m->b->input(m->b->ctx, &image);
	uint32_t p = val(m, LMD_SPACE_X0, LMD_VTYPE_F32, 8, "patches");
	uint32_t f = val(m, X1, LMD_VTYPE_F32, 8, "merged");
	uint32_t mean = val(m, X1, LMD_VTYPE_F32, 8, "block_mean");
	struct lmd_op op = fx_op(LMD_OP_PATCH);

	op.u.patch.x = fx_src(LMD_SRC_INPUT, in, 3);
	op.u.patch.x_space = LMD_SPACE_X0;
	op.u.patch.w = wt(m, "patch", 8, 3 * 4);
	op.u.patch.y = fx_cols(p, 0, 8);
	op.u.patch.n_dim = 2;
	for (int i = 0; i < 2; i++)
		op.u.patch.kernel[i] = op.u.patch.stride[i] = 2, op.u.patch.dilation[i] = 1;
	emit(m, &op);
	op = fx_op(LMD_OP_LINEAR); /* four rows as one */
	op.u.linear.x = (struct lmd_opnd){
		.src = LMD_SRC_VALUE, .id = p, .n_head = 1, .width = 32, .fold = 4};
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = wt(m, "merge", 8, 32);
	op.u.linear.y[0] = fx_cols(f, 0, 8);
	emit(m, &op);
	op = fx_op(LMD_OP_REDUCE); /* the fourth */
	op.u.reduce.x = fx_cols(p, 0, 8);
	op.u.reduce.y = fx_cols(mean, 0, 8);
	op.u.reduce.kind = LMD_REDUCE_MEAN;
	op.u.reduce.axis = LMD_AXIS_BLOCK;
	op.u.reduce.n = 4;
	emit(m, &op);
}

/* ---- plans ---- */

static void tail(struct em *m)
{
	const struct lmd_input in[] = {
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_F32, .width = V, .name = "logits"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_F32, .width = 8, .name = "params"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_I32, .width = 4, .name = "rng"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_I32, .width = 1, .name = "mask"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_I32, .width = 64, .name = "history"},
	};
	uint32_t id[5], token = val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_I32, 1, "token");
	uint32_t top = val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_I32, 5, "top");
	uint32_t lp = val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, 5, "top_lp");
	struct lmd_op op = fx_op(LMD_OP_SAMPLE);
	struct lmd_op_sample *s = &op.u.sample;

	for (int i = 0; i < 5; i++)
		id[i] = m->b->input(m->b->ctx, &in[i]);
	s->logits = fx_src(LMD_SRC_INPUT, id[0], V);
	s->params = fx_src(LMD_SRC_INPUT, id[1], 8);
	s->rng = fx_src(LMD_SRC_INPUT, id[2], 4);
	s->mask = fx_src(LMD_SRC_INPUT, id[3], 1);
	s->history = fx_src(LMD_SRC_INPUT, id[4], 64);
	s->n_stage = 3;
	s->stage[0] = LMD_STAGE_PENALTIES;
	s->stage[1] = LMD_STAGE_TOP_K;
	s->param_col[1] = 3;
	s->stage[2] = LMD_STAGE_DIST;
	s->token = fx_cols(token, 0, 1);
	s->top_id = fx_cols(top, 0, 5);
	s->top_lp = fx_cols(lp, 0, 5);
	emit(m, &op);
	m->b->output(m->b->ctx, LMD_OUT_TOKEN, token);
}

static void build(struct fx *fx, const struct lmd_builder *b)
{
	struct em m = {.fx = fx, .b = b};
	uint32_t x, hash, logits;
	struct lmd_op op;

	if (fx->params.key.kind == LMD_PLAN_TAIL) {
		tail(&m);
		return;
	}
	x = embeds(&m, &hash);
	b->layer(b->ctx, 0);
	(void)norms(&m, x);
	attentions(&m, x);
	x = feed_forward(&m, x);
	b->layer(b->ctx, 1);
	experts(&m, x);
	row_ops(&m, x, hash);
	ew_and_mix(&m, x);
	b->layer(b->ctx, 2);
	convs(&m, x);
	scans(&m, x);
	sparse(&m, x);
	maps(&m);
	b->layer(b->ctx, -1);
	logits = val(&m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, V, "logits");
	op = fx_op(LMD_OP_HEAD);
	op.u.head.x = fx_cols(x, 0, D);
	op.u.head.norm = rms(&m, "output_norm", D);
	op.u.head.w = wt(&m, "token_embd", V, D);
	op.u.head.bias = wt(&m, "output_b", 1, V);
	op.u.head.y = fx_cols(logits, 0, V);
	op.u.head.softcap = 30;
	emit(&m, &op);
	b->output(b->ctx, LMD_OUT_LOGITS, logits);
	b->output(b->ctx, LMD_OUT_TAP, x);
}

void fx_init_all_ops(struct fx *fx)
{
	fx_init(fx, build);
	fx->params.key.flags = LMD_PLAN_LOGITS | LMD_PLAN_LORA;
	fx->desc.n_group = N_GROUP;
	fx->desc.groups = group;
	fx->desc.n_cache = N_CACHE;
	fx->desc.caches = cache;
	fx->desc.n_row_in = LMD_LEN(row_in);
	fx->desc.row_ins = row_in;
	fx->desc.n_x = 2;
	fx->desc.n_lora_site = 3;
	fx->desc.n_input_embd = D;
}
