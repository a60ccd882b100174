/* SPDX-License-Identifier: MIT
 *
 * GATHER: rows selected by number, concatenated or summed. */
#include <string.h>

#include "backend/common/view.h"

struct work {
	const struct host_mem_run *r;
	const struct lmd_op_gather *op;
	struct host_mem_view x, y, idx;
};

/* Row of x for choice j of row `row`; -1 = zeros. */
static int64_t row_of(const struct work *w, uint32_t row, uint32_t j)
{
	const struct lmd_step *s = w->r->step;
	int64_t id = -1;

	switch ((enum lmd_row_index)w->op->idx_kind) {
	case LMD_IDX_TOKEN:
		break;
	case LMD_IDX_OPERAND:
		id = w->idx.base ? host_mem_cell_i32(&w->idx, row, j) : -1;
		break;
	case LMD_IDX_OUT_ROW:
		id = s->out_row[row];
		break;
	case LMD_IDX_SEQ_OF:
		id = s->seq_of[row];
		break;
	case LMD_IDX_EXT:
		id = s->token[row];
		id = id < 0 && id >= -(1 << 30) ? -1 - id : -1;
		break;
	}
	return w->x.base && id >= 0 && id < w->x.n_row ? id : -1;
}

static void one_row(const struct work *w, uint32_t row)
{
	uint32_t n = host_mem_cols(&w->x);

	for (uint32_t c = 0; w->op->sum && c < n; c++) {
		float sum = 0;
		int32_t count = 0;

		for (uint32_t j = 0; j < w->op->n_id; j++) {
			int64_t id = row_of(w, row, j);

			if (id < 0)
				continue;
			if (w->x.i32)
				count += host_mem_cell_i32(&w->x, (uint32_t)id, c);
			else
				sum += host_mem_cell_get(&w->x, (uint32_t)id, c);
		}
		memcpy(host_mem_cell(&w->y, row, c), w->x.i32 ? (void *)&count : (void *)&sum, 4);
	}
	for (uint32_t j = 0; !w->op->sum && j < w->op->n_id; j++) {
		int64_t id = row_of(w, row, j);

		for (uint32_t c = 0; c < n; c++) {
			void *y = host_mem_cell(&w->y, row, (size_t)j * n + c);

			if (id < 0)
				memset(y, 0, 4);
			else
				memcpy(y, host_mem_cell(&w->x, (uint32_t)id, c), 4);
		}
	}
}

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	struct work w = {
		.r = r,
		.op = &op->u.gather,
		.x = host_mem_view(r, &op->u.gather.x),
		.y = host_mem_view(r, &op->u.gather.y),
		.idx = host_mem_view(r, &op->u.gather.idx),
	};
	uint64_t lo, hi;

	host_mem_slice(p, w.y.n_row, &lo, &hi);
	for (uint64_t row = lo; row < hi; row++)
		one_row(&w, (uint32_t)row);
}

const struct host_mem_op host_mem_op_gather = {
	.run = run,
};
