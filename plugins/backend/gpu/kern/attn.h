/* SPDX-License-Identifier: MIT
 *
 * attn.h - kernels of ATTN: a block computes a (row, head).  Its warps take keys in turn, each
 * with a running maximum and sum of its own, and are merged at the end.  A kernel for each size of
 * heads, since a thread holds every GPU_WARP'th column of q and of the sum. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_ATTN_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_ATTN_H

#include "backend/gpu/kern/act.h"
#include "backend/gpu/kern/decode.h"

#define GPU_LOWEST (-3.402823466e38f)

/* What a block works on. */
struct gpu_attn_row {
	uint32_t row, head, kv_head, seq;
	uint32_t lane, warp, n_warp;
};

/* Does kern/nv/flash.h compute the rows of a sequence? */
GPU_FN int gpu_attn_long(const struct gpu_attn_args *a, const struct gpu_run *r, uint32_t seq)
{
	return a->flash && (uint32_t)gpu_int(r->q_len, seq) >= a->flash;
}

/* Address of the K or V head of a key of a cache. */
GPU_FN const uint8_t *gpu_attn_cached(const struct gpu_run *r, const struct gpu_attn_src *s,
				      const struct gpu_attn_row *w, uint32_t key, int is_v)
{
	const struct gpu_group *g = &r->group[s->group];
	uint32_t slot = (uint32_t)gpu_int(r->seq_slot, w->seq);
	uint32_t page = GPU_PTR(const uint32_t,
				g->table)[(uint64_t)slot * g->n_index + key / g->page_tokens];
	uint64_t p = s->cache.mem + s->cache.unit_bytes * page;

	key %= g->page_tokens;
	p += is_v ? s->cache.v_off + (uint64_t)key * s->cache.v_row +
			     (uint64_t)w->kv_head * s->cache.v_head
		  : s->cache.k_off + (uint64_t)key * s->cache.k_row +
			     (uint64_t)w->kv_head * s->cache.k_head;
	return GPU_PTR(const uint8_t, p);
}

/* Does the draft tree hide a key from the row? */
GPU_SLOW int gpu_attn_hidden(const struct gpu_attn_args *a, const struct gpu_run *r,
			     const struct gpu_attn_src *s, const struct gpu_attn_row *w,
			     uint32_t key)
{
	const struct gpu_group *g = &r->group[s->group];
	int32_t t = gpu_token_row(r, a->q.space, w->row), place;
	uint32_t first, n, page;
	uint64_t mask;

	if (!a->tree || !r->tree || t < 0)
		return 0;
	mask = GPU_PTR(const uint64_t, r->tree)[t];
	if (s->kind == 2)
		return key >= 64 || !(mask >> key & 1);
	page = GPU_PTR(const uint32_t,
		       g->table)[(uint64_t)gpu_int(r->seq_slot, w->seq) * g->n_index +
				 key / g->page_tokens];
	place = (int32_t)(page * g->page_tokens + key % g->page_tokens);
	gpu_seq_rows(r, GPU_TOKENS, w->seq, &first, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (gpu_int(g->slot, first + i) == place)
			return i >= 64 || !(mask >> i & 1);
	}
	return 0;
}

/* Position of a key on a plane. */
GPU_FN int32_t gpu_attn_key_pos(const struct gpu_run *r, const struct gpu_attn_src *s, uint32_t seq,
				uint32_t key, uint32_t plane)
{
	uint32_t first, n;

	if (s->kind == 1) {
		uint32_t ratio = r->group[s->group].ratio;

		return (int32_t)(key * (ratio ? ratio : 1));
	}
	gpu_seq_rows(r, s->k.space, seq, &first, &n);
	return gpu_pos(r, s->k.space, first + key, plane);
}

/* T5's bucket of a distance pos_k - pos_q. */
GPU_SLOW uint32_t gpu_attn_bucket(const struct gpu_attn_args *a, int32_t d)
{
	uint32_t n = a->n_bucket, base = 0, exact, far, dist;

	if (a->bidirectional) {
		n /= 2;
		base = d > 0 ? n : 0;
		dist = (uint32_t)(d < 0 ? -(int64_t)d : d);
	} else {
		dist = d < 0 ? (uint32_t)(-(int64_t)d) : 0;
	}
	exact = n / 2;
	if (dist < exact)
		return base + dist;
	if (!exact)
		return base;
	far = (uint32_t)((float)exact + logf((float)dist / (float)exact) * (float)(n - exact) /
						logf(a->max_distance / (float)exact));
	return base + (far < n - 1 ? far : n - 1);
}

