/* SPDX-License-Identifier: MIT
 *
 * EMBED: rows of a table selected by token or by id. */
#include <string.h>

#include "ops.h"
#include "product.h"
#include "backend/common/view.h"
#include "cpu.h"

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_operand *y = &op->u.embed.y;

	for (int i = 0; i < 2; i++)
		host_mem_need(&b->host_mem.part_bytes, (uint64_t)y->width * y->n_head,
			      sizeof(float));
	/* An adapter's A has a column for each row of the table. */
	return host_mem_add_site(&b->compiled_plan->host_mem, op->u.embed.lora_site,
				 op->u.embed.table, true, err);
}

struct embed {
	const struct cpu_run *r;
	const struct lmd_op_embed *op;
	const struct lmd_weight *w;
	struct host_mem_view y, idx, pos;
	float *row; /* [columns of y] */
};

/* The id of choice j of a row.  Chained tokens (llamad/step.h) never reach this backend. */
static int32_t id_of(const struct embed *e, uint32_t row, uint32_t j)
{
	return e->op->idx_kind == LMD_IDX_TOKEN ? e->r->host_mem.step->token[row]
						: host_mem_cell_i32(&e->idx, row, j);
}

static const float *table_row(const struct embed *e, uint32_t weight_ref, int64_t row)
{
	const struct lmd_weight *w = e->r->compiled_plan->host_mem.weights[weight_ref];

	if (row < 0 || row >= (int64_t)w->n_stack * w->n)
		return NULL;
	return host_mem_weight_row(e->r->host_mem.host, w, (uint32_t)(row / w->n),
				   (uint32_t)(row % w->n), e->row);
}

/* y += scale * row; NULL = zeros. */
static void add(float *y, const float *row, float scale, uint32_t n)
{
	for (uint32_t c = 0; row && c < n; c++)
		y[c] += scale * row[c];
}

/* Adds B times column id of A. */
static void add_adapter(const struct embed *e, uint32_t row, uint32_t id, float *y)
{
	uint32_t slot = host_mem_lora_slot(&e->r->host_mem, e->y.space, row);
	const struct lora *ad = slot ? lora_find(&e->r->dev->loras, slot, e->op->lora_site) : NULL;

	if (!ad || ad->n != e->w->k || (ad->rank && id >= ad->k))
		return;
	for (uint32_t c = 0; c < e->w->k; c++) {
		float sum = ad->rank ? 0 : ad->b[c];

		for (uint32_t j = 0; j < ad->rank; j++)
			sum += ad->b[(size_t)c * ad->rank + j] * ad->a[(size_t)j * ad->k + id];
		y[c] += e->op->scale * ad->scale * sum;
	}
}

/* Adds row -1-token of external input 0. */
static void add_external(const struct embed *e, int32_t token, float *y)
{
	const struct lmd_operand o = {
		.src = LMD_SRC_INPUT,
		.id = 0,
		.col0 = e->op->ext_col0,
		.n_head = 1,
		.width = e->w->k,
	};
	struct host_mem_view x;
	uint32_t row = (uint32_t)(-1 - (int64_t)token);

	if (!e->r->host_mem.plan->n_input)
		return;
	x = host_mem_view(&e->r->host_mem, &o);
	if (x.base && row < x.n_row && o.col0 + (uint64_t)o.width <= x.value_width)
		add(y, host_mem_f32(&x, row, 0, e->row), e->op->scale_ext, e->w->k);
}

static void one_id(const struct embed *e, uint32_t row, uint32_t j, float *y)
{
	const struct lmd_op_embed *op = e->op;
	int32_t id = id_of(e, row, j);

	if (id >= 0) {
		add(y, table_row(e, op->table, id), op->scale, e->w->k);
		if (e->r->lora && host_mem_lora_wanted(e->r->host_mem.plan, op->lora_site))
			add_adapter(e, row, (uint32_t)id, y);
	} else if (op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_ROW) {
		add(y, table_row(e, op->table, op->neg_row), op->scale, e->w->k);
	} else if (op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_EXTERNAL) {
		add_external(e, id, y);
	}
}

/* Adds the position and type rows, which are as wide as y. */
static void whole_row(const struct embed *e, uint32_t row, float *y)
{
	const struct lmd_op_embed *op = e->op;

	if (op->pos_table != LMD_NONE) {
		int64_t pos = op->pos.src == LMD_SRC_NONE
				      ? host_mem_pos(&e->r->host_mem, e->y.space, row, 0)
				      : host_mem_cell_i32(&e->pos, row, 0);

		add(y, table_row(e, op->pos_table, pos + op->pos_off), 1.0f, host_mem_cols(&e->y));
	}
	if (op->type_table != LMD_NONE)
		add(y, table_row(e, op->type_table, op->type_row), 1.0f, host_mem_cols(&e->y));
}

/* Copies from an integer table. */
static void one_i32(const struct embed *e, uint32_t row, uint32_t j)
{
	const struct lmd_op_embed *op = e->op;
	int32_t id = id_of(e, row, j);
	const char *raw = NULL;
	uint32_t one = 1;
	size_t row_bytes;

	if (id < 0 && op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_ROW)
		id = (int32_t)op->neg_row;
	if (id >= 0 && (uint64_t)id < (uint64_t)e->w->n_stack * e->w->n)
		raw = host_mem_weight_rows(e->w, (uint32_t)id / e->w->n, (uint32_t)id % e->w->n,
					   &one, &row_bytes);
	for (uint32_t c = 0; c < e->w->k; c++) {
		int32_t v = 0;

		if (raw)
			memcpy(&v, raw + 4 * (size_t)c, sizeof(v));
		*(int32_t *)host_mem_cell(&e->y, row, (size_t)j * e->w->k + c) = v;
	}
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_embed *op = &n->op->u.embed;
	struct embed e = {
		.r = r,
		.op = op,
		.w = r->compiled_plan->host_mem.weights[op->table],
		.y = host_mem_view(&r->host_mem, &op->y),
		.idx = host_mem_view(&r->host_mem, &op->idx),
		.pos = host_mem_view(&r->host_mem, &op->pos),
	};
	uint32_t cols = host_mem_cols(&e.y);
	char *scratch = p->host_mem.scratch;
	uint64_t lo, hi;
	float *y;

	e.row = host_mem_take(&scratch, cols, sizeof(float));
	y = host_mem_take(&scratch, cols, sizeof(float));
	host_mem_slice(&p->host_mem, e.y.n_row, &lo, &hi);
	for (uint32_t row = (uint32_t)lo; row < hi; row++) {
		memset(y, 0, cols * sizeof(*y));
		for (uint32_t j = 0; j < op->n_id; j++) {
			if (e.y.i32)
				one_i32(&e, row, j);
			else
				one_id(&e, row, j, y + (size_t)j * e.w->k);
		}
		whole_row(&e, row, y);
		for (uint32_t c = 0; !e.y.i32 && c < cols; c++)
			*(float *)host_mem_cell(&e.y, row, c) = y[c];
	}
}

const struct cpu_op cpu_op_embed = {
	.plan = plan,
	.run = run,
};
