/* SPDX-License-Identifier: MIT
 *
 * split.h - kernels of ATTN over the keys of one cache, for heads of at most 256 columns, types
 * that are read as vectors, and no bias but ALiBi.  A block
 * takes a kv head, `pack` queries that share its keys - the heads of a group, and neighbouring rows
 * of a sequence if there is room - and a part of the keys: chunk c, keys [GPU_CHUNK c, GPU_CHUNK
 * (c + 1)), belongs to part c % parts.  `lanes` neighbouring threads hold a key, 8 columns each.
 * For each chunk scores are computed into shared memory, then their greatest and the weights, then
 * the weighted sum of the values.  A part is stored as sums, greatest score and denominator; the block
 * that comes last puts the parts of its queries together. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_SPLIT_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_SPLIT_H

#include "backend/gpu/kern/attn.h"
#include "backend/gpu/kern/q8.h"

#define GPU_SPLIT_THREADS 128
#define GPU_PACK          8   /* queries of a block, at most */
#define GPU_BATCH         4   /* keys whose loads are under way, at most */

/* Fewer with many queries, whose sums need the registers. */
GPU_FN uint32_t gpu_split_batch(uint32_t pack)
{
	return pack > 4 ? 2 : GPU_BATCH;
}

/* The queries of a block: query j is head first + j % heads of row + j / heads. */
struct gpu_pack {
	uint32_t row, n_row;      /* rows of one sequence */
	uint32_t kv, first, heads; /* heads [first, first + heads) of the group of a kv head */
	uint32_t seq;
	int32_t lo, hi;           /* keys that any of the rows sees */
};

/* The keys of a block are counted from a multiple of this number on, so that the same threads take a row's keys
 * whatever other rows the block has. */
#define GPU_ALIGN_KEYS 64

/* Parts of a row: as many as there is memory for, a power of two. */
GPU_FN uint32_t gpu_split_parts(const struct gpu_attn_args *a, uint32_t rows)
{
	uint32_t n = 1;

	while (2 * n <= a->max_part && 2 * n * rows <= a->part_rows)
		n *= 2;
	return n;
}

/* Address of a part: y.width sums, the greatest score, the denominator. */
GPU_FN float *gpu_split_part(const struct gpu_attn_args *a, uint32_t parts, uint32_t row,
			     uint32_t head, uint32_t part)
{
	return GPU_PTR(float, a->part) +
	       (((uint64_t)row * a->q.n_head + head) * parts + part) * (a->y.width + 2);
}

GPU_FN uint32_t gpu_split_head(const struct gpu_attn_args *a, uint32_t kv, uint32_t j)
{
	return a->kv_map == 1 ? j * a->n_kv_head + kv : kv * (a->q.n_head / a->n_kv_head) + j;
}

/* Columns [c, c + 8) of a cached row of F16, BF16, F32, F8_E4M3 or Q8_0; zeros from `width`, a
 * multiple of 8, on. */
GPU_FN void gpu_split_load(uint32_t type, const uint8_t *p, uint32_t c, uint32_t width, float *v)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < 8; i++)
		v[i] = 0;
	if (c >= width)
		return;
	if (type == GPU_Q8_0) {
		const uint8_t *b = p + 34 * (c / 32);
		float d = gpu_half_to_float((uint16_t)gpu_plane2(b));

		GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t x = gpu_plane2(b + 2 + c % 32 + 2 * i);

			v[2 * i] = d * (float)(int8_t)x;
			v[2 * i + 1] = d * (float)(int8_t)(x >> 8);
		}
	} else if (type == GPU_F8_E4M3) {
		GPU_UNROLL
		for (uint32_t i = 0; i < 2; i++)
			gpu_e4m3_four(*(const uint32_t *)(const void *)(p + c + 4 * i), v + 4 * i);
	} else {
		struct gpu_four four = gpu_load16(p + (type == GPU_F32 ? 4 : 2) * c), more = four;

		if (type == GPU_F32)
			more = gpu_load16(p + 4 * c + 16);
		GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t x = four.v[i];

			if (type == GPU_F32) {
				v[i] = gpu_bits_float(x);
				v[i + 4] = gpu_bits_float(more.v[i]);
			} else {
				v[2 * i] = type == GPU_F16 ? gpu_half_to_float((uint16_t)x)
							   : gpu_bits_float(x << 16);
				v[2 * i + 1] = type == GPU_F16
						       ? gpu_half_to_float((uint16_t)(x >> 16))
						       : gpu_bits_float(x & 0xffff0000u);
			}
		}
	}
}

