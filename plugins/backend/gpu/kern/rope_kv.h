/* SPDX-License-Identifier: MIT
 *
 * rope_kv.h - the kernel of ROPE_KV: a block takes a head of q, k or v of a row into shared
 * memory, or into memory of its own if the head is too wide for that, norms and rotates it there,
 * and stores it.
 *
 * Angles are computed in double precision and reduced to one turn before they become floats: in
 * float, a position of 2^20 would lose a tenth of a radian.  With `exact`, in exact arithmetic
 * (exact.h). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROPE_KV_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROPE_KV_H

#include "backend/gpu/kern/decode.h"
#include "backend/gpu/kern/hadamard.h"
#include "backend/gpu/kern/norm.h"

/* Norms a head at x. */
GPU_FN void gpu_rope_norm(const struct gpu_norm *n, uint32_t row, uint32_t head, float *x,
			  uint32_t width, float *red, int exact)
{
	uint32_t size = n->n ? n->n : width;

	for (uint32_t at = 0; at < width; at += size) {
		uint32_t count = width - at < size ? width - at : size;
		struct gpu_exact_row numbers = {x, GPU_PTR(const struct gpu_view, 0), row, head, at,
						count};
		float sum = 0, sq = 0, mean = 0, inv;

		gpu_sync();
		if (n->kind == GPU_NORM_LAYER && exact) {
			mean = gpu_exact_sum(&numbers, 0.0f, 0, red) / (float)count;
		} else if (n->kind == GPU_NORM_LAYER) {
			for (uint32_t c = GPU_TID; c < count; c += GPU_THREADS)
				sum += x[at + c];
			mean = gpu_block_sum(sum, red) / (float)count;
		}
		for (uint32_t c = GPU_TID; !exact && c < count; c += GPU_THREADS)
			sq += (x[at + c] - mean) * (x[at + c] - mean);
		sq = exact ? gpu_exact_sum(&numbers, mean, 1, red) : gpu_block_sum(sq, red);
		if (exact)
			gpu_sync(); /* all numbers have been read */
		inv = gpu_norm_inverse(n, sq, (float)count);
		for (uint32_t c = GPU_TID; c < count; c += GPU_THREADS)
			x[at + c] = gpu_norm_affine(n, row, head, at + c, (x[at + c] - mean) * inv,
						    exact);
	}
	gpu_sync();
}

/* Cosine and sine of pair i at a position, times the magnitude. */
GPU_FN void gpu_rope_turn(const struct gpu_rope *rope, int32_t pos, uint32_t i, int exact, float *c,
			  float *s)
{
	double freq = GPU_PTR(const double, rope->freq)[i], cosine, sine;

	if (exact) {
		device_exact_turn(DEVICE_DMUL(DEVICE_DMUL((double)rope->sign, (double)pos), freq),
				  &cosine, &sine);
		*c = (float)DEVICE_DMUL(cosine, (double)rope->magnitude);
		*s = (float)DEVICE_DMUL(sine, (double)rope->magnitude);
	} else {
		double angle = (double)rope->sign * pos * freq;
		double turns = rint(angle * 0.15915494309189533577);
		float rest = (float)(angle - turns * 6.28318530717958647693);

		*c = cosf(rest) * rope->magnitude;
		*s = sinf(rest) * rope->magnitude;
	}
}

GPU_FN void gpu_rope_rotate(const struct gpu_rope_kv_args *a, const struct gpu_run *r, uint32_t row,
			    float *x, int exact)
{
	uint32_t half = a->rope.freq ? a->rope.n_rot / 2 : 0;

	x += a->rope.rot0;
	for (uint32_t i = GPU_TID; i < half; i += GPU_THREADS) {
		uint32_t plane = GPU_PTR(const uint8_t, a->rope.plane)[i];
		int32_t pos = gpu_is_set(&a->pos) ? gpu_cell_i32(&a->pos, row, 0)
						  : gpu_pos(r, a->space, row, plane);
		uint32_t p = a->rope.pairing == 0 ? 2 * i : i,
			 q = a->rope.pairing == 0 ? p + 1 : i + half;
		float x0 = x[p], x1 = x[q], c, s;

		gpu_rope_turn(&a->rope, pos, i, exact, &c, &s);
		x[p] = exact ? DEVICE_ADD(DEVICE_MUL(x0, c), DEVICE_MUL(x1, -s)) : x0 * c - x1 * s;
		x[q] = exact ? DEVICE_ADD(DEVICE_MUL(x1, c), DEVICE_MUL(x0, s)) : x0 * s + x1 * c;
	}
	gpu_sync();
}

