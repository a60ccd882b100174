/* SPDX-License-Identifier: MIT
 *
 * One table for the members of all ops.  A row says where a member lies, what it is and what it may
 * contain; the builder, the checks, liveness, lowering, the cut and the dump all use it.  Rules
 * that only one op has (for example, that two widths are equal) are in shape_*.c. */
#include "core/plan/plan.h"

#include <stddef.h>

#define NAMES(id, ...) static const char *const id[] = {__VA_ARGS__}
NAMES(act_names, "none", "silu", "gelu", "gelu_erf", "gelu_quick", "relu", "relu2", "sigmoid",
      "softplus", "tanh", "xielu", "oai", "silu_clamp_in", "silu_clamp_out", "situ", "exp");
_Static_assert(LMD_LEN(act_names) == LMD_N_ACT, "an activation without a name");
NAMES(norm_names, "none", "rms", "layer", "l2");
NAMES(idx_names, "token", "opnd", "out_row", "seq_of", "ext");
NAMES(neg_names, "external", "row", "zero");
NAMES(when_names, "none", "before", "after");
NAMES(kv_src_names, "none", "cache", "rows");
NAMES(map_names, "block", "cycle");
NAMES(bias_names, "none", "alibi", "bucket", "rel");
NAMES(stage_names, NULL, "penalties", "temperature", "top_k", "top_p", "min_p", "greedy", "dist");
NAMES(route_names, NULL, "softmax", "sigmoid", "softmax_chosen", "sqrt_softplus", "raw");
NAMES(reduce_names, NULL, "mean", "sum", "max", "first", "last", "argmax", "top_k");
NAMES(axis_names, NULL, "seq", "block", "row");
NAMES(conv_names, NULL, "depthwise", "shift", "pool");
NAMES(scan_names, NULL, "mamba1", "mamba2", "rwkv6", "rwkv7", "gla", "delta");
NAMES(index_names, NULL, "weighted", "sum", "per_head");

#define AT(op, f)   offsetof(struct lmd_op, u.op.f)
#define SIZE(op, f) sizeof(((struct lmd_op *)NULL)->u.op.f)
/* One member. */
#define ONE(op, f, k, fl, d)                                                                       \
	{                                                                                          \
		.name = #f, .offset = AT(op, f), .kind = LMI_FIELD_##k, .count = 1,                \
		.stride = SIZE(op, f), .flags = fl, .def = d                                       \
	}
/* An array; in the second form only the first op.n elements are in use. */
#define ARRAY(op, f, k, fl, d)                                                                     \
	{                                                                                          \
		.name = #f, .offset = AT(op, f), .kind = LMI_FIELD_##k,                            \
		.count = SIZE(op, f) / SIZE(op, f[0]), .stride = SIZE(op, f[0]), .flags = fl,      \
		.def = d                                                                           \
	}
#define SOME(op, f, k, fl, n)                                                                      \
	{                                                                                          \
		.name = #f, .offset = AT(op, f), .kind = LMI_FIELD_##k,                            \
		.count = SIZE(op, f) / SIZE(op, f[0]), .stride = SIZE(op, f[0]), .flags = fl,      \
		.live = AT(op, n)                                                                  \
	}
#define IN(op, f, fl)      ONE(op, f, IN, fl, 0)
#define OUT(op, f, fl)     ONE(op, f, OUT, fl, 0)
#define WREF(op, f, fl)    ONE(op, f, WREF, fl, 0)
#define U32(op, f, d)      ONE(op, f, U32, 0, d)
#define F32(op, f, d)      ONE(op, f, F32, 0, d)
#define ENUM(op, f, d, n)                                                                          \
	{                                                                                          \
		.name = #f, .offset = AT(op, f), .kind = LMI_FIELD_ENUM, .count = 1,               \
		.stride = SIZE(op, f), .def = d, .names = n, .n_names = LMD_LEN(n)                 \
	}
