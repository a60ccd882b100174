/* SPDX-License-Identifier: MIT
 *
 * Ops that choose: INDEX and SAMPLE.  Each workgroup has temporary memory of its own and works through
 * several rows, so that the memory does not depend on the rows of a step. */
#include "plan.h"

#define WORKGROUPS 64u

static uint32_t groups_for(const struct vkb_build *b, uint32_t space, uint32_t n)
{
	uint64_t most = (uint64_t)b->plan->max_rows[space] * n;

	return most && most < WORKGROUPS ? (uint32_t)most : WORKGROUPS;
}

void vkb_op_index(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_index *x = &op->u.index;
	const struct vkb_cache *c = vkb_cache_of(b, x->cache);
	const struct vkb_pool *pool = c ? b->p->pools[c->desc.group] : NULL;
	const struct vkb_pool *of = x->each > 1 ? b->p->pools[x->of] : pool;
	uint32_t n = groups_for(b, op->space, x->y.n_head), at, units;
	uint64_t bytes;
	VkDeviceAddress temp;
	struct vkb_temp q = {0};
	bool rotated;

	if (!c || !of) {
		vkb_failed(b, lmd_fail(b->err, LMD_INVALID, "vulkan: an index without a pool"));
		return;
	}
	units = of->shape.n_index * of->shape.page_tokens / (x->each > 1 ? 1 : x->unit) + 1;
	bytes = ((uint64_t)units + x->n) * 4;
	temp = vkb_take(b, bytes * n);
	rotated = c->side[0].dtype == LMD_DTYPE_Q4_0_ROT;
	if (rotated)
		q = vkb_temp(b, op->space, x->q.n_head, x->q.width);
	at = vkb_args(b);
	vkb_u32(b, x->kind);
	vkb_u32(b, x->n);
	vkb_u32(b, x->unit ? x->unit : 1);
	vkb_u32(b, x->local);
	vkb_f32(b, x->scale);
	vkb_u32(b, x->each);
	vkb_u32(b, x->of);
	vkb_u32(b, c->desc.group);
	vkb_address(b, pool->table.address);
	vkb_u32(b, pool->shape.n_index);
	vkb_u32(b, pool->shape.page_tokens);
	vkb_address(b, c->side[0].mem.address);
	vkb_u32(b, c->side[0].n_head * c->side[0].room);
	vkb_u32(b, c->side[0].room);
	vkb_u32(b, c->side[0].n_head);
	vkb_address(b, temp);
	vkb_u32(b, (uint32_t)bytes);
	vkb_u32(b, units);
	if (rotated)
		vkb_temp_view(b, &q);
	else
		vkb_view(b, &x->q);
	vkb_view(b, &x->w);
	vkb_view(b, &x->y);
	vkb_view(b, &x->q);
	if (rotated)
		vkb_dispatch(b, VKB_index, c->side[0].dtype, 0, at,
			     vkb_rows(op->space, x->q.n_head, 1), vkb_fixed(1))
			->phase = 1;
	(void)vkb_dispatch(b, VKB_index, c->side[0].dtype, 0, at, vkb_fixed(n), vkb_fixed(1));
}

void vkb_op_sample(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_sample *s = &op->u.sample;
	uint64_t vocab = (uint64_t)s->logits.n_head * s->logits.width;
	uint32_t n = groups_for(b, op->space, 1), at, room = 1;
	VkDeviceAddress temp;

	while (room < vocab)
		room *= 2;
	temp = vkb_take(b, 16ull * room * n);
	at = vkb_args(b);
	vkb_u32(b, s->n_stage);
	for (uint32_t i = 0; i < LMD_SAMPLE_STAGES; i++)
		vkb_u32(b, s->stage[i]);
	for (uint32_t i = 0; i < LMD_SAMPLE_STAGES; i++)
		vkb_u32(b, s->param_col[i]);
	vkb_address(b, b->dev->chained.address);
	vkb_address(b, temp);
	vkb_u32(b, 16 * room);
	vkb_u32(b, room);
	vkb_view(b, &s->logits);
	vkb_view(b, &s->params);
	vkb_view(b, &s->rng);
	vkb_view(b, &s->mask);
	vkb_view(b, &s->history);
	vkb_view(b, &s->token);
	vkb_view(b, &s->top_id);
	vkb_view(b, &s->top_lp);
	(void)vkb_dispatch(b, VKB_sample, 0, 0, at, vkb_fixed(n), vkb_fixed(1));
}
