/* SPDX-License-Identifier: MIT
 *
 * mixers.h - kernels of SOFTMAX, REDUCE, ROUTE and MIX: small work for each row, done by one
 * thread, or by one for each column.  ROUTE and SOFTMAX keep what they need in memory of the op. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_MIXERS_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_MIXERS_H

#include "backend/gpu/kern/act.h"

#define GPU_NEG_INF (-INFINITY)

/* ---- SOFTMAX ---- */

/* A softmax of n numbers, in place. */
GPU_FN void gpu_softmax_numbers(float *x, uint32_t n, float scale)
{
	float most = GPU_NEG_INF, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		x[i] *= scale;
		most = fmaxf(most, x[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		x[i] = most == GPU_NEG_INF ? 0.0f : expf(x[i] - most);
		sum += x[i];
	}
	for (uint32_t i = 0; i < n && sum > 0; i++)
		x[i] /= sum;
}

GPU_FN void gpu_sinkhorn_line(float *x, uint32_t n, uint32_t step, float eps)
{
	float sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += x[i * step];
	for (uint32_t i = 0; i < n; i++)
		x[i * step] /= sum + eps;
}

/* The heads of a row as a matrix. */
GPU_FN void gpu_sinkhorn(float *m, uint32_t rows, uint32_t cols, uint32_t times, float eps)
{
	for (uint32_t i = 0; i < rows * cols; i++)
		m[i] += eps;
	for (uint32_t n = 0; n < times; n++) {
		for (uint32_t i = 0; n && i < rows; i++)
			gpu_sinkhorn_line(m + i * cols, cols, 1, eps);
		for (uint32_t c = 0; c < cols; c++)
			gpu_sinkhorn_line(m + c, rows, cols, eps);
	}
}

/* A thread computes a row.  work: f32 [rows][heads * width]. */
GPU_KERNEL gpu_softmax(struct gpu_softmax_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t n, step = GPU_GRID_X * GPU_THREADS, cols = a.x.n_head * a.x.width;

	gpu_open(r, &a.x);
	n = gpu_n_row(r, &a.y);
	for (uint32_t row = GPU_BLOCK_X * GPU_THREADS + GPU_TID; row < n; row += step) {
		float *m = GPU_PTR(float, a.work) + (uint64_t)row * cols;

		for (uint32_t i = 0; i < cols; i++)
			m[i] = gpu_cell_get(&a.x, row, i);
		for (uint32_t h = 0; h < a.x.n_head; h++)
			gpu_softmax_numbers(m + h * a.x.width, a.x.width, a.scale);
		if (a.sinkhorn)
			gpu_sinkhorn(m, a.x.n_head, a.x.width, a.sinkhorn, a.eps);
		for (uint32_t i = 0; i < cols; i++)
			*GPU_PTR(float, gpu_cell(&a.y, row, i)) = m[i];
	}
}

/* ---- REDUCE ---- */

enum {
	GPU_MEAN = 1,
	GPU_SUM = 2,
	GPU_MAX = 3,
	GPU_FIRST = 4,
	GPU_LAST = 5,
	GPU_ARGMAX = 6,
	GPU_TOP_K = 7
};

/* Reduces n numbers: those of rows from `row` on at a column, or the columns of a row. */
GPU_FN float gpu_reduce_fold(const struct gpu_reduce_args *a, uint32_t row, uint32_t head,
			     uint32_t col, uint32_t n, int along)
{
	float sum = 0, most = 0, first = 0, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		float x = along ? gpu_get(&a->x, row, head, i) : gpu_get(&a->x, row + i, head, col);

		first = i ? first : x;
		most = i ? fmaxf(most, x) : x;
		last = x;
		sum += x;
	}
	if (a->kind == GPU_MEAN)
		return n ? sum / (float)n : 0;
	return a->kind == GPU_SUM     ? sum
	       : a->kind == GPU_MAX   ? most
	       : a->kind == GPU_FIRST ? first
				      : last;
}

/* The greatest columns, best first, ties to the lower column: each is the greatest after the last
 * one. */
