/* SPDX-License-Identifier: MIT
 *
 * sample.h - kernels of SAMPLE: a block computes a row.  The order of candidates is that of
 * plugins/backend/ref/op_sample.c: by id until TOP_K or TOP_P sorts them.  Only those that can
 * remain are sorted: the best k are found digit by digit from the counts of their keys' digits.  Float
 * sums over all candidates have another order than in ref. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_SAMPLE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_SAMPLE_H

#include "backend/gpu/kern/decode.h"

#define GPU_SAMPLE_THREADS 256
#define GPU_SAMPLE_TRY     1024 /* candidates among which TOP_P looks first */

struct gpu_cand {
	uint32_t id;
	float logit;
};

/* The candidates of a row; every thread of the block has the same numbers. */
struct gpu_cands {
	struct gpu_cand *v, *spare; /* [vocabulary] each */
	uint32_t n;
	int sorted, whole; /* whole: v[id] is candidate id */
};

/* A number for each thread, or for each digit. */
struct gpu_sample_shared {
	double sums[GPU_SAMPLE_THREADS];
	uint64_t keys[GPU_SAMPLE_THREADS];
	uint32_t counts[GPU_SAMPLE_THREADS];
	float red[GPU_SAMPLE_THREADS / 32];
	uint32_t n;
};

GPU_FN struct gpu_sample_shared *gpu_sample_room(void)
{
	return GPU_SHARED(struct gpu_sample_shared);
}

/* Larger logit first, then lower id: a candidate with a larger key comes before. */
GPU_FN uint64_t gpu_cand_key(struct gpu_cand c)
{
	uint32_t bits = c.logit == 0.0f ? 0 : gpu_float_bits(c.logit);

	bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
	return (uint64_t)bits << 32 | (uint32_t)~c.id;
}

GPU_FN float gpu_cand_greatest(const struct gpu_cands *c)
{
	float most = -INFINITY;

	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS)
		most = fmaxf(most, c->v[i].logit);
	return gpu_block_max(most, gpu_sample_room()->red);
}

GPU_FN float gpu_cand_weight(struct gpu_cand c, float most)
{
	if (most == INFINITY || most == -INFINITY)
		return c.logit == most ? 1.0f : 0.0f;
	return expf(c.logit - most);
}

/* Sum of all weights. */
GPU_FN float gpu_cand_total(const struct gpu_cands *c, float most)
{
	float sum = 0;

	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS)
		sum += gpu_cand_weight(c->v[i], most);
	return gpu_block_sum(sum, gpu_sample_room()->red);
}

/* Sums over the threads before this one; *all: over all. */
GPU_FN uint32_t gpu_sample_before(uint32_t v, uint32_t *all)
{
	uint32_t *counts = gpu_sample_room()->counts, before = 0;

	gpu_sync();
	counts[GPU_TID] = v;
	gpu_sync();
	*all = 0;
	for (uint32_t i = 0; i < GPU_THREADS; i++) {
		before += i < GPU_TID ? counts[i] : 0;
		*all += counts[i];
	}
	return before;
}

/* The k-th largest key, or a smaller number that no other key reaches; k at least 1. */
GPU_SLOW uint64_t gpu_sample_bound(const struct gpu_cands *c, uint32_t k)
{
	uint32_t *counts = gpu_sample_room()->counts;
	uint64_t known = 0;

	for (uint32_t shift = 56;; shift -= 8) {
		uint32_t d = 255;

		gpu_sync();
		for (uint32_t i = GPU_TID; i < 256; i += GPU_THREADS)
			counts[i] = 0;
		gpu_sync();
		for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS) {
			uint64_t key = gpu_cand_key(c->v[i]);

			if (shift == 56 || key >> (shift + 8) == known)
				gpu_count_up(&counts[key >> shift & 255]);
		}
		gpu_sync();
		for (; d && counts[d] < k; d--)
			k -= counts[d];
		known = known << 8 | d;
		if (counts[d] == k || !shift)
			return known << shift;
	}
}

