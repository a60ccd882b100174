/* SPDX-License-Identifier: MIT
 *
 * op_outputs.h - which operands of an op are outputs. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_OP_OUTPUTS_H
#define LLAMAD_PLUGINS_BACKEND_GPU_OP_OUTPUTS_H

#include "llamad/op.h"

uint32_t gpu_op_n_output(const struct lmd_op *op);
const struct lmd_operand *gpu_op_output(const struct lmd_op *op, uint32_t i);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_OP_OUTPUTS_H */
