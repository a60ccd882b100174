/* SPDX-License-Identifier: MIT
 *
 * select.h - kernels of PATCH and INDEX.  INDEX gives a list to one thread. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_SELECT_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_SELECT_H

#include "backend/gpu/kern/decode.h"

/* ---- PATCH: copies the windows of x ---- */

GPU_FN uint32_t gpu_patch_windows(const struct gpu_patch_args *a, int axis, uint32_t n)
{
	int64_t room = (int64_t)n + 2 * (int64_t)a->pad[axis] -
		       (int64_t)a->dilation[axis] * ((int64_t)a->kernel[axis] - 1) - 1;

	return room < 0 ? 0 : (uint32_t)(room / a->stride[axis]) + 1;
}

/* Number j of the window of row `row` of y. */
GPU_FN float gpu_patch_value(const struct gpu_patch_args *a, const struct gpu_run *r, uint32_t row,
			     uint32_t j)
{
	uint32_t k0 = a->kernel[0], k1 = a->n_dim == 2 ? a->kernel[1] : 1, seq, yfirst, first, rows,
		 n0;
	uint32_t width, height = 1, x = a->x_space - GPU_X0;
	int64_t i0, i1, from;

	seq = gpu_seq_of(r, a->y_space, row);
	gpu_seq_rows(r, a->y_space, seq, &yfirst, &rows);
	gpu_seq_rows(r, a->x_space, seq, &first, &rows);
	width = rows;
	if (a->n_dim == 2 && a->x_space >= GPU_X0 && a->x_space <= GPU_X5 && r->x_w[x] &&
	    r->x_h[x]) {
		width = (uint32_t)gpu_int(r->x_w[x], seq);
		height = (uint32_t)gpu_int(r->x_h[x], seq);
	}
	n0 = gpu_patch_windows(a, 0, width);
	if (!n0)
		return 0;
	i0 = (int64_t)((row - yfirst) % n0) * a->stride[0] - a->pad[0] +
	     (int64_t)(j % k0) * a->dilation[0];
	i1 = (row - yfirst) / n0;
	if (a->n_dim == 2)
		i1 = i1 * a->stride[1] - a->pad[1] + (int64_t)(j / k0 % k1) * a->dilation[1];
	if (i0 < 0 || i1 < 0 || i0 >= width || i1 >= height)
		return 0;
	from = (int64_t)first + i1 * width + i0;
	return from < (int64_t)gpu_n_row(r, &a->x)
		       ? gpu_cell_get(&a->x, (uint32_t)from, j / k0 / k1)
		       : 0;
}

GPU_KERNEL gpu_patch(struct gpu_patch_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.c * a.kernel[0] * (a.n_dim == 2 ? a.kernel[1] : 1);
	uint64_t n = (uint64_t)gpu_space_rows(r, a.y_space) * cols,
		 step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.x);
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step)
		GPU_PTR(float, a.out)
		[i] = gpu_patch_value(&a, r, (uint32_t)(i / cols), (uint32_t)(i % cols));
}

/* ---- INDEX ---- */

/* Scaled product of a head of q with a key of the cache. */
GPU_FN float gpu_index_dot(const struct gpu_index_args *a, const struct gpu_run *r, uint32_t row,
			   uint32_t seq, uint32_t head, uint32_t key)
{
	const struct gpu_group *g = &r->group[a->cache.group];
	uint32_t slot = (uint32_t)gpu_int(r->seq_slot, seq), at = key % g->page_tokens;
	uint32_t page = GPU_PTR(const uint32_t,
				g->table)[(uint64_t)slot * g->n_index + key / g->page_tokens];
	const uint8_t *k = GPU_PTR(const uint8_t,
				   a->cache.mem + a->cache.unit_bytes * page + a->cache.k_off +
					   (uint64_t)at * a->cache.k_row +
					   (uint64_t)(a->heads > 1 ? head : 0) * a->cache.k_head);
	float sum = 0;

	for (uint32_t c = 0; c < a->d; c++)
		sum += gpu_get(&a->q, row, head, c) * gpu_element(a->cache.k_dtype, k, c, 1u << 30);
	return a->scale * sum;
}

GPU_FN float gpu_index_score(const struct gpu_index_args *a, const struct gpu_run *r, uint32_t row,
			     uint32_t seq, uint32_t list, uint32_t key)
{
	float sum = 0;

	if (a->kind == 3)
		return gpu_index_dot(a, r, row, seq, list, key);
	for (uint32_t h = 0; h < a->q.n_head; h++) {
		float s = fmaxf(gpu_index_dot(a, r, row, seq, h, key), 0.0f);

		sum += a->kind == 1 ? gpu_cell_get(&a->w, row, h) * s : s;
	}
	return sum;
}

