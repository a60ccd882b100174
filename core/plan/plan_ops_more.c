/* SPDX-License-Identifier: MIT
 *
 * The plan with every op, part two: experts, rows, time, X spaces, sampling. */
#include <string.h>

#include "core/plan/plan_ops_priv.h"

/* ---- experts ---- */

void fx_experts(struct em *m, uint32_t x)
{
	uint32_t logits = fx_linear(m, x, D, 8, "router"), id = fx_ids(m, 2, "expert");
	uint32_t w = fx_tok(m, 2, "share"), y = fx_tok(m, D, "moe"), r = fx_tok(m, D, "moe_r");
	uint32_t z = fx_tok(m, 2 * 12, "expert_lin"), bmm = fx_tok(m, H * 6, "bmm");
	struct lmd_op op = fx_op(LMD_OP_ROUTE);

	op.u.route.logits = fx_cols(logits, 0, 8);
	op.u.route.ids = fx_cols(id, 0, 2);
	op.u.route.weights = fx_cols(w, 0, 2);
	op.u.route.fn = LMD_ROUTE_SIGMOID;
	op.u.route.k = 2;
	op.u.route.bias = fx_wt(m, "router_b", 1, 8);
	op.u.route.n_group = 4;
	op.u.route.n_group_used = 2;
	op.u.route.renorm = 1;
	fx_emit(m, &op);
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
	fx_emit(m, &op);
	op.u.moe_ffn.y = (struct lmd_opnd){0};
	op.u.moe_ffn.r_out = fx_cols(fx_tok(m, D, "moe_fused"), 0, D);
	op.u.moe_ffn.gate = op.u.moe_ffn.up = LMD_NONE;
	op.u.moe_ffn.gate_up = fx_stack(m->fx, m->b, "gate_up_e", 8, 24, D);
	op.u.moe_ffn.weight_before = 1;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_LINEAR); /* third LINEAR of the plan */
	op.u.linear.x = fx_cols(x, 0, D);
	op.u.linear.ids = fx_cols(id, 0, 2);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = fx_stack(m->fx, m->b, "up_e", 8, 12, D);
	op.u.linear.y[0] = fx_heads(z, 0, 2, 12, 12);
	op.u.linear.act = LMD_ACT_RELU2;
	op.u.linear.softcap = 30;
	op.u.linear.clamp_lo = -2;
	op.u.linear.clamp_hi = 2;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_BMM);
	op.u.bmm.x = fx_heads(x, 0, H, 4, 4);
	op.u.bmm.w = fx_stack(m->fx, m->b, "bmm", H, 6, 4);
	op.u.bmm.y = fx_heads(bmm, 0, H, 6, 6);
	fx_emit(m, &op);
}

/* ---- rows ---- */

void fx_row_ops(struct em *m, uint32_t x, uint32_t hash)
{
	uint32_t seq = fx_val(m, LMD_SPACE_SEQS, LMD_VTYPE_F32, D, "pooled");
	uint32_t out = fx_val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, D, "leaving");
	uint32_t back = fx_tok(m, D, "back"), ext = fx_tok(m, D, "ext"),
		 many = fx_tok(m, 3 * D, "many");
	uint32_t top = fx_ids(m, 3, "top"), top_v = fx_tok(m, 3, "top_v"),
		 sum = fx_tok(m, H, "sum");
	uint32_t soft = fx_tok(m, D, "soft");
	struct lmd_op op = fx_op(LMD_OP_REDUCE);

	op.u.reduce.x = fx_cols(x, 0, D);
	op.u.reduce.y = fx_cols(seq, 0, D);
	op.u.reduce.kind = LMD_REDUCE_MEAN;
	op.u.reduce.axis = LMD_AXIS_SEQ;
	fx_emit(m, &op);
	op.u.reduce.y = fx_cols(top, 0, 3);
	op.u.reduce.y2 = fx_cols(top_v, 0, 3);
	op.u.reduce.kind = LMD_REDUCE_TOP_K;
	op.u.reduce.axis = LMD_AXIS_ROW;
	op.u.reduce.n = 3;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_REDUCE);
	op.u.reduce.x = fx_heads(x, 0, H, 4, 4);
	op.u.reduce.y = fx_heads(sum, 0, H, 1, 1);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	fx_emit(m, &op);

	op = fx_op(LMD_OP_GATHER);
	op.u.gather.x = fx_cols(x, 0, D);
	op.u.gather.y = fx_cols(out, 0, D);
	op.u.gather.idx_kind = LMD_IDX_OUT_ROW;
	fx_emit(m, &op);
	op.u.gather.x = fx_cols(seq, 0, D);
	op.u.gather.y = fx_cols(back, 0, D);
	op.u.gather.idx_kind = LMD_IDX_SEQ_OF;
	fx_emit(m, &op);
	op.u.gather.x = fx_src(LMD_SRC_INPUT, 0, D);
	op.u.gather.y = fx_cols(ext, 0, D);
	op.u.gather.idx_kind = LMD_IDX_EXT;
	fx_emit(m, &op);
	op.u.gather.x = fx_cols(x, 0, D);
	op.u.gather.y = fx_cols(many, 0, 3 * D);
	op.u.gather.idx_kind = LMD_IDX_OPND;
	op.u.gather.idx = fx_cols(hash, 0, 3);
	op.u.gather.n_id = 3;
	fx_emit(m, &op);

	op = fx_op(LMD_OP_SOFTMAX);
	op.u.softmax.x = fx_heads(x, 0, H, 4, 4);
	op.u.softmax.y = fx_heads(soft, 0, H, 4, 4);
	op.u.softmax.sinkhorn = 3;
	op.u.softmax.eps = 1e-6f;
	fx_emit(m, &op);
}

