/* SPDX-License-Identifier: MIT
 *
 * Errors in ops: one member of one op is changed in a plan that otherwise builds, and the error
 * message must name it with both numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/plan_test.h"

#define E(op, nth, field, member, value, text)                                                     \
	{                                                                                          \
		LMD_OP_##op, nth, field, FX_##member, value, text                                  \
	}
static const struct fx_edit invalid[] = {
	/* checks based on the field table */
	E(EMBED, 0, "y", SRC, 9, "y is 9, expected"),
	E(EMBED, 0, "y", SRC, LMD_SRC_WEIGHT, "not source 4"),
	E(EMBED, 0, "y", NONE, 0, "y is missing"),
	E(EMBED, 0, "y", ID, 7777, "source 1 has no number 7777"),
	E(EMBED, 0, "y", N_HEAD, 0, "0 heads of 16"),
	E(EMBED, 0, "y", COL0, 4294967295.0, "columns up to 4294967311 of a source of 16"),
	E(NORM, 0, "x", COL0, 1, "x: columns up to 17 of a source of 16"),
	E(NORM, 0, "x", WIDTH, 0, "1 heads of 0"),
	E(NORM, 0, "x", SRC, LMD_SRC_WEIGHT, "is not allowed here"),
	E(NORM, 0, "x", SRC, LMD_SRC_INPUT, "input rows has rows of its own"),
	E(NORM, 0, "x", FOLD, 2, "only tokens and X spaces fold"),
	E(NORM, 0, "y", FOLD, 2, "an output with fold 2"),
	E(NORM, 0, "a", SELF, NAN, "a is nan"),
	E(NORM, 0, "a", SELF, INFINITY, "a is inf"),
	E(LINEAR, 0, "w#1", SELF, 400, "w is number 400"),
	E(LINEAR, 0, "w#1", SELF, 4294967295.0, "w is missing"),
	E(LINEAR, 0, "w#1", SELF, 3, "w ids_table holds integers"),
	E(LINEAR, 0, "lora_site#1", SELF, 3, "lora_site is number 3, but there are only 3"),
	E(LINEAR, 0, "n_w", SELF, 5, "is 5, expected 0..4"),
	E(ROPE_KV, 0, "rope", SELF, 1, "rope is number 1, but there are only 1"),
	E(ROPE_KV, 0, "cache", SELF, 10, "cache is number 10, but there are only 10"),
	E(ATTN, 0, "src[0].group", SELF, 6, "src[0].group is number 6, but there are only 6"),
	E(GLU, 0, "act", SELF, 16, "act is 16"),
	E(ROUTE, 0, "fn", SELF, 0, "fn is 0"),
	E(ROUTE, 0, "ids", ID, 13, "ids is f32, expected i32"),
	E(GATHER, 0, "x", ID, 19, "x has rows of seqs, expected tokens"),
	E(REDUCE, 2, "x", ID, 19, "x has rows of seqs, expected tokens"),
	E(BMM, 0, "y", STRIDE, 5, "heads of an output are 5 apart but 6 wide"),
	E(FFN, 0, "norm.kind", SELF, 4, "norm.kind is 4"),
	/* embed */
	E(EMBED, 0, "y", WIDTH, 15, "y has 15 columns, expected 16"),
	E(EMBED, 0, "idx_kind", SELF, LMD_IDX_OUT_ROW, "idx_kind is 2, expected 0..1"),
	E(EMBED, 0, "n_id", SELF, 0, "n_id is 0"),
	E(EMBED, 0, "type_row", SELF, 2, "type_row is 2, the table type_embd has 2 rows"),
	E(EMBED, 0, "ext_col0", SELF, 1, "columns 1..17 of input rows, which has 16"),
	E(EMBED, 0, "pos_table", SELF, 3, "pos_table ids_table holds integers"),
	E(EMBED, 1, "y", ID, 0, "y is float, the table ids_table holds i32"),
	E(EMBED, 1, "scale", SELF, 2, "a table of ids cannot have a scale (2)"),
	E(EMBED, 1, "idx", WIDTH, 1, "idx has 1 columns, expected 2"),
	E(EMBED, 1, "table", SELF, 0, "y has 6 columns, expected 32"),
	/* norm */
	E(NORM, 0, "norm.kind", SELF, 0, "norm.kind is none"),
	E(NORM, 0, "norm.n", SELF, 5, "norm.n is 5, which does not divide the width 16"),
	E(NORM, 0, "norm.n", SELF, 32, "norm.n is 32"),
	E(NORM, 0, "norm.eps", SELF, -1, "norm.eps is -1"),
	E(NORM, 0, "norm.g", WIDTH, 8, "norm.g has 8 columns, expected 16"),
	E(NORM, 0, "norm.g_plus_one", SELF, 2, "g_plus_one is 2"),
	E(NORM, 0, "stat", WIDTH, 3, "stat has 3 columns, expected 4"),
	E(NORM, 0, "r", WIDTH, 8, "r has 1 heads of 8, x has 1 of 16"),
	E(NORM, 0, "h", WIDTH, 8, "h has 1 heads of 8"),
	E(NORM, 0, "y", WIDTH, 8, "y has 1 heads of 8"),
	E(NORM, 0, "over_rows", SELF, 2, "over_rows is 2"),
	/* linear */
	E(LINEAR, 0, "n_w", SELF, 0, "n_w is 0"),
	E(LINEAR, 0, "x", WIDTH, 8, "pro.g has 16 columns, expected 8"),
	E(LINEAR, 1, "x", WIDTH, 8, "w router is [1, 8, 16], expected [1, 0, 8]"),
	E(LINEAR, 1, "y", WIDTH, 7, "y has 1 heads of 7, expected 1 of 8"),
	E(LINEAR, 1, "y", NONE, 0, "neither y nor r_out"),
	E(LINEAR, 1, "r_in", SRC, LMD_SRC_VALUE, "r_in"),
	E(LINEAR, 1, "softcap", SELF, -3, "softcap is -3"),
	E(LINEAR, 1, "clamp_lo", SELF, 3, "clamp_lo is 3, clamp_hi 0"),
	E(LINEAR, 1, "w", SELF, 18, "w down is [1, 16, 24], expected [1, 0, 16]"),
	E(LINEAR, 2, "ids", WIDTH, 1, "y has 2 heads of 12, expected 1 of 12"),
	E(LINEAR, 2, "y", N_HEAD, 1, "y has 1 heads of 12, expected 2 of 12"),
	/* rope_kv */
	E(ROPE_KV, 0, "q", N_HEAD, 3, "q_out has 4 heads of 8, q has 3 of 8"),
	E(ROPE_KV, 0, "q", NONE, 0, "q_out is given, but there is no q"),
	E(ROPE_KV, 0, "k", N_HEAD, 1, "k has 1 heads of 8, expected 2 of 8"),
	E(ROPE_KV, 0, "v", NONE, 0, "v is missing"),
	E(ROPE_KV, 0, "rot0", SELF, 1, "rotated columns 1..9 of heads of 8"),
	E(ROPE_KV, 0, "rot0", SELF, 4294967295.0, "rotated columns 4294967295..4294967303"),
	E(ROPE_KV, 0, "sign", SELF, 0, "sign is 0"),
	E(ROPE_KV, 0, "cache", SELF, 1, "cache 1 is of kind 3"),
	E(ROPE_KV, 0, "cache", SELF, 4, "k has 2 heads of 8, expected 1 of 8"),
	E(ROPE_KV, 1, "append", SELF, 3, "kind of the cache is 2, expected 0"),
	E(ROPE_KV, 0, "cache", SELF, 8, "runs over tokens, expected x0"),
	E(ROPE_KV, 0, "cache", SELF, 4294967295.0, "cache is missing"),
	E(ROPE_KV, 0, "append", SELF, 4, "append is 4"),
	E(ROPE_KV, 0, "append", SELF, 0, "v is given, but it is not appended"),
	E(ROPE_KV, 1, "append", SELF, 0, "cache 4 is given, but append is 0"),
	E(ROPE_KV, 1, "k", NONE, 0, "none of q, k, v is given"),
	E(ROPE_KV, 0, "qn.n", SELF, 3, "qn.n is 3, which does not divide the width 8"),
	/* attn */
	E(ATTN, 0, "n_kv_head", SELF, 3, "n_kv_head is 3, which does not divide 4 heads"),
	E(ATTN, 0, "n_kv_head", SELF, 4, "heads of the cache is 2, expected 4"),
	E(ATTN, 0, "y", N_HEAD, 3, "y has 3 heads of 8, expected 4 of 6"),
	E(ATTN, 0, "src[0].kind", SELF, 0, "src[0] is missing"),
	E(ATTN, 0, "src[0].cache", SELF, 3, "src.cache 3 is of kind 5"),
	E(ATTN, 0, "src[0].cache", SELF, 4, "heads of the cache is 1, expected 2"),
	E(ATTN, 0, "src[0].group", SELF, 3, "src.group is 3, expected 0"),
	E(ATTN, 0, "src[0].group", SELF, 1, "src.group state holds states"),
	E(ATTN, 0, "q", WIDTH, 4, "dk of the cache is 8, expected 4"),
	E(ATTN, 0, "sinks", SELF, 4, "sinks norm has 16 elements, expected 4"),
	E(ATTN, 0, "bias_w", SELF, 13, "bias_w"),
	E(ATTN, 0, "softcap", SELF, -1, "softcap is -1"),
	E(ATTN, 0, "tree", SELF, 2, "tree is 2"),
	E(ATTN, 1, "src[0].group", SELF, 0, "kind of src.group is 0, expected 3"),
	E(ATTN, 1, "src[0].group", SELF, 5, "runs over tokens, expected x0"),
	E(ATTN, 1, "src[0].cache", SELF, 0, "src.cache is 0, but the keys are rows"),
	E(ATTN, 1, "src[0].k", N_HEAD, 1, "src.k has 1 heads of 8, expected 2 of 8"),
	E(ATTN, 1, "src[0].v", WIDTH, 4, "src.v has 2 heads of 4, expected 2 of 8"),
	E(ATTN, 1, "n_bucket", SELF, 15, "bias_w rel_b is [1, 16, 4], expected [1, 15, 4]"),
	E(ATTN, 1, "max_distance", SELF, 4, "max_distance is 4, expected more than 4"),
	E(ATTN, 1, "bidirectional", SELF, 2, "bidirectional is 2"),
	E(ATTN, 2, "rel[0].q2", N_HEAD, 2, "heads of rel.q2 is 2, expected 4"),
	E(ATTN, 2, "rel[0].r", SELF, 4, "rel.r norm is [1, 1, 16]"),
	E(ATTN, 2, "rel[0].plane", SELF, 4, "rel.plane is 4"),
	E(ATTN, 3, "src[0].list_unit", SELF, 0, "src.list_unit is 0"),
	E(ATTN, 3, "src[0].list", N_HEAD, 4, "src.list has 4 heads, expected 1 or 2"),
	/* glu, ffn, head */
	E(GLU, 0, "b", WIDTH, 8, "b has 1 heads of 8, a has 1 of 16"),
	E(GLU, 0, "y", WIDTH, 8, "y has 1 heads of 8, a has 1 of 16"),
	E(FFN, 0, "x", WIDTH, 8, "up up is [1, 24, 16], expected [1, 0, 8]"),
	E(FFN, 0, "gate", SELF, 0, "gate token_embd is [1, 32, 16], expected [1, 24, 16]"),
	E(FFN, 0, "down", SELF, 0, "down token_embd is [1, 32, 16], expected [1, 0, 24]"),
	E(FFN, 0, "r_in", NONE, 0, "r_out is given without r_in"),
	E(HEAD, 0, "x", WIDTH, 8, "w token_embd is [1, 32, 16], expected [1, 0, 8]"),
	E(HEAD, 0, "x", ID, 48, "x: columns up to 16 of a source of 8"),
	E(HEAD, 0, "x", ID, 20, "x has rows of outputs, expected tokens"),
	E(HEAD, 0, "y", ID, 0, "y: columns up to 32"),
	E(HEAD, 0, "bias", SELF, 4, "bias norm has 16 elements, expected 32"),
	E(HEAD, 0, "softcap", SELF, -1, "softcap is -1"),
	/* ew */
	E(EW, 0, "n_out", SELF, 0, "n_out is 0"),
	E(EW, 0, "n_ins", SELF, 25, "is 25, expected 0..24"),
	E(EW, 0, "in#1", WIDTH, 2, "columns up to 2 of a source of 1"),
	E(EW, 0, "in#0", N_HEAD, 2, "in has 2 heads of 4, out has 4 of 4"),
	E(EW, 0, "out#1", N_HEAD, 2, "out[1] has 2 heads of 4"),
	E(EW, 0, "out_reg#0", SELF, 11, "out 0: register 11 was not written"),
	E(EW, 0, "out_reg#0", SELF, 200, "out 0: register 200 was not written"),
	E(EW, 0, "n_in", SELF, 2, "instruction 2 mul: register 2 was not written"),
	E(EW, 0, "ins#1", SELF, LMD_N_EW, "instruction 1: code 25"),
	E(EW, 0, "ins#1", SELF, LMD_EW_FMA | 3 << 8, "instruction 1 fma: writes register 3"),
	E(EW, 0, "ins#1", SELF, LMD_EW_FMA | 32 << 8, "instruction 1 fma: writes register 32"),
	/* experts */
	E(ROUTE, 0, "k", SELF, 9, "k is 9, expected 1..8"),
	E(ROUTE, 0, "k", SELF, 3, "ids has 1 heads of 2, expected 1 of 3"),
	E(ROUTE, 0, "n_group", SELF, 3, "n_group is 3"),
	E(ROUTE, 0, "n_group", SELF, 8, "n_group is 8"),
	E(ROUTE, 0, "n_group_used", SELF, 5, "n_group_used is 5, expected 1..4"),
	E(ROUTE, 0, "id_div", SELF, 0, "id_div is 0"),
	E(ROUTE, 0, "bias", SELF, 4, "bias norm has 16 elements, expected 8"),
	E(MOE_FFN, 0, "ids", WIDTH, 1, "weights has 1 heads of 2, expected 1 of 1"),
	E(MOE_FFN, 0, "gate", SELF, 23, "gate down_e is [8, 16, 12], expected [8, 12, 16]"),
	E(MOE_FFN, 0, "up", SELF, 4294967295.0, "up is missing"),
	E(MOE_FFN, 0, "weight_before", SELF, 2, "weight_before is 2"),
	E(MOE_FFN, 1, "up", SELF, 22, "gate_up is given together with gate or up"),
	E(MOE_FFN, 1, "gate_up", SELF, 22, "gate_up up_e is [8, 12, 16], expected [8, 24, 16]"),
	E(BMM, 0, "x", N_HEAD, 2, "x has 2 heads of 4, expected 4 of 4"),
	E(BMM, 0, "w", SELF, 24, "x has 4 heads of 4, expected 8 of 16"),
	/* rows */
	E(GATHER, 0, "idx_kind", SELF, LMD_IDX_TOKEN, "idx_kind is token"),
	E(GATHER, 0, "n_id", SELF, 2, "n_id is 2, expected 1"),
	E(GATHER, 0, "idx_kind", SELF, LMD_IDX_SEQ_OF, "runs over outputs, expected tokens"),
	E(GATHER, 1, "idx_kind", SELF, LMD_IDX_OUT_ROW, "runs over tokens, expected outputs"),
	E(GATHER, 2, "x", SRC, LMD_SRC_VALUE, "x is source 1 number 0, expected input 0"),
	E(GATHER, 3, "y", WIDTH, 47, "y has 47 columns, expected 48"),
	E(GATHER, 3, "sum", SELF, 1, "y has 48 columns, expected 16"),
	E(GATHER, 3, "idx", WIDTH, 2, "idx has 2 columns, expected 3"),
	E(REDUCE, 0, "axis", SELF, LMD_AXIS_ROW, "x has rows of tokens, expected seqs"),
	E(REDUCE, 0, "kind", SELF, LMD_REDUCE_ARGMAX, "kind is 6, which needs axis ROW"),
	E(REDUCE, 0, "y", WIDTH, 8, "y has 1 heads of 8, x has 1 of 16"),
	E(REDUCE, 1, "n", SELF, 17, "n is 17, expected 1..16"),
	E(REDUCE, 1, "n", SELF, 2, "y has 1 heads of 3, expected 1 of 2"),
	E(REDUCE, 2, "kind", SELF, LMD_REDUCE_FIRST, "kind is 4, which does not allow axis ROW"),
	E(REDUCE, 3, "n", SELF, 0, "n is 0"),
	E(REDUCE, 3, "axis", SELF, LMD_AXIS_SEQ, "runs over x1, expected seqs"),
	E(SOFTMAX, 0, "y", N_HEAD, 2, "y has 2 heads of 4, x has 4 of 4"),
	E(SOFTMAX, 0, "sinkhorn", SELF, 1001, "sinkhorn is 1001"),
	E(MIX, 0, "c", WIDTH, 7, "c has 7 columns, expected 8"),
	E(MIX, 0, "c", NONE, 0, "heads of y is 2, expected 4"),
	E(MIX, 0, "z", NONE, 0, "d is given, but there is no z"),
	E(MIX, 0, "d", WIDTH, 3, "d has 3 columns, expected 2"),
	E(MIX, 0, "y", WIDTH, 3, "width of y is 3, expected 4"),
	E(CAST_COPY, 0, "x", WIDTH, 8, "x has 1 heads of 8, expected 1 of 16"),
	E(ALLREDUCE, 0, "x", WIDTH, 8, "y has 1 heads of 16, x has 1 of 8"),
	E(ALLGATHER, 0, "x", WIDTH, 6, "y has 32 columns, not a multiple of the 6"),
	E(PATCH, 0, "n_dim", SELF, 3, "n_dim is 3"),
	E(PATCH, 0, "kernel#0", SELF, 3, "w patch is [1, 8, 12], expected [1, 0, 18]"),
	E(PATCH, 0, "stride#1", SELF, 0, "stride is 0"),
	E(PATCH, 0, "x_space", SELF, 0, "x_space is 0, expected 3..4"),
	E(PATCH, 0, "y", WIDTH, 7, "y has 7 columns, expected 8"),
	/* time */
	E(CONV, 0, "kernel", SELF, 3, "left is 3, expected 0..2"),
	E(CONV, 0, "kernel", SELF, 5, "w conv is [1, 16, 4], expected [1, 16, 5]"),
	E(CONV, 0, "left", SELF, 2, "left is 2, expected 3"),
	E(CONV, 0, "dilation", SELF, 0, "dilation is 0"),
	E(CONV, 0, "map", SELF, 1, "w conv is [1, 16, 4], expected [1, 16, 16]"),
	E(CONV, 0, "cache", SELF, 7, "rows (dk) of the cache is 7, expected 3"),
	E(CONV, 0, "cache", SELF, 2, "cache 2 is of kind 4"),
	E(CONV, 1, "n", SELF, 2, "rows (dk) of the cache is 1, expected 2"),
	E(CONV, 1, "n", SELF, 257, "n is 257"),
	E(CONV, 2, "overlap", SELF, 0, "y has 8 columns, expected 16"),
	E(CONV, 2, "score", WIDTH, 8, "score has 1 heads of 8"),
	E(CONV, 2, "group", SELF, 2, "kind of group is 3, expected 0"),
	E(CONV, 2, "group", SELF, 4294967295.0, "group is missing"),
	E(CONV, 2, "n", SELF, 5, "rows (dk) of the cache is 7, expected 9..256"),
	E(SCAN, 0, "cache", SELF, 0, "cache 0 is of kind 0"),
	E(SCAN, 0, "n_head", SELF, 8, "n_key_head is 16, n_head 8"),
	E(SCAN, 0, "in#2", WIDTH, 3, "in[2] has 3 columns, expected 4"),
	E(SCAN, 0, "in#4", SRC, LMD_SRC_ROW_IN, "in"),
	E(SCAN, 0, "w#0", SELF, 4, "w[0] norm has 16 elements, expected 64"),
	E(SCAN, 1, "n_key_head", SELF, 3, "n_key_head is 3, n_head 4"),
	E(SCAN, 1, "dk", SELF, 4, "dk of the cache is 8, expected 4"),
	E(SCAN, 1, "in#0", NONE, 0, "in[0] is missing"),
	E(SCAN, 2, "in#2", N_HEAD, 3, "in[2]"),
	E(SCAN, 3, "w#0", SELF, 4, "w[0] is given"),
	E(SCAN, 4, "in#3", WIDTH, 3, "in[3]"),
	E(SCAN, 5, "y", WIDTH, 8, "y has 1 heads of 8, expected 4 of 4"),
	E(INDEX, 0, "cache", SELF, 0, "cache 0 is of kind 0"),
	E(INDEX, 0, "q", WIDTH, 4, "width of q is 4, expected 8"),
	E(INDEX, 0, "n", SELF, 3, "y has 1 heads of 4, expected 1 of 3"),
	E(INDEX, 0, "w", NONE, 0, "w is missing"),
	E(INDEX, 0, "kind", SELF, LMD_INDEX_SUM, "w is given, but this kind has no weights"),
	E(INDEX, 0, "unit", SELF, 0, "unit is 0"),
	E(INDEX, 0, "local", SELF, 5, "local is 5"),
	/* order */
	E(REDUCE, 0, "x", ID, 21, "columns 0..16 of L1.back are read before"),
	E(GLU, 0, "y", ID, 0, "columns 0..16 of embd are written twice"),
	E(GLU, 0, "y", COL0, 1, "y: columns up to 17"),
	E(EMBED, 1, "y", WIDTH, 5, "y has 5 columns, expected 6"),
};

