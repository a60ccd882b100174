/* SPDX-License-Identifier: MIT
 *
 * MIX: each head of y is a mixture of the heads of x and of one additional row z. */
#include "backend/common/view.h"

struct work {
	const struct lmd_op_mix *op;
	struct host_mem_view x, c, d, z, y;
};

static float coefficient(const struct work *w, uint32_t row, uint32_t i, uint32_t j)
{
	if (!w->c.base)
		return i == j ? 1.0f : 0.0f;
	if (w->op->c_transposed)
		return host_mem_cell_get(&w->c, row, (size_t)j * w->y.n_head + i);
	return host_mem_cell_get(&w->c, row, (size_t)i * w->x.n_head + j);
}

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	const struct lmd_op_mix *o = &op->u.mix;
	struct work w = {
		.op = o,
		.x = host_mem_view(r, &o->x),
		.c = host_mem_view(r, &o->c),
		.d = host_mem_view(r, &o->d),
		.z = host_mem_view(r, &o->z),
		.y = host_mem_view(r, &o->y),
	};
	uint64_t lo, hi;

	host_mem_slice(p, (uint64_t)w.y.n_row * w.y.n_head, &lo, &hi);
	for (uint64_t n = lo; n < hi; n++) {
		uint32_t row = (uint32_t)(n / w.y.n_head), i = (uint32_t)(n % w.y.n_head);
		float d = w.d.base ? host_mem_cell_get(&w.d, row, i) : 1.0f;
		float c[64];

		for (uint32_t j = 0; j < w.x.n_head; j++)
			c[j] = coefficient(&w, row, i, j);
		for (uint32_t col = 0; col < w.y.width; col++) {
			float v = 0;

			for (uint32_t j = 0; j < w.x.n_head; j++)
				v += c[j] * host_mem_get(&w.x, row, j, col);
			if (w.z.base)
				v += d * host_mem_get(&w.z, row, 0, col);
			host_mem_put(&w.y, row, i, col, v);
		}
	}
}

static enum lmd_status plan(struct host_mem_build *b, const struct lmd_op *op,
			    struct lmd_error *err)
{
	(void)b;
	if (op->u.mix.x.n_head > 64)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"mix: x has %u heads; at most 64 are supported",
				op->u.mix.x.n_head);
	return LMD_OK;
}

const struct host_mem_op host_mem_op_mix = {
	.plan = plan,
	.run = run,
};
