/* SPDX-License-Identifier: MIT
 *
 * conv.h - CONV by columns, for those that allow it (conv_columns.c); op_conv.c has all the
 * others. */
#ifndef LLAMAD_CPU_CONV_H
#define LLAMAD_CPU_CONV_H

#include "backend/common/view.h"
#include "cpu.h"

/* Columns that are computed together. */
#define CONV_BLOCK 64

/* Can this op, with this cache (or NULL), go by columns? */
bool conv_has_columns(const struct lmd_op_conv *o, const struct hm_cache *c);
/* The weight with the columns of a place in the kernel side by side, padded to whole blocks; host
 * memory, NULL without. */
float *conv_turn(const struct cpu_dev *dev, const struct lmd_weight *w, uint32_t kernel);
/* This part's share.  Scratch: history of a block, [dk of the cache][CONV_BLOCK] floats. */
void conv_columns(const struct cpu_run *r, const struct lmd_op_conv *op, const float *turned,
		  const struct cpu_part *p);

#endif /* LLAMAD_CPU_CONV_H */