/* The TAIL plan's op. */
static const struct fx_edit invalid_tail[] = {
	E(SAMPLE, 0, "n_stage", SELF, 0, "n_stage is 0"),
	E(SAMPLE, 0, "stage#0", SELF, 8, "stage is 8"),
	E(SAMPLE, 0, "stage#0", SELF, LMD_STAGE_GREEDY, "only the last stage is greedy or dist"),
	E(SAMPLE, 0, "stage#2", SELF, LMD_STAGE_TOP_P, "only the last stage is greedy or dist"),
	E(SAMPLE, 0, "param_col#0", SELF, 6, "stage[0] reads columns from 6 on, params has 8"),
	E(SAMPLE, 0, "param_col#1", SELF, 9, "stage[1] reads columns from 9 on, params has 8"),
	E(SAMPLE, 0, "history", NONE, 0, "history is missing"),
	E(SAMPLE, 0, "mask", WIDTH, 1, NULL),
	E(SAMPLE, 0, "logits", WIDTH, 31, NULL),
	E(SAMPLE, 0, "logits", WIDTH, 3, "columns of top_id is 5, expected 1..3"),
	E(SAMPLE, 0, "rng", WIDTH, 3, "rng has 3 columns, expected 4"),
	E(SAMPLE, 0, "token", ID, 1, "columns 0..5 of top are written twice"),
	E(SAMPLE, 0, "top_lp", WIDTH, 4, "top_lp has 4 columns, expected 5"),
	E(SAMPLE, 0, "top_id", NONE, 0, "top_id is missing"),
};
#undef E

