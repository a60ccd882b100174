/* SPDX-License-Identifier: MIT
 *
 * rows.h - kernels that begin a step, and those that move or combine rows without products: EMBED,
 * EW, CAST_COPY and GATHER of llamad/op.h. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROWS_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROWS_H

#include "backend/gpu/kern/act.h"
#include "backend/gpu/kern/decode.h"
#include "backend/gpu/kern/lora.h"

/* One block.  Tells the plan where its inputs are and makes the page table changes of the step,
 * those of a sequence in order. */
GPU_KERNEL gpu_begin(struct gpu_begin_args a)
{
	struct gpu_run *r = GPU_PTR(struct gpu_run, a.run);

	if (GPU_TID == 0) {
		r->turn = a.turn;
		r->gave_up = GPU_PEER_OK;
	}
	for (uint32_t i = GPU_TID; i < a.n_in; i += GPU_THREADS)
		r->in[i] = a.in[i];
	for (uint32_t g = 0; g < r->n_group; g++) {
		const struct gpu_group *s = &r->group[g];
		uint32_t n = s->change && s->table ? gpu_count(r, 4 + g) : 0;
		const uint32_t *change = GPU_PTR(const uint32_t, s->change);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t seq = change[3 * i], index = change[3 * i + 1];

			if (seq % GPU_THREADS == GPU_TID && seq < s->n_seq && index < s->n_index)
				GPU_PTR(uint32_t, s->table)
				[(uint64_t)seq * s->n_index + index] = change[3 * i + 2];
		}
	}
}

/* Row of a table, or 0 if there is none. */
GPU_FN const uint8_t *gpu_table_row(const struct gpu_weight *w, int64_t row)
{
	if (row < 0 || row >= (int64_t)w->n_stack * w->n)
		return GPU_PTR(const uint8_t, 0);
	return gpu_weight_row(w, (uint32_t)(row / w->n), (uint32_t)(row % w->n));
}

GPU_FN float gpu_table_value(const struct gpu_weight *w, int64_t row, uint32_t c)
{
	const uint8_t *p = gpu_table_row(w, row);

	return p ? gpu_element(w->dtype, p, c, w->k) : 0;
}

/* The number that id j of a row stands for. */
GPU_FN int32_t gpu_embed_id(const struct gpu_embed_args *a, const struct gpu_run *r, uint32_t row,
			    uint32_t j)
{
	int32_t id = a->use_token ? gpu_int(r->token, row) : gpu_cell_i32(&a->idx, row, j);

	if (a->use_token && id < -(1 << 30))
		id = gpu_int(r->chained, (uint32_t)id - 0x80000000u);
	return id;
}

GPU_FN float gpu_embed_one(const struct gpu_embed_args *a, const struct gpu_run *r, int32_t id,
			   uint32_t c)
{
	uint32_t row;

	if (id >= 0)
		return a->scale * gpu_table_value(&a->table, id, c);
	if (!a->use_token)
		return 0;
	if (a->neg == 1)
		return a->scale * gpu_table_value(&a->table, a->neg_row, c);
	row = (uint32_t)(-1 - (int64_t)id);
	if (a->neg == 0 && a->ext_width && r->in[0].ptr && row < r->in[0].n_row &&
	    a->ext_col0 + a->table.k <= a->ext_width)
		return a->scale_ext *
		       GPU_PTR(const float,
			       r->in[0].ptr + r->in[0].row_bytes * row)[a->ext_col0 + c];
	return 0;
}

/* Column c of a table row with what the row's adapter makes of it. */
GPU_FN float gpu_embed_adapter(const struct gpu_embed_args *a, const struct gpu_run *r,
			       uint32_t row, int32_t id, uint32_t c, float v)
{
	struct gpu_adapter ad;
	float sum;

	if (!a->lora || id < 0)
		return v;
	ad = gpu_lora_of(r, a->lora, a->n_slot, a->y.space, row);
	if (!ad.b)
		return v;
	sum = ad.rank ? 0 : GPU_PTR(const float, ad.b)[c];
	for (uint32_t j = 0; j < ad.rank; j++)
		sum += GPU_PTR(const float, ad.b)[(uint64_t)c * ad.rank + j] *
		       GPU_PTR(const float, ad.a)[(uint64_t)j * ad.k + (uint32_t)id];
	v += a->scale * ad.scale * sum;
	return ad.gain ? v * GPU_PTR(const float, ad.gain)[c] : v;
}

GPU_FN int32_t gpu_embed_int(const struct gpu_embed_args *a, int32_t id, uint32_t c)
{
	const uint8_t *p;

	if (id < 0 && a->use_token && a->neg == 1)
		id = (int32_t)a->neg_row;
	p = gpu_table_row(&a->table, id);
	return p ? (int32_t)gpu_u32(p + 4 * c) : 0;
}

