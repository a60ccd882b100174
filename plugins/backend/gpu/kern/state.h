/* SPDX-License-Identifier: MIT
 *
 * state.h - kernels of CONV and SCAN, which go along sequences and keep states between steps. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_STATE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_STATE_H

#include "backend/gpu/kern/act.h"
#include "backend/gpu/kern/decode.h"

/* Row `row` of a state slot. */
GPU_FN uint8_t *gpu_state_row(const struct gpu_cache *c, int32_t slot, uint32_t row)
{
	return GPU_PTR(uint8_t, c->mem + c->unit_bytes * (uint32_t)slot + c->k_off +
					(uint64_t)row * c->k_row);
}

/* ---- CONV ---- */

struct gpu_conv_seq {
	uint32_t seq, first, n;
	int32_t slot_in;
};

/* Column `col` of row i of a sequence: of this step, of the state before it, or 0.  Columns after
 * those of x are those of score. */
GPU_FN float gpu_conv_at(const struct gpu_conv_args *a, const struct gpu_conv_seq *s, int64_t i,
			 uint32_t col)
{
	uint32_t cols = a->x.n_head * a->x.width;

	if (i >= (int64_t)s->n)
		return 0;
	if (i >= 0)
		return col < cols ? gpu_cell_get(&a->x, s->first + (uint32_t)i, col)
				  : gpu_cell_get(&a->score, s->first + (uint32_t)i, col - cols);
	if (!a->cache.mem || s->slot_in < 0 || -i > (int64_t)a->cache_rows)
		return 0;
	return gpu_element(
		a->cache.k_dtype,
		gpu_state_row(&a->cache, s->slot_in, (uint32_t)((int64_t)a->cache_rows + i)), col,
		a->cache_cols);
}

GPU_FN float gpu_conv_depthwise(const struct gpu_conv_args *a, const struct gpu_conv_seq *s,
				uint32_t i, uint32_t col)
{
	const float *w = GPU_PTR(const float, a->w) + (uint64_t)col * a->kernel;
	float sum = a->bias ? GPU_PTR(const float, a->bias)[col] : 0.0f;

	for (uint32_t j = 0; j < a->kernel; j++)
		sum += w[j] *
		       gpu_conv_at(a, s, (int64_t)i - a->left + (int64_t)j * a->dilation, col);
	return gpu_act(a->act, a->p, sum, 0, 0);
}

/* Over the map that the sequence's rows form. */
GPU_FN float gpu_conv_map(const struct gpu_conv_args *a, const struct gpu_run *r,
			  const struct gpu_conv_seq *s, uint32_t i, uint32_t col)
{
	const float *w = GPU_PTR(const float, a->w) + (uint64_t)col * a->kernel * a->kernel;
	float sum = a->bias ? GPU_PTR(const float, a->bias)[col] : 0.0f;
	uint32_t width = s->n, height = 1, x = (uint32_t)a->y.space - GPU_X0;

	if (a->y.space >= GPU_X0 && a->y.space <= GPU_X5 && r->x_w[x] && r->x_h[x]) {
		width = (uint32_t)gpu_int(r->x_w[x], s->seq);
		height = (uint32_t)gpu_int(r->x_h[x], s->seq);
	}
	width = width ? width : 1;
	for (uint32_t j = 0; j < a->kernel; j++) {
		int64_t line = (int64_t)(i / width) - a->left + (int64_t)j * a->dilation;

		for (uint32_t k = 0; k < a->kernel; k++) {
			int64_t place = (int64_t)(i % width) - a->left + (int64_t)k * a->dilation;

			if (line >= 0 && line < height && place >= 0 && place < width)
				sum += w[j * a->kernel + k] *
				       gpu_conv_at(a, s, line * width + place, col);
		}
	}
	return gpu_act(a->act, a->p, sum, 0, 0);
}

