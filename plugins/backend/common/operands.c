/* SPDX-License-Identifier: MIT
 *
 * Table of ops by code: their names, and which members of struct lmd_op are operands. */
#include "backend/common/host_mem.h"

void host_mem_need(uint64_t *bytes, uint64_t n, uint64_t item)
{
	uint64_t b;

	if (__builtin_mul_overflow(n, item, &b) || b > UINT64_MAX / 4)
		b = UINT64_MAX / 4;
	b = (b + HOST_MEM_LINE - 1) / HOST_MEM_LINE * HOST_MEM_LINE;
	*bytes = *bytes > UINT64_MAX / 2 ? *bytes : *bytes + b;
}

uint64_t host_mem_max_rows(const struct lmd_plan *plan, const struct lmd_operand *o)
{
	uint32_t space = LMD_SPACE_TOKENS, fold = o->fold ? o->fold : 1;

	if (o->src == LMD_SRC_NONE || o->src == LMD_SRC_WEIGHT)
		return o->n_head;
	if (o->src == LMD_SRC_VALUE)
		space = plan->values[o->id].space;
	else if (o->src == LMD_SRC_INPUT)
		space = plan->inputs[o->id].space;
	return (uint64_t)(plan->max_rows[space] / fold) * o->n_head;
}

enum lmd_status host_mem_flatten(struct host_mem_build *b, uint32_t weight_ref,
				 struct lmd_error *err)
{
	return weight_ref == LMD_NONE ? LMD_OK
				      : host_mem_weight_flat(b->host, b->weights[weight_ref], err);
}

#define AT(member) ((uint16_t)offsetof(struct lmd_op, u.member))

static const uint16_t embed_in[] = {AT(embed.idx), AT(embed.pos)};
static const uint16_t embed_out[] = {AT(embed.y)};
static const uint16_t norm_in[] = {AT(norm.x), AT(norm.r), AT(norm.norm.g), AT(norm.norm.b)};
static const uint16_t norm_out[] = {AT(norm.h), AT(norm.y), AT(norm.stat)};
static const uint16_t linear_in[] = {
	AT(linear.x),       AT(linear.pro.g),   AT(linear.pro.b),   AT(linear.ids),
	AT(linear.r_in[0]), AT(linear.r_in[1]), AT(linear.r_in[2]), AT(linear.r_in[3]),
};
static const uint16_t linear_out[] = {
	AT(linear.y[0]),     AT(linear.y[1]),     AT(linear.y[2]),     AT(linear.y[3]),
	AT(linear.r_out[0]), AT(linear.r_out[1]), AT(linear.r_out[2]), AT(linear.r_out[3]),
};
static const uint16_t rope_kv_in[] = {
	AT(rope_kv.q),    AT(rope_kv.k),    AT(rope_kv.v),    AT(rope_kv.pos),
	AT(rope_kv.qn.g), AT(rope_kv.qn.b), AT(rope_kv.kn.g), AT(rope_kv.kn.b),
};
static const uint16_t rope_kv_out[] = {AT(rope_kv.q_out), AT(rope_kv.k_out)};
static const uint16_t attn_in[] = {
	AT(attn.q),           AT(attn.src[0].k),  AT(attn.src[0].v),
	AT(attn.src[0].list), AT(attn.src[1].k),  AT(attn.src[1].v),
	AT(attn.src[1].list), AT(attn.rel[0].q2), AT(attn.rel[1].q2),
};
static const uint16_t attn_out[] = {AT(attn.y)};
static const uint16_t glu_in[] = {AT(glu.a), AT(glu.b)};
static const uint16_t glu_out[] = {AT(glu.y)};
static const uint16_t ffn_in[] = {AT(ffn.x), AT(ffn.norm.g), AT(ffn.norm.b), AT(ffn.r_in)};
static const uint16_t ffn_out[] = {AT(ffn.y), AT(ffn.r_out)};
static const uint16_t head_in[] = {AT(head.x), AT(head.norm.g), AT(head.norm.b)};
static const uint16_t head_out[] = {AT(head.y)};
static const uint16_t sample_in[] = {
	AT(sample.logits), AT(sample.params), AT(sample.rng), AT(sample.mask), AT(sample.history),
};
static const uint16_t sample_out[] = {AT(sample.token), AT(sample.top_id), AT(sample.top_lp)};
static const uint16_t ew_in[] = {
	AT(ew.in[0]), AT(ew.in[1]), AT(ew.in[2]), AT(ew.in[3]),
	AT(ew.in[4]), AT(ew.in[5]), AT(ew.in[6]), AT(ew.in[7]),
};
static const uint16_t ew_out[] = {AT(ew.out[0]), AT(ew.out[1])};
static const uint16_t route_in[] = {AT(route.logits), AT(route.given)};
static const uint16_t route_out[] = {AT(route.ids), AT(route.weights)};
static const uint16_t moe_ffn_in[] = {
	AT(moe_ffn.x),
	AT(moe_ffn.ids),
	AT(moe_ffn.weights),
	AT(moe_ffn.r_in),
};
static const uint16_t moe_ffn_out[] = {AT(moe_ffn.y), AT(moe_ffn.r_out)};
static const uint16_t bmm_in[] = {AT(bmm.x)};
static const uint16_t bmm_out[] = {AT(bmm.y)};
static const uint16_t gather_in[] = {AT(gather.x), AT(gather.idx)};
static const uint16_t gather_out[] = {AT(gather.y)};
static const uint16_t reduce_in[] = {AT(reduce.x)};
static const uint16_t reduce_out[] = {AT(reduce.y), AT(reduce.y2)};
static const uint16_t softmax_in[] = {AT(softmax.x)};
static const uint16_t softmax_out[] = {AT(softmax.y)};
static const uint16_t conv_in[] = {AT(conv.x), AT(conv.score)};
static const uint16_t conv_out[] = {AT(conv.y)};
static const uint16_t scan_in[] = {
	AT(scan.in[0]), AT(scan.in[1]), AT(scan.in[2]),
	AT(scan.in[3]), AT(scan.in[4]), AT(scan.in[5]),
};
static const uint16_t scan_out[] = {AT(scan.y)};
static const uint16_t mix_in[] = {AT(mix.x), AT(mix.c), AT(mix.d), AT(mix.z)};
static const uint16_t mix_out[] = {AT(mix.y)};
static const uint16_t index_in[] = {AT(index.q), AT(index.w)};
static const uint16_t index_out[] = {AT(index.y)};
static const uint16_t cast_copy_in[] = {AT(cast_copy.x)};
static const uint16_t cast_copy_out[] = {AT(cast_copy.y)};
static const uint16_t patch_in[] = {AT(patch.x)};
static const uint16_t patch_out[] = {AT(patch.y)};

