/* SPDX-License-Identifier: MIT
 *
 * norm.h - kernels of NORM; they also prepare the rows of products.  With `exact`, in exact
 * arithmetic (exact.h). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NORM_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NORM_H

#include "backend/gpu/kern/exact.h"
#include "backend/gpu/kern/q8.h"

enum { GPU_NORM_NONE = 0, GPU_NORM_RMS = 1, GPU_NORM_LAYER = 2, GPU_NORM_L2 = 3 };

/* 1/sigma of n numbers whose squared deviations have the sum sq. */
GPU_FN float gpu_norm_inverse(const struct gpu_norm *n, float sq, float count)
{
	float inv;

	if (n->kind == GPU_NORM_NONE)
		return 1.0f;
	if (n->kind != GPU_NORM_L2)
		return 1.0f / sqrtf(sq / count + n->eps);
	inv = sqrtf(sq);
	return 1.0f / (inv > n->eps ? inv : n->eps);
}

GPU_FN void gpu_norm_open(const struct gpu_run *r, struct gpu_norm *n)
{
	gpu_open(r, &n->g);
	gpu_open(r, &n->b);
}

/* Applies g and b to a normed value. */
GPU_FN float gpu_norm_affine(const struct gpu_norm *n, uint32_t row, uint32_t head, uint32_t c,
			     float v, int exact)
{
	uint32_t g_head = n->g.n_head > 1 ? head : 0, b_head = n->b.n_head > 1 ? head : 0;

	if (exact) {
		if (gpu_is_set(&n->g))
			v = DEVICE_MUL(v, DEVICE_ADD(gpu_get(&n->g, row, g_head, c), n->plus));
		return DEVICE_ADD(v, gpu_is_set(&n->b) ? gpu_get(&n->b, row, b_head, c) : 0.0f);
	}
	if (gpu_is_set(&n->g))
		v *= gpu_get(&n->g, row, g_head, c) + n->plus;
	if (gpu_is_set(&n->b))
		v += gpu_get(&n->b, row, b_head, c);
	return v;
}

/* x + a*r, times the row's number. */
GPU_FN float gpu_norm_input(const struct gpu_norm_args *a, uint32_t from, uint32_t head, uint32_t c,
			    float times, int exact)
{
	float v = gpu_get(&a->x, from, a->one_head ? 0 : head, c);

	if (gpu_is_set(&a->r) && exact)
		v = DEVICE_ADD(v, DEVICE_MUL(a->a, gpu_get(&a->r, from, head, c)));
	else if (gpu_is_set(&a->r))
		v += a->a * gpu_get(&a->r, from, head, c);
	return v * times;
}

/* Norms columns [at, at + n) of a row, which this block has left in y: each thread its own
 * columns. */
GPU_FN void gpu_norm_group(const struct gpu_norm_args *a, uint32_t row, uint32_t from,
			   uint32_t head, uint32_t at, uint32_t n, float *red, int exact)
{
	struct gpu_exact_row numbers = {GPU_PTR(const float, 0), &a->y, row, head, at, n};
	float sum = 0, sq = 0, mean = 0, inv;

	if (a->norm.kind == GPU_NORM_LAYER && exact) {
		mean = gpu_exact_sum(&numbers, 0.0f, 0, red) / (float)n;
	} else if (a->norm.kind == GPU_NORM_LAYER) {
		for (uint32_t c = GPU_TID; c < n; c += GPU_THREADS)
			sum += gpu_get(&a->y, row, head, at + c);
		mean = gpu_block_sum(sum, red) / (float)n;
	}
	for (uint32_t c = GPU_TID; !exact && c < n; c += GPU_THREADS) {
		float d = gpu_get(&a->y, row, head, at + c) - mean;

		sq += d * d;
	}
	if (a->norm.kind != GPU_NORM_NONE)
		sq = exact ? gpu_exact_sum(&numbers, mean, 1, red) : gpu_block_sum(sq, red);
	if (exact)
		gpu_sync(); /* all numbers have been read */
	inv = gpu_norm_inverse(&a->norm, sq, (float)n);
	for (uint32_t c = GPU_TID; c < n; c += GPU_THREADS) {
		float v = (gpu_get(&a->y, row, head, at + c) - mean) * inv;

		gpu_put(&a->y, row, head, at + c,
			gpu_norm_affine(&a->norm, from, head, at + c, v, exact));
	}
	if (gpu_is_set(&a->stat) && GPU_TID == 0) {
		uint32_t size = a->norm.n ? a->norm.n : a->y.width,
			 groups = (a->y.width + size - 1) / size;
		uint32_t j = 2 * (head * groups + at / size);

		*GPU_PTR(float, gpu_cell(&a->stat, row, j)) = mean;
		*GPU_PTR(float, gpu_cell(&a->stat, row, j + 1)) = inv;
	}
}

GPU_FN void gpu_norm_views(struct gpu_norm_args *a, const struct gpu_run *r)
{
	gpu_open(r, &a->x);
	gpu_open(r, &a->r);
	gpu_open(r, &a->times);
	gpu_norm_open(r, &a->norm);
}