#define NORM(op, m)                                                                                \
	ENUM(op, m.kind, 0, norm_names), F32(op, m.eps, 0), U32(op, m.n, 0),                       \
		U32(op, m.g_plus_one, 0), IN(op, m.g, LMI_F_OPT | LMI_F_WEIGHT),                   \
		IN(op, m.b, LMI_F_OPT | LMI_F_WEIGHT)
#define ACT(op) ENUM(op, act, 0, act_names)
#define ACT_P(op) ARRAY(op, p, F32, LMI_F_INF, 0)

static const struct lmi_field embed[] = {
	OUT(embed, y, LMI_F_ANY),
	WREF(embed, table, LMI_F_INT),
	ENUM(embed, idx_kind, 0, idx_names),
	IN(embed, idx, LMI_F_OPT | LMI_F_I32),
	U32(embed, n_id, 1),
	F32(embed, scale, 1),
	WREF(embed, pos_table, LMI_F_OPT),
	ONE(embed, pos_off, I32, 0, 0),
	IN(embed, pos, LMI_F_OPT | LMI_F_I32),
	WREF(embed, type_table, LMI_F_OPT),
	U32(embed, type_row, 0),
	ENUM(embed, neg, 0, neg_names),
	U32(embed, neg_row, 0),
	F32(embed, scale_ext, 1),
	U32(embed, ext_col0, 0),
	ONE(embed, lora_site, SITE, LMI_F_OPT, 0),
};

static const struct lmi_field norm[] = {
	IN(norm, x, 0),
	IN(norm, r, LMI_F_OPT),
	F32(norm, a, 1),
	U32(norm, over_rows, 0),
	OUT(norm, h, LMI_F_OPT),
	OUT(norm, y, 0),
	OUT(norm, stat, LMI_F_OPT),
	NORM(norm, norm),
};

static const struct lmi_field linear[] = {
	IN(linear, x, 0),
	ONE(linear, n_w, COUNT, 0, 0),
	ACT(linear),
	SOME(linear, w, WREF, 0, n_w),
	SOME(linear, y, OUT, LMI_F_OPT, n_w),
	SOME(linear, r_in, IN, LMI_F_OPT, n_w),
	SOME(linear, r_out, OUT, LMI_F_OPT, n_w),
	NORM(linear, pro),
	F32(linear, scale, 1),
	F32(linear, a, 1),
	F32(linear, softcap, 0),
	ONE(linear, clamp_lo, F32, LMI_F_INF, 0),
	ONE(linear, clamp_hi, F32, LMI_F_INF, 0),
	ACT_P(linear),
	IN(linear, ids, LMI_F_OPT | LMI_F_I32),
	SOME(linear, lora_site, SITE, LMI_F_OPT, n_w),
};

static const struct lmi_field rope_kv[] = {
	IN(rope_kv, q, LMI_F_OPT),
	IN(rope_kv, k, LMI_F_OPT),
	IN(rope_kv, v, LMI_F_OPT),
	OUT(rope_kv, q_out, LMI_F_OPT),
	OUT(rope_kv, k_out, LMI_F_OPT),
	NORM(rope_kv, qn),
	NORM(rope_kv, kn),
	ENUM(rope_kv, norm_when, 0, when_names),
	ONE(rope_kv, rope, ROPE, LMI_F_OPT, 0),
	U32(rope_kv, rot0, 0),
	F32(rope_kv, sign, 1),
	IN(rope_kv, pos, LMI_F_OPT | LMI_F_I32),
	ONE(rope_kv, cache, CACHE, LMI_F_OPT, 0),
	U32(rope_kv, append, 0),
};

#define ATTN_SRC(i)                                                                                \
	ENUM(attn, src[i].kind, 0, kv_src_names), ONE(attn, src[i].cache, CACHE, LMI_F_OPT, 0),    \
		ONE(attn, src[i].group, GROUP, LMI_F_OPT, 0), U32(attn, src[i].list_unit, 0),      \
		IN(attn, src[i].k, LMI_F_OPT | LMI_F_ROWS),                                        \
		IN(attn, src[i].v, LMI_F_OPT | LMI_F_ROWS),                                        \
		IN(attn, src[i].list, LMI_F_OPT | LMI_F_I32)