/* Mean, or sum weighted by softmax(score), over the block that ends at row i. */
GPU_FN float gpu_conv_pool(const struct gpu_conv_args *a, const struct gpu_run *r,
			   const struct gpu_conv_seq *s, uint32_t i, uint32_t col)
{
	uint32_t width = a->y.n_head * a->y.width, cols = a->x.n_head * a->x.width;
	int64_t n = a->n, pos = gpu_int(r->pos[0], s->first + i), from = a->overlap ? 2 * n : n;
	int scored = gpu_is_set(&a->score);
	float sum = 0, total = 0, most = -INFINITY;

	for (int pass = scored ? 0 : 1; pass < 2; pass++) {
		for (int64_t back = from - 1; back >= 0; back--) {
			uint32_t shift = a->overlap && back < n ? width : 0;
			float score, w;

			if (back > pos)
				continue;
			score = scored ? gpu_conv_at(a, s, (int64_t)i - back, cols + shift + col)
				       : 0;
			if (!pass) {
				most = fmaxf(most, score);
				continue;
			}
			w = scored ? expf(score - most) : 1.0f;
			total += w;
			sum += w * gpu_conv_at(a, s, (int64_t)i - back, shift + col);
		}
	}
	return total > 0 ? sum / total : 0;
}

GPU_FN float gpu_conv_value(const struct gpu_conv_args *a, const struct gpu_run *r,
			    const struct gpu_conv_seq *s, uint32_t i, uint32_t col)
{
	if (a->kind == 1)
		return a->map ? gpu_conv_map(a, r, s, i, col) : gpu_conv_depthwise(a, s, i, col);
	if (a->kind == 2)
		return gpu_conv_at(a, s, (int64_t)i - a->n, col);
	return gpu_int(r->group[a->group].slot, s->first + i) >= 0 ? gpu_conv_pool(a, r, s, i, col)
								   : 0;
}

GPU_FN void gpu_conv_open(struct gpu_conv_args *a, const struct gpu_run *r)
{
	gpu_open(r, &a->x);
	gpu_open(r, &a->score);
}

/* A thread computes a column of a row. */
GPU_KERNEL gpu_conv(struct gpu_conv_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t cols = a.y.n_head * a.y.width;
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_conv_open(&a, r);
	n = (uint64_t)gpu_n_row(r, &a.y) * cols;
	for (uint64_t e = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; e < n; e += step) {
		uint32_t row = (uint32_t)(e / cols), c = (uint32_t)(e % cols);
		struct gpu_conv_seq s;

		s.seq = gpu_seq_of(r, a.y.space, row);
		gpu_seq_rows(r, a.y.space, s.seq, &s.first, &s.n);
		s.slot_in = a.cache.mem ? gpu_int(r->group[a.cache.group].state_in, s.seq) : -1;
		*GPU_PTR(float, gpu_cell(&a.y, row, c)) =
			gpu_conv_value(&a, r, &s, row - s.first, c);
	}
}

/* Stores the states that a sequence leaves: a thread keeps a column, whose old rows it reads
 * before it writes new ones, since a slot may be read and written in one step.  An f32 cache. */
GPU_KERNEL gpu_conv_keep(struct gpu_conv_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t n = gpu_count(r, 1) * a.cache_cols;

	gpu_conv_open(&a, r);
	for (uint32_t e = GPU_BLOCK_X * GPU_THREADS + GPU_TID; e < n;
	     e += GPU_GRID_X * GPU_THREADS) {
		uint32_t col = e % a.cache_cols;
		float old[32];
		struct gpu_conv_seq s;

		s.seq = e / a.cache_cols;
		gpu_seq_rows(r, a.y.space, s.seq, &s.first, &s.n);
		s.slot_in = gpu_int(r->group[a.cache.group].state_in, s.seq);
		for (uint32_t j = 0; j < a.cache_rows; j++)
			old[j] = gpu_conv_at(&a, &s, (int64_t)j - a.cache_rows, col);
		for (uint32_t i = 0; i < s.n; i++) {
			int32_t slot = gpu_int(r->group[a.cache.group].state_out, s.first + i);

			for (uint32_t j = 0; slot >= 0 && j < a.cache_rows; j++) {
				int64_t at = (int64_t)i + 1 + j - a.cache_rows;
				float v = at < 0 ? old[(int64_t)a.cache_rows + at]
						 : gpu_conv_at(&a, &s, at, col);

				((float *)(void *)gpu_state_row(&a.cache, slot, j))[col] = v;
			}
		}
	}
}

