/* SPDX-License-Identifier: MIT
 *
 * Order, selection and probabilities of candidates.  The sort is a quicksort that turns
 * into a heapsort when it goes too deep, so no row of logits makes it quadratic; libc's
 * qsort may allocate, which the token path must not. */
#include "common.h"

typedef bool (*before_fn)(const struct lmd_cand *, const struct lmd_cand *);

#define INLINE static inline __attribute__((always_inline))

/* Below this many candidates insertion sort wins. */
#define SMALL 24

INLINE void swap(struct lmd_cand *a, struct lmd_cand *b)
{
	struct lmd_cand t = *a;

	*a = *b;
	*b = t;
}

/* A heap with the last of its members, in the sense of `before`, at the root. */
INLINE void sift(struct lmd_cand *v, size_t n, size_t i, before_fn before)
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

INLINE void heap_make(struct lmd_cand *v, size_t n, before_fn before)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, n, i, before);
}

INLINE void heap_sort(struct lmd_cand *v, size_t n, before_fn before)
{
	for (size_t i = n; i-- > 1;) {
		swap(&v[0], &v[i]);
		sift(v, i, 0, before);
	}
}

INLINE void insertion_sort(struct lmd_cand *v, size_t n, before_fn before)
{
	for (size_t i = 1; i < n; i++) {
		struct lmd_cand x = v[i];
		size_t j = i;

		for (; j && before(&x, &v[j - 1]); j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/* Hoare's partition around the median of three: both sides are shorter than n. */
INLINE size_t partition(struct lmd_cand *v, size_t n, before_fn before)
{
	struct lmd_cand *a = &v[0], *b = &v[n / 2], *c = &v[n - 1], pivot;
	size_t i = 0, j = n - 1;

	if (before(b, a))
		swap(a, b);
	if (before(c, b))
		swap(b, c);
	if (before(b, a))
		swap(a, b);
	pivot = *b;
	for (;;) {
		while (before(&v[i], &pivot))
			i++;
		while (before(&pivot, &v[j]))
			j--;
		if (i >= j)
			return j + 1;
		swap(&v[i++], &v[j--]);
	}
}

INLINE void sort(struct lmd_cand *v, size_t n, before_fn before)
{
	struct {
		struct lmd_cand *v;
		size_t n;
		int depth;
	} stack[64]; /* the longer side waits here: at most one entry per halving */
	int top = 0, depth = 0;

	for (size_t m = n; m; m >>= 1)
		depth += 2;
	for (;;) {
		while (n > SMALL && depth-- > 0) {
			size_t cut = partition(v, n, before);

			if (cut >= n - cut) {
				stack[top].v = v;
				stack[top].n = cut;
				v += cut;
				n -= cut;
			} else {
				stack[top].v = v + cut;
				stack[top].n = n - cut;
				n = cut;
			}
			stack[top++].depth = depth;
		}
		if (n > SMALL) {
			heap_make(v, n, before);
			heap_sort(v, n, before);
		} else {
			insertion_sort(v, n, before);
		}
		if (!top)
			return;
		top--;
		v = stack[top].v;
		n = stack[top].n;
		depth = stack[top].depth;
	}
}

static inline bool p_before(const struct lmd_cand *a, const struct lmd_cand *b)
{
	return a->p < b->p || (a->p == b->p && a->id < b->id);
}

void lmi_cands_sort(struct lmd_cands *c)
{
	if (!c->sorted)
		sort(c->v, c->n, lmi_cand_before);
	c->sorted = true;
}

void lmi_cands_sort_by_p(struct lmd_cand *v, size_t n)
{
	sort(v, n, p_before);
}

void lmi_cands_top(struct lmd_cand *v, size_t n, size_t k)
{
	if (k > n / 4) {
		sort(v, n, lmi_cand_before);
		return;
	}
	if (!k)
		return;
	heap_make(v, k, lmi_cand_before);
	for (size_t i = k; i < n; i++) {
		/* most are below the worst of k, which one comparison says; NaN goes on */
		if (v[i].logit < v[0].logit)
			continue;
		if (lmi_cand_before(&v[i], &v[0])) {
			swap(&v[0], &v[i]);
			sift(v, k, 0, lmi_cand_before);
		}
	}
	heap_sort(v, k, lmi_cand_before);
}

void lmi_cands_recheck(struct lmd_cands *c)
{
	for (size_t i = 1; c->sorted && i < c->n; i++)
		c->sorted = lmi_cand_before(&c->v[i - 1], &c->v[i]);
}

float lmi_cands_max(const struct lmd_cands *c)
{
	float max = -INFINITY;

	if (c->sorted)
		return lmi_logit(&c->v[0]);
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].logit > max)
			max = c->v[i].logit;
	}
	return max;
}

struct lmi_softmax lmi_cands_softmax(struct lmd_cands *c)
{
	struct lmi_softmax s = {.max = lmi_cands_max(c)};

	for (size_t i = 0; i < c->n; i++) {
		c->v[i].p = lmi_weight(&c->v[i], s.max);
		s.sum += c->v[i].p;
	}
	for (size_t i = 0; i < c->n; i++)
		c->v[i].p /= s.sum;
	return s;
}

float lmi_cands_entropy(const struct lmd_cands *c)
{
	float h = 0.0f;

	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].p > 0.0f)
			h -= c->v[i].p * logf(c->v[i].p);
	}
	return h;
}

size_t lmi_cands_pick(const struct lmd_cands *c, float u)
{
	float max = lmi_cands_max(c);
	double sum = 0.0, at = 0.0;
	size_t last = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += (double)lmi_weight(&c->v[i], max);
	for (size_t i = 0; i < c->n && at <= (double)u * sum; i++) {
		float w = lmi_weight(&c->v[i], max);

		at += (double)w;
		last = w > 0.0f ? i : last;
	}
	return last;
}

size_t lmi_cands_draw(struct lmd_cands *c, float u)
{
	double sum = 0.0, at = 0.0;
	size_t last = 0;

	(void)lmi_cands_softmax(c); /* the p are wanted */
	for (size_t i = 0; i < c->n; i++)
		sum += (double)c->v[i].p;
	for (size_t i = 0; i < c->n && at <= (double)u * sum; i++) {
		at += (double)c->v[i].p;
		last = c->v[i].p > 0.0f ? i : last;
	}
	return last;
}