GPU_FN void gpu_reduce_best(const struct gpu_reduce_args *a, uint32_t row, uint32_t head,
			    uint32_t n)
{
	float bound = INFINITY;
	uint32_t last = 0;

	for (uint32_t j = 0; j < n; j++) {
		uint32_t at = 0xffffffffu;
		float most = 0;

		for (uint32_t c = 0; c < a->x.width; c++) {
			float x = gpu_get(&a->x, row, head, c);

			if (j && !(x < bound || (x == bound && c > last)))
				continue;
			if (at == 0xffffffffu || x > most) {
				at = c;
				most = x;
			}
		}
		if (at == 0xffffffffu)
			return;
		bound = most;
		last = at;
		gpu_put_i32(&a->y, row, head, j, (int32_t)at);
		if (gpu_is_set(&a->y2))
			gpu_put(&a->y2, row, head, j, most);
	}
}

/* A thread computes a column of a row of y; for the best columns, all of a (row, head). */
GPU_KERNEL gpu_reduce(struct gpu_reduce_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t best = a.kind == GPU_ARGMAX || a.kind == GPU_TOP_K, width = best ? 1 : a.y.width,
		 cols, n;

	cols = a.y.n_head * width;
	gpu_open(r, &a.x);
	n = gpu_n_row(r, &a.y) * cols;
	for (uint32_t i = GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n;
	     i += GPU_GRID_X * GPU_THREADS) {
		uint32_t row = i / cols, h = i % cols / width, c = i % width, first = row * a.n,
			 count = a.n;

		if (best) {
			gpu_reduce_best(&a, row, h, a.kind == GPU_TOP_K ? a.n : 1);
			continue;
		}
		if (a.axis == 3) {
			gpu_put(&a.y, row, h, 0, gpu_reduce_fold(&a, row, h, 0, a.x.width, 1));
			continue;
		}
		if (a.axis == 1)
			gpu_seq_rows(r, a.x.space, row, &first, &count);
		gpu_put(&a.y, row, h, c, gpu_reduce_fold(&a, first, h, c, count, 0));
	}
}

/* ---- ROUTE ---- */

/* Sum of the two best choices of a group. */
GPU_FN float gpu_route_group(const float *choice, uint32_t group, uint32_t size)
{
	float a = GPU_NEG_INF, b = GPU_NEG_INF;

	for (uint32_t i = group * size; i < (group + 1) * size; i++) {
		float c = choice[i];

		if (c > a) {
			b = a;
			a = c;
		} else if (c > b) {
			b = c;
		}
	}
	return size > 1 ? a + b : a;
}

/* Marks with 1 the experts whose groups are not selected. */
GPU_FN void gpu_route_groups(const struct gpu_route_args *a, const float *choice, float *out,
			     uint32_t n)
{
	uint32_t size = n / a->n_group;

	for (uint32_t i = 0; i < n; i++)
		out[i] = 1;
	for (uint32_t used = 0; used < a->n_group_used; used++) {
		uint32_t best = 0xffffffffu;
		float score = 0;

		for (uint32_t g = 0; g < a->n_group; g++) {
			float s = out[g * size] > 0 ? gpu_route_group(choice, g, size) : 0;

			if (out[g * size] > 0 && (best == 0xffffffffu || s > score)) {
				best = g;
				score = s;
			}
		}
		for (uint32_t i = 0; best != 0xffffffffu && i < size; i++)
			out[best * size + i] = 0;
	}
}

GPU_FN void gpu_route_numbers(const struct gpu_route_args *a, float *p, uint32_t n)
{
	if (a->fn == 1)
		gpu_softmax_numbers(p, n, 1);
	for (uint32_t i = 0; i < n && a->fn == 2; i++)
		p[i] = gpu_sigmoid(p[i]);
	for (uint32_t i = 0; i < n && a->fn == 4; i++)
		p[i] = sqrtf(gpu_softplus(p[i]));
}

