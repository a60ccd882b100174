/* SPDX-License-Identifier: MIT
 *
 * select.h - kernels of PATCH, INDEX and SAMPLE.  INDEX and SAMPLE give a row to one thread:
 * plain, and slow with large vocabularies. */
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

/* ---- SAMPLE ---- */

struct gpu_cand {
	uint32_t id;
	float logit;
};

struct gpu_cands {
	struct gpu_cand *v;
	uint32_t n;
	int sorted;
};

/* Larger logit first, then lower id. */
GPU_FN int gpu_cand_before(struct gpu_cand a, struct gpu_cand b)
{
	return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

GPU_FN void gpu_cand_sift(struct gpu_cand *v, uint32_t n, uint32_t i)
{
	struct gpu_cand x = v[i];

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && gpu_cand_before(v[c], v[c + 1]))
			c++;
		if (!gpu_cand_before(x, v[c]))
			break;
		v[i] = v[c];
	}
	v[i] = x;
}

GPU_SLOW void gpu_cand_sort(struct gpu_cand *v, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		gpu_cand_sift(v, n, i);
	for (uint32_t i = n; i-- > 1;) {
		struct gpu_cand t = v[0];

		v[0] = v[i];
		v[i] = t;
		gpu_cand_sift(v, i, 0);
	}
}

GPU_FN void gpu_cand_order(struct gpu_cands *c)
{
	if (!c->sorted)
		gpu_cand_sort(c->v, c->n);
	c->sorted = 1;
}

GPU_FN float gpu_cand_greatest(const struct gpu_cands *c)
{
	float most = -INFINITY;

	for (uint32_t i = 0; i < c->n; i++)
		most = fmaxf(most, c->v[i].logit);
	return most;
}

GPU_FN float gpu_cand_weight(struct gpu_cand c, float most)
{
	if (most == INFINITY || most == -INFINITY)
		return c.logit == most ? 1.0f : 0.0f;
	return expf(c.logit - most);
}

GPU_FN float gpu_sample_param(const struct gpu_sample_args *a, uint32_t row, uint32_t stage,
			      uint32_t i)
{
	return gpu_cell_get(&a->params, row, a->param_col[stage] + i);
}

GPU_FN void gpu_sample_load(const struct gpu_sample_args *a, uint32_t row, struct gpu_cands *c)
{
	uint32_t vocab = a->logits.n_head * a->logits.width;

	for (uint32_t id = 0; id < vocab; id++) {
		float x = gpu_cell_get(&a->logits, row, id);

		if (gpu_is_set(&a->mask) &&
		    !((uint32_t)gpu_cell_i32(&a->mask, row, id / 32) >> (id % 32) & 1))
			x = -INFINITY;
		c->v[id].id = id;
		c->v[id].logit = x == x ? x : -INFINITY;
	}
	c->n = vocab;
	c->sorted = 0;
}

GPU_FN void gpu_sample_penalties(const struct gpu_sample_args *a, uint32_t row, uint32_t stage,
				 struct gpu_cands *c)
{
	float repeat = gpu_sample_param(a, row, stage, 0),
	      freq = gpu_sample_param(a, row, stage, 1),
	      present = gpu_sample_param(a, row, stage, 2);
	uint32_t len = gpu_is_set(&a->history) ? a->history.n_head * a->history.width : 0;

	for (uint32_t i = 0; i < len; i++) {
		int32_t id = gpu_cell_i32(&a->history, row, i);
		uint32_t count = 0;
		int seen = 0;

		for (uint32_t j = 0; j < len; j++) {
			int same = gpu_cell_i32(&a->history, row, j) == id;

			count += (uint32_t)same;
			seen = seen || (same && j < i);
		}
		for (uint32_t k = 0; !seen && id >= 0 && k < c->n; k++) {
			float x = c->v[k].logit;

			if (c->v[k].id != (uint32_t)id)
				continue;
			x = x <= 0.0f ? x * repeat : x / repeat;
			c->v[k].logit = x - ((float)count * freq + present);
		}
	}
}