static const uint16_t collective_in[] = {AT(collective.x)};
static const uint16_t collective_out[] = {AT(collective.y)};

#define COLLECTIVE(name_)                                                                          \
	{                                                                                          \
		.name = name_, .n_in = 1, .n_out = 1, .in = collective_in,                         \
		.out = collective_out,                                                             \
	}

#define OP(name_, loose_)                                                                          \
	{                                                                                          \
		.name = #name_, .loose_inputs = loose_, .n_in = LMD_LEN(name_##_in),               \
		.n_out = LMD_LEN(name_##_out), .in = name_##_in, .out = name_##_out,               \
	}

static const struct host_mem_opinfo table[LMD_N_OP] = {
	[LMD_OP_EMBED] = OP(embed, false),
	[LMD_OP_NORM] = OP(norm, false),
	[LMD_OP_LINEAR] = OP(linear, false),
	[LMD_OP_ROPE_KV] = OP(rope_kv, false),
	[LMD_OP_ATTN] = OP(attn, false),
	[LMD_OP_GLU] = OP(glu, false),
	[LMD_OP_FFN] = OP(ffn, false),
	[LMD_OP_HEAD] = OP(head, false),
	[LMD_OP_SAMPLE] = OP(sample, false),
	[LMD_OP_EW] = OP(ew, false),
	[LMD_OP_ROUTE] = OP(route, false),
	[LMD_OP_MOE_FFN] = OP(moe_ffn, false),
	[LMD_OP_BMM] = OP(bmm, false),
	[LMD_OP_GATHER] = OP(gather, true),
	[LMD_OP_REDUCE] = OP(reduce, false),
	[LMD_OP_SOFTMAX] = OP(softmax, false),
	[LMD_OP_CONV] = OP(conv, false),
	[LMD_OP_SCAN] = OP(scan, false),
	[LMD_OP_MIX] = OP(mix, false),
	[LMD_OP_INDEX] = OP(index, false),
	[LMD_OP_CAST_COPY] = OP(cast_copy, false),
	[LMD_OP_ALLREDUCE] = COLLECTIVE("allreduce"),
	[LMD_OP_ALLGATHER] = COLLECTIVE("allgather"),
	[LMD_OP_PATCH] = OP(patch, false),
};

const struct host_mem_opinfo *host_mem_opinfo(uint32_t code)
{
	return code < LMD_LEN(table) && table[code].name ? &table[code] : NULL;
}