/* Stores the k choices of a row and their weights; w: the numbers of the chosen, [k]. */
GPU_FN void gpu_route_store(const struct gpu_route_args *a, uint32_t row, const float *best,
			    float *w, uint32_t n)
{
	float sum = 0;

	if (a->fn == 3)
		gpu_softmax_numbers(w, a->k, 1);
	for (uint32_t j = 0; j < a->k; j++)
		sum += w[j];
	for (uint32_t j = 0; j < a->k; j++) {
		uint32_t id = (uint32_t)(int32_t)best[j];
		float x = a->renorm ? w[j] / fmaxf(sum, 6.103515625e-05f) : w[j];

		*GPU_PTR(int32_t, gpu_cell(&a->ids, row, j)) =
			id < n ? (int32_t)(id / a->id_div) : -1;
		*GPU_PTR(float, gpu_cell(&a->weights, row, j)) = x * a->scale;
	}
}

/* A thread computes a row.  work: f32 [rows][3 * E + 2 * k]. */
GPU_KERNEL gpu_route(struct gpu_route_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t n = a.logits.n_head * a.logits.width, rows;

	gpu_open(r, &a.logits);
	gpu_open(r, &a.given);
	rows = gpu_n_row(r, &a.ids);
	for (uint32_t row = GPU_BLOCK_X * GPU_THREADS + GPU_TID; row < rows;
	     row += GPU_GRID_X * GPU_THREADS) {
		float *p = GPU_PTR(float, a.work) + (uint64_t)row * (3 * n + 2 * a.k);
		float *choice = p + n, *out = choice + n, *best = out + n, *w = best + a.k;

		for (uint32_t i = 0; i < n; i++)
			p[i] = gpu_cell_get(&a.logits, row, i);
		gpu_route_numbers(&a, p, n);
		for (uint32_t i = 0; i < n; i++) {
			choice[i] = p[i] + (a.bias ? GPU_PTR(const float, a.bias)[i] : 0.0f);
			out[i] = 0;
		}
		if (a.n_group > 1)
			gpu_route_groups(&a, choice, out, n);
		for (uint32_t j = 0; j < a.k; j++) {
			int32_t at = -1;

			for (uint32_t i = 0; i < n; i++) {
				if (!(out[i] > 0) && (at < 0 || choice[i] > choice[at]))
					at = (int32_t)i;
			}
			if (at >= 0)
				out[at] = 1;
			if (gpu_is_set(&a.given))
				at = gpu_cell_i32(&a.given, row, j);
			best[j] = (float)at;
			w[j] = (uint32_t)at < n ? p[at] : 0.0f;
		}
		gpu_route_store(&a, row, best, w, n);
	}
}

/* ---- MIX ---- */

GPU_FN float gpu_mix_weight(const struct gpu_mix_args *a, uint32_t row, uint32_t i, uint32_t j)
{
	if (!gpu_is_set(&a->c))
		return i == j ? 1.0f : 0.0f;
	return gpu_cell_get(&a->c, row,
			    a->c_transposed ? j * a->y.n_head + i : i * a->x.n_head + j);
}

GPU_KERNEL gpu_mix(struct gpu_mix_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.y.n_head * a.y.width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.x);
	gpu_open(r, &a.c);
	gpu_open(r, &a.d);
	gpu_open(r, &a.z);
	n = (uint64_t)gpu_n_row(r, &a.y) * cols;
	for (uint64_t e = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; e < n; e += step) {
		uint32_t row = (uint32_t)(e / cols), i = (uint32_t)(e % cols) / a.y.width,
			 c = (uint32_t)(e % cols) % a.y.width;
		float v = 0;

		for (uint32_t j = 0; j < a.x.n_head; j++)
			v += gpu_mix_weight(&a, row, i, j) * gpu_get(&a.x, row, j, c);
		if (gpu_is_set(&a.z))
			v += (gpu_is_set(&a.d) ? gpu_cell_get(&a.d, row, i) : 1.0f) *
			     gpu_get(&a.z, row, 0, c);
		gpu_put(&a.y, row, i, c, v);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_MIXERS_H */