GPU_FN uint32_t gpu_sample_greedy(const struct gpu_cands *c)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < c->n; i++) {
		if (gpu_cand_before(c->v[i], c->v[best]))
			best = i;
	}
	return best;
}

GPU_FN void gpu_sample_temperature(struct gpu_cands *c, float t)
{
	uint32_t best;

	if (t > 0.0f) {
		for (uint32_t i = 0; i < c->n; i++)
			c->v[i].logit /= t;
		return;
	}
	best = gpu_sample_greedy(c);
	for (uint32_t i = 0; i < c->n; i++) {
		if (i != best)
			c->v[i].logit = -INFINITY;
	}
}

GPU_FN void gpu_sample_top_k(struct gpu_cands *c, float k)
{
	if (!(k > 0.0f) || k >= (float)c->n)
		return;
	gpu_cand_order(c);
	c->n = (uint32_t)k ? (uint32_t)k : 1;
}

GPU_FN void gpu_sample_top_p(struct gpu_cands *c, float p)
{
	float most, total = 0, sum = 0;

	if (p >= 1.0f)
		return;
	most = gpu_cand_greatest(c);
	for (uint32_t i = 0; i < c->n; i++)
		total += gpu_cand_weight(c->v[i], most);
	gpu_cand_order(c);
	for (uint32_t i = 0; i < c->n; i++) {
		sum += gpu_cand_weight(c->v[i], most) / total;
		if (sum >= p)
			c->n = i + 1; /* ends the loop */
	}
}

GPU_FN void gpu_sample_min_p(struct gpu_cands *c, float p)
{
	float bound;
	uint32_t n = 0;

	if (p <= 0.0f)
		return;
	bound = gpu_cand_greatest(c) + logf(p);
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->v[i].logit >= bound)
			c->v[n++] = c->v[i];
	}
	if (!n)
		gpu_cand_order(c);
	c->n = n ? n : 1;
}

/* Philox4x32-10: lmd_sample_rand of llamad/sampler.h with draw 0. */
GPU_FN float gpu_sample_rand(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1)
{
	uint32_t c2 = 0, c3 = 0;

	for (int i = 0; i < 10; i++) {
		uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
		uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;

		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		c0 = n0;
		c2 = n2;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return (float)(c0 >> 8) * 5.9604644775390625e-8f;
}

GPU_FN uint32_t gpu_sample_draw(const struct gpu_sample_args *a, uint32_t row,
				const struct gpu_cands *c)
{
	float u = gpu_sample_rand(
		(uint32_t)gpu_cell_i32(&a->rng, row, 0), (uint32_t)gpu_cell_i32(&a->rng, row, 1),
		(uint32_t)gpu_cell_i32(&a->rng, row, 2), (uint32_t)gpu_cell_i32(&a->rng, row, 3));
	float most = gpu_cand_greatest(c), total = 0;
	double sum = 0, at = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < c->n; i++)
		total += gpu_cand_weight(c->v[i], most);
	for (uint32_t i = 0; i < c->n; i++)
		sum += (double)(gpu_cand_weight(c->v[i], most) / total);
	for (uint32_t i = 0; i < c->n && at <= (double)u * sum; i++) {
		float p = gpu_cand_weight(c->v[i], most) / total;

		at += (double)p;
		last = p > 0.0f ? i : last;
	}
	return last;
}