/* Where keys of a sequence lie. */
struct gpu_keys {
	const uint32_t *table;
	const struct gpu_cache *cache;
	uint32_t shift, kv; /* 2^shift keys in a page */
};

GPU_FN const uint8_t *gpu_split_key(const struct gpu_keys *k, uint32_t key, int is_v)
{
	const struct gpu_cache *c = k->cache;
	uint64_t p = c->mem + c->unit_bytes * k->table[key >> k->shift];

	key &= (1u << k->shift) - 1;
	p += is_v ? c->v_off + (uint64_t)key * c->v_row + (uint64_t)k->kv * c->v_head
		  : c->k_off + (uint64_t)key * c->k_row + (uint64_t)k->kv * c->k_head;
	return GPU_PTR(const uint8_t, p);
}

/* The key to load as the i-th of n from `from` on: one that the block's rows see. */
GPU_FN uint32_t gpu_split_there(const struct gpu_pack *p, uint32_t from, uint32_t n, uint32_t i)
{
	uint32_t key = from + (i < n ? i : n - 1);

	return key < (uint32_t)p->lo ? (uint32_t)p->lo : key;
}

/* The score of query j with a key, from the product; -INFINITY if the query does not see it. */
GPU_FN float gpu_split_score(const struct gpu_attn_args *a, const struct gpu_run *r,
			     const struct gpu_pack *p, uint32_t j, uint32_t key, float dot)
{
	const struct gpu_group *g = &r->group[a->src[0].group];
	uint32_t row = p->row + j / p->heads,
		 head = gpu_split_head(a, p->kv, p->first + j % p->heads);
	float score = DEVICE_MUL(a->scale, dot);

	if ((int32_t)key < p->lo || (p->n_row > 1 && ((int32_t)key < gpu_int(g->kv_lo, row) ||
						      (int32_t)key >= gpu_int(g->kv_hi, row))))
		return -INFINITY;
	if (a->bias) { /* ALiBi */
		int32_t d = (int32_t)(key * (g->ratio ? g->ratio : 1)) -
			    gpu_pos(r, a->q.space, row, 0);

		score = gpu_mac(-GPU_PTR(const float, a->bias_w)[head], fabsf((float)d), score);
	}
	score = gpu_softcap(score, a->softcap);
	return score > GPU_LOWEST ? score : -INFINITY;
}

/* Scores of keys [from, from + n) into score[query][GPU_CHUNK]. */
GPU_FN void gpu_split_scores(const struct gpu_attn_args *a, const struct gpu_run *r,
			     const struct gpu_pack *p, const struct gpu_keys *keys, uint32_t lanes,
			     uint32_t pack, const float *q, uint32_t from, uint32_t n, float *score)
{
	uint32_t lane = GPU_TID % lanes, sub = GPU_TID / lanes, subs = GPU_THREADS / lanes;

	for (uint32_t at = 0; at < n; at += subs * gpu_split_batch(pack)) {
		float k[GPU_BATCH][8];

		GPU_UNROLL
		for (uint32_t b = 0; b < gpu_split_batch(pack); b++) {
			uint32_t i = at + b * subs + sub;

			gpu_split_load(a->src[0].cache.k_dtype,
				       gpu_split_key(keys, gpu_split_there(p, from, n, i), 0),
				       8 * lane, a->q.width, k[b]);
		}
		GPU_UNROLL
		for (uint32_t j = 0; j < pack; j++) {
			struct gpu_four x = gpu_load16(q + 8 * (j * lanes + lane)),
					y = gpu_load16(q + 8 * (j * lanes + lane) + 4);

			GPU_UNROLL
			for (uint32_t b = 0; b < gpu_split_batch(pack); b++) {
				uint32_t i = at + b * subs + sub;
				float dot = 0;

				GPU_UNROLL
				for (uint32_t c = 0; c < 4; c++) {
					dot = gpu_mac(gpu_bits_float(x.v[c]), k[b][c], dot);
					dot = gpu_mac(gpu_bits_float(y.v[c]), k[b][c + 4], dot);
				}
				for (uint32_t m = lanes / 2; m; m /= 2)
					dot += gpu_shfl_xor(dot, m);
				if (i < n && j % lanes == lane && j < p->n_row * p->heads)
					score[j * GPU_CHUNK + i] =
						gpu_split_score(a, r, p, j, from + i, dot);
			}
		}
	}
}