void fx_ew_and_mix(struct em *m, uint32_t x)
{
	uint32_t a = fx_tok(m, D, "ew_a"), c = fx_tok(m, D, "ew_b"),
		 mixed = fx_tok(m, 2 * 4, "mixed");
	uint32_t copy = fx_val(m, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, D, "copy");
	uint32_t red = fx_tok(m, D, "reduced"), all = fx_tok(m, 2 * D, "gathered");
	struct lmd_op op = fx_op(LMD_OP_EW);

	op.u.ew.n_in = 3;
	op.u.ew.in[0] = fx_heads(x, 0, H, 4, 4);
	op.u.ew.in[1] = fx_src(LMD_SRC_ROW_IN, 1, 1);
	op.u.ew.in[2] = fx_wvec(m, "gain", 4);
	op.u.ew.n_out = 2;
	op.u.ew.out[0] = fx_heads(a, 0, H, 4, 4);
	op.u.ew.out[1] = fx_heads(c, 0, H, 4, 4);
	op.u.ew.n_ins = 3;
	op.u.ew.ins[0] = (struct lmd_ew_ins){.op = LMD_EW_CONST, .dst = 8, .imm = 3};
	op.u.ew.ins[1] = (struct lmd_ew_ins){.op = LMD_EW_FMA, .dst = 9, .a = 0, .b = 1, .c = 8};
	op.u.ew.ins[2] = (struct lmd_ew_ins){.op = LMD_EW_MUL, .dst = 10, .a = 9, .b = 2};
	op.u.ew.out_reg[0] = 10;
	op.u.ew.out_reg[1] = 9;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_MIX);
	op.u.mix.x = fx_heads(x, 0, 4, 4, 4);
	op.u.mix.c = fx_wvec(m, "mix_c", 8);
	op.u.mix.d = fx_cols(x, 0, 2);
	op.u.mix.z = fx_cols(x, 4, 4);
	op.u.mix.y = fx_heads(mixed, 0, 2, 4, 4);
	fx_emit(m, &op);
	op = fx_op(LMD_OP_CAST_COPY);
	op.u.cast_copy.x = fx_cols(x, 0, D);
	op.u.cast_copy.y = fx_cols(copy, 0, D);
	fx_emit(m, &op);
	op = fx_op(LMD_OP_ALLREDUCE);
	op.u.collective.x = fx_cols(x, 0, D);
	op.u.collective.y = fx_cols(red, 0, D);
	fx_emit(m, &op);
	op = fx_op(LMD_OP_ALLGATHER);
	op.u.collective.x = fx_cols(x, 0, D);
	op.u.collective.y = fx_cols(all, 0, 2 * D);
	fx_emit(m, &op);
}

/* ---- time ---- */

