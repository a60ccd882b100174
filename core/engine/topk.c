/* SPDX-License-Identifier: MIT
 *
 * First the maximum of each block is found, which reads the row once with nothing but comparisons.
 * At least k blocks have a maximum not below the k-th largest of these maxima; so each of the k
 * best is not below it either, and few other logits are: only blocks that reach it are examined. */
#include "core/engine/topk.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LANES 16

/* ---- the maximum of a block ---- */

/* Independent lanes, so that the compiler can vectorise the comparisons. */
static float max_of(const float *x)
{
	float m[LANES], best = -INFINITY;

	for (int l = 0; l < LANES; l++)
		m[l] = -INFINITY;
	for (int i = 0; i < LMI_TOPK_BLOCK; i += LANES)
		for (int l = 0; l < LANES; l++)
			m[l] = x[i + l] > m[l] ? x[i + l] : m[l];
	for (int l = 0; l < LANES; l++)
		best = m[l] > best ? m[l] : best;
	return best;
}

/* Handles a block with gaps in its mask, or the short last one. */
static float max_of_some(const float *x, size_t n, uint64_t mask)
{
	float best = -INFINITY;

	for (size_t i = 0; i < n; i++)
		if ((mask >> i & 1) && x[i] > best)
			best = x[i];
	return best;
}

static float block_max(const float *logits, size_t n, const uint64_t *mask, size_t b)
{
	size_t at = b * LMI_TOPK_BLOCK, left = n - at;
	uint64_t bits = mask ? mask[b] : UINT64_MAX;

	if (!bits)
		return -INFINITY;
	if (bits == UINT64_MAX && left >= LMI_TOPK_BLOCK)
		return max_of(logits + at);
	return max_of_some(logits + at, left < LMI_TOPK_BLOCK ? left : LMI_TOPK_BLOCK, bits);
}

static size_t n_blocks(size_t n)
{
	return (n + LMI_TOPK_BLOCK - 1) / LMI_TOPK_BLOCK;
}

/* ---- heaps with the minimum at the root ---- */

static void sift_float(float *v, size_t n, size_t i)
{
	float x = v[i];

	for (size_t j; (j = 2 * i + 1) < n; i = j) {
		if (j + 1 < n && v[j + 1] < v[j])
			j++;
		if (x <= v[j])
			break;
		v[i] = v[j];
	}
	v[i] = x;
}

/* Returns the k-th largest of v[n], n >= k. */
static float kth(const float *v, size_t n, size_t k)
{
	float heap[LMI_TOPK_MAX];

	memcpy(heap, v, k * sizeof(*heap));
	for (size_t i = k / 2; i-- > 0;)
		sift_float(heap, k, i);
	for (size_t i = k; i < n; i++) {
		if (v[i] > heap[0]) {
			heap[0] = v[i];
			sift_float(heap, k, 0);
		}
	}
	return heap[0];
}

static bool before(const struct lmd_cand *a, const struct lmd_cand *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void sift(struct lmd_cand *v, size_t n, size_t i)
{
	struct lmd_cand x = v[i];

	for (size_t j; (j = 2 * i + 1) < n; i = j) {
		if (j + 1 < n && before(&v[j], &v[j + 1]))
			j++;
		if (!before(&x, &v[j]))
			break;
		v[i] = v[j];
	}
	v[i] = x;
}

/* Adds one candidate if it is among the best k. */
static void offer(struct lmd_cand *v, size_t *n, size_t k, const struct lmd_cand *c)
{
	if (*n < k) {
		size_t i = (*n)++;

		for (; i && before(&v[(i - 1) / 2], c); i = (i - 1) / 2)
			v[i] = v[(i - 1) / 2];
		v[i] = *c;
	} else if (before(c, &v[0])) {
		v[0] = *c;
		sift(v, k, 0);
	}
}

size_t lmi_topk(const float *logits, size_t n, const uint64_t *mask, size_t k, float *scratch,
		struct lmd_cand *out)
{
	size_t n_block = n_blocks(n), n_out = 0;
	float least;

	if (!k || k > LMI_TOPK_MAX || k > n_block)
		return 0;
	for (size_t b = 0; b < n_block; b++)
		scratch[b] = block_max(logits, n, mask, b);
	least = kth(scratch, n_block, k);
	if (least == -INFINITY)
		return 0;
	for (size_t b = 0; b < n_block; b++) {
		size_t at = b * LMI_TOPK_BLOCK,
		       to = at + LMI_TOPK_BLOCK < n ? at + LMI_TOPK_BLOCK : n;

		if (scratch[b] < least)
			continue;
		for (size_t i = at; i < to; i++) {
			const struct lmd_cand c = {.id = (lmd_token)i, .logit = logits[i]};

			if (logits[i] >= least && (!mask || (mask[b] >> (i - at) & 1)))
				offer(out, &n_out, k, &c);
		}
		/* logits below the worst of the k can be skipped */
		if (n_out == k && out[0].logit > least)
			least = out[0].logit;
	}
	for (size_t i = k; i-- > 1;) {
		struct lmd_cand c = out[0];

		out[0] = out[i];
		out[i] = c;
		sift(out, i, 0);
	}
	return k;
}

size_t lmi_argmax(const float *logits, size_t n, const uint64_t *mask)
{
	size_t best = n, n_block = n_blocks(n);
	float max = -INFINITY;

	for (size_t b = 0; b < n_block; b++) {
		float m = block_max(logits, n, mask, b);

		if (m > max) {
			max = m;
			best = b * LMI_TOPK_BLOCK;
		}
	}
	if (best < n) /* in that block, find its first occurrence */
		while (logits[best] != max || (mask && !(mask[best / 64] >> (best % 64) & 1)))
			best++;
	for (size_t i = 0; best == n && i < n; i++)
		if (!mask || (mask[i / 64] >> (i % 64) & 1))
			return i;
	return best;
}