GPU_SLOW float gpu_attn_rel_bias(const struct gpu_attn_args *a, const struct gpu_run *r,
				 const struct gpu_attn_src *s, const struct gpu_attn_row *w,
				 uint32_t key)
{
	float sum = 0;

	for (int j = 0; j < 2; j++) {
		const struct gpu_attn_rel *rel = &a->rel[j];
		int64_t at;

		if (!gpu_is_set(&rel->q2))
			continue;
		at = (int64_t)gpu_pos(r, a->q.space, w->row, rel->plane) -
		     gpu_attn_key_pos(r, s, w->seq, key, rel->plane) + rel->off;
		at = at < 0 ? 0 : at >= rel->n ? (int64_t)rel->n - 1 : at;
		for (uint32_t c = 0; c < rel->q2.width; c++)
			sum += gpu_get(&rel->q2, w->row, w->head, c) *
			       GPU_PTR(const float, rel->r)[(uint64_t)at * rel->k + c];
	}
	return sum;
}

GPU_FN float gpu_attn_bias(const struct gpu_attn_args *a, const struct gpu_run *r,
			   const struct gpu_attn_src *s, const struct gpu_attn_row *w, uint32_t key)
{
	int32_t d;

	if (!a->bias)
		return 0;
	if (a->bias == 3)
		return gpu_attn_rel_bias(a, r, s, w, key);
	d = gpu_attn_key_pos(r, s, w->seq, key, 0) - gpu_pos(r, a->q.space, w->row, 0);
	if (a->bias == 1)
		return -GPU_PTR(const float, a->bias_w)[w->head] * fabsf((float)d);
	return GPU_PTR(const float,
		       a->bias_w)[(uint64_t)gpu_attn_bucket(a, d) * a->q.n_head + w->head];
}

/* A key or its value: its address in a cache, or, without one, its row in this step. */
struct gpu_attn_place {
	const uint8_t *at;
	uint32_t row;
};

GPU_FN struct gpu_attn_place gpu_attn_find(const struct gpu_run *r, const struct gpu_attn_src *s,
					   const struct gpu_attn_row *w, uint32_t key, int is_v)
{
	struct gpu_attn_place p = {GPU_PTR(const uint8_t, 0), key};
	uint32_t n;

	if (s->kind == 1) {
		p.at = gpu_attn_cached(r, s, w, key, is_v && s->cache.has_v);
	} else if (s->kind == 2) {
		gpu_seq_rows(r, s->k.space, w->seq, &p.row, &n);
		p.row += key;
	}
	return p;
}

/* Column c of a key, or of its value: in a cache, or in a row of this step. */
GPU_FN float gpu_attn_column(const struct gpu_attn_src *s, const struct gpu_attn_row *w,
			     uint32_t row, const uint8_t *cached, int is_v, uint32_t c)
{
	if (cached)
		return gpu_element(is_v ? s->cache.v_dtype : s->cache.k_dtype, cached, c, 1u << 30);
	return gpu_get(is_v ? &s->v : &s->k, row, w->kv_head, c);
}

/* The state of a warp: most is the greatest score, sum the denominator, acc the weighted values. */
#define GPU_ATTN_MAX 32 /* columns of a thread: heads of at most 1024 */
struct gpu_attn_state {
	float most, sum;
	float q[GPU_ATTN_MAX], acc[GPU_ATTN_MAX];
};

GPU_FN void gpu_attn_key(const struct gpu_attn_args *a, const struct gpu_run *r,
			 const struct gpu_attn_src *s, const struct gpu_attn_row *w, uint32_t key,
			 uint32_t cols, struct gpu_attn_state *t)
{
	struct gpu_attn_place k = gpu_attn_find(r, s, w, key, 0);
	const uint8_t *v = k.at;
	int own_v = s->kind == 2 || s->cache.has_v;
	float score = 0, keep, weight;

	if (gpu_attn_hidden(a, r, s, w, key))
		return;
	for (uint32_t i = 0; i < cols; i++) {
		uint32_t c = i * GPU_WARP + w->lane;

		if (c < a->q.width)
			score += t->q[i] * gpu_attn_column(s, w, k.row, k.at, 0, c);
	}
	score = a->scale * gpu_warp_sum(score) + gpu_attn_bias(a, r, s, w, key);
	score = gpu_softcap(score, a->softcap);
	if (!(score > GPU_LOWEST))
		return;
	if (s->kind == 1 && s->cache.has_v)
		v = gpu_attn_cached(r, s, w, key, 1);
	keep = score > t->most ? expf(t->most - score) : 1.0f;
	t->most = fmaxf(t->most, score);
	weight = expf(score - t->most);
	t->sum = t->sum * keep + weight;
	for (uint32_t i = 0; i < cols; i++) {
		uint32_t c = i * GPU_WARP + w->lane;

		if (c < a->y.width)
			t->acc[i] =
				t->acc[i] * keep + weight * gpu_attn_column(s, w, k.row, v, own_v, c);
	}
}

/* Goes through the keys of a source that this warp takes: every n_warp'th, or all keys of every
 * n_warp'th unit of the list.  gpu_attn_key is long: it is called in one place. */