/* Scores become weights.  stat[query]: greatest score so far, denominator so far, and what sums so
 * far are multiplied with. */
GPU_FN void gpu_split_weights(uint32_t queries, uint32_t n, float *score, float *stat)
{
	uint32_t lane = GPU_TID % GPU_WARP, warps = GPU_THREADS / GPU_WARP;

	for (uint32_t j = GPU_TID / GPU_WARP; j < queries; j += warps) {
		float *s = score + j * GPU_CHUNK, old = stat[3 * j], most = old, sum = 0;

		for (uint32_t i = lane; i < n; i += GPU_WARP)
			most = fmaxf(most, s[i]);
		most = gpu_warp_max(most);
		for (uint32_t i = lane; i < n; i += GPU_WARP) {
			s[i] = expf(s[i] - most);
			sum += s[i];
		}
		sum = gpu_warp_sum(sum);
		gpu_sync_warp(); /* all lanes have read stat */
		if (lane == 0) {
			float keep = expf(old - most);

			stat[3 * j] = most;
			stat[3 * j + 1] = gpu_mac(stat[3 * j + 1], keep, sum);
			stat[3 * j + 2] = keep;
		}
	}
}

GPU_FN void gpu_split_values(const struct gpu_attn_args *a, const struct gpu_pack *p,
			     const struct gpu_keys *keys, uint32_t lanes, uint32_t pack,
			     uint32_t from, uint32_t n, const float *score, const float *stat,
			     float *acc)
{
	uint32_t lane = GPU_TID % lanes, sub = GPU_TID / lanes, subs = GPU_THREADS / lanes;
	int own = a->src[0].cache.has_v != 0;

	GPU_UNROLL
	for (uint32_t j = 0; j < pack; j++) {
		GPU_UNROLL
		for (uint32_t c = 0; c < 8; c++)
			acc[8 * j + c] = DEVICE_MUL(acc[8 * j + c], stat[3 * j + 2]);
	}
	for (uint32_t at = sub; at < n; at += subs * gpu_split_batch(pack)) {
		float v[GPU_BATCH][8];

		GPU_UNROLL
		for (uint32_t b = 0; b < gpu_split_batch(pack); b++) {
			uint32_t i = at + b * subs;

			gpu_split_load(own ? a->src[0].cache.v_dtype : a->src[0].cache.k_dtype,
				       gpu_split_key(keys, gpu_split_there(p, from, n, i), own),
				       8 * lane, a->y.width, v[b]);
		}
		GPU_UNROLL
		for (uint32_t b = 0; b < gpu_split_batch(pack); b++) {
			uint32_t i = at + b * subs;

			GPU_UNROLL
			for (uint32_t j = 0; j < pack; j++) {
				float w = i < n ? score[j * GPU_CHUNK + i] : 0.0f;

				GPU_UNROLL
				for (uint32_t c = 0; c < 8; c++)
					acc[8 * j + c] = gpu_mac(w, v[b][c], acc[8 * j + c]);
			}
		}
	}
}

/* Adds what the threads with the same columns have and stores a part. */
GPU_FN void gpu_split_store(const struct gpu_attn_args *a, const struct gpu_pack *p, uint32_t lanes,
			    uint32_t pack, uint32_t parts, uint32_t part, const float *acc,
			    const float *stat, float *sums)
{
	uint32_t lane = GPU_TID % lanes, sub = GPU_TID / lanes, subs = GPU_THREADS / lanes;
	uint32_t width = 8 * lanes;

	GPU_UNROLL
	for (uint32_t j = 0; j < pack; j++) {
		GPU_UNROLL
		for (uint32_t c = 0; c < 8; c++)
			sums[(sub * pack + j) * width + 8 * lane + c] = acc[8 * j + c];
	}
	gpu_sync();
	for (uint32_t i = GPU_TID; i < p->n_row * p->heads * (a->y.width + 2); i += GPU_THREADS) {
		uint32_t j = i / (a->y.width + 2), c = i % (a->y.width + 2);
		float v = 0;

		for (uint32_t s = 0; c < a->y.width && s < subs; s++)
			v += sums[(s * pack + j) * width + c];
		if (c >= a->y.width)
			v = stat[3 * j + c - a->y.width];
		gpu_split_part(a, parts, p->row + j / p->heads,
			       gpu_split_head(a, p->kv, p->first + j % p->heads), part)[c] = v;
	}
}