/* Sorts in place: a network for the next power of two, whose missing candidates would be last. */
GPU_SLOW void gpu_sample_sort(struct gpu_cand *v, uint32_t n)
{
	for (uint32_t size = 2; size < 2 * n; size *= 2) {
		for (uint32_t step = size; step > 1; step /= 2) {
			gpu_sync();
			for (uint32_t i = GPU_TID; i < n; i += GPU_THREADS) {
				uint32_t j = i ^ (step == size ? size - 1 : step / 2);
				struct gpu_cand a = v[i], b;

				if (j <= i || j >= n)
					continue;
				b = v[j];
				if (gpu_cand_key(b) > gpu_cand_key(a)) {
					v[i] = b;
					v[j] = a;
				}
			}
		}
	}
	gpu_sync();
}

/* Puts the best k candidates, sorted, into the spare room; k at most c->n. */
GPU_SLOW void gpu_sample_best(const struct gpu_cands *c, uint32_t k)
{
	uint32_t *n = &gpu_sample_room()->n;
	uint64_t bound;

	if (!k)
		return;
	bound = gpu_sample_bound(c, k);
	gpu_sync();
	if (GPU_TID == 0)
		*n = 0;
	gpu_sync();
	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS) {
		if (gpu_cand_key(c->v[i]) >= bound)
			c->spare[gpu_count_up(n)] = c->v[i];
	}
	gpu_sample_sort(c->spare, k);
}

/* The spare room becomes the candidates. */
GPU_FN void gpu_cands_swap(struct gpu_cands *c, uint32_t n)
{
	struct gpu_cand *v = c->v;

	gpu_sync();
	c->v = c->spare;
	c->spare = v;
	c->n = n;
	c->whole = 0;
}

/* Keeps the best k. */
GPU_FN void gpu_cands_keep(struct gpu_cands *c, uint32_t k)
{
	if (c->sorted) {
		c->n = k;
		return;
	}
	gpu_sample_best(c, k);
	gpu_cands_swap(c, k);
	c->sorted = 1;
}

GPU_FN float gpu_sample_param(const struct gpu_sample_args *a, uint32_t row, uint32_t stage,
			      uint32_t i)
{
	return gpu_cell_get(&a->params, row, a->param_col[stage] + i);
}

GPU_FN void gpu_sample_load(const struct gpu_sample_args *a, uint32_t row, struct gpu_cands *c)
{
	uint32_t vocab = a->logits.n_head * a->logits.width;

	gpu_sync(); /* the last row is done */
	c->v = GPU_PTR(struct gpu_cand, a->work) + (uint64_t)row * 2 * vocab;
	c->spare = c->v + vocab;
	for (uint32_t id = GPU_TID; id < vocab; id += GPU_THREADS) {
		float x = gpu_cell_get(&a->logits, row, id);

		if (gpu_is_set(&a->mask) &&
		    !((uint32_t)gpu_cell_i32(&a->mask, row, id / 32) >> (id % 32) & 1))
			x = -INFINITY;
		c->v[id].id = id;
		c->v[id].logit = x == x ? x : -INFINITY;
	}
	c->n = vocab;
	c->sorted = 0;
	c->whole = 1;
	gpu_sync();
}

/* Changes the candidate with an id, if it is still there. */
GPU_FN void gpu_sample_penalise(struct gpu_cands *c, uint32_t id, float repeat, float rest)
{
	uint32_t k = c->whole ? id : 0;

	while (k < c->n && c->v[k].id != id)
		k++;
	if (k < c->n) {
		float x = c->v[k].logit;

		c->v[k].logit = (x <= 0.0f ? x * repeat : x / repeat) - rest;
	}
}

GPU_FN void gpu_sample_penalties(const struct gpu_sample_args *a, uint32_t row, uint32_t stage,
				 struct gpu_cands *c)
{
	float repeat = gpu_sample_param(a, row, stage, 0),
	      freq = gpu_sample_param(a, row, stage, 1),
	      present = gpu_sample_param(a, row, stage, 2);
	uint32_t len = gpu_is_set(&a->history) ? a->history.n_head * a->history.width : 0;

	for (uint32_t i = GPU_TID; i < len; i += GPU_THREADS) {
		int32_t id = gpu_cell_i32(&a->history, row, i);
		uint32_t count = 0;
		int seen = 0;

		for (uint32_t j = 0; j < len; j++) {
			int same = gpu_cell_i32(&a->history, row, j) == id;

			count += (uint32_t)same;
			seen = seen || (same && j < i);
		}
		if (!seen && id >= 0)
			gpu_sample_penalise(c, (uint32_t)id, repeat, (float)count * freq + present);
	}
	c->sorted = 0;
	gpu_sync();
}