GPU_FN void gpu_attn_source(const struct gpu_attn_args *a, const struct gpu_run *r,
			    const struct gpu_attn_src *s, const struct gpu_attn_row *w,
			    uint32_t cols, struct gpu_attn_state *t)
{
	int listed = gpu_is_set(&s->list);
	uint32_t n = listed ? s->list.width : w->n_warp;
	int64_t lo, hi;

	if (!s->kind)
		return;
	lo = gpu_int(r->group[s->group].kv_lo, w->row);
	hi = gpu_int(r->group[s->group].kv_hi, w->row);
	for (uint32_t c = w->warp; c < n; c += w->n_warp) {
		int64_t from = lo + c, to = hi;

		if (listed) {
			uint32_t head = s->list.n_head > 1 ? w->kv_head : 0;
			int64_t e = gpu_get_i32(&s->list, w->row, head, c), unit = s->list_unit;

			if (e < 0)
				continue;
			from = e * unit > lo ? e * unit : lo;
			to = (e + 1) * unit < hi ? (e + 1) * unit : hi;
		}
		for (int64_t j = from; j < to; j += listed ? 1 : w->n_warp)
			gpu_attn_key(a, r, s, w, (uint32_t)j, cols, t);
	}
}

/* Merges the warps and stores the row.  shared: [n_warp][2], then [n_warp][width]. */
GPU_FN void gpu_attn_merge(const struct gpu_attn_args *a, const struct gpu_attn_row *w,
			   uint32_t cols, const struct gpu_attn_state *t, float *shared)
{
	float *part = shared + 2 * w->n_warp, most = GPU_LOWEST, sum = 0;
	int sink = a->sinks != 0;

	gpu_sync();
	if (w->lane == 0) {
		shared[2 * w->warp] = t->most;
		shared[2 * w->warp + 1] = t->sum;
	}
	for (uint32_t i = 0; i < cols; i++) {
		uint32_t c = i * GPU_WARP + w->lane;

		if (c < a->y.width)
			part[w->warp * a->y.width + c] = t->acc[i];
	}
	gpu_sync();
	for (uint32_t i = 0; i < w->n_warp; i++)
		most = fmaxf(most, shared[2 * i]);
	if (sink)
		most = fmaxf(most, GPU_PTR(const float, a->sinks)[w->head]);
	for (uint32_t i = 0; i < w->n_warp; i++)
		sum += shared[2 * i + 1] * expf(shared[2 * i] - most);
	if (sink && sum > 0)
		sum += expf(GPU_PTR(const float, a->sinks)[w->head] - most);
	for (uint32_t c = GPU_TID; c < a->y.width; c += GPU_THREADS) {
		float v = 0;

		for (uint32_t i = 0; i < w->n_warp; i++)
			v += part[i * a->y.width + c] * expf(shared[2 * i] - most);
		gpu_put(&a->y, w->row, w->head, c, sum > 0 ? v / sum : 0.0f);
	}
}

GPU_FN void gpu_attn_open(struct gpu_attn_args *a, const struct gpu_run *r)
{
	gpu_open(r, &a->q);
	for (int i = 0; i < 2; i++) {
		gpu_open(r, &a->src[i].k);
		gpu_open(r, &a->src[i].v);
		gpu_open(r, &a->src[i].list);
		gpu_open(r, &a->rel[i].q2);
	}
}

GPU_FN void gpu_attn(struct gpu_attn_args *a, uint32_t cols)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	uint32_t heads = a->q.n_head, per_kv = heads / a->n_kv_head, n;
	struct gpu_attn_row w;
	struct gpu_attn_state t;

	gpu_attn_open(a, r);
	n = gpu_n_row(r, &a->y) * heads;
	w.lane = GPU_TID % GPU_WARP;
	w.warp = GPU_TID / GPU_WARP;
	w.n_warp = GPU_THREADS / GPU_WARP;
	for (uint32_t item = GPU_BLOCK_X; item < n; item += GPU_GRID_X) {
		w.row = item / heads;
		w.head = item % heads;
		w.kv_head = a->kv_map == 1 ? w.head % a->n_kv_head : w.head / per_kv;
		w.seq = gpu_seq_of(r, a->q.space, w.row);
		if (gpu_attn_long(a, r, w.seq))
			continue;
		t.most = GPU_LOWEST;
		t.sum = 0;
		for (uint32_t i = 0; i < cols; i++) {
			uint32_t c = i * GPU_WARP + w.lane;

			t.q[i] = c < a->q.width ? gpu_get(&a->q, w.row, w.head, c) : 0.0f;
			t.acc[i] = 0;
		}
		for (uint32_t i = 0; i < 2; i++)
			gpu_attn_source(a, r, &a->src[i], &w, cols, &t);
		gpu_attn_merge(a, &w, cols, &t, GPU_SHARED(float));
	}
}

#define GPU_ATTN(width)                                                                            \
	GPU_KERNEL gpu_attn_##width(struct gpu_attn_args a)                                        \
	{                                                                                          \
		gpu_attn(&a, (width + GPU_WARP - 1) / GPU_WARP);                                   \
	}

GPU_ATTN(64)
GPU_ATTN(128)
GPU_ATTN(256)
GPU_ATTN(1024)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_ATTN_H */