/* The first chunk from `lo` on that belongs to a part. */
GPU_FN uint32_t gpu_split_first(uint32_t lo, uint32_t part, uint32_t parts)
{
	return lo + (part + parts - lo % parts) % parts;
}

/* Where the keys of a pack are. */
GPU_FN void gpu_split_keys(const struct gpu_attn_args *a, const struct gpu_run *r,
			   const struct gpu_pack *p, struct gpu_keys *keys)
{
	const struct gpu_group *g = &r->group[a->src[0].group];

	keys->table = GPU_PTR(const uint32_t, g->table) +
		      (uint64_t)(uint32_t)gpu_int(r->seq_slot, p->seq) * g->n_index;
	keys->cache = &a->src[0].cache;
	keys->kv = p->kv;
	for (keys->shift = 0; 1u << keys->shift < g->page_tokens; keys->shift++)
		;
}

/* The queries of a pack: q[pack][width]. */
GPU_FN void gpu_split_queries(const struct gpu_attn_args *a, const struct gpu_pack *p,
			      uint32_t width, uint32_t pack, float *q)
{
	for (uint32_t i = GPU_TID; i < pack * width; i += GPU_THREADS) {
		uint32_t j = i / width, c = i % width;

		q[i] = j < p->n_row * p->heads && c < a->q.width
			       ? gpu_get(&a->q, p->row + j / p->heads,
					 gpu_split_head(a, p->kv, p->first + j % p->heads), c)
			       : 0.0f;
	}
}

/* Shared: stat [pack][3] in 32 numbers, queries [pack][8 lanes], then scores [pack][GPU_CHUNK] or,
 * when these are no longer needed, sums [threads / lanes][pack][8 lanes]. */
GPU_FN void gpu_split_pack(const struct gpu_attn_args *a, const struct gpu_run *r,
			   const struct gpu_pack *p, uint32_t lanes, uint32_t pack, uint32_t parts)
{
	float *stat = GPU_SHARED(float), *q = stat + 32, *score = q + pack * 8 * lanes;
	uint32_t lo = (uint32_t)p->lo / GPU_CHUNK,
		 hi = ((uint32_t)p->hi + GPU_CHUNK - 1) / GPU_CHUNK;
	uint32_t queries = p->n_row * p->heads;
	float acc[8 * GPU_PACK];
	struct gpu_keys keys;

	gpu_sync(); /* the last pack is done */
	gpu_split_keys(a, r, p, &keys);
	gpu_split_queries(a, p, 8 * lanes, pack, q);
	for (uint32_t part = GPU_BLOCK_Y; part < parts; part += GPU_GRID_Y) {
		uint32_t c = gpu_split_first(lo, part, parts);

		if (c >= hi)
			continue;
		GPU_UNROLL
		for (uint32_t i = 0; i < 8 * pack; i++)
			acc[i] = 0;
		gpu_sync(); /* the last part has been stored */
		if (GPU_TID < pack) {
			stat[3 * GPU_TID] = GPU_LOWEST;
			stat[3 * GPU_TID + 1] = 0;
			stat[3 * GPU_TID + 2] = 1;
		}
		for (uint32_t i = queries * GPU_CHUNK + GPU_TID; i < pack * GPU_CHUNK;
		     i += GPU_THREADS)
			score[i] = 0; /* of queries that do not exist */
		for (; c < hi; c += parts) {
			uint32_t from = c == lo ? (uint32_t)p->lo / GPU_ALIGN_KEYS * GPU_ALIGN_KEYS
						: c * GPU_CHUNK;
			uint32_t to = c + 1 == hi ? (uint32_t)p->hi : (c + 1) * GPU_CHUNK;

			gpu_split_scores(a, r, p, &keys, lanes, pack, q, from, to - from, score);
			gpu_sync();
			gpu_split_weights(queries, to - from, score, stat);
			gpu_sync();
			gpu_split_values(a, p, &keys, lanes, pack, from, to - from, score, stat,
					 acc);
			gpu_sync();
		}
		gpu_split_store(a, p, lanes, pack, parts, part, acc, stat, score);
	}
}