/* ---- SCAN ---- */

/* Column j of input i of a row, as the head or its key head sees it. */
GPU_FN float gpu_scan_in(const struct gpu_scan_args *a, int i, uint32_t row, uint32_t first)
{
	return gpu_cell_get(&a->in[i], row, first);
}

/* One row of a head whose state is S [dk][dv]: element (i, j).  A thread has column j of the
 * output.  Kinds whose states are stored the other way round, [dv][dk], give i and j the other
 * strides. */
struct gpu_scan_head {
	uint32_t head, key, j;
	uint64_t s;      /* f32: the head's state */
	uint32_t si, sj; /* strides */
};

GPU_FN float *gpu_scan_at(const struct gpu_scan_head *h, uint32_t i)
{
	return GPU_PTR(float, h->s) + (uint64_t)i * h->si + (uint64_t)h->j * h->sj;
}

GPU_FN float gpu_scan_mamba(const struct gpu_scan_args *a, const struct gpu_scan_head *h,
			    uint32_t row)
{
	int one = a->kind == 1;
	float x = gpu_scan_in(a, 0, row, one ? h->head : h->head * a->dv + h->j);
	float dt = gpu_scan_in(a, 1, row, h->head), y = 0;
	uint32_t key = one ? 0 : h->key * a->dk;

	for (uint32_t n = 0; n < a->dk; n++) {
		float w = GPU_PTR(const float, a->w[0])[one ? h->head * a->dk + n : h->head];
		float *s = gpu_scan_at(h, n);

		*s = expf(dt * w) * *s + dt * gpu_scan_in(a, 2, row, key + n) * x;
		y += gpu_scan_in(a, 3, row, key + n) * *s;
	}
	return y + (a->w[1] ? GPU_PTR(const float, a->w[1])[h->head] * x : 0.0f);
}

GPU_FN float gpu_scan_rwkv6(const struct gpu_scan_args *a, const struct gpu_scan_head *h,
			    uint32_t row)
{
	float v = gpu_scan_in(a, 2, row, h->head * a->dv + h->j), y = 0;

	for (uint32_t i = 0; i < a->dk; i++) {
		uint32_t c = h->head * a->dk + i;
		float *s = gpu_scan_at(h, i), kv = gpu_scan_in(a, 1, row, c) * v;

		y += gpu_scan_in(a, 0, row, c) * (*s + GPU_PTR(const float, a->w[0])[c] * kv);
		*s = gpu_scan_in(a, 3, row, c) * *s + kv;
	}
	return y;
}

GPU_FN float gpu_scan_rwkv7(const struct gpu_scan_args *a, const struct gpu_scan_head *h,
			    uint32_t row)
{
	float v = gpu_scan_in(a, 3, row, h->head * a->dv + h->j), sa = 0, y = 0;

	for (uint32_t i = 0; i < a->dk; i++)
		sa += *gpu_scan_at(h, i) * gpu_scan_in(a, 4, row, h->head * a->dk + i);
	for (uint32_t i = 0; i < a->dk; i++) {
		uint32_t c = h->head * a->dk + i;
		float *s = gpu_scan_at(h, i);

		*s = gpu_scan_in(a, 1, row, c) * *s + sa * gpu_scan_in(a, 5, row, c) +
		     v * gpu_scan_in(a, 2, row, c);
		y += *s * gpu_scan_in(a, 0, row, c);
	}
	return y;
}