static void check_error(const struct fx_edit *e, uint32_t kind)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	char head[64];
	struct fx fx;
	enum lmd_status st;

	fx_init_all_ops(&fx);
	fx.params.key.kind = kind;
	fx.arg = (void *)(uintptr_t)e;
	st = lmi_plan_build(&p, &fx.params, &err);
	if (!e->text) {
		ck_assert_msg(st == LMD_OK, "%s", err.text);
		lmi_plan_destroy(p);
		return;
	}
	snprintf(head, sizeof(head), " %s (layer ", lmi_plan_op_info(e->code)->name);
	ck_assert_msg(st == LMD_INVALID, "%s %u %s = %g: status %d, %s",
		      lmi_plan_op_info(e->code)->name, e->nth, e->field, e->value, st, err.text);
	ck_assert_msg(strstr(err.text, head) && strstr(err.text, e->text),
		      "%s %u %s = %g: \"%s\" does not contain \"%s\"",
		      lmi_plan_op_info(e->code)->name, e->nth, e->field, e->value, err.text,
		      e->text);
	ck_assert_ptr_null(p);
}

START_TEST(op_errors)
{
	check_error(&invalid[_i], LMD_PLAN_FORWARD);
}
END_TEST

START_TEST(tail_op_errors)
{
	check_error(&invalid_tail[_i], LMD_PLAN_TAIL);
}
END_TEST

