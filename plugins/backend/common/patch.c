/* SPDX-License-Identifier: MIT
 *
 * PATCH: finds the windows of a map. */
#include "backend/common/patch.h"

struct host_mem_patch host_mem_patch(const struct host_mem_run *r, const struct lmd_op_patch *op)
{
	return (struct host_mem_patch){
		.r = r,
		.op = op,
		.x = host_mem_view(r, &op->x),
		.y = host_mem_view(r, &op->y),
		.space = op->x.src == LMD_SRC_INPUT ? op->x_space : r->plan->values[op->x.id].space,
	};
}

/* Number of windows along an axis of length n. */
static uint32_t windows(const struct lmd_op_patch *o, int axis, uint32_t n)
{
	int64_t room = (int64_t)n + 2 * (int64_t)o->pad[axis] -
		       (int64_t)o->dilation[axis] * (o->kernel[axis] - 1) - 1;

	return room < 0 ? 0 : (uint32_t)(room / o->stride[axis]) + 1;
}

/* Column c of the row of x at (i0, i1) of the map; 0 outside it. */
static float at(const struct host_mem_patch *p, uint32_t first, const uint32_t size[2], int64_t i0,
		int64_t i1, uint32_t c)
{
	uint64_t row;

	if (i0 < 0 || i1 < 0 || i0 >= size[0] || i1 >= size[1])
		return 0;
	row = first + (uint64_t)i1 * size[0] + (uint64_t)i0;
	return row < p->x.n_row ? host_mem_cell_get(&p->x, (uint32_t)row, c) : 0;
}

void host_mem_patch_window(const struct host_mem_patch *p, uint32_t row, float *out)
{
	const struct lmd_op_patch *o = p->op;
	uint32_t seq = host_mem_seq_of(p->r, p->y.space, row), yfirst, yrows, first, rows, n0;
	uint32_t k0 = o->kernel[0], k1 = o->n_dim == 2 ? o->kernel[1] : 1;
	uint32_t cols = host_mem_cols(&p->x), size[2];
	int64_t o0, o1;

	host_mem_seq_rows(p->r, p->y.space, seq, &yfirst, &yrows);
	host_mem_seq_rows(p->r, p->space, seq, &first, &rows);
	if (o->n_dim != 2 || !host_mem_map_size(p->r, p->space, seq, size)) {
		size[0] = rows; /* a single column */
		size[1] = 1;
	}
	n0 = windows(o, 0, size[0]);
	o0 = n0 ? (row - yfirst) % n0 : 0;
	o1 = n0 ? (row - yfirst) / n0 : 0;
	for (uint32_t c = 0; c < cols; c++) {
		for (uint32_t j1 = 0; j1 < k1; j1++) {
			int64_t i1 = o->n_dim == 2 ? o1 * o->stride[1] - o->pad[1] +
							     (int64_t)j1 * o->dilation[1]
						   : o1;

			for (uint32_t j0 = 0; j0 < k0; j0++) {
				int64_t i0 = o0 * o->stride[0] - o->pad[0] +
					     (int64_t)j0 * o->dilation[0];

				out[((size_t)c * k1 + j1) * k0 + j0] =
					n0 ? at(p, first, size, i0, i1, c) : 0;
			}
		}
	}
}
