/* SPDX-License-Identifier: MIT
 *
 * ALLREDUCE and ALLGATHER: a dispatch writes the rows of this rank to the memory of its group; after all
 * ranks have done so (group.h), a second one reads the rows of all. */
#include "plan.h"

static uint32_t rank_columns(const struct lmd_operand *o)
{
	return (o->n_head ? o->n_head : 1) * o->width;
}

/* Notes which rows are exchanged. */
static void put_exchange(struct vkb_build *b, const struct lmd_operand *x, uint32_t space)
{
	const struct vkb_exchange e = {
		.space = space, .fold = x->fold ? x->fold : 1, .columns = rank_columns(x)};
	uint64_t bytes = 4ull * (b->plan->max_rows[space] / e.fold) * e.columns;

	if (b->real)
		b->p->exchanges[b->p->n_exchange] = e;
	b->p->n_exchange++;
	if (b->p->exchange_bytes < bytes)
		b->p->exchange_bytes = bytes;
}

void vkb_op_collective(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_collective *c = &op->u.collective;
	const uint32_t space = vkb_space(b, &c->x), n = b->plan->key.n_rank;
	const bool sums = op->code == LMD_OP_ALLREDUCE;
	const uint32_t columns = rank_columns(&c->x), most = rank_columns(&c->y);
	uint32_t at = vkb_args(b);
	struct vkb_dispatch *d;

	if (n < 2 || n > VKB_MAX_PEER || space >= LMD_N_SPACE || vkb_space(b, &c->y) != space ||
	    most != columns * (sums ? 1 : n)) {
		vkb_failed(b,
			   lmd_fail(b->err, LMD_INVALID,
				    "vulkan: op %u: a collective of %u ranks, %u columns give %u",
				    b->op, n, columns, most));
		return;
	}
	vkb_u32(b, sums);
	vkb_u32(b, n);
	vkb_u32(b, b->plan->key.rank);
	vkb_u32(b, b->p->n_exchange);
	vkb_u32(b, columns);
	vkb_view(b, &c->x);
	vkb_view(b, &c->y);
	put_exchange(b, &c->x, space);
	(void)vkb_dispatch(b, VKB_peer, 0, 0, at, vkb_fixed((columns + 63) / 64),
			   vkb_rows(space, 1, 1));
	d = vkb_dispatch(b, VKB_peer, 0, 0, at, vkb_fixed((most + 63) / 64), vkb_rows(space, 1, 1));
	d->phase = 1;
	d->meets = true;
}