/* ---- any change of any member ---- */

static double random_number(uint64_t *seed)
{
	static const double n[] = {0, 1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 31, 32, 255, 256, 65536,
				   2147483648, 4294967295};

	return lmd_rand(seed) % 4 ? n[lmd_rand(seed) % LMD_LEN(n)] : (double)(lmd_rand(seed) % 64);
}

static struct fx_edit random_edit(uint64_t *seed, char *name, size_t n)
{
	const uint32_t code = (uint32_t)(1 + lmd_rand(seed) % (LMD_N_OP - 1));
	const struct lmi_plan_op_info *info = lmi_plan_op_info(code);
	const struct lmi_plan_field *f = &info->fields[lmd_rand(seed) % info->n_fields];
	const bool operand = f->kind == LMI_PLAN_FIELD_IN || f->kind == LMI_PLAN_FIELD_OUT;

	snprintf(name, n, "%s#%u", f->name, (unsigned)(lmd_rand(seed) % f->count));
	return (struct fx_edit){
		.code = code,
		.nth = (uint32_t)(lmd_rand(seed) % 6),
		.field = name,
		.member = operand ? FX_SRC + (uint32_t)(lmd_rand(seed) % (FX_NONE - FX_SRC + 1))
				  : FX_SELF,
		.value = random_number(seed),
	};
}