/* GLA, and with `delta` the delta rule. */
GPU_FN float gpu_scan_gla(const struct gpu_scan_args *a, const struct gpu_scan_head *h,
			  uint32_t row, int delta)
{
	float v = gpu_scan_in(a, 2, row, h->head * a->dv + h->j), y = 0, d = 0;

	for (uint32_t i = 0; i < a->dk; i++) {
		float g = gpu_scan_in(a, 3, row, h->head * a->gates + (a->gates == 1 ? 0 : i));
		float *s = gpu_scan_at(h, i), k = gpu_scan_in(a, 1, row, h->key * a->dk + i);

		if (delta) {
			*s *= expf(g);
			d += k * *s;
		} else {
			*s = g * *s + k * v;
			y += gpu_scan_in(a, 0, row, h->key * a->dk + i) * *s;
		}
	}
	if (!delta)
		return a->scale * y;
	d = gpu_scan_in(a, 4, row, h->head) * (v - d);
	for (uint32_t i = 0; i < a->dk; i++) {
		float *s = gpu_scan_at(h, i);

		*s += gpu_scan_in(a, 1, row, h->key * a->dk + i) * d;
		y += gpu_scan_in(a, 0, row, h->key * a->dk + i) * *s;
	}
	return a->scale * y;
}

GPU_FN float gpu_scan_row(const struct gpu_scan_args *a, const struct gpu_scan_head *h,
			  uint32_t row)
{
	switch (a->kind) {
	case 1:
	case 2:
		return gpu_scan_mamba(a, h, row);
	case 3:
		return gpu_scan_rwkv6(a, h, row);
	case 4:
		return gpu_scan_rwkv7(a, h, row);
	default:
		return gpu_scan_gla(a, h, row, a->kind == 6);
	}
}

/* A thread goes along a sequence with column j of a head: all its numbers of the state are its
 * own.  Caches are f32; work: the running states. */
GPU_KERNEL gpu_scan(struct gpu_scan_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t n, per = a.n_head * a.dv;
	int turned = a.kind == 1 || a.kind == 2 || a.kind == 4; /* [dv][dk] */

	for (int i = 0; i < 6; i++)
		gpu_open(r, &a.in[i]);
	n = gpu_count(r, 1) * per;
	for (uint32_t e = GPU_BLOCK_X * GPU_THREADS + GPU_TID; e < n;
	     e += GPU_GRID_X * GPU_THREADS) {
		uint32_t seq = e / per, first, rows;
		const struct gpu_group *g = &r->group[a.cache.group];
		int32_t slot = gpu_int(g->state_in, seq);
		struct gpu_scan_head h;

		h.head = e % per / a.dv;
		h.j = e % a.dv;
		h.key = a.key_map == 1 ? h.head % a.n_key_head : h.head / (a.n_head / a.n_key_head);
		h.si = turned ? 1 : a.dv;
		h.sj = turned ? a.dk : 1;
		h.s = a.work + 4 * ((uint64_t)seq * a.n_head + h.head) * a.dk * a.dv;
		for (uint32_t i = 0; i < a.dk; i++)
			*gpu_scan_at(&h, i) =
				slot < 0 ? 0.0f
					 : ((const float *)(const void *)gpu_state_row(
						   &a.cache, slot, h.head))[i * h.si + h.j * h.sj];
		gpu_seq_rows(r, GPU_TOKENS, seq, &first, &rows);
		for (uint32_t row = first; row < first + rows; row++) {
			float y = gpu_scan_row(&a, &h, row);

			*GPU_PTR(float, gpu_cell(&a.y, row, h.head * a.dv + h.j)) = y;
			slot = gpu_int(g->state_out, row);
			for (uint32_t i = 0; slot >= 0 && i < a.dk; i++)
				((float *)(void *)gpu_state_row(&a.cache, slot,
								h.head))[i * h.si + h.j * h.sj] =
					*gpu_scan_at(&h, i);
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_STATE_H */