#define ATTN_REL(i)                                                                                \
	IN(attn, rel[i].q2, LMI_F_OPT), WREF(attn, rel[i].r, LMI_F_OPT),                           \
		ONE(attn, rel[i].off, I32, 0, 0), U32(attn, rel[i].plane, 0),                      \
		ONE(attn, rel[i].reserved, PAD, 0, 0)
static const struct lmi_field attn[] = {
	IN(attn, q, 0),
	OUT(attn, y, 0),
	U32(attn, n_kv_head, 0),
	ENUM(attn, kv_map, 0, map_names),
	ATTN_SRC(0),
	ATTN_SRC(1),
	F32(attn, scale, 0),
	F32(attn, softcap, 0),
	WREF(attn, sinks, LMI_F_OPT),
	ENUM(attn, bias, 0, bias_names),
	WREF(attn, bias_w, LMI_F_OPT),
	U32(attn, n_bucket, 0),
	U32(attn, bidirectional, 0),
	F32(attn, max_distance, 0),
	ATTN_REL(0),
	ATTN_REL(1),
	U32(attn, tree, 0),
};

static const struct lmi_field glu[] = {
	IN(glu, a, 0), IN(glu, b, LMI_F_OPT), OUT(glu, y, 0), ACT(glu), ACT_P(glu),
};

static const struct lmi_field ffn[] = {
	IN(ffn, x, 0),
	NORM(ffn, norm),
	WREF(ffn, gate, LMI_F_OPT),
	WREF(ffn, up, 0),
	WREF(ffn, down, 0),
	ACT(ffn),
	ACT_P(ffn),
	F32(ffn, a, 1),
	OUT(ffn, y, LMI_F_OPT),
	IN(ffn, r_in, LMI_F_OPT),
	OUT(ffn, r_out, LMI_F_OPT),
	ARRAY(ffn, lora_site, SITE, LMI_F_OPT, 0),
};

static const struct lmi_field head[] = {
	IN(head, x, LMI_F_ROWS),
	NORM(head, norm),
	WREF(head, w, 0),
	WREF(head, bias, LMI_F_OPT),
	OUT(head, y, 0),
	F32(head, scale, 1),
	F32(head, softcap, 0),
	ONE(head, lora_site, SITE, LMI_F_OPT, 0),
};

static const struct lmi_field sample[] = {
	IN(sample, logits, 0),
	IN(sample, params, 0),
	IN(sample, rng, LMI_F_I32),
	IN(sample, mask, LMI_F_OPT | LMI_F_I32),
	IN(sample, history, LMI_F_OPT | LMI_F_I32),
	ONE(sample, n_stage, COUNT, 0, 0),
	{.name = "stage", .offset = AT(sample, stage), .kind = LMI_FIELD_ENUM,
	 .count = LMD_SAMPLE_STAGES, .stride = sizeof(uint32_t), .live = AT(sample, n_stage),
	 .names = stage_names, .n_names = LMD_LEN(stage_names)},
	SOME(sample, param_col, U32, 0, n_stage),
	OUT(sample, token, LMI_F_I32),
	OUT(sample, top_id, LMI_F_OPT | LMI_F_I32),
	OUT(sample, top_lp, LMI_F_OPT),
};

static const struct lmi_field ew[] = {
	ONE(ew, n_in, COUNT, 0, 0),
	ONE(ew, n_out, COUNT, 0, 0),
	ONE(ew, n_ins, COUNT, 0, 0),
	ONE(ew, reserved, PAD, 0, 0),
	SOME(ew, in, IN, LMI_F_ANY | LMI_F_WEIGHT | LMI_F_ROWS, n_in),
	SOME(ew, out, OUT, 0, n_out),
	SOME(ew, out_reg, REG, 0, n_out),
	SOME(ew, ins, PROG, 0, n_ins),
};