static void inside(const struct lmd_plan *p, const struct lmd_operand *o)
{
	if (o->src != LMD_SRC_VALUE)
		return;
	ck_assert_uint_lt(o->id, p->n_value);
	ck_assert_uint_gt(o->n_head, 0);
	ck_assert_uint_gt(o->width, 0);
	ck_assert_uint_le(o->col0 + (uint64_t)(o->n_head - 1) * o->head_stride + o->width,
			  (uint64_t)p->values[o->id].width * o->fold);
}

/* Checks that every window of an accepted plan lies inside its source. */
static void windows_inside(const struct lmd_plan *p)
{
	for (uint32_t i = 0; i < p->n_op; i++) {
		const struct lmi_plan_op_info *info = lmi_plan_op_info(p->ops[i].code);

		for (uint32_t k = 0; k < info->n_fields; k++) {
			const struct lmi_plan_field *f = &info->fields[k];

			for (uint32_t j = 0; j < f->count; j++)
				if (f->kind == LMI_PLAN_FIELD_IN || f->kind == LMI_PLAN_FIELD_OUT)
					inside(p, lmi_plan_field_get(f, &p->ops[i], j));
		}
	}
}

/* Plans that pass the checks can be decomposed, laid out and printed. */
static bool try_edit(const struct fx_edit *e, FILE *f)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;
	enum lmd_status st;

	fx_init_all_ops(&fx);
	fx.params.key.kind = e->code == LMD_OP_SAMPLE ? LMD_PLAN_TAIL : LMD_PLAN_FORWARD;
	fx.arg = (void *)(uintptr_t)e;
	st = lmi_plan_build(&p, &fx.params, &err);
	if (st != LMD_OK) {
		ck_assert_msg(st == LMD_INVALID, "%s.%s: status %d, %s",
			      lmi_plan_op_info(e->code)->name, e->field, st, err.text);
		return false;
	}
	windows_inside(lmi_plan_view(p));
	st = lmi_plan_lower_all(p, &err);
	ck_assert_msg(st == LMD_OK, "%s.%s member %u = %.0f was accepted, but: %s",
		      lmi_plan_op_info(e->code)->name, e->field, e->member, e->value, err.text);
	windows_inside(lmi_plan_view(p));
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	ck_assert_int_eq(lmi_plan_dump(p, f), LMD_OK);
	lmi_plan_destroy(p);
	return true;
}

START_TEST(any_change)
{
	uint64_t seed = lmd_seed("changes of ops", 990);
	FILE *f = fopen("/dev/null", "w");
	unsigned accepted = 0, n_rejected = 0;

	for (int i = 0; i < 3000; i++) {
		char name[64];
		const struct fx_edit e = random_edit(&seed, name, sizeof(name));

		if (try_edit(&e, f))
			accepted++;
		else
			n_rejected++;
	}
	fclose(f);
	ck_assert_uint_gt(accepted, 300);
	ck_assert_uint_gt(n_rejected, 300);
}
END_TEST

TCase *plan_shape_cases(void)
{
	TCase *t = tcase_create("shape");

	tcase_add_loop_test(t, op_errors, 0, LMD_LEN(invalid));
	tcase_add_loop_test(t, tail_op_errors, 0, LMD_LEN(invalid_tail));
	tcase_set_timeout(t, 120);
	tcase_add_test(t, any_change);
	return t;
}
