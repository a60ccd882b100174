/* SPDX-License-Identifier: MIT
 *
 * EMBED, whole: it selects, scales and adds rows, as llamad/op.h says. */
#include "backend/common/embed.h"

#include <string.h>

#include "backend/common/view.h"

struct embed {
	const struct host_mem_run *r;
	const struct host_mem_compiled_plan *plan;
	const struct lmd_op_embed *op;
	const struct lora_table *loras;
	const int32_t *chained;
	const struct lmd_weight *w;
	struct host_mem_view y, idx, pos;
	float *row; /* [columns of y] */
};

void host_mem_embed_need(uint64_t *bytes, const struct lmd_op_embed *op)
{
	for (int i = 0; i < 2; i++)
		host_mem_need(bytes, (uint64_t)op->y.width * op->y.n_head, sizeof(float));
}

/* Returns the id of choice j of a row. */
static int32_t id_of(const struct embed *e, uint32_t row, uint32_t j)
{
	int32_t id;

	if (e->op->idx_kind != LMD_IDX_TOKEN)
		return host_mem_cell_i32(&e->idx, row, j);
	id = e->r->step->token[row];
	if (e->chained && id < -(1 << 30))
		id = e->chained[(uint32_t)id - (uint32_t)LMD_TOKEN_CHAINED];
	return id;
}

static const float *table_row(const struct embed *e, uint32_t weight_ref, int64_t row)
{
	const struct lmd_weight *w = e->plan->weights[weight_ref];

	if (row < 0 || row >= (int64_t)w->n_stack * w->n)
		return NULL;
	return host_mem_weight_row(e->r->host, w, (uint32_t)(row / w->n),
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
	uint32_t slot = host_mem_lora_slot(e->r, e->y.space, row);
	const struct lora *ad = slot ? lora_find(e->loras, slot, e->op->lora_site) : NULL;

	if (!ad || ad->n != e->w->k || (ad->rank && id >= ad->k))
		return;
	for (uint32_t c = 0; c < e->w->k; c++) {
		float sum = ad->rank ? 0 : ad->b[c];

		for (uint32_t j = 0; j < ad->rank; j++)
			sum += ad->b[(size_t)c * ad->rank + j] * ad->a[(size_t)j * ad->k + id];
		y[c] += e->op->scale * ad->scale * sum;
		y[c] *= ad->gain ? ad->gain[c] : 1;
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

	if (!e->r->plan->n_input)
		return;
	x = host_mem_view(e->r, &o);
	if (x.base && row < x.n_row && o.col0 + (uint64_t)o.width <= x.value_width)
		add(y, host_mem_f32(&x, row, 0, e->row), e->op->scale_ext, e->w->k);
}

static void one_id(const struct embed *e, uint32_t r, uint32_t j, float *y)
{
	const struct lmd_op_embed *op = e->op;
	int32_t id = id_of(e, r, j);

	if (id >= 0) {
		add(y, table_row(e, op->table, id), op->scale, e->w->k);
		if (e->loras && host_mem_lora_wanted(e->r->plan, op->lora_site))
			add_adapter(e, r, (uint32_t)id, y);
	} else if (op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_ROW) {
		add(y, table_row(e, op->table, op->neg_row), op->scale, e->w->k);
	} else if (op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_EXTERNAL) {
		add_external(e, id, y);
	}
}

/* Adds the position and type rows, which are as wide as y. */
static void whole_row(const struct embed *e, uint32_t r, float *y)
{
	const struct lmd_op_embed *op = e->op;

	if (op->pos_table != LMD_NONE) {
		int64_t pos = op->pos.src == LMD_SRC_NONE
				      ? host_mem_pos(e->r, e->y.space, r, 0)
				      : host_mem_cell_i32(&e->pos, r, 0);

		add(y, table_row(e, op->pos_table, pos + op->pos_off), 1.0f, host_mem_cols(&e->y));
	}
	if (op->type_table != LMD_NONE)
		add(y, table_row(e, op->type_table, op->type_row), 1.0f, host_mem_cols(&e->y));
}

/* Copies from an integer table. */
static void one_i32(const struct embed *e, uint32_t r, uint32_t j)
{
	const struct lmd_op_embed *op = e->op;
	int32_t id = id_of(e, r, j);
	const char *raw = NULL;

	if (id < 0 && op->idx_kind == LMD_IDX_TOKEN && op->neg == LMD_NEG_ROW)
		id = (int32_t)op->neg_row;
	if (id >= 0 && (uint64_t)id < (uint64_t)e->w->n_stack * e->w->n)
		raw = host_mem_weight_at(e->w, (uint32_t)id / e->w->n, (uint32_t)id % e->w->n);
	for (uint32_t c = 0; c < e->w->k; c++) {
		int32_t v = 0;

		if (raw)
			memcpy(&v, raw + 4 * (size_t)c, sizeof(v));
		*(int32_t *)host_mem_cell(&e->y, r, (size_t)j * e->w->k + c) = v;
	}
}

void host_mem_embed_run(const struct host_mem_run *r, const struct host_mem_compiled_plan *plan,
			const struct lmd_op_embed *op, const struct lora_table *loras,
			const int32_t *chained, const struct host_mem_part *p)
{
	struct embed e = {
		.r = r,
		.plan = plan,
		.op = op,
		.loras = loras,
		.chained = chained,
		.w = plan->weights[op->table],
		.y = host_mem_view(r, &op->y),
		.idx = host_mem_view(r, &op->idx),
		.pos = host_mem_view(r, &op->pos),
	};
	uint32_t cols = host_mem_cols(&e.y);
	char *scratch = p->scratch;
	uint64_t lo, hi;
	float *y;

	e.row = host_mem_take(&scratch, cols, sizeof(float));
	y = host_mem_take(&scratch, cols, sizeof(float));
	host_mem_slice(p, e.y.n_row, &lo, &hi);
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
