/* SPDX-License-Identifier: MIT
 *
 * ranks.c - the part of a block that one rank of a tensor-parallel plan computes.
 *
 * Heads are divided evenly.  The columns of a feed-forward block are divided in whole blocks of the
 * type of its last matrix, which is divided by columns: each rank adds up its own, and ALLREDUCE adds
 * the sums of the ranks.  What cannot be divided, every rank computes as a whole. */
#include "arch/common/ranks.h"

bool arch_heads_divide(const struct arch_hparams *hp, const struct arch_layer *l)
{
	return hp->n_rank > 1 && l->cache_kind == LMD_CACHE_KV && !l->heads_whole && l->n_head &&
	       l->n_head_kv && l->n_head % hp->n_rank == 0 && l->n_head_kv % hp->n_rank == 0;
}

struct arch_part arch_part_of(const struct arch_emit *e, uint32_t n)
{
	uint32_t at = (uint32_t)((uint64_t)n * e->rank / e->n_rank),
		 end = (uint32_t)((uint64_t)n * (e->rank + 1) / e->n_rank);

	return (struct arch_part){at, end - at};
}

bool arch_columns_divide(const struct arch_emit *e, const struct lmd_tensor *t, uint32_t unit)
{
	const struct lmd_host *h = e->b->host;
	uint32_t block, bytes;

	return e->n_rank > 1 && h->dtype_info(h->ctx, (enum lmd_dtype)t->dtype, &block, &bytes) &&
	       !h->dtype_head(h->ctx, (enum lmd_dtype)t->dtype) && unit % block == 0;
}

bool arch_columns_part(const struct arch_emit *e, const struct lmd_tensor *t, struct arch_part *out)
{
	const struct lmd_host *h = e->b->host;
	uint32_t block = 1, bytes, n = (uint32_t)t->dims[0];

	if (!arch_columns_divide(e, t, 0) ||
	    !h->dtype_info(h->ctx, (enum lmd_dtype)t->dtype, &block, &bytes) || n % block ||
	    n / block < e->n_rank)
		return false;
	*out = arch_part_of(e, n / block);
	out->at *= block;
	out->n *= block;
	return true;
}

static void collective(struct arch_emit *e, enum lmd_op_code code, struct lmd_operand x,
		       struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(code);

	op.u.collective.x = x;
	op.u.collective.y = y;
	arch_emit_op(e, &op);
}

void arch_put_sum_of_ranks(struct arch_emit *e, uint32_t part, uint32_t y)
{
	collective(e, LMD_OP_ALLREDUCE, arch_operand_all(e, part), arch_operand_all(e, y));
}

uint32_t arch_gather_ranks(struct arch_emit *e, uint32_t part, const char *name)
{
	uint32_t y = arch_value_act(e, arch_width(e, part) * e->n_rank, name);

	collective(e, LMD_OP_ALLGATHER, arch_operand_all(e, part), arch_operand_all(e, y));
	return y;
}

uint32_t arch_sum_block(struct arch_emit *e, uint32_t part, const struct arch_block_io *io,
			bool keep_f32, const char *name)
{
	uint32_t width = arch_width(e, part), sum, y;

	if (io->res == LMD_NONE) {
		y = keep_f32 ? arch_value_f32(e, width, name) : arch_value_act(e, width, name);
		arch_put_sum_of_ranks(e, part, y);
		return y;
	}
	sum = arch_value_f32(e, width, "rank_sum");
	arch_put_sum_of_ranks(e, part, sum);
	y = arch_value_f32(e, width, name);
	arch_put_scale_add(e, arch_operand_cols(sum, 0, width), io->a,
			   arch_operand_cols(io->res, 0, width), arch_operand_cols(y, 0, width));
	return y;
}