static const struct lmi_field route[] = {
	IN(route, logits, 0),
	OUT(route, ids, LMI_F_I32),
	OUT(route, weights, 0),
	IN(route, given, LMI_F_OPT | LMI_F_I32),
	ENUM(route, fn, 0, route_names),
	U32(route, k, 0),
	WREF(route, bias, LMI_F_OPT),
	U32(route, n_group, 0),
	U32(route, n_group_used, 0),
	U32(route, renorm, 0),
	U32(route, id_div, 1),
	F32(route, scale, 1),
};

static const struct lmi_field moe_ffn[] = {
	IN(moe_ffn, x, 0),
	IN(moe_ffn, ids, LMI_F_I32),
	IN(moe_ffn, weights, 0),
	WREF(moe_ffn, gate, LMI_F_OPT),
	WREF(moe_ffn, up, LMI_F_OPT),
	WREF(moe_ffn, gate_up, LMI_F_OPT),
	WREF(moe_ffn, down, 0),
	ACT(moe_ffn),
	ACT_P(moe_ffn),
	U32(moe_ffn, weight_before, 0),
	F32(moe_ffn, a, 1),
	OUT(moe_ffn, y, LMI_F_OPT),
	IN(moe_ffn, r_in, LMI_F_OPT),
	OUT(moe_ffn, r_out, LMI_F_OPT),
	ARRAY(moe_ffn, lora_site, SITE, LMI_F_OPT, 0),
};

static const struct lmi_field bmm[] = {
	IN(bmm, x, 0), WREF(bmm, w, 0), OUT(bmm, y, 0),
};

static const struct lmi_field gather[] = {
	IN(gather, x, LMI_F_ANY | LMI_F_ROWS | LMI_F_OWN),
	OUT(gather, y, LMI_F_ANY),
	ENUM(gather, idx_kind, 0, idx_names),
	U32(gather, n_id, 1),
	U32(gather, sum, 0),
	IN(gather, idx, LMI_F_OPT | LMI_F_I32),
};

static const struct lmi_field reduce[] = {
	IN(reduce, x, LMI_F_ROWS),
	OUT(reduce, y, LMI_F_ANY),
	OUT(reduce, y2, LMI_F_OPT),
	ENUM(reduce, kind, 0, reduce_names),
	ENUM(reduce, axis, 0, axis_names),
	U32(reduce, n, 0),
};

static const struct lmi_field softmax[] = {
	IN(softmax, x, 0),
	OUT(softmax, y, 0),
	F32(softmax, scale, 1),
	U32(softmax, sinkhorn, 0),
	F32(softmax, eps, 0),
};

static const struct lmi_field conv[] = {
	IN(conv, x, 0),
	IN(conv, score, LMI_F_OPT),
	OUT(conv, y, 0),
	ENUM(conv, kind, 0, conv_names),
	WREF(conv, w, LMI_F_OPT),
	U32(conv, kernel, 0),
	U32(conv, dilation, 1),
	U32(conv, left, 0),
	U32(conv, n, 0),
	U32(conv, overlap, 0),
	U32(conv, map, 0),
	ONE(conv, group, GROUP, LMI_F_OPT, 0),
	ACT(conv),
	ACT_P(conv),
	ONE(conv, cache, CACHE, LMI_F_OPT, 0),
};

static const struct lmi_field scan[] = {
	ARRAY(scan, in, IN, LMI_F_OPT | LMI_F_WEIGHT, 0),
	OUT(scan, y, 0),
	ARRAY(scan, w, WREF, LMI_F_OPT, 0),
	ENUM(scan, kind, 0, scan_names),
	U32(scan, n_head, 0),
	U32(scan, n_key_head, 0),
	U32(scan, dk, 0),
	U32(scan, dv, 0),
	ENUM(scan, key_map, 0, map_names),
	F32(scan, scale, 1),
	ONE(scan, cache, CACHE, 0, 0),
};

static const struct lmi_field mix[] = {
	IN(mix, x, 0),
	IN(mix, c, LMI_F_OPT | LMI_F_WEIGHT),
	IN(mix, d, LMI_F_OPT | LMI_F_WEIGHT),
	IN(mix, z, LMI_F_OPT | LMI_F_WEIGHT),
	OUT(mix, y, 0),
	U32(mix, c_transposed, 0),
};

