/* SPDX-License-Identifier: MIT
 *
 * The list of ops: one line each. */
#include "ops.h"

#define PLAIN(name)                                                                                \
	&(const struct ref_op)                                                                     \
	{                                                                                          \
		.plain = &host_mem_op_##name                                                       \
	}

static const struct ref_op *const table[LMD_N_OP] = {
	[LMD_OP_EMBED] = &ref_op_embed,
	[LMD_OP_NORM] = &ref_op_norm,
	[LMD_OP_LINEAR] = &ref_op_linear,
	[LMD_OP_ROPE_KV] = &ref_op_rope_kv,
	[LMD_OP_ATTN] = &ref_op_attn,
	[LMD_OP_GLU] = &ref_op_glu,
	[LMD_OP_FFN] = &ref_op_ffn,
	[LMD_OP_HEAD] = &ref_op_head,
	[LMD_OP_SAMPLE] = &ref_op_sample,
	[LMD_OP_EW] = &ref_op_ew,
	[LMD_OP_ROUTE] = PLAIN(route),
	[LMD_OP_MOE_FFN] = &ref_op_moe_ffn,
	[LMD_OP_BMM] = &ref_op_bmm,
	[LMD_OP_GATHER] = PLAIN(gather),
	[LMD_OP_REDUCE] = PLAIN(reduce),
	[LMD_OP_SOFTMAX] = PLAIN(softmax),
	[LMD_OP_CONV] = &ref_op_conv,
	[LMD_OP_SCAN] = &ref_op_scan,
	[LMD_OP_MIX] = PLAIN(mix),
	[LMD_OP_INDEX] = &ref_op_index,
	[LMD_OP_CAST_COPY] = PLAIN(cast_copy),
	[LMD_OP_ALLREDUCE] = &ref_op_collective,
	[LMD_OP_ALLGATHER] = &ref_op_collective,
	[LMD_OP_PATCH] = &ref_op_patch,
};

const struct ref_op *ref_op_of(uint32_t code)
{
	return code < LMD_LEN(table) ? table[code] : NULL;
}
