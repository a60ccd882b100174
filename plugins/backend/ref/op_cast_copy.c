/* SPDX-License-Identifier: MIT
 *
 * CAST_COPY: a window into another, with conversion between f32 and i32 (toward zero). */
#include "ops.h"
#include "view.h"

static void run(const struct ref_run *r, const struct lmd_op *op, const struct ref_part *p)
{
	struct ref_view x = ref_view(r, &op->u.cast_copy.x), y = ref_view(r, &op->u.cast_copy.y);
	uint64_t lo, hi;

	ref_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);

		for (uint32_t c = 0; c < y.width; c++) {
			if (x.i32 == y.i32)
				memcpy(ref_el(&y, row, head, c), ref_el(&x, row, head, c), 4);
			else if (x.i32)
				ref_put(&y, row, head, c, ref_get(&x, row, head, c));
			else
				ref_put_i32(&y, row, head, c,
					    ref_float_to_i32(ref_get(&x, row, head, c)));
		}
	}
}

static const uint16_t ins[] = {REF_OFF(cast_copy.x)};
static const uint16_t outs[] = {REF_OFF(cast_copy.y)};

const struct ref_op ref_op_cast_copy = {
	.name = "cast_copy",
	.run = run,
	REF_OPERANDS(ins, outs),
};