/* Inserts u into the heap, which has a hole at i.  llamad/op.h says which of equal scores stay. */
GPU_FN void gpu_index_sift(const float *s, uint32_t *h, uint32_t n, uint32_t i, uint32_t u)
{
	uint32_t top = i;

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && !(s[h[c + 1]] > s[h[c]]))
			c++;
		h[i] = h[c];
	}
	while (i > top && s[h[(i - 1) / 2]] > s[u]) {
		h[i] = h[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h[i] = u;
}

/* Scores the keys of the group `of`: `each` of them share a row of the cache. */
GPU_FN void gpu_index_spread(const struct gpu_index_args *a, const struct gpu_run *r, uint32_t row,
			     uint32_t seq, uint32_t list, float *score, uint32_t *lo, uint32_t *hi)
{
	const struct gpu_group *rows = &r->group[a->cache.group], *keys = &r->group[a->of];
	uint32_t e = a->each, first = (uint32_t)gpu_int(rows->kv_lo, row) * e;
	uint32_t end = (uint32_t)gpu_int(rows->kv_hi, row);
	float s = INFINITY;

	if (gpu_int(keys->kv_lo, row) >= gpu_int(keys->kv_hi, row))
		return;
	*lo = (uint32_t)gpu_int(keys->kv_lo, row);
	*lo = *lo > first ? *lo : first;
	*hi = (uint32_t)gpu_int(keys->kv_hi, row);
	*lo = *lo < *hi ? *lo : *hi;
	for (uint32_t key = *lo; key < *hi; key++) {
		if (key == *lo || key % e == 0)
			s = key / e < end ? gpu_index_score(a, r, row, seq, list, key / e)
					  : INFINITY;
		score[key] = s;
	}
}

/* Scores the units of the cache's own keys. */
GPU_FN void gpu_index_units(const struct gpu_index_args *a, const struct gpu_run *r, uint32_t row,
			    uint32_t seq, uint32_t list, float *score, uint32_t *lo, uint32_t *hi)
{
	const struct gpu_group *g = &r->group[a->cache.group];
	int32_t from = gpu_int(g->kv_lo, row), to = gpu_int(g->kv_hi, row);

	if (from >= to)
		return;
	*lo = (uint32_t)from / a->unit;
	*hi = (uint32_t)(to - 1) / a->unit + 1;
	for (uint32_t i = *lo; i < *hi; i++)
		score[i] = -INFINITY;
	for (uint32_t key = (uint32_t)from; key < (uint32_t)to; key++)
		score[key / a->unit] =
			fmaxf(score[key / a->unit], gpu_index_score(a, r, row, seq, list, key));
}

/* A thread makes a list.  work: f32 [lists][most], then u32 [lists][n]. */
GPU_KERNEL gpu_index(struct gpu_index_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t lists = a.y.n_head, total;

	gpu_open(r, &a.q);
	gpu_open(r, &a.w);
	total = gpu_n_row(r, &a.y) * lists;
	for (uint32_t i = GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < total;
	     i += GPU_GRID_X * GPU_THREADS) {
		uint32_t row = i / lists, list = i % lists, seq = (uint32_t)gpu_int(r->seq_of, row);
		float *score = GPU_PTR(float, a.work) + (uint64_t)i * a.most;
		uint32_t *heap = GPU_PTR(uint32_t, a.heaps) + (uint64_t)i * a.n, lo = 0, hi = 0, n;

		if (a.each > 1)
			gpu_index_spread(&a, r, row, seq, list, score, &lo, &hi);
		else
			gpu_index_units(&a, r, row, seq, list, score, &lo, &hi);
		for (uint32_t j = 0; j < a.local && j < hi - lo; j++)
			score[hi - 1 - j] = INFINITY;
		n = hi - lo < a.n ? hi - lo : a.n;
		for (uint32_t j = 0; j < n; j++)
			heap[j] = lo + j;
		for (uint32_t j = n / 2; j-- > 0;)
			gpu_index_sift(score, heap, n, j, heap[j]);
		for (uint32_t u = lo + n; n && u < hi; u++) {
			if (score[u] > score[heap[0]])
				gpu_index_sift(score, heap, n, 0, u);
		}
		for (uint32_t j = 0; j < a.n; j++)
			gpu_put_i32(&a.y, row, list, j, j < n ? (int32_t)heap[j] : -1);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_SELECT_H */
