/* SPDX-License-Identifier: MIT
 *
 * flash.h - ATTN of sequences with many rows on NVIDIA's matrix units, for what kern/split.h computes
 * and heads of at most 256 columns.  A block takes a kv head and GPU_FLASH_PACK queries that share
 * its keys, 16 for each of its warps, and goes through the keys in tiles.  K and V of a tile lie in
 * shared memory as 16-bit floats; caches of other types are converted there, to sums of two halves,
 * with heads of at most 128 columns.  Queries and weights are sums of two halves as well (halves.h),
 * so scores and results are as exact as with f32.  A query's greatest score, denominator and result are
 * in the registers of 4 lanes; so are its upper halves, unless the head is wide, and its lower
 * halves are in shared memory. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_FLASH_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_FLASH_H

#include "backend/gpu/kern/copies.h"
#include "backend/gpu/kern/halves.h"
#include "backend/gpu/kern/nv/mma.h"
#include "backend/gpu/kern/split.h"

/* With wide heads shared memory has room for half of the queries and keys. */
#define GPU_FLASH_THREADS(width) ((width) > 128 ? 64u : 128u)
#define GPU_FLASH_PACK(width)    (GPU_FLASH_THREADS(width) / 2)
#define GPU_FLASH_KEYS(width)    ((width) > 128 ? 16u : 32u)
/* Weights are multiplied with 2^14, so that small ones keep their bits in f16. */
#define GPU_FLASH_SCALE   16384.0f

enum { GPU_FLASH_F16 = 0, GPU_FLASH_BF16 = 1, GPU_FLASH_ANY = 2 }; /* of caches; ANY: two of bf16 */

/* Vector c (8 columns) of a key in a tile. */
GPU_FN uint8_t *gpu_flash_at(uint8_t *tile, uint32_t width, uint32_t key, uint32_t c)
{
	return tile + key * width * 2 + 16 * (c ^ (key & 7));
}

/* Starts to bring K or V of the tile at key `from` to shared memory; zeros for keys that
 * none of the queries sees, and for columns that the head does not have. */
GPU_FN void gpu_flash_load(const struct gpu_attn_args *a, const struct gpu_pack *p,
			   const struct gpu_keys *keys, uint32_t width, uint32_t kind, int is_v,
			   uint32_t from, uint8_t *tile)
{
	int own = is_v && a->src[0].cache.has_v;
	uint32_t type = own ? a->src[0].cache.v_dtype : a->src[0].cache.k_dtype;
	uint32_t columns = is_v ? a->y.width : a->q.width;

	for (uint32_t i = GPU_TID; i < GPU_FLASH_KEYS(width) * width / 8; i += GPU_THREADS) {
		uint32_t key = i / (width / 8), c = i % (width / 8);
		int seen = from + key >= (uint32_t)p->lo && from + key < (uint32_t)p->hi;
		int inside = seen && 8 * c < columns;
		const uint8_t *row =
			gpu_split_key(keys, seen ? from + key : (uint32_t)p->lo, own);
		uint8_t *to = gpu_flash_at(tile, width, key, c);

		if (kind != GPU_FLASH_ANY) {
			gpu_async16_or_zero(to, row + (inside ? 16 * c : 0), inside);
			continue;
		}
		GPU_LOOP
		for (uint32_t j = 0; j < 8; j++) {
			uint32_t upper, lower;

			gpu_halve(1, inside && 8 * c + j < columns
					     ? gpu_cached_element(type, row, 8 * c + j)
					     : 0.0f,
				  &upper, &lower);
			((uint16_t *)(void *)to)[j] = (uint16_t)upper;
			((uint16_t *)(void *)(to + GPU_FLASH_KEYS(width) * width * 2))[j] = (uint16_t)lower;
		}
	}
	gpu_async_commit();
}

/* What a lane knows about its two queries. */
struct gpu_flash_query {
	int32_t lo, hi; /* keys that it sees */
	float scale, most, sum;
};

/* Row and head of this lane's query j, 0 or 1; returns 0 for a query that does not exist, with
 * row and head of another. */
