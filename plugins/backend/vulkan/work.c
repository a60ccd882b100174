/* SPDX-License-Identifier: MIT
 *
 * How much work there is, so that what is submitted at once can be bounded: multiply-adds of products, and
 * of attention by the keys that the rows of a step see. */
#include <string.h>

#include "plan.h"

#define MOST_PARTS 64u

uint64_t vkb_work_of(const struct vkb_dispatch *d, const uint32_t *rows, const uint64_t *keys)
{
	uint64_t n = d->y.space < LMD_N_SPACE ? rows[d->y.space] : 1;

	if (d->keys[0])
		n = keys[d->keys[0] - 1] + (d->keys[1] ? keys[d->keys[1] - 1] : 0);
	return d->work * n;
}

uint64_t vkb_share_of(const struct vkb_dispatch *d, const uint32_t *rows, const uint64_t *keys)
{
	uint64_t work = vkb_work_of(d, rows, keys);

	return d->parts > 1 ? (work + d->parts - 1) / d->parts : work;
}

void vkb_most_keys(const struct vkb_plan *p, uint64_t *keys)
{
	for (uint32_t g = 0; g < p->plan->n_group; g++) {
		const struct vkb_pool *pool = p->pools[g];
		uint32_t space = p->plan->groups[g].q_space, k = p->plan->groups[g].k_space;
		uint64_t rows = space < LMD_N_SPACE ? p->plan->max_rows[space] : 0;

		if (pool && !pool->shape.state)
			keys[g] = rows * pool->shape.n_index * pool->shape.page_tokens;
		else
			keys[g] = rows * (k < LMD_N_SPACE ? p->plan->max_rows[k] : 0);
	}
}

/* The parts that a step with all rows needs: not more than there are workgroups in x. */
static uint32_t parts_of(const struct vkb_build *b, const struct vkb_dispatch *d)
{
	uint32_t rows[LMD_N_SPACE];
	uint64_t keys[LMD_MAX_GROUP] = {0}, n, most = MOST_PARTS, groups;

	memcpy(rows, b->plan->max_rows, sizeof(rows));
	if (d->each && d->hi / d->each < rows[d->of])
		rows[d->of] = d->hi / d->each;
	groups = vkb_groups(&d->x, rows);
	vkb_most_keys(b->p, keys);
	n = (vkb_work_of(d, rows, keys) + b->dev->most_work - 1) / b->dev->most_work;
	most = groups < most ? groups : most;
	return (uint32_t)(n < most ? n : most);
}

void vkb_split(struct vkb_build *b, struct vkb_dispatch *d)
{
	uint32_t n = parts_of(b, d);
	struct vkb_dispatch part;

	if (n < 2)
		return;
	d->parts = 1;
	part = *d;
	part.beside = true;
	part.parts = n;
	part.groups = b->p->n_groups++;
	for (part.part = 0; part.part < n; part.part++) {
		if (b->real)
			b->p->dispatches[b->p->n_dispatch] = part;
		b->p->n_dispatch++;
	}
}