GPU_KERNEL gpu_embed(struct gpu_embed_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.y.n_head * a.y.width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.idx);
	gpu_open(r, &a.pos);
	n = (uint64_t)gpu_n_row(r, &a.y) * cols;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / cols), c = (uint32_t)(i % cols);
		int32_t id = gpu_embed_id(&a, r, row, c / a.table.k);
		float v;

		if (a.y.flags & GPU_VIEW_I32) {
			*GPU_PTR(int32_t, gpu_cell(&a.y, row, c)) =
				gpu_embed_int(&a, id, c % a.table.k);
			continue;
		}
		v = gpu_embed_one(&a, r, id, c % a.table.k);
		v = gpu_embed_adapter(&a, r, row, id, c % a.table.k, v);
		if (a.pos_table.data) {
			int64_t pos = gpu_is_set(&a.pos) ? gpu_cell_i32(&a.pos, row, 0)
							 : gpu_pos(r, a.y.space, row, 0);

			v += gpu_table_value(&a.pos_table, pos + a.pos_off, c);
		}
		if (a.type_table.data)
			v += gpu_table_value(&a.type_table, a.type_row, c);
		*GPU_PTR(float, gpu_cell(&a.y, row, c)) = v;
	}
}

GPU_FN float gpu_ew_step(const struct gpu_ew_ins *i, const float *reg)
{
	float a = reg[i->a], b = reg[i->b], c = reg[i->c];

	switch (i->op) {
	case 0:
		return i->imm;
	case 1:
		return a + b;
	case 2:
		return a - b;
	case 3:
		return a * b;
	case 4:
		return a / b;
	case 5:
		return a * b + c;
	case 6:
		return fminf(a, b);
	case 7:
		return fmaxf(a, b);
	case 8:
		return fabsf(a);
	case 9:
		return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : 0.0f;
	case 10:
		return a < b ? 1.0f : 0.0f;
	case 11:
		return a <= b ? 1.0f : 0.0f;
	case 12:
		return a == b ? 1.0f : 0.0f;
	case 13:
		return a != 0.0f ? b : c;
	case 14:
		return rintf(a);
	case 15:
		return expf(a);
	case 16:
		return sqrtf(a);
	case 17:
		return 1.0f / sqrtf(a);
	case 18:
		return sinf(a);
	case 19:
		return cosf(a);
	case 20:
		return tanhf(a);
	case 21:
		return gpu_sigmoid(a);
	case 22:
		return a * gpu_sigmoid(a);
	case 23:
		return gpu_softplus(a);
	case 24:
		return erff(a);
	default:
		return 0.0f;
	}
}

/* Row of an input that a row of the program reads. */
GPU_FN uint32_t gpu_ew_row(const struct gpu_run *r, const struct gpu_view *in, uint32_t space,
			   uint32_t row)
{
	if (in->row_bytes == 0 || gpu_n_row(r, in) == 1)
		return 0;
	return in->space == GPU_SEQS && space != GPU_SEQS ? gpu_seq_of(r, space, row) : row;
}

GPU_KERNEL gpu_ew(struct gpu_ew_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.out[0].n_head * a.out[0].width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	for (uint32_t i = 0; i < a.n_in; i++)
		gpu_open(r, &a.in[i]);
	n = (uint64_t)gpu_n_row(r, &a.out[0]) * cols;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / cols), h = (uint32_t)(i % cols) / a.out[0].width,
			 c = (uint32_t)(i % cols) % a.out[0].width;
		float reg[32];

		for (uint32_t j = 0; j < 32; j++)
			reg[j] = 0;
		for (uint32_t j = 0; j < a.n_in; j++)
			reg[j] = gpu_get(&a.in[j], gpu_ew_row(r, &a.in[j], a.out[0].space, row),
					 a.in[j].n_head > 1 ? h : 0, a.in[j].width > 1 ? c : 0);
		for (uint32_t j = 0; j < a.n_ins; j++)
			reg[a.ins[j].dst] = gpu_ew_step(&a.ins[j], reg);
		for (uint32_t j = 0; j < a.n_out; j++) {
			if (a.out[j].flags & GPU_VIEW_I32)
				gpu_put_i32(&a.out[j], row, h, c, gpu_to_i32(reg[a.out_reg[j]]));
			else
				gpu_put(&a.out[j], row, h, c, reg[a.out_reg[j]]);
		}
	}
}