GPU_FN int gpu_flash_place(const struct gpu_attn_args *a, const struct gpu_pack *p, uint32_t j,
			   uint32_t *row, uint32_t *head)
{
	uint32_t i = GPU_TID / 32 * 16 + GPU_TID % 32 / 4 + 8 * j;
	int exists = i < p->n_row * p->heads;

	i = exists ? i : 0;
	*row = p->row + i / p->heads;
	*head = gpu_split_head(a, p->kv, p->first + i % p->heads);
	return exists;
}

GPU_FN void gpu_flash_query(const struct gpu_attn_args *a, const struct gpu_run *r,
			    const struct gpu_pack *p, uint32_t j, struct gpu_flash_query *q)
{
	const struct gpu_group *g = &r->group[a->src[0].group];
	uint32_t row, head;
	int exists = gpu_flash_place(a, p, j, &row, &head);

	q->lo = gpu_int(g->kv_lo, row);
	q->hi = exists ? gpu_int(g->kv_hi, row) : q->lo;
	q->most = GPU_LOWEST;
	q->sum = 0;
}

/* The halves of this lane's queries in 16 columns: what only this thread writes and reads. */
GPU_FN uint32_t *gpu_flash_half(uint32_t width, uint32_t *halves, uint32_t c)
{
	return halves + 4 * (c * GPU_FLASH_THREADS(width) + GPU_TID);
}

/* Where the upper halves are in shared memory, after the lower ones. */
GPU_FN uint32_t *gpu_flash_upper(uint32_t width, uint32_t *low)
{
	return gpu_flash_half(width, low, width / 16) - 4 * GPU_TID;
}

/* Fragments of this lane's queries: upper halves x[16 columns][4], the lower ones, and, with
 * wide heads, the upper ones as well. */
GPU_FN void gpu_flash_fragments(const struct gpu_attn_args *a, const struct gpu_pack *p,
				uint32_t width, int bf16, struct gpu_flash_query *q, uint32_t *x,
				uint32_t *low)
{
	uint32_t i = GPU_TID % 4, row, head;

	GPU_UNROLL
	for (uint32_t j = 0; j < 2; j++) {
		float most = 0, factor = 1, inverse = 1;

		(void)gpu_flash_place(a, p, j, &row, &head);
		for (uint32_t c = i; !bf16 && c < a->q.width; c += 4)
			most = fmaxf(most, fabsf(gpu_get(&a->q, row, head, c)));
		most = fmaxf(most, gpu_shfl_xor(most, 1));
		most = fmaxf(most, gpu_shfl_xor(most, 2));
		if (!bf16)
			factor = gpu_halves_factor(most, &inverse);
		q[j].scale = a->scale * inverse;
		GPU_UNROLL
		for (uint32_t v = 0; v < width / 8; v++) { /* columns 8v + 2i and the next one */
			uint32_t at = v % 2 * 2 + j, c = 8 * v + 2 * i, both[2] = {0, 0};

			GPU_UNROLL
			for (uint32_t e = 0; e < 2; e++) {
				uint32_t upper, lower;

				gpu_halve(bf16,
					  c + e < a->q.width
						  ? gpu_get(&a->q, row, head, c + e) * factor
						  : 0.0f,
					  &upper, &lower);
				both[0] |= upper << 16 * e;
				both[1] |= lower << 16 * e;
			}
			if (width > 128)
				gpu_flash_half(width, gpu_flash_upper(width, low), v / 2)[at] =
					both[0];
			else
				x[v / 2 * 4 + at] = both[0];
			gpu_flash_half(width, low, v / 2)[at] = both[1];
		}
	}
}

GPU_FN void gpu_flash_mma(int bf16, float *c, const uint32_t *a, const uint32_t *b)
{
	if (bf16)
		gpu_mma_bf16(c, a, b);
	else
		gpu_mma_f16(c, a, b);
}

