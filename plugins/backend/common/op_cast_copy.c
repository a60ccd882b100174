/* SPDX-License-Identifier: MIT
 *
 * CAST_COPY: copies one window into another, converting between f32 and i32 (toward zero). */
#include "backend/common/view.h"

static void run(const struct hm_run *r, const struct lmd_op *op, const struct hm_part *p)
{
	struct hm_view x = hm_view(r, &op->u.cast_copy.x), y = hm_view(r, &op->u.cast_copy.y);
	uint64_t lo, hi;

	hm_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);

		for (uint32_t c = 0; c < y.width; c++) {
			if (x.i32 == y.i32)
				memcpy(hm_el(&y, row, head, c), hm_el(&x, row, head, c), 4);
			else if (x.i32)
				hm_put(&y, row, head, c, hm_get(&x, row, head, c));
			else
				hm_put_i32(&y, row, head, c,
					   hm_float_to_i32(hm_get(&x, row, head, c)));
		}
	}
}

const struct hm_op hm_op_cast_copy = {
	.run = run,
};
