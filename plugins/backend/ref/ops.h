/* SPDX-License-Identifier: MIT
 *
 * ops.h - the descriptors that the op_*.c files define. */
#ifndef LLAMAD_REF_OPS_H
#define LLAMAD_REF_OPS_H

#include "ref.h"

extern const struct ref_op ref_op_embed, ref_op_norm, ref_op_linear, ref_op_rope_kv, ref_op_attn,
	ref_op_glu, ref_op_ffn, ref_op_head, ref_op_ew, ref_op_moe_ffn, ref_op_sample, ref_op_bmm,
	ref_op_conv, ref_op_scan, ref_op_index, ref_op_patch, ref_op_collective;

#endif /* LLAMAD_REF_OPS_H */