/* Adds what columns [16c, 16c + 16) give; upper: the upper halves of the queries there. */
GPU_FN void gpu_flash_columns(uint32_t width, uint32_t kind, uint32_t c, const uint32_t *upper,
			      uint32_t *low, uint8_t *tile, float *s)
{
	struct gpu_four lower = gpu_load16(gpu_flash_half(width, low, c));
	uint32_t lane = GPU_TID % 32, n = GPU_FLASH_KEYS(width) / 16;

	GPU_UNROLL
	for (uint32_t i = 0; i < n * (kind == GPU_FLASH_ANY ? 2 : 1); i++) {
		uint32_t k[4], key = i % n * 16 + lane / 16 * 8 + lane % 8;

		gpu_ldmatrix(k, gpu_flash_at(tile + i / n * GPU_FLASH_KEYS(width) * width * 2,
					     width, key, 2 * c + lane / 8 % 2));
		GPU_UNROLL
		for (uint32_t j = 0; j < 2; j++) {
			float *to = s + 8 * (i % n) + 4 * j;

			gpu_flash_mma(kind, to, upper, k + 2 * j);
			if (i < n)
				gpu_flash_mma(kind, to, lower.v, k + 2 * j);
		}
	}
}

/* Products of 16 queries with the keys of a tile: s[8 keys][4]. */
GPU_FN void gpu_flash_scores(uint32_t width, uint32_t kind, const uint32_t *x, uint32_t *low,
			     uint8_t *tile, float *s)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < GPU_FLASH_KEYS(width) / 2; i++)
		s[i] = 0;
	if (width > 128) {
		GPU_LOOP
		for (uint32_t c = 0; c < width / 16; c++) {
			struct gpu_four upper = gpu_load16(
				gpu_flash_half(width, gpu_flash_upper(width, low), c));

			gpu_flash_columns(width, kind, c, upper.v, low, tile, s);
		}
		return;
	}
	GPU_UNROLL
	for (uint32_t c = 0; c < width / 16; c++)
		gpu_flash_columns(width, kind, c, x + 4 * c, low, tile, s);
}

/* ALiBi: subtracts from the scores s of query j with n keys from `from` on. */
GPU_FN void gpu_flash_bias(const struct gpu_attn_args *a, const struct gpu_run *r,
			   const struct gpu_pack *p, uint32_t from, uint32_t n, uint32_t j, float *s)
{
	uint32_t ratio = r->group[a->src[0].group].ratio, row, head;
	float slope;
	int32_t pos;

	(void)gpu_flash_place(a, p, j, &row, &head);
	slope = GPU_PTR(const float, a->bias_w)[head];
	pos = gpu_pos(r, a->q.space, row, 0);
	GPU_UNROLL
	for (uint32_t i = 0; i < n / 4; i++) {
		uint32_t key = from + 8 * (i / 2) + 2 * (GPU_TID % 4) + i % 2;

		s[4 * (i / 2) + 2 * j + i % 2] -=
			slope * fabsf((float)((int32_t)(key * (ratio ? ratio : 1)) - pos));
	}
}

/* Scores of the keys from `from` on become weights; returns in keep what results so far are
 * multiplied with. */
GPU_FN void gpu_flash_weights(const struct gpu_attn_args *a, const struct gpu_run *r,
			      const struct gpu_pack *p, uint32_t width, uint32_t from,
			      struct gpu_flash_query *q, float *s, float *keep)
{
	uint32_t n = GPU_FLASH_KEYS(width);

	GPU_UNROLL
	for (uint32_t j = 0; j < 2; j++) {
		float most = q[j].most;

		GPU_UNROLL
		for (uint32_t i = 0; i < n / 4; i++)
			s[4 * (i / 2) + 2 * j + i % 2] *= q[j].scale;
		if (a->bias)
			gpu_flash_bias(a, r, p, from, n, j, s);
		GPU_UNROLL
		for (uint32_t i = 0; i < n / 4; i++) {
			uint32_t key = from + 8 * (i / 2) + 2 * (GPU_TID % 4) + i % 2;
			float *v = s + 4 * (i / 2) + 2 * j + i % 2;
			float score = gpu_softcap(*v, a->softcap);

			*v = score > GPU_LOWEST && (int32_t)key >= q[j].lo && (int32_t)key < q[j].hi
				     ? score
				     : -INFINITY;
			most = fmaxf(most, *v);
		}
		most = fmaxf(most, gpu_shfl_xor(most, 1));
		most = fmaxf(most, gpu_shfl_xor(most, 2));
		keep[j] = expf(q[j].most - most);
		q[j].most = most;
		q[j].sum *= keep[j];
		GPU_UNROLL
		for (uint32_t i = 0; i < n / 4; i++) {
			float *v = s + 4 * (i / 2) + 2 * j + i % 2;

			*v = expf(*v - most);
			q[j].sum += *v;
		}
	}
}