/* Id of the best candidate. */
GPU_FN uint32_t gpu_sample_greedy(const struct gpu_cands *c)
{
	uint64_t *keys = gpu_sample_room()->keys, best = 0;

	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS) {
		uint64_t key = gpu_cand_key(c->v[i]);

		best = key > best ? key : best;
	}
	gpu_sync();
	keys[GPU_TID] = best;
	gpu_sync();
	for (uint32_t i = 0; i < GPU_THREADS; i++)
		best = keys[i] > best ? keys[i] : best;
	return ~(uint32_t)best;
}

GPU_FN void gpu_sample_temperature(struct gpu_cands *c, float t)
{
	uint32_t best = t > 0.0f ? 0 : gpu_sample_greedy(c);

	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS) {
		if (t > 0.0f)
			c->v[i].logit /= t;
		else if (c->v[i].id != best)
			c->v[i].logit = -INFINITY;
	}
	c->sorted = 0;
	gpu_sync();
}

GPU_FN void gpu_sample_top_k(struct gpu_cands *c, float k)
{
	if (k > 0.0f && k < (float)c->n)
		gpu_cands_keep(c, (uint32_t)k ? (uint32_t)k : 1);
}

/* How many of the first n candidates of v have the share p together; 0 = they have less. */
GPU_SLOW uint32_t gpu_sample_share(const struct gpu_cand *v, uint32_t n, float most, float total,
				   float p)
{
	double *sums = gpu_sample_room()->sums;
	float sum = 0;

	for (uint32_t at = 0; at < n; at += GPU_THREADS) {
		uint32_t count = n - at < GPU_THREADS ? n - at : GPU_THREADS;

		gpu_sync();
		if (GPU_TID < count)
			sums[GPU_TID] = (double)(gpu_cand_weight(v[at + GPU_TID], most) / total);
		gpu_sync();
		for (uint32_t i = 0; i < count; i++) {
			sum += (float)sums[i];
			if (sum >= p)
				return at + i + 1;
		}
	}
	return 0;
}

GPU_FN void gpu_sample_top_p(struct gpu_cands *c, float p)
{
	uint32_t some = c->n < GPU_SAMPLE_TRY ? c->n : GPU_SAMPLE_TRY, n = 0;
	float most, total;

	if (p >= 1.0f)
		return;
	most = gpu_cand_greatest(c);
	total = gpu_cand_total(c, most);
	if (!c->sorted) {
		gpu_sample_best(c, some);
		n = gpu_sample_share(c->spare, some, most, total, p);
		if (n) {
			gpu_cands_swap(c, n);
			c->sorted = 1;
			return;
		}
		gpu_sample_sort(c->v, c->n);
		c->sorted = 1;
		c->whole = 0;
	}
	n = gpu_sample_share(c->v, c->n, most, total, p);
	c->n = n ? n : c->n;
}

/* The candidates [*from, *to) that a thread has in functions that keep their order. */
GPU_FN void gpu_sample_range(const struct gpu_cands *c, uint32_t *from, uint32_t *to)
{
	uint32_t each = (c->n + GPU_THREADS - 1) / GPU_THREADS;

	*from = GPU_TID * each < c->n ? GPU_TID * each : c->n;
	*to = c->n - *from < each ? c->n : *from + each;
}