/* Rounds row i of y to 8 bits, once this block has written it. */
GPU_FN void gpu_norm_round(const struct gpu_norm_args *a, uint32_t row, uint32_t head)
{
	uint64_t q8 = a->q8 + ((uint64_t)row * a->y.n_head + head) * GPU_Q8_BYTES(a->y.width);

	gpu_sync();
	for (uint32_t at = 0; at < a->y.width; at += GPU_THREADS) {
		uint32_t c = at + GPU_TID;
		int ok = c < a->y.width;

		gpu_q8_round(ok ? gpu_get(&a->y, row, head, c) : 0.0f, ok ? q8 : 0, a->y.width,
			     c / 32);
	}
}

/* Head `head` of row `row` of y, from row `from` of x.  red: shared, one number for each warp. */
GPU_FN void gpu_norm_row(const struct gpu_norm_args *a, uint32_t row, uint32_t from, uint32_t head,
			 float *red, int exact)
{
	uint32_t size = a->norm.n ? a->norm.n : a->y.width;
	float times = gpu_is_set(&a->times) ? gpu_cell_get(&a->times, row, head) : 1.0f;

	for (uint32_t c = GPU_TID; c < a->y.width; c += GPU_THREADS) {
		float v = gpu_norm_input(a, from, head, c, times, exact);

		gpu_put(&a->y, row, head, c, v);
		if (gpu_is_set(&a->h))
			gpu_put(&a->h, row, head, c, v);
	}
	/* Groups are passed over thread by thread in other columns than above. */
	gpu_sync();
	for (uint32_t at = 0; at < a->y.width; at += size)
		gpu_norm_group(a, row, from, head, at,
			       a->y.width - at < size ? a->y.width - at : size, red, exact);
	if (a->q8)
		gpu_norm_round(a, row, head);
}

GPU_FN void gpu_norm_rows(struct gpu_norm_args *a, int exact)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	float *red = GPU_SHARED(float);
	uint32_t heads = a->y.n_head, n;

	gpu_norm_views(a, r);
	n = gpu_n_row(r, &a->y) * heads;
	for (uint32_t i = GPU_BLOCK_X; i < n; i += GPU_GRID_X) {
		uint32_t row = i / heads;

		gpu_norm_row(a, row,
			     a->rows == GPU_ROWS_OUT_ROW ? (uint32_t)gpu_int(r->out_row, row) : row,
			     i % heads, red, exact);
		gpu_sync();
	}
}

/* A block computes a (row, head) of y.  Shared: one number for each warp, 32 if exact. */
GPU_KERNEL gpu_norm(struct gpu_norm_args a)
{
	gpu_norm_rows(&a, 0);
}

GPU_KERNEL gpu_exact_norm(struct gpu_norm_args a)
{
	gpu_norm_rows(&a, 1);
}

/* Mean and deviation over all rows of a sequence as well.  A block computes a group of columns of a
 * sequence. */
GPU_KERNEL gpu_norm_seq(struct gpu_norm_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	float *red = GPU_SHARED(float);
	uint32_t size = a.norm.n ? a.norm.n : a.y.width, groups = (a.y.width + size - 1) / size;
	uint32_t work = gpu_count(r, 1) * groups;

	gpu_norm_views(&a, r);
	for (uint32_t i = GPU_BLOCK_X; i < work; i += GPU_GRID_X) {
		uint32_t seq = i / groups, at = i % groups * size, first, rows;
		uint32_t n = a.y.width - at < size ? a.y.width - at : size;
		float sum = 0, sq = 0, mean = 0, inv;

		gpu_seq_rows(r, a.y.space, seq, &first, &rows);
		for (uint32_t j = GPU_TID; j < rows * n; j += GPU_THREADS) {
			float v = gpu_norm_input(&a, first + j / n, 0, at + j % n, 1.0f, 0);

			gpu_put(&a.y, first + j / n, 0, at + j % n, v);
			if (gpu_is_set(&a.h))
				gpu_put(&a.h, first + j / n, 0, at + j % n, v);
			sum += v;
		}
		sum = gpu_block_sum(sum, red);
		if (a.norm.kind == GPU_NORM_LAYER)
			mean = sum / ((float)rows * (float)n);
		for (uint32_t j = GPU_TID; j < rows * n; j += GPU_THREADS) {
			float d = gpu_get(&a.y, first + j / n, 0, at + j % n) - mean;

			sq += d * d;
		}
		sq = gpu_block_sum(sq, red);
		inv = gpu_norm_inverse(&a.norm, sq, (float)rows * (float)n);
		for (uint32_t j = GPU_TID; j < rows * n; j += GPU_THREADS) {
			uint32_t row = first + j / n, c = at + j % n;

			gpu_put(&a.y, row, 0, c,
				gpu_norm_affine(&a.norm, row, 0, c,
						(gpu_get(&a.y, row, 0, c) - mean) * inv, 0));
		}
		for (uint32_t j = GPU_TID; gpu_is_set(&a.stat) && j < rows; j += GPU_THREADS) {
			*GPU_PTR(float, gpu_cell(&a.stat, first + j, 2 * (at / size))) = mean;
			*GPU_PTR(float, gpu_cell(&a.stat, first + j, 2 * (at / size) + 1)) = inv;
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NORM_H */