/* Adds the weighted values of a tile to o[8 columns][4]. */
GPU_FN void gpu_flash_values(uint32_t width, uint32_t kind, const float *s, uint8_t *tile, float *o)
{
	uint32_t lane = GPU_TID % 32;

	GPU_UNROLL
	for (uint32_t c = 0; c < GPU_FLASH_KEYS(width) / 16; c++) {
		uint32_t w[8];

		GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++) { /* rows q and q + 8, then keys 8 on */
			w[i] = w[i + 4] = 0;
			GPU_UNROLL
			for (uint32_t e = 0; e < 2; e++) {
				uint32_t upper, lower;

				gpu_halve(kind != GPU_FLASH_F16,
					  s[8 * c + 4 * (i / 2) + 2 * (i % 2) + e] * GPU_FLASH_SCALE,
					  &upper, &lower);
				w[i] |= upper << 16 * e;
				w[i + 4] |= lower << 16 * e;
			}
		}
		GPU_UNROLL
		for (uint32_t i = 0; i < width / 16 * (kind == GPU_FLASH_ANY ? 2 : 1); i++) {
			uint32_t v[4], n = i % (width / 16), key = 16 * c + lane % 16;

			gpu_ldmatrix_t(v, gpu_flash_at(tile + i / (width / 16) *
								       GPU_FLASH_KEYS(width) * width * 2,
						       width, key, 2 * n + lane / 16));
			GPU_UNROLL
			for (uint32_t j = 0; j < 2; j++) {
				gpu_flash_mma(kind, o + 8 * n + 4 * j, w, v + 2 * j);
				if (i < width / 16)
					gpu_flash_mma(kind, o + 8 * n + 4 * j, w + 4, v + 2 * j);
			}
		}
	}
}

/* Stores the results of this lane's queries. */
GPU_FN void gpu_flash_store(const struct gpu_attn_args *a, const struct gpu_pack *p, uint32_t width,
			    const struct gpu_flash_query *q, const float *o)
{
	uint32_t row, head;

	GPU_UNROLL
	for (uint32_t j = 0; j < 2; j++) {
		float sum = q[j].sum, most = q[j].most, keep;
		int exists = gpu_flash_place(a, p, j, &row, &head);

		sum += gpu_shfl_xor(sum, 1);
		sum += gpu_shfl_xor(sum, 2);
		if (a->sinks)
			most = fmaxf(most, GPU_PTR(const float, a->sinks)[head]);
		keep = expf(q[j].most - most);
		if (a->sinks && sum > 0)
			sum = sum * keep + expf(GPU_PTR(const float, a->sinks)[head] - most);
		GPU_UNROLL
		for (uint32_t i = 0; i < width / 4; i++) {
			uint32_t c = 8 * (i / 2) + 2 * (GPU_TID % 4) + i % 2;
			float v = o[4 * (i / 2) + 2 * j + i % 2] * (keep / GPU_FLASH_SCALE);

			if (exists && c < a->y.width)
				gpu_put(&a->y, row, head, c, sum > 0 ? v / sum : 0.0f);
		}
	}
}

/* Shared: lower halves of queries, upper ones of wide heads, a tile of K and one of V; with
 * GPU_FLASH_ANY the lower halves of a tile follow the upper ones. */