static const struct lmi_field index_[] = {
	IN(index, q, 0),
	IN(index, w, LMI_F_OPT),
	OUT(index, y, LMI_F_I32),
	ENUM(index, kind, 0, index_names),
	ONE(index, cache, CACHE, 0, 0),
	U32(index, n, 0),
	U32(index, unit, 1),
	U32(index, local, 0),
	F32(index, scale, 1),
	U32(index, each, 0),
	ONE(index, of, GROUP, LMI_F_OPT, 0),
};

static const struct lmi_field cast_copy[] = {
	IN(cast_copy, x, LMI_F_ANY | LMI_F_WEIGHT), OUT(cast_copy, y, LMI_F_ANY),
};

static const struct lmi_field collective[] = {
	IN(collective, x, 0), OUT(collective, y, 0),
};

static const struct lmi_field patch[] = {
	IN(patch, x, LMI_F_ROWS | LMI_F_OWN),
	U32(patch, x_space, 0),
	WREF(patch, w, 0),
	OUT(patch, y, 0),
	U32(patch, n_dim, 0),
	ARRAY(patch, kernel, U32, 0, 0),
	ARRAY(patch, stride, U32, 0, 0),
	ARRAY(patch, pad, U32, 0, 0),
	ARRAY(patch, dilation, U32, 0, 0),
};

#define INFO(n, table, m)                                                                          \
	{                                                                                          \
		.name = #n, .fields = table, .n_fields = LMD_LEN(table),                           \
		.bytes = sizeof(struct lmd_op_##n), .mandatory = m                                 \
	}
static const struct lmi_op_info infos[LMD_N_OP] = {
	[LMD_OP_EMBED] = INFO(embed, embed, true),
	[LMD_OP_NORM] = INFO(norm, norm, true),
	[LMD_OP_LINEAR] = INFO(linear, linear, true),
	[LMD_OP_ROPE_KV] = INFO(rope_kv, rope_kv, true),
	[LMD_OP_ATTN] = INFO(attn, attn, true),
	[LMD_OP_GLU] = INFO(glu, glu, true),
	[LMD_OP_FFN] = INFO(ffn, ffn, false),
	[LMD_OP_HEAD] = INFO(head, head, true),
	[LMD_OP_SAMPLE] = INFO(sample, sample, false),
	[LMD_OP_EW] = INFO(ew, ew, true),
	[LMD_OP_ROUTE] = INFO(route, route, false),
	[LMD_OP_MOE_FFN] = INFO(moe_ffn, moe_ffn, false),
	[LMD_OP_BMM] = INFO(bmm, bmm, false),
	[LMD_OP_GATHER] = INFO(gather, gather, false),
	[LMD_OP_REDUCE] = INFO(reduce, reduce, false),
	[LMD_OP_SOFTMAX] = INFO(softmax, softmax, false),
	[LMD_OP_CONV] = INFO(conv, conv, false),
	[LMD_OP_SCAN] = INFO(scan, scan, false),
	[LMD_OP_MIX] = INFO(mix, mix, false),
	[LMD_OP_INDEX] = INFO(index, index_, false),
	[LMD_OP_CAST_COPY] = INFO(cast_copy, cast_copy, true),
	[LMD_OP_ALLREDUCE] = {.name = "allreduce", .fields = collective,
			      .n_fields = LMD_LEN(collective),
			      .bytes = sizeof(struct lmd_op_collective)},
	[LMD_OP_ALLGATHER] = {.name = "allgather", .fields = collective,
			      .n_fields = LMD_LEN(collective),
			      .bytes = sizeof(struct lmd_op_collective)},
	[LMD_OP_PATCH] = INFO(patch, patch, false),
};

const struct lmi_op_info *lmi_op_info(uint32_t code)
{
	return code < LMD_N_OP && infos[code].name ? &infos[code] : NULL;
}