GPU_KERNEL gpu_copy(struct gpu_copy_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.y.n_head * a.y.width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.x);
	n = (uint64_t)gpu_n_row(r, &a.y) * cols;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / cols), h = (uint32_t)(i % cols) / a.y.width,
			 c = (uint32_t)(i % cols) % a.y.width;
		int from = (a.x.flags & GPU_VIEW_I32) != 0, to = (a.y.flags & GPU_VIEW_I32) != 0;

		if (from && to)
			gpu_put_i32(&a.y, row, h, c, gpu_get_i32(&a.x, row, h, c));
		else if (to)
			gpu_put_i32(&a.y, row, h, c, gpu_to_i32(gpu_get(&a.x, row, h, c)));
		else
			gpu_put(&a.y, row, h, c, gpu_get(&a.x, row, h, c));
	}
}

/* Row of x that entry j of a row names; negative = none. */
GPU_FN int32_t gpu_gather_row(const struct gpu_gather_args *a, const struct gpu_run *r,
			      uint32_t row, uint32_t j)
{
	int32_t t;

	switch (a->idx_kind) {
	case 1:
		return gpu_cell_i32(&a->idx, row, j);
	case 2:
		return gpu_int(r->out_row, row);
	case 3:
		return gpu_int(r->seq_of, row);
	default:
		t = gpu_int(r->token, row);
		return t < 0 && t >= -(1 << 30) ? -1 - t : -1;
	}
}

GPU_KERNEL gpu_gather(struct gpu_gather_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.y.n_head * a.y.width, x_cols;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;
	int is_int = (a.y.flags & GPU_VIEW_I32) != 0;

	x_cols = a.x.n_head * a.x.width;
	gpu_open(r, &a.x);
	gpu_open(r, &a.idx);
	n = (uint64_t)gpu_n_row(r, &a.y) * cols;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / cols), c = (uint32_t)(i % cols);
		uint32_t first = a.sum ? 0 : c / x_cols, last = a.sum ? a.n_id : first + 1;
		uint32_t most = gpu_is_set(&a.x) ? gpu_n_row(r, &a.x) : 0;
		float v = 0;
		int32_t whole = 0;

		for (uint32_t j = first; j < last; j++) {
			int32_t from = gpu_gather_row(&a, r, row, j);

			if (from < 0 || (uint32_t)from >= most)
				continue;
			if (is_int)
				whole += gpu_cell_i32(&a.x, (uint32_t)from, c % x_cols);
			else
				v += gpu_cell_get(&a.x, (uint32_t)from, c % x_cols);
		}
		if (is_int)
			*GPU_PTR(int32_t, gpu_cell(&a.y, row, c)) = whole;
		else
			*GPU_PTR(float, gpu_cell(&a.y, row, c)) = v;
	}
}

GPU_KERNEL gpu_flatten(struct gpu_flatten_args a)
{
	uint64_t n = (uint64_t)a.w.n_stack * a.w.n * a.w.k,
		 step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint64_t row = i / a.w.k;

		GPU_PTR(float, a.out)
		[i] = gpu_element(
			a.w.dtype,
			gpu_weight_row(&a.w, (uint32_t)(row / a.w.n), (uint32_t)(row % a.w.n)),
			(uint32_t)(i % a.w.k), a.w.k);
	}
}

GPU_KERNEL gpu_rows(struct gpu_rows_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint64_t n = (uint64_t)gpu_space_rows(r, a.space) * a.width;
	uint64_t step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint64_t row = i / a.width, c = i % a.width;

		*GPU_PTR(uint32_t, a.dst + row * a.dst_row_bytes + 4 * c) =
			*GPU_PTR(const uint32_t, a.src + row * a.src_row_bytes + 4 * c);
	}
}

/* The last part of MOE_FFN: adds the products of a row's experts. */
GPU_KERNEL gpu_moe_sum(struct gpu_moe_sum_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.ids);
	gpu_open(r, &a.weights);
	gpu_open(r, &a.r_in);
	n = (uint64_t)gpu_n_row(r, &a.ids) * a.dim;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / a.dim), c = (uint32_t)(i % a.dim);
		float v = 0;

		for (uint32_t j = 0; j < a.k; j++) {
			uint32_t e = (uint32_t)gpu_cell_i32(&a.ids, row, j);
			float w = a.weight_before ? 1.0f : gpu_cell_get(&a.weights, row, j);

			if (e < a.n_stack)
				v += w * GPU_PTR(const float,
						 a.d)[((uint64_t)row * a.k + j) * a.dim + c];
		}
		if (gpu_is_set(&a.y))
			gpu_put(&a.y, row, 0, c, v);
		if (gpu_is_set(&a.r_out))
			gpu_put(&a.r_out, row, 0, c, gpu_get(&a.r_in, row, 0, c) + a.a * v);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROWS_H */