GPU_FN void gpu_flash_pack(const struct gpu_attn_args *a, const struct gpu_run *r,
			   const struct gpu_pack *p, uint32_t width, uint32_t kind)
{
	uint32_t *low = GPU_SHARED(uint32_t);
	uint8_t *k = GPU_SHARED(uint8_t) + GPU_FLASH_THREADS(width) * width * (width > 128 ? 2 : 1);
	uint8_t *v = k + GPU_FLASH_KEYS(width) * width * (kind == GPU_FLASH_ANY ? 4 : 2);
	uint32_t x[32], n = GPU_FLASH_KEYS(width), lo = (uint32_t)p->lo / n * n;
	struct gpu_flash_query q[2];
	float s[16], o[128], keep[2];
	struct gpu_keys keys;

	gpu_split_keys(a, r, p, &keys);
	for (uint32_t j = 0; j < 2; j++)
		gpu_flash_query(a, r, p, j, &q[j]);
	gpu_flash_fragments(a, p, width, kind != GPU_FLASH_F16, q, x, low);
	GPU_UNROLL
	for (uint32_t i = 0; i < width / 2; i++)
		o[i] = 0;
	gpu_sync(); /* the last pack is done */
	gpu_flash_load(a, p, &keys, width, kind, 0, lo, k);
	for (uint32_t from = lo; from < (uint32_t)p->hi; from += n) {
		gpu_flash_load(a, p, &keys, width, kind, 1, from, v);
		gpu_async_wait(1);
		gpu_sync();
		gpu_flash_scores(width, kind, x, low, k, s);
		gpu_sync();
		gpu_flash_load(a, p, &keys, width, kind, 0, from + n, k);
		gpu_flash_weights(a, r, p, width, from, q, s, keep);
		GPU_UNROLL
		for (uint32_t i = 0; i < width / 2; i++)
			o[i] *= keep[i / 2 % 2];
		gpu_async_wait(1);
		gpu_sync();
		gpu_flash_values(width, kind, s, v, o);
		gpu_sync();
	}
	gpu_async_wait(0);
	gpu_flash_store(a, p, width, q, o);
}

GPU_FN void gpu_flash(struct gpu_attn_args *a, uint32_t width, uint32_t kind)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	uint32_t per_kv = a->q.n_head / a->n_kv_head, pack = GPU_FLASH_PACK(width);
	uint32_t rows, tile, packs;

	gpu_attn_open(a, r);
	rows = gpu_n_row(r, &a->y);
	tile = pack > per_kv ? pack / per_kv : 1;
	packs = (per_kv + pack - 1) / pack;
	for (uint32_t i = GPU_BLOCK_X; i < (rows + tile - 1) / tile * a->n_kv_head * packs;
	     i += GPU_GRID_X) {
		uint32_t at = i / packs / a->n_kv_head * tile;
		uint32_t end = at + tile < rows ? at + tile : rows;
		struct gpu_pack p;

		p.kv = i / packs % a->n_kv_head;
		p.first = i % packs * pack;
		p.heads = per_kv - p.first < pack ? per_kv - p.first : pack;
		for (; at < end; at += p.n_row) {
			gpu_split_run(a, r, at, end, &p);
			if (gpu_attn_long(a, r, p.seq))
				gpu_flash_pack(a, r, &p, width, kind);
		}
	}
}

#define GPU_FLASH(width, name, KIND)                                                               \
	GPU_BLOCK_OF(GPU_FLASH_THREADS(width), 2)                                                  \
	gpu_flash_##width##_##name(struct gpu_attn_args a)                                         \
	{                                                                                          \
		gpu_flash(&a, width, KIND);                                                        \
	}

GPU_FLASH(64, f16, GPU_FLASH_F16)
GPU_FLASH(64, bf16, GPU_FLASH_BF16)
GPU_FLASH(64, any, GPU_FLASH_ANY)
GPU_FLASH(128, f16, GPU_FLASH_F16)
GPU_FLASH(128, bf16, GPU_FLASH_BF16)
GPU_FLASH(128, any, GPU_FLASH_ANY)
GPU_FLASH(256, f16, GPU_FLASH_F16)
GPU_FLASH(256, bf16, GPU_FLASH_BF16)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_FLASH_H */
