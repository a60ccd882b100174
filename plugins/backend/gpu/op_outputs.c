/* SPDX-License-Identifier: MIT
 *
 * Which operands of an op are outputs, from the table that all backends share. */
#include "op_outputs.h"

#include "backend/common/host_mem.h"

uint32_t gpu_op_n_output(const struct lmd_op *op)
{
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);

	return info ? info->n_out : 0;
}

const struct lmd_operand *gpu_op_output(const struct lmd_op *op, uint32_t i)
{
	return host_mem_operand(op, host_mem_opinfo(op->code)->out[i]);
}
