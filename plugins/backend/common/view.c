/* SPDX-License-Identifier: MIT
 *
 * Finds the memory of operands and the sequence of a row.  The backend has checked the step before
 * any of this runs, so all indices are within bounds. */
#include "backend/common/view.h"

const struct lmd_binding *host_mem_input(const struct host_mem_run *r, uint32_t id)
{
	return host_mem_binding(r->in, r->n_in, id);
}

static void view_value(const struct host_mem_run *r, uint32_t id, struct host_mem_view *v)
{
	const struct lmd_value *x = &r->plan->values[id];

	v->base = r->value[id];
	v->row_bytes = x->row_bytes;
	v->n_row = r->rows[x->space] / v->fold;
	v->value_width = x->width;
	v->space = x->space;
	v->i32 = x->vtype == LMD_VTYPE_I32;
}

static void view_row_in(const struct host_mem_run *r, uint32_t id, struct host_mem_view *v)
{
	const struct lmd_row_in *x = &r->plan->row_ins[id];

	v->base = (char *)(uintptr_t)r->step->row_in[id];
	v->row_bytes = 4 * (size_t)x->width;
	v->n_row = r->rows[LMD_SPACE_TOKENS] / v->fold;
	v->value_width = x->width;
	v->space = LMD_SPACE_TOKENS;
	v->i32 = x->vtype == LMD_VTYPE_I32;
}

static void view_input(const struct host_mem_run *r, uint32_t id, struct host_mem_view *v)
{
	const struct lmd_input *x = &r->plan->inputs[id];
	const struct lmd_binding *b = host_mem_input(r, id);

	v->value_width = x->width;
	v->space = x->own_rows ? LMD_N_SPACE : x->space;
	v->i32 = x->vtype == LMD_VTYPE_I32;
	if (!b)
		return;
	v->base = b->ptr;
	v->row_bytes = b->row_bytes;
	v->n_row = (x->own_rows ? b->n_row : r->rows[x->space]) / v->fold;
}

static void view_weight(const struct host_mem_run *r, uint32_t id, struct host_mem_view *v)
{
	const struct lmd_weight *w = r->weights[id];

	v->base = (char *)(uintptr_t)w->flat;
	v->row_bytes = 0;
	v->n_row = 1;
	v->fold = 1;
	v->value_width = w->n_stack * w->n * w->k;
	v->space = LMD_N_SPACE;
}

struct host_mem_view host_mem_view(const struct host_mem_run *r, const struct lmd_operand *o)
{
	struct host_mem_view v = {
		.col0 = o->col0,
		.n_head = o->n_head,
		.head_stride = o->head_stride,
		.width = o->width,
		.fold = o->fold ? o->fold : 1,
		.value_width = 1,
		.space = LMD_N_SPACE,
	};

	switch ((enum lmd_src)o->src) {
	case LMD_SRC_NONE:
		break;
	case LMD_SRC_VALUE:
		view_value(r, o->id, &v);
		break;
	case LMD_SRC_ROW_IN:
		view_row_in(r, o->id, &v);
		break;
	case LMD_SRC_INPUT:
		view_input(r, o->id, &v);
		break;
	case LMD_SRC_WEIGHT:
		view_weight(r, o->id, &v);
		break;
	}
	return v;
}

uint32_t host_mem_seq_of(const struct host_mem_run *r, uint32_t space, uint32_t row)
{
	if (space == LMD_SPACE_TOKENS)
		return (uint32_t)r->step->seq_of[row];
	if (space == LMD_SPACE_OUTPUTS)
		return (uint32_t)r->step->seq_of[r->step->out_row[row]];
	if (space >= LMD_SPACE_X0 && space <= LMD_SPACE_X5) {
		const int32_t *off = r->step->x_off[space - LMD_SPACE_X0];
		uint32_t lo = 0, hi = r->step->head->n_seq;

		while (hi - lo > 1) {
			uint32_t mid = (lo + hi) / 2;

			if ((uint32_t)off[mid] <= row)
				lo = mid;
			else
				hi = mid;
		}
		return lo;
	}
	return row;
}

void host_mem_seq_rows(const struct host_mem_run *r, uint32_t space, uint32_t seq, uint32_t *first,
		       uint32_t *n)
{
	if (space == LMD_SPACE_TOKENS) {
		*first = (uint32_t)r->step->q_start[seq];
		*n = (uint32_t)r->step->q_len[seq];
	} else if (space >= LMD_SPACE_X0 && space <= LMD_SPACE_X5) {
		const int32_t *off = r->step->x_off[space - LMD_SPACE_X0];

		*first = (uint32_t)off[seq];
		*n = (uint32_t)(off[seq + 1] - off[seq]);
	} else {
		*first = seq;
		*n = 1;
	}
}

bool host_mem_map_size(const struct host_mem_run *r, uint32_t space, uint32_t seq, uint32_t size[2])
{
	uint32_t k = space - LMD_SPACE_X0;

	if (space < LMD_SPACE_X0 || space > LMD_SPACE_X5 || !r->step->x_w[k] || !r->step->x_h[k])
		return false;
	size[0] = (uint32_t)r->step->x_w[k][seq];
	size[1] = (uint32_t)r->step->x_h[k][seq];
	return true;
}

int64_t host_mem_token_row(const struct host_mem_run *r, uint32_t space, uint32_t row)
{
	if (space == LMD_SPACE_TOKENS)
		return row;
	return space == LMD_SPACE_OUTPUTS ? r->step->out_row[row] : -1;
}

int32_t host_mem_pos(const struct host_mem_run *r, uint32_t space, uint32_t row, uint32_t plane)
{
	int64_t t = host_mem_token_row(r, space, row);
	uint32_t first, n;

	if (t >= 0)
		return r->step->pos[plane][t];
	host_mem_seq_rows(r, space, host_mem_seq_of(r, space, row), &first, &n);
	return (int32_t)(row - first);
}

uint32_t host_mem_lora_slot(const struct host_mem_run *r, uint32_t space, uint32_t row)
{
	int64_t t = r->step->lora_slot ? host_mem_token_row(r, space, row) : -1;

	return t < 0 || r->step->lora_slot[t] < 0 ? 0 : (uint32_t)r->step->lora_slot[t];
}