void fx_convs(struct em *m, uint32_t x)
{
	uint32_t dw = fx_tok(m, D, "dw"), shift = fx_tok(m, D, "shift"),
		 pool = fx_tok(m, D / 2, "pool");
	struct lmd_op op = fx_op(LMD_OP_CONV);

	op.u.conv.x = fx_cols(x, 0, D);
	op.u.conv.y = fx_cols(dw, 0, D);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = fx_wt(m, "conv", D, 4);
	op.u.conv.kernel = 4;
	op.u.conv.left = 3;
	op.u.conv.act = LMD_ACT_SILU;
	op.u.conv.cache = C_CONV;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_CONV);
	op.u.conv.x = fx_cols(x, 0, D);
	op.u.conv.y = fx_cols(shift, 0, D);
	op.u.conv.kind = LMD_CONV_SHIFT;
	op.u.conv.n = 1;
	op.u.conv.cache = C_SHIFT;
	fx_emit(m, &op);
	op.u.conv.y = fx_cols(pool, 0, D / 2);
	op.u.conv.score = fx_cols(dw, 0, D);
	op.u.conv.kind = LMD_CONV_POOL;
	op.u.conv.n = 4;
	op.u.conv.overlap = 1;
	op.u.conv.group = G_COMP;
	op.u.conv.cache = C_POOL;
	fx_emit(m, &op);
}

static void scan(struct em *m, uint32_t kind, uint32_t cache_id, const struct lmd_opnd *in,
		 uint32_t n_in, const char *name)
{
	const struct lmd_cache *c = &fx_caches[cache_id];
	struct lmd_op op = fx_op(LMD_OP_SCAN);
	uint32_t y = fx_tok(m, c->n_head * c->dv, name);

	op.u.scan.kind = kind;
	op.u.scan.cache = cache_id;
	op.u.scan.n_head = c->n_head;
	op.u.scan.n_key_head = kind == LMD_SCAN_MAMBA2 || kind == LMD_SCAN_DELTA ? 2 : c->n_head;
	op.u.scan.dk = c->dk;
	op.u.scan.dv = c->dv;
	memcpy(op.u.scan.in, in, n_in * sizeof(*in));
	op.u.scan.y = fx_cols(y, 0, c->n_head * c->dv);
	if (kind == LMD_SCAN_MAMBA1) {
		op.u.scan.w[0] = fx_wt(m, "mamba_a", D, 4);
		op.u.scan.w[1] = fx_wt(m, "mamba_d", 1, D);
	} else if (kind == LMD_SCAN_MAMBA2) {
		op.u.scan.w[0] = fx_wt(m, "ssd_a", 1, H);
	} else if (kind == LMD_SCAN_RWKV6) {
		op.u.scan.w[0] = fx_wt(m, "rwkv_u", 1, D);
	}
	fx_emit(m, &op);
}

void fx_scans(struct em *m, uint32_t x)
{
	const struct lmd_opnd h44 = fx_heads(x, 0, 4, 4, 4), cols = fx_cols(x, 0, D);
	const struct lmd_opnd h1 = fx_cols(x, 0, 4), kk = fx_heads(x, 0, 2, 8, 8);
	const struct lmd_opnd k2 = fx_heads(x, 0, 2, 4, 4);

	scan(m, LMD_SCAN_MAMBA1, C_MAMBA, (const struct lmd_opnd[]){cols, cols, h1, h1}, 4,
	     "mamba1");
	scan(m, LMD_SCAN_MAMBA2, C_SSD, (const struct lmd_opnd[]){h44, h1, kk, cols}, 4, "mamba2");
	scan(m, LMD_SCAN_RWKV6, C_RWKV, (const struct lmd_opnd[]){h44, h44, cols, h44}, 4, "rwkv6");
	scan(m, LMD_SCAN_RWKV7, C_RWKV, (const struct lmd_opnd[]){h44, h44, h44, h44, h44, h44}, 6,
	     "rwkv7");
	scan(m, LMD_SCAN_GLA, C_RWKV, (const struct lmd_opnd[]){h44, h44, h44, h1}, 4, "gla");
	scan(m, LMD_SCAN_DELTA, C_RWKV, (const struct lmd_opnd[]){k2, k2, h44, h44, h1}, 5,
	     "delta");
}