/* Stores a head at x into the cache; may change what is at x. */
GPU_FN void gpu_rope_store(const struct gpu_rope_kv_args *a, const struct gpu_run *r, uint32_t row,
			   uint32_t head, int is_v, float *x, uint32_t width)
{
	const struct gpu_group *g = &r->group[a->cache.group];
	uint32_t type = is_v ? a->cache.v_dtype : a->cache.k_dtype;
	int32_t slot = g->slot ? gpu_int(g->slot, row) : -1;
	uint64_t page;

	if (slot < 0)
		return;
	page = a->cache.mem + a->cache.unit_bytes * ((uint32_t)slot / g->page_tokens);
	slot = (int32_t)((uint32_t)slot % g->page_tokens);
	page += is_v ? a->cache.v_off + (uint64_t)slot * a->cache.v_row +
				(uint64_t)head * a->cache.v_head
		     : a->cache.k_off + (uint64_t)slot * a->cache.k_row +
				(uint64_t)head * a->cache.k_head;
	if (type == GPU_Q4_0_ROT) {
		gpu_hadamard_64(x, width);
		type = GPU_Q4_0;
	}
	for (uint32_t c = GPU_TID; c < width; c += GPU_THREADS)
		gpu_encode(type, x, c, GPU_PTR(uint8_t, page));
}

GPU_FN void gpu_rope_head(const struct gpu_rope_kv_args *a, const struct gpu_run *r,
			  const struct gpu_view *v, const struct gpu_view *out,
			  const struct gpu_norm *n, uint32_t row, uint32_t head, float *x,
			  float *red, int exact)
{
	for (uint32_t c = GPU_TID; c < v->width; c += GPU_THREADS)
		x[c] = gpu_get(v, row, head, c);
	gpu_sync();
	if (n && n->kind != GPU_NORM_NONE && a->norm_when == 1)
		gpu_rope_norm(n, row, head, x, v->width, red, exact);
	if (n)
		gpu_rope_rotate(a, r, row, x, exact);
	if (n && n->kind != GPU_NORM_NONE && a->norm_when == 2)
		gpu_rope_norm(n, row, head, x, v->width, red, exact);
	for (uint32_t c = GPU_TID; out && gpu_is_set(out) && c < v->width; c += GPU_THREADS)
		gpu_put(out, row, head, c, x[c]);
}

/* Shared: 64 numbers for sums, then the widest head unless there is memory for it. */
GPU_FN void gpu_rope_heads(struct gpu_rope_kv_args *a, int exact)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	float *red = GPU_SHARED(float), *x = red + 64;
	uint32_t nq = gpu_is_set(&a->q) ? a->q.n_head : 0;
	uint32_t nk = gpu_is_set(&a->k) ? a->k.n_head : 0, n;

	if (a->work)
		x = GPU_PTR(float, a->work) + (uint64_t)GPU_BLOCK_X * a->most;
	gpu_open(r, &a->q);
	gpu_open(r, &a->k);
	gpu_open(r, &a->v);
	gpu_open(r, &a->pos);
	gpu_norm_open(r, &a->qn);
	gpu_norm_open(r, &a->kn);
	n = gpu_space_rows(r, a->space) / a->fold * a->n_unit;
	for (uint32_t i = GPU_BLOCK_X; i < n; i += GPU_GRID_X) {
		uint32_t row = i / a->n_unit, u = i % a->n_unit;

		gpu_sync(); /* the last head has been stored */
		if (u < nq) {
			gpu_rope_head(a, r, &a->q, &a->q_out, &a->qn, row, u, x, red, exact);
		} else if (u < nq + nk) {
			gpu_rope_head(a, r, &a->k, &a->k_out, &a->kn, row, u - nq, x, red, exact);
			if (a->cache.mem && (a->append & 1))
				gpu_rope_store(a, r, row, u - nq, 0, x, a->k.width);
		} else if (a->cache.mem && a->cache.has_v && (a->append & 2)) {
			gpu_rope_head(a, r, &a->v, GPU_PTR(const struct gpu_view, 0),
				      GPU_PTR(const struct gpu_norm, 0), row, u - nq - nk, x, red,
				      exact);
			gpu_rope_store(a, r, row, u - nq - nk, 1, x, a->v.width);
		}
	}
}

GPU_KERNEL gpu_rope_kv(struct gpu_rope_kv_args a)
{
	gpu_rope_heads(&a, 0);
}

GPU_KERNEL gpu_exact_rope_kv(struct gpu_rope_kv_args a)
{
	gpu_rope_heads(&a, 1);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_ROPE_KV_H */