/* Keys that rows [p->row, p->row + p->n_row) see. */
GPU_FN void gpu_split_range(const struct gpu_attn_args *a, const struct gpu_run *r,
			    struct gpu_pack *p)
{
	const struct gpu_group *g = &r->group[a->src[0].group];

	p->lo = 0x7fffffff;
	p->hi = 0;
	for (uint32_t i = 0; i < p->n_row; i++) {
		int32_t lo = gpu_int(g->kv_lo, p->row + i), hi = gpu_int(g->kv_hi, p->row + i);

		p->lo = lo < hi && lo < p->lo ? lo : p->lo;
		p->hi = lo < hi && hi > p->hi ? hi : p->hi;
	}
	if (p->hi < p->lo)
		p->lo = p->hi = 0;
}

/* The rows of one sequence among [at, end), from `at` on. */
GPU_FN void gpu_split_run(const struct gpu_attn_args *a, const struct gpu_run *r, uint32_t at,
			  uint32_t end, struct gpu_pack *p)
{
	p->row = at;
	p->seq = gpu_seq_of(r, a->q.space, at);
	for (p->n_row = 1; at + p->n_row < end; p->n_row++) {
		if (gpu_seq_of(r, a->q.space, at + p->n_row) != p->seq)
			break;
	}
	gpu_split_range(a, r, p);
}

/* Parts of a row that have keys, from part *first % parts on. */
GPU_FN uint32_t gpu_split_used(const struct gpu_attn_args *a, const struct gpu_run *r,
			       uint32_t parts, uint32_t row, uint32_t *first)
{
	const struct gpu_group *g = &r->group[a->src[0].group];
	int32_t lo = gpu_int(g->kv_lo, row), hi = gpu_int(g->kv_hi, row);
	uint32_t n;

	*first = (uint32_t)lo / GPU_CHUNK;
	n = lo < hi ? ((uint32_t)hi + GPU_CHUNK - 1) / GPU_CHUNK - *first : 0;
	return n < parts ? n : parts;
}

/* What the parts of each query are multiplied with, and their denominators:
 * [pack][GPU_MAX_PART]. */
GPU_FN void gpu_split_factors(const struct gpu_attn_args *a, const struct gpu_run *r,
			      const struct gpu_pack *p, uint32_t parts, float *factor, float *sums)
{
	uint32_t lane = GPU_TID % GPU_WARP, warps = GPU_THREADS / GPU_WARP;

	for (uint32_t j = GPU_TID / GPU_WARP; j < p->n_row * p->heads; j += warps) {
		uint32_t head = gpu_split_head(a, p->kv, p->first + j % p->heads), first;
		uint32_t row = p->row + j / p->heads, n = gpu_split_used(a, r, parts, row, &first);
		const float *stat =
			gpu_split_part(a, parts, row, head, (first + lane) % parts) + a->y.width;
		float own = lane < n ? stat[0] : GPU_LOWEST, most = gpu_warp_max(own);

		if (a->sinks)
			most = fmaxf(most, GPU_PTR(const float, a->sinks)[head]);
		if (lane >= GPU_MAX_PART)
			continue;
		factor[j * GPU_MAX_PART + lane] = expf(own - most);
		sums[j * GPU_MAX_PART + lane] = lane < n ? stat[1] : 0.0f;
		if (lane == 0 && a->sinks)
			sums[GPU_PACK * GPU_MAX_PART + j] =
				expf(GPU_PTR(const float, a->sinks)[head] - most);
	}
	gpu_sync();
}

/* Puts the parts of the queries of a pack together.  Shared: factors and denominators of the
 * parts, then what the sink of each query adds. */
