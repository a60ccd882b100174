/* SPDX-License-Identifier: MIT
 *
 * view.h - on the device: operands and the arrays of the running step.  The meaning of a window,
 * its fold and its heads is that of llamad/op.h. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_VIEW_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_VIEW_H

#include "backend/gpu/kern/dev.h"

#define GPU_PTR(type, address) ((type *)(uintptr_t)(address))

enum { GPU_TOKENS = 0, GPU_OUTPUTS = 1, GPU_SEQS = 2, GPU_X0 = 3, GPU_X5 = 8 };

GPU_FN const struct gpu_run *gpu_run_of(uint64_t address)
{
	return GPU_PTR(const struct gpu_run, address);
}

/* Element i of an array of 32-bit integers of the step. */
GPU_FN int32_t gpu_int(uint64_t array, uint32_t i)
{
	return GPU_PTR(const int32_t, array)[i];
}

/* Counts of the step's header: 0 tokens, 1 sequences, 2 outputs, 3 flags, 4.. changes of groups. */
GPU_FN uint32_t gpu_count(const struct gpu_run *r, uint32_t i)
{
	return GPU_PTR(const uint32_t, r->block)[i];
}

/* Live rows of a space. */
GPU_FN uint32_t gpu_space_rows(const struct gpu_run *r, uint32_t space)
{
	if (space == GPU_TOKENS)
		return gpu_count(r, 0);
	if (space == GPU_OUTPUTS)
		return gpu_count(r, 2);
	if (space == GPU_SEQS)
		return gpu_count(r, 1);
	if (space <= GPU_X5 && r->x_off[space - GPU_X0])
		return (uint32_t)gpu_int(r->x_off[space - GPU_X0], gpu_count(r, 1));
	return 0;
}

GPU_FN int gpu_is_set(const struct gpu_view *v)
{
	return (v->flags & GPU_VIEW_SET) != 0;
}

/* Looks up the address of an input.  Every view is opened before it is used. */
GPU_FN void gpu_open(const struct gpu_run *r, struct gpu_view *v)
{
	if (v->input && gpu_is_set(v)) {
		v->base = r->in[v->input - 1].ptr;
		v->row_bytes = (uint32_t)r->in[v->input - 1].row_bytes;
		if (!v->base)
			v->flags = 0;
	}
}

GPU_FN uint32_t gpu_n_row(const struct gpu_run *r, const struct gpu_view *v)
{
	if (v->space < GPU_N_SPACE)
		return gpu_space_rows(r, v->space) / v->div;
	return v->input ? r->in[v->input - 1].n_row / v->div : 1;
}

/* Address of an element. */
GPU_FN uint64_t gpu_at(const struct gpu_view *v, uint32_t row, uint32_t head, uint32_t col)
{
	uint32_t j = v->col0 + head * v->head_stride + col;
	uint64_t p = v->base + (uint64_t)v->row_bytes * row * v->fold;

	if (v->fold > 1) {
		p += (uint64_t)(j / v->value_width) * v->row_bytes;
		j %= v->value_width;
	}
	return p + 4 * (uint64_t)j;
}

GPU_FN int32_t gpu_get_i32(const struct gpu_view *v, uint32_t row, uint32_t head, uint32_t col)
{
	return *GPU_PTR(const int32_t, gpu_at(v, row, head, col));
}

GPU_FN float gpu_get(const struct gpu_view *v, uint32_t row, uint32_t head, uint32_t col)
{
	uint64_t p = gpu_at(v, row, head, col);

	return v->flags & GPU_VIEW_I32 ? (float)*GPU_PTR(const int32_t, p)
				       : *GPU_PTR(const float, p);
}

GPU_FN void gpu_put(const struct gpu_view *v, uint32_t row, uint32_t head, uint32_t col, float x)
{
	*GPU_PTR(float, gpu_at(v, row, head, col)) = x;
}

GPU_FN void gpu_put_i32(const struct gpu_view *v, uint32_t row, uint32_t head, uint32_t col,
			int32_t x)
{
	*GPU_PTR(int32_t, gpu_at(v, row, head, col)) = x;
}

/* Column j of a row, counted across its heads. */
GPU_FN uint64_t gpu_cell(const struct gpu_view *v, uint32_t row, uint32_t j)
{
	return gpu_at(v, row, j / v->width, j % v->width);
}

GPU_FN int32_t gpu_cell_i32(const struct gpu_view *v, uint32_t row, uint32_t j)
{
	return *GPU_PTR(const int32_t, gpu_cell(v, row, j));
}

GPU_FN float gpu_cell_get(const struct gpu_view *v, uint32_t row, uint32_t j)
{
	return gpu_get(v, row, j / v->width, j % v->width);
}

/* Rounds toward zero; saturates; NaN becomes 0. */
GPU_FN int32_t gpu_to_i32(float x)
{
	if (!(x == x))
		return 0;
	return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int32_t)x;
}

/* ---- sequences ---- */

GPU_FN uint32_t gpu_seq_of(const struct gpu_run *r, uint32_t space, uint32_t row)
{
	if (space == GPU_TOKENS)
		return (uint32_t)gpu_int(r->seq_of, row);
	if (space == GPU_OUTPUTS)
		return (uint32_t)gpu_int(r->seq_of, (uint32_t)gpu_int(r->out_row, row));
	if (space >= GPU_X0 && space <= GPU_X5) {
		uint64_t off = r->x_off[space - GPU_X0];
		uint32_t lo = 0, hi = gpu_count(r, 1);

		while (hi - lo > 1) {
			uint32_t mid = (lo + hi) / 2;

			if ((uint32_t)gpu_int(off, mid) <= row)
				lo = mid;
			else
				hi = mid;
		}
		return lo;
	}
	return row;
}

GPU_FN void gpu_seq_rows(const struct gpu_run *r, uint32_t space, uint32_t seq, uint32_t *first,
			 uint32_t *n)
{
	if (space == GPU_TOKENS) {
		*first = (uint32_t)gpu_int(r->q_start, seq);
		*n = (uint32_t)gpu_int(r->q_len, seq);
	} else if (space >= GPU_X0 && space <= GPU_X5) {
		*first = (uint32_t)gpu_int(r->x_off[space - GPU_X0], seq);
		*n = (uint32_t)gpu_int(r->x_off[space - GPU_X0], seq + 1) - *first;
	} else {
		*first = seq;
		*n = 1;
	}
}

/* The row of TOKENS that a row stands for; -1 in X spaces and in SEQS. */
GPU_FN int32_t gpu_token_row(const struct gpu_run *r, uint32_t space, uint32_t row)
{
	if (space == GPU_TOKENS)
		return (int32_t)row;
	return space == GPU_OUTPUTS ? gpu_int(r->out_row, row) : -1;
}

GPU_FN int32_t gpu_pos(const struct gpu_run *r, uint32_t space, uint32_t row, uint32_t plane)
{
	int32_t t = gpu_token_row(r, space, row);
	uint32_t first, n;

	if (t >= 0)
		return gpu_int(r->pos[plane], (uint32_t)t);
	gpu_seq_rows(r, space, gpu_seq_of(r, space, row), &first, &n);
	return (int32_t)(row - first);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_VIEW_H */