void fx_sparse(struct em *m, uint32_t x)
{
	uint32_t list = fx_ids(m, 4, "list"), y = fx_tok(m, H * DK, "sparse"),
		 q = fx_linear(m, x, D, H * DK, "q2");
	struct lmd_op op = fx_op(LMD_OP_INDEX);

	op.u.index.q = fx_heads(q, 0, H, DK, DK);
	op.u.index.w = fx_cols(x, 0, H);
	op.u.index.y = fx_cols(list, 0, 4);
	op.u.index.kind = LMD_INDEX_WEIGHTED;
	op.u.index.cache = C_INDEX;
	op.u.index.n = 4;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_ATTN); /* fourth ATTN of the plan */
	op.u.attn.q = fx_heads(q, 0, H, DK, DK);
	op.u.attn.y = fx_heads(y, 0, H, DK, DK);
	op.u.attn.n_kv_head = HK;
	op.u.attn.scale = 1;
	op.u.attn.src[0] = (struct lmd_attn_src){.kind = LMD_KV_CACHE,
						 .cache = C_KV,
						 .group = G_FULL,
						 .list = fx_cols(list, 0, 4),
						 .list_unit = 4};
	op.u.attn.src[1].cache = op.u.attn.src[1].group = LMD_NONE;
	fx_emit(m, &op);
}

/* ---- X spaces ---- */

void fx_maps(struct em *m)
{
	const struct lmd_input image = {.space = LMD_SPACE_X0,
					.vtype = LMD_VTYPE_F32,
					.width = 3,
					.own_rows = 1,
					.name = "image"};
	uint32_t in = m->b->input(m->b->ctx, &image);
	uint32_t p = fx_val(m, LMD_SPACE_X0, LMD_VTYPE_F32, 8, "patches");
	uint32_t f = fx_val(m, X1, LMD_VTYPE_F32, 8, "merged");
	uint32_t mean = fx_val(m, X1, LMD_VTYPE_F32, 8, "block_mean");
	struct lmd_op op = fx_op(LMD_OP_PATCH);

	op.u.patch.x = fx_src(LMD_SRC_INPUT, in, 3);
	op.u.patch.x_space = LMD_SPACE_X0;
	op.u.patch.w = fx_wt(m, "patch", 8, 3 * 4);
	op.u.patch.y = fx_cols(p, 0, 8);
	op.u.patch.n_dim = 2;
	for (int i = 0; i < 2; i++)
		op.u.patch.kernel[i] = op.u.patch.stride[i] = 2, op.u.patch.dilation[i] = 1;
	fx_emit(m, &op);
	op = fx_op(LMD_OP_LINEAR); /* folds four rows into one */
	op.u.linear.x = (struct lmd_opnd){
		.src = LMD_SRC_VALUE, .id = p, .n_head = 1, .width = 32, .fold = 4};
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = fx_wt(m, "merge", 8, 32);
	op.u.linear.y[0] = fx_cols(f, 0, 8);
	fx_emit(m, &op);
	op = fx_op(LMD_OP_REDUCE); /* fourth REDUCE of the plan */
	op.u.reduce.x = fx_cols(p, 0, 8);
	op.u.reduce.y = fx_cols(mean, 0, 8);
	op.u.reduce.kind = LMD_REDUCE_MEAN;
	op.u.reduce.axis = LMD_AXIS_BLOCK;
	op.u.reduce.n = 4;
	fx_emit(m, &op);
}

/* ---- the TAIL plan ---- */

void fx_tail(struct em *m)
{
	const struct lmd_input in[] = {
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_F32, .width = V, .name = "logits"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_F32, .width = 8, .name = "params"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_I32, .width = 4, .name = "rng"},
		{.space = LMD_SPACE_OUTPUTS, .vtype = LMD_VTYPE_I32, .width = 1, .name = "mask"},
		{.space = LMD_SPACE_OUTPUTS,
		 .vtype = LMD_VTYPE_I32,
		 .width = 64,
		 .name = "history"},
	};
	uint32_t id[5], token = fx_val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_I32, 1, "token");
	uint32_t top = fx_val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_I32, 5, "top");
	uint32_t lp = fx_val(m, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, 5, "top_lp");
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
	fx_emit(m, &op);
	m->b->output(m->b->ctx, LMD_OUT_TOKEN, token);
}
