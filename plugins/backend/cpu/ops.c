/* SPDX-License-Identifier: MIT
 *
 * The list of ops: one line each. */
#include "ops.h"

#include "backend/common/view.h"

#define PLAIN(name)                                                                                \
	&(const struct cpu_op)                                                                     \
	{                                                                                          \
		.plain = &host_mem_op_##name                                                       \
	}

static bool route_little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct host_mem_view x = host_mem_view(&r->host_mem, &n->op->u.route.logits);

	(void)phase;
	return (uint64_t)x.n_row * host_mem_cols(&x) <= CPU_SMALL_PHASE / 8;
}

static const struct cpu_op op_route = {.plain = &host_mem_op_route, .little = route_little};

static const struct cpu_op *const table[LMD_N_OP] = {
	[LMD_OP_EMBED] = &cpu_op_embed,     [LMD_OP_NORM] = &cpu_op_norm,
	[LMD_OP_LINEAR] = &cpu_op_linear,   [LMD_OP_ROPE_KV] = &cpu_op_rope_kv,
	[LMD_OP_ATTN] = &cpu_op_attn,       [LMD_OP_GLU] = &cpu_op_glu,
	[LMD_OP_FFN] = &cpu_op_ffn,         [LMD_OP_HEAD] = &cpu_op_head,
	[LMD_OP_EW] = &cpu_op_ew,           [LMD_OP_ROUTE] = &op_route,
	[LMD_OP_MOE_FFN] = &cpu_op_moe_ffn, [LMD_OP_BMM] = &cpu_op_bmm,
	[LMD_OP_GATHER] = PLAIN(gather),    [LMD_OP_REDUCE] = PLAIN(reduce),
	[LMD_OP_SOFTMAX] = PLAIN(softmax),  [LMD_OP_CONV] = &cpu_op_conv,
	[LMD_OP_SCAN] = &cpu_op_scan,       [LMD_OP_MIX] = PLAIN(mix),
	[LMD_OP_INDEX] = &cpu_op_index,     [LMD_OP_CAST_COPY] = PLAIN(cast_copy),
	[LMD_OP_PATCH] = &cpu_op_patch,
};

const struct cpu_op *cpu_op_of(uint32_t code)
{
	return code < LMD_LEN(table) ? table[code] : NULL;
}
