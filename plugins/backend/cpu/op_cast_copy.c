/* SPDX-License-Identifier: MIT
 *
 * CAST_COPY: a window into another, with conversion between f32 and i32 (toward zero). */
#include "ops.h"
#include "view.h"

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	struct cpu_view x = cpu_view(r, &n->op->u.cast_copy.x),
			y = cpu_view(r, &n->op->u.cast_copy.y);
	uint64_t lo, hi;

	cpu_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);

		for (uint32_t c = 0; c < y.width; c++) {
			if (x.i32 == y.i32)
				memcpy(cpu_el(&y, row, head, c), cpu_el(&x, row, head, c), 4);
			else if (x.i32)
				cpu_put(&y, row, head, c, cpu_get(&x, row, head, c));
			else
				cpu_put_i32(&y, row, head, c,
					    cpu_float_to_i32(cpu_get(&x, row, head, c)));
		}
	}
}

static const uint16_t ins[] = {CPU_OFF(cast_copy.x)};
static const uint16_t outs[] = {CPU_OFF(cast_copy.y)};

const struct cpu_op cpu_op_cast_copy = {
	.name = "cast_copy",
	.run = run,
	CPU_OPERANDS(ins, outs),
};