GPU_FN void gpu_split_merge(const struct gpu_attn_args *a, const struct gpu_run *r,
			    const struct gpu_pack *p, uint32_t parts)
{
	uint32_t width = a->y.width, queries = p->n_row * p->heads;
	float *factor = GPU_SHARED(float), *sums = factor + GPU_PACK * GPU_MAX_PART;
	const float *sink = sums + GPU_PACK * GPU_MAX_PART;

	gpu_sync(); /* the last pack is done */
	gpu_split_factors(a, r, p, parts, factor, sums);
	for (uint32_t at = 0; at < queries * width; at += GPU_THREADS) {
		uint32_t i = at + GPU_TID, c = i % width, j = i / width < queries ? i / width : 0;
		uint32_t head = gpu_split_head(a, p->kv, p->first + j % p->heads), first;
		uint32_t row = p->row + j / p->heads, n = gpu_split_used(a, r, parts, row, &first);
		const float *part = gpu_split_part(a, parts, row, head, 0);
		float sum = 0, v = 0;
		int ok = i < queries * width;

		for (uint32_t k = 0; k < n; k++) {
			float f = factor[j * GPU_MAX_PART + k];

			sum = gpu_mac(sums[j * GPU_MAX_PART + k], f, sum);
			v = gpu_mac(part[(uint64_t)((first + k) % parts) * (width + 2) + c], f, v);
		}
		if (a->sinks && sum > 0)
			sum += sink[j];
		v = sum > 0 ? v / sum : 0.0f;
		if (ok)
			gpu_put(&a->y, row, head, c, v);
		if (a->q8)
			gpu_q8_round(v, ok ? a->q8 + row * GPU_Q8_BYTES(a->q.n_head * width) : 0,
				     a->q.n_head * width, (head * width + c) / 32);
	}
}

/* Rows [at, end), kv head and heads of p: computes this block's parts of them, or puts all parts
 * together. */
GPU_FN void gpu_split_tile(const struct gpu_attn_args *a, const struct gpu_run *r, uint32_t at,
			   uint32_t end, struct gpu_pack *p, uint32_t lanes, uint32_t pack,
			   uint32_t parts, int merge)
{
	for (; at < end; at += p->n_row) { /* rows of one sequence at a time */
		gpu_split_run(a, r, at, end, p);
		if (gpu_attn_long(a, r, p->seq))
			continue;
		if (merge)
			gpu_split_merge(a, r, p, parts);
		else
			gpu_split_pack(a, r, p, lanes, pack, parts);
	}
}

/* The block that comes last of those with the same queries puts their parts together. */
GPU_FN void gpu_split(struct gpu_attn_args *a, uint32_t lanes, uint32_t pack)
{
	const struct gpu_run *r = gpu_run_of(a->run);
	uint32_t per_kv = a->q.n_head / a->n_kv_head, rows, tile, packs, parts;

	gpu_attn_open(a, r);
	rows = gpu_n_row(r, &a->y);
	tile = pack > per_kv ? pack / per_kv : 1; /* rows of a block */
	packs = (per_kv + pack - 1) / pack;
	parts = gpu_split_parts(a, rows);
	for (uint32_t i = GPU_BLOCK_X; i < (rows + tile - 1) / tile * a->n_kv_head * packs;
	     i += GPU_GRID_X) {
		uint32_t at = i / packs / a->n_kv_head * tile;
		uint32_t end = at + tile < rows ? at + tile : rows;
		struct gpu_pack p;

		p.kv = i / packs % a->n_kv_head;
		p.first = i % packs * pack;
		p.heads = per_kv - p.first < pack ? per_kv - p.first : pack;
		gpu_split_tile(a, r, at, end, &p, lanes, pack, parts, 0);
		if (gpu_last(GPU_PTR(uint32_t, a->counters) + i, GPU_GRID_Y, GPU_SHARED(uint32_t)))
			gpu_split_tile(a, r, at, end, &p, lanes, pack, parts, 1);
	}
}

#define GPU_SPLIT_PACK(width, pack)                                                                \
	GPU_BLOCK_OF(GPU_SPLIT_THREADS, 2) gpu_split_##width##_##pack(struct gpu_attn_args a)         \
	{                                                                                          \
		gpu_split(&a, width / 8, pack);                                                    \
	}
#define GPU_SPLIT(width)                                                                           \
	GPU_SPLIT_PACK(width, 1)                                                                   \
	GPU_SPLIT_PACK(width, 4)                                                                   \
	GPU_SPLIT_PACK(width, 8)

GPU_SPLIT(64)
GPU_SPLIT(128)
GPU_SPLIT(256)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_SPLIT_H */
