/* SPDX-License-Identifier: MIT
 *
 * conv.h - CONV by columns, for the ops that allow it (conv_columns.c); op_conv.c handles all
 * others. */
#ifndef LLAMAD_CPU_CONV_H
#define LLAMAD_CPU_CONV_H

#include "backend/common/view.h"
#include "cpu.h"

/* Number of columns that are computed together. */
#define CONV_BLOCK 64

/* Can this op, with this cache (or NULL), be computed by columns? */
bool conv_has_columns(const struct lmd_op_conv *o, const struct host_mem_cache *c);
/* Returns a copy of the weight in which the columns of a kernel position are contiguous, padded to
 * whole blocks; host memory that the caller frees, NULL if memory ran out. */
float *conv_transpose(const struct cpu_dev *dev, const struct lmd_weight *w, uint32_t kernel);
/* Computes this part's share.  Scratch: history of a block, [dk of the cache][CONV_BLOCK]
 * floats. */
void conv_columns(const struct cpu_run *r, const struct lmd_op_conv *op, const float *w_t,
		  const struct cpu_part *p);

#endif /* LLAMAD_CPU_CONV_H */
