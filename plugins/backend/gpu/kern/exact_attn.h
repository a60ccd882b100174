/* SPDX-License-Identifier: MIT
 *
 * exact_attn.h - the kernel of ATTN in exact arithmetic: a block computes a (row, head), and goes
 * through the keys in chunks of 128 at fixed positions, which are merged in order
 * (plugins/backend/cpu/op_attn.c). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_ATTN_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_ATTN_H

#include "backend/gpu/kern/attn.h"
#include "backend/gpu/kern/exact.h"

#define GPU_EXACT_CHUNK 128

/* Shared memory: numbers for sums, lanes of the softmax, scores of a chunk, the scaled query, then
 * the output; as ops_attn.c says. */
struct gpu_exact_shared {
	float *red, *lanes, *s, *q, *o;
};

/* Score of a key, one column after the other. */
GPU_FN float gpu_exact_score(const struct gpu_attn_args *a, const struct gpu_run *r,
			     const struct gpu_attn_src *s, const struct gpu_attn_row *w,
			     uint32_t key, const float *q)
{
	struct gpu_attn_place k = gpu_attn_find(r, s, w, key, 0);
	float score = 0;
	int32_t d;

	for (uint32_t c = 0; c < a->q.width; c++) {
		float x = gpu_attn_column(s, w, k.row, k.at, 0, c);

		score = DEVICE_ADD(score, DEVICE_MUL(q[c], x));
	}
	if (a->bias == 1) { /* ALiBi */
		d = gpu_attn_key_pos(r, s, w->seq, key, 0) - gpu_pos(r, a->q.space, w->row, 0);
		score = DEVICE_ADD(score, DEVICE_MUL(-GPU_PTR(const float, a->bias_w)[w->head],
						   fabsf((float)d)));
	}
	return gpu_attn_hidden(a, r, s, w, key) ? -DEVICE_FLOAT_OF(0x7f800000u) : score;
}

/* Column c of the weighted values of keys [from, to), key by key; p: of key `first`. */
GPU_FN float gpu_exact_values(const struct gpu_run *r, const struct gpu_attn_src *s,
			      const struct gpu_attn_row *w, uint32_t first, uint32_t from,
			      uint32_t to, const float *p, uint32_t c)
{
	int own_v = s->kind == 2 || s->cache.has_v;
	float v = 0;

	for (uint32_t j = from; j < to; j++) {
		struct gpu_attn_place k = gpu_attn_find(r, s, w, j, 1);

		v = DEVICE_ADD(v, DEVICE_MUL(p[j - first],
					   gpu_attn_column(s, w, k.row, k.at, own_v, c)));
	}
	return v;
}

/* Keys [from, to), all in the chunk that begins at `first`; most and sum are those of the chunks
 * before it, and become those with it. */
GPU_FN void gpu_exact_chunk(const struct gpu_attn_args *a, const struct gpu_run *r,
			    const struct gpu_attn_src *s, const struct gpu_attn_row *w,
			    uint32_t first, uint32_t from, uint32_t to,
			    const struct gpu_exact_shared *m, float *most, float *sum)
{
	float lowest = -DEVICE_FLOAT_OF(0x7f800000u), here = lowest, part, less;
	int later;

	gpu_sync(); /* the last chunk has been read */
	for (uint32_t i = GPU_TID; i < GPU_EXACT_CHUNK; i += GPU_THREADS) {
		uint32_t key = first + i;

		m->s[i] = key < from || key >= to ? lowest : gpu_exact_score(a, r, s, w, key, m->q);
		here = fmaxf(here, m->s[i]);
	}
	here = gpu_block_max(here, m->red);
	if (!(here > lowest))
		return;
	for (uint32_t i = GPU_TID; i < GPU_EXACT_CHUNK; i += GPU_THREADS)
		m->s[i] = device_exact_exp(DEVICE_ADD(m->s[i], -here));
	gpu_sync();
	if (GPU_TID < GPU_EXACT_LANES) {
		part = 0;
		for (uint32_t i = GPU_TID; i < GPU_EXACT_CHUNK; i += GPU_EXACT_LANES)
			part = DEVICE_ADD(part, m->s[i]);
		m->lanes[GPU_TID] = part;
	}
	gpu_sync();
	part = gpu_exact_tree(m->lanes, GPU_EXACT_LANES);
	later = *most > lowest;
	less = !later ? 0.0f : device_exact_exp(-fabsf(DEVICE_ADD(here, -*most)));
	for (uint32_t c = GPU_TID; c < a->y.width; c += GPU_THREADS) {
		float v = gpu_exact_values(r, s, w, first, from, to, m->s, c);

		if (!later)
			m->o[c] = v;
		else if (here <= *most)
			m->o[c] = DEVICE_ADD(m->o[c], DEVICE_MUL(less, v));
		else
			m->o[c] = DEVICE_ADD(v, DEVICE_MUL(less, m->o[c]));
	}
	if (!later)
		*sum = part;
	else if (here <= *most)
		*sum = DEVICE_ADD(*sum, DEVICE_MUL(part, less));
	else
		*sum = DEVICE_ADD(DEVICE_MUL(*sum, less), part);
	*most = later && here <= *most ? *most : here;
}

