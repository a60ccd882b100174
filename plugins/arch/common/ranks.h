/* SPDX-License-Identifier: MIT
 *
 * ranks.h - the part of a block that one rank of a tensor-parallel plan computes.
 *
 * With hp->n_rank > 1 the plan is built once for each rank (lmd_plan_key.rank).  Values that are not
 * divided, such as the residual stream, are the same in all ranks.  A block that is divided ends in
 * ALLREDUCE or ALLGATHER, in all ranks in the same order. */
#ifndef LLAMAD_ARCH_COMMON_RANKS_H
#define LLAMAD_ARCH_COMMON_RANKS_H

#include "arch/common/blocks.h"

/* The units at .. at+n-1 of the rank. */
struct arch_part {
	uint32_t at, n;
};
struct arch_part arch_part_of(const struct arch_emit *e, uint32_t n);

/* Does every rank get the same number of the layer's heads, and of its key heads?  Then its cache has
 * the heads of one rank. */
bool arch_heads_divide(const struct arch_hparams *hp, const struct arch_layer *l);
/* Can columns of a tensor be taken from multiples of `unit` on? */
bool arch_columns_divide(const struct arch_emit *e, const struct lmd_tensor *t, uint32_t unit);
/* Finds the rank's columns of a tensor, in whole blocks; false: it cannot be divided. */
bool arch_columns_part(const struct arch_emit *e, const struct lmd_tensor *t,
		       struct arch_part *out);

/* y = the sum of `part` over the ranks. */
void arch_put_sum_of_ranks(struct arch_emit *e, uint32_t part, uint32_t y);
/* The values `part` of all ranks side by side. */
uint32_t arch_gather_ranks(struct arch_emit *e, uint32_t part, const char *name);
/* The result of a block, of which every rank has computed a summand.  keep_f32: if there is no residual
 * stream, the result is f32. */
uint32_t arch_sum_block(struct arch_emit *e, uint32_t part, const struct arch_block_io *io,
			bool keep_f32, const char *name);

#endif /* LLAMAD_ARCH_COMMON_RANKS_H */