GPU_FN void gpu_sample_min_p(struct gpu_cands *c, float p)
{
	uint32_t from, to, n = 0, at;
	float bound;

	if (p <= 0.0f)
		return;
	bound = gpu_cand_greatest(c) + logf(p);
	gpu_sample_range(c, &from, &to);
	for (uint32_t i = from; i < to; i++)
		n += c->v[i].logit >= bound;
	at = gpu_sample_before(n, &n);
	if (!n) {
		gpu_cands_keep(c, 1);
		return;
	}
	for (uint32_t i = from; i < to; i++) {
		if (c->v[i].logit >= bound)
			c->spare[at++] = c->v[i];
	}
	gpu_cands_swap(c, n);
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

/* Index of the candidate that the row's random number chooses: the last one with a probability
 * among those in front of which the sum is at most that number. */
GPU_FN uint32_t gpu_sample_draw(const struct gpu_sample_args *a, uint32_t row,
				const struct gpu_cands *c)
{
	float u = gpu_sample_rand(
		(uint32_t)gpu_cell_i32(&a->rng, row, 0), (uint32_t)gpu_cell_i32(&a->rng, row, 1),
		(uint32_t)gpu_cell_i32(&a->rng, row, 2), (uint32_t)gpu_cell_i32(&a->rng, row, 3));
	float most = gpu_cand_greatest(c), total = gpu_cand_total(c, most);
	struct gpu_sample_shared *s = gpu_sample_room();
	double sum = 0, at = 0, all = 0;
	uint32_t from, to, last = 0;

	gpu_sample_range(c, &from, &to);
	for (uint32_t i = from; i < to; i++)
		sum += (double)(gpu_cand_weight(c->v[i], most) / total);
	gpu_sync();
	s->sums[GPU_TID] = sum;
	gpu_sync();
	for (uint32_t i = 0; i < GPU_THREADS; i++) {
		at += i < GPU_TID ? s->sums[i] : 0;
		all += s->sums[i];
	}
	for (uint32_t i = from; i < to && at <= (double)u * all; i++) {
		float p = gpu_cand_weight(c->v[i], most) / total;

		at += (double)p;
		last = p > 0.0f ? i : last;
	}
	gpu_sync();
	s->counts[GPU_TID] = last;
	gpu_sync();
	for (uint32_t i = 0; i < GPU_THREADS; i++)
		last = s->counts[i] > last ? s->counts[i] : last;
	return last;
}

/* The n best candidates with their log probabilities. */
GPU_FN void gpu_sample_list(const struct gpu_sample_args *a, uint32_t row,
			    const struct gpu_cands *c)
{
	uint32_t n = gpu_is_set(&a->top_id) ? a->top_id.n_head * a->top_id.width : 0;
	double *sums = gpu_sample_room()->sums, sum = 0;
	float most;

	if (!n)
		return;
	most = gpu_cand_greatest(c);
	for (uint32_t i = GPU_TID; i < c->n; i += GPU_THREADS)
		sum += (double)gpu_cand_weight(c->v[i], most);
	gpu_sample_best(c, n < c->n ? n : c->n);
	sums[GPU_TID] = sum;
	gpu_sync();
	sum = 0;
	for (uint32_t i = 0; i < GPU_THREADS; i++)
		sum += sums[i];
	for (uint32_t i = GPU_TID; i < n && i < c->n; i += GPU_THREADS) {
		*GPU_PTR(int32_t, gpu_cell(&a->top_id, row, i)) = (int32_t)c->spare[i].id;
		if (gpu_is_set(&a->top_lp))
			*GPU_PTR(float, gpu_cell(&a->top_lp, row, i)) =
				c->spare[i].logit - most - (float)log(sum);
	}
	gpu_sync();
}

GPU_FN uint32_t gpu_sample_stages(const struct gpu_sample_args *a, uint32_t row, uint32_t i,
				  struct gpu_cands *c)
{
	uint32_t token = 0;

	for (; i < a->n_stage; i++) {
		switch (a->stage[i]) {
		case 1:
			gpu_sample_penalties(a, row, i, c);
			break;
		case 2:
			gpu_sample_temperature(c, gpu_sample_param(a, row, i, 0));
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
			token = gpu_sample_greedy(c);
			break;
		default:
			token = c->v[gpu_sample_draw(a, row, c)].id;
			break;
		}
	}
	return token;
}

/* work: candidates [rows][2][V].  Shared: struct gpu_sample_shared. */
GPU_BLOCK_OF(GPU_SAMPLE_THREADS, 1) gpu_sample(struct gpu_sample_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	uint32_t rows;

	gpu_open(r, &a.logits);
	gpu_open(r, &a.params);
	gpu_open(r, &a.rng);
	gpu_open(r, &a.mask);
	gpu_open(r, &a.history);
	rows = gpu_n_row(r, &a.token);
	for (uint32_t row = GPU_BLOCK_X; row < rows; row += GPU_GRID_X) {
		struct gpu_cands c;
		uint32_t i = 0, token;

		gpu_sample_load(&a, row, &c);
		for (; i < a.n_stage && a.stage[i] == 1; i++)
			gpu_sample_penalties(&a, row, i, &c);
		gpu_sample_list(&a, row, &c);
		token = gpu_sample_stages(&a, row, i, &c);
		if (GPU_TID == 0)
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

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_SAMPLE_H */