/* The n best candidates with their log probabilities. */
GPU_FN void gpu_sample_list(const struct gpu_sample_args *a, uint32_t row,
			    const struct gpu_cands *c, struct gpu_cand *best)
{
	uint32_t n = gpu_is_set(&a->top_id) ? a->top_id.n_head * a->top_id.width : 0;
	float most = gpu_cand_greatest(c);
	double sum = 0;

	for (uint32_t i = 0; n && i < c->n; i++) {
		best[i] = c->v[i];
		sum += (double)gpu_cand_weight(c->v[i], most);
	}
	if (n)
		gpu_cand_sort(best, c->n);
	for (uint32_t i = 0; i < n; i++) {
		*GPU_PTR(int32_t, gpu_cell(&a->top_id, row, i)) = (int32_t)best[i].id;
		if (gpu_is_set(&a->top_lp))
			*GPU_PTR(float, gpu_cell(&a->top_lp, row, i)) =
				best[i].logit - most - (float)log(sum);
	}
}

GPU_FN uint32_t gpu_sample_stages(const struct gpu_sample_args *a, uint32_t row, uint32_t i,
				  struct gpu_cands *c)
{
	uint32_t token = 0;

	for (; i < a->n_stage; i++) {
		switch (a->stage[i]) {
		case 1:
			gpu_sample_penalties(a, row, i, c);
			c->sorted = 0;
			break;
		case 2:
			gpu_sample_temperature(c, gpu_sample_param(a, row, i, 0));
			c->sorted = 0;
			break;
		case 3:
			gpu_sample_top_k(c, gpu_sample_param(a, row, i, 0));
			break;
		case 4:
			gpu_sample_top_p(c, gpu_sample_param(a, row, i, 0));
			break;
		case 5:
			gpu_sample_min_p(c, gpu_sample_param(a, row, i, 0));
			break;
		case 6:
			token = c->v[gpu_sample_greedy(c)].id;
			break;
		default:
			token = c->v[gpu_sample_draw(a, row, c)].id;
			break;
		}
	}
	return token;
}

/* A thread computes a row.  work: candidates [rows][2][V]. */
GPU_KERNEL gpu_sample(struct gpu_sample_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t vocab = a.logits.n_head * a.logits.width, rows;

	gpu_open(r, &a.logits);
	gpu_open(r, &a.params);
	gpu_open(r, &a.rng);
	gpu_open(r, &a.mask);
	gpu_open(r, &a.history);
	rows = gpu_n_row(r, &a.token);
	for (uint32_t row = GPU_BLOCK_X * GPU_THREADS + GPU_TID; row < rows;
	     row += GPU_GRID_X * GPU_THREADS) {
		struct gpu_cands c;
		uint32_t i = 0, token;

		c.v = GPU_PTR(struct gpu_cand, a.work) + (uint64_t)row * 2 * vocab;
		gpu_sample_load(&a, row, &c);
		for (; i < a.n_stage && a.stage[i] == 1; i++)
			gpu_sample_penalties(&a, row, i, &c);
		gpu_sample_list(&a, row, &c, c.v + vocab);
		token = gpu_sample_stages(&a, row, i, &c);
		*GPU_PTR(int32_t, gpu_cell(&a.token, row, 0)) = (int32_t)token;
	}
}

/* One thread: the tokens become the last ones of their sequences, in the order of rows. */
GPU_KERNEL gpu_remember(struct gpu_sample_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t rows = gpu_n_row(r, &a.token);

	if (GPU_TID || GPU_BLOCK_X || !r->out_row || !r->seq_of || !r->seq_slot)
		return;
	for (uint32_t row = 0; row < rows; row++) {
		int32_t t = gpu_int(r->out_row, row);
		int32_t seq = t >= 0 && (uint32_t)t < gpu_count(r, 0)
				      ? gpu_int(r->seq_of, (uint32_t)t)
				      : -1;
		uint32_t slot = seq >= 0 && (uint32_t)seq < gpu_count(r, 1)
					? (uint32_t)gpu_int(r->seq_slot, (uint32_t)seq)
					: 0xffffffffu;

		if (slot < 65536)
			GPU_PTR(int32_t, r->chained)[slot] = gpu_cell_i32(&a.token, row, 0);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_SELECT_H */
