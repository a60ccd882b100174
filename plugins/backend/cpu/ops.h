/* SPDX-License-Identifier: MIT
 *
 * ops.h - the descriptors that the op_*.c files define. */
#ifndef LLAMAD_CPU_OPS_H
#define LLAMAD_CPU_OPS_H

#include "cpu.h"

extern const struct cpu_op cpu_op_embed, cpu_op_norm, cpu_op_linear, cpu_op_rope_kv, cpu_op_attn,
	cpu_op_glu, cpu_op_ffn, cpu_op_head, cpu_op_ew, cpu_op_moe_ffn, cpu_op_bmm, cpu_op_conv,
	cpu_op_scan, cpu_op_index, cpu_op_patch;

#endif /* LLAMAD_CPU_OPS_H */