/* Stores the row: each thread the columns that it has summed. */
GPU_FN void gpu_exact_finish(const struct gpu_attn_args *a, const struct gpu_attn_row *w,
			     const struct gpu_exact_shared *m, float most, float sum)
{
	float scale = 1;
	int any = most > -DEVICE_FLOAT_OF(0x7f800000u);

	if (a->sinks && any) {
		float sink = GPU_PTR(const float, a->sinks)[w->head], top = fmaxf(sink, most);

		scale = device_exact_exp(DEVICE_ADD(most, -top));
		sum = DEVICE_ADD(DEVICE_MUL(sum, scale), device_exact_exp(DEVICE_ADD(sink, -top)));
	}
	scale = any ? scale / sum : 0.0f;
	for (uint32_t c = GPU_TID; c < a->y.width; c += GPU_THREADS)
		gpu_put(&a->y, w->row, w->head, c, any ? DEVICE_MUL(scale, m->o[c]) : 0.0f);
}

GPU_KERNEL gpu_exact_attn(struct gpu_attn_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t heads = a.q.n_head, n;
	struct gpu_exact_shared m;
	struct gpu_attn_row w;

	m.red = GPU_SHARED(float);
	m.lanes = m.red + 64;
	m.s = m.lanes + GPU_EXACT_LANES;
	m.q = m.s + GPU_EXACT_CHUNK;
	m.o = m.q + a.q.width;
	gpu_attn_open(&a, r);
	n = gpu_n_row(r, &a.y) * heads;
	for (uint32_t item = GPU_BLOCK_X; item < n; item += GPU_GRID_X) {
		float most = -DEVICE_FLOAT_OF(0x7f800000u), sum = 0;

		w.row = item / heads;
		w.head = item % heads;
		w.kv_head = a.kv_map == 1 ? w.head % a.n_kv_head : w.head / (heads / a.n_kv_head);
		w.seq = gpu_seq_of(r, a.q.space, w.row);
		gpu_sync(); /* the last query has been read */
		for (uint32_t c = GPU_TID; c < a.q.width; c += GPU_THREADS)
			m.q[c] = DEVICE_MUL(a.scale, gpu_get(&a.q, w.row, w.head, c));
		for (uint32_t i = 0; i < 2; i++) {
			const struct gpu_attn_src *s = &a.src[i];
			int64_t lo, hi;

			if (!s->kind)
				continue;
			lo = gpu_int(r->group[s->group].kv_lo, w.row);
			hi = gpu_int(r->group[s->group].kv_hi, w.row);
			for (int64_t first = lo / GPU_EXACT_CHUNK * GPU_EXACT_CHUNK; first < hi;
			     first += GPU_EXACT_CHUNK) {
				int64_t from = lo > first ? lo : first;
				int64_t to = hi - first < GPU_EXACT_CHUNK ? hi
									  : first + GPU_EXACT_CHUNK;

				gpu_exact_chunk(&a, r, s, &w, (uint32_t)first, (uint32_t)from,
						(uint32_t)to, &m, &most, &sum);
			}
		}
		gpu_exact_finish(&a, &w, &m, most, sum);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_EXACT_ATTN_H */
