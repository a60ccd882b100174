/* SPDX-License-Identifier: MIT
 *
 * CAST_COPY: copies one window into another, converting between f32 and i32 (toward zero). */
#include <string.h>

#include "backend/common/view.h"

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	struct host_mem_view x = host_mem_view(r, &op->u.cast_copy.x),
			     y = host_mem_view(r, &op->u.cast_copy.y);
	uint64_t lo, hi;

	host_mem_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);

		for (uint32_t c = 0; c < y.width; c++) {
			if (x.i32 == y.i32)
				memcpy(host_mem_el(&y, row, head, c), host_mem_el(&x, row, head, c),
				       4);
			else if (x.i32)
				host_mem_put(&y, row, head, c, host_mem_get(&x, row, head, c));
			else
				host_mem_put_i32(
					&y, row, head, c,
					host_mem_float_to_i32(host_mem_get(&x, row, head, c)));
		}
	}
}

const struct host_mem_op host_mem_op_cast_copy = {
	.run = run,
};
