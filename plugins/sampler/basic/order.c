/* SPDX-License-Identifier: MIT
 *
 * Sorting and selecting candidates.
 *
 * Large arrays are first divided into pieces by their position between the minimum and the
 * maximum, in one pass and in place; then the pieces, which are short, are sorted.  They are
 * sorted by a quicksort that switches to a heapsort if it recurses too deeply, so no row of logits
 * makes it quadratic.  libc's qsort may allocate, which is not allowed on the token path. */
#include "common.h"

#include <string.h>

typedef bool (*before_fn)(const struct lmd_cand *, const struct lmd_cand *);
typedef float (*rank_fn)(const struct lmd_cand *);

#define INLINE static inline __attribute__((always_inline))

/* Below this number of candidates insertion sort is faster. */
#define SMALL 24
/* From this number of candidates on they are divided into pieces, of PIECE candidates each if the
 * ranks are spread evenly. */
#define LARGE 2048
#define PIECE 16
/* Pieces that have LARGE candidates themselves are divided again; at most this many levels. */
#define CUTS 2

INLINE void swap(struct lmd_cand *a, struct lmd_cand *b)
{
	struct lmd_cand t = *a;

	*a = *b;
	*b = t;
}

/* Sift-down in a heap whose root is its last member in the order `before`. */
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

/* Hoare's partition around the median of three; both sides are shorter than n. */
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

INLINE void quicksort(struct lmd_cand *v, size_t n, before_fn before)
{
	struct {
		struct lmd_cand *v;
		size_t n;
		int depth;
	} stack[64]; /* the longer sides still to sort; at most one entry per halving */
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

/* Candidates that come first have the lower rank; equal ranks are ordered by id. */
static inline float logit_rank(const struct lmd_cand *c)
{
	return -sampler_logit(c);
}

static inline float p_rank(const struct lmd_cand *c)
{
	return c->p;
}

/* Divides ranks from `low` on into pieces of equal width; the last piece also has the infinite
 * ones. */
struct scale {
	float low, per_rank;
	unsigned last;
};

/* Monotonic in the rank, because subtraction, multiplication and truncation are. */
INLINE unsigned piece_of(const struct scale *s, float rank)
{
	float at = (rank - s->low) * s->per_rank;

	return at < (float)s->last ? (unsigned)at : s->last;
}

/* Computes the scale for v[0..n) and the number of candidates in each piece; returns false if the
 * ranks cannot be divided. */
INLINE bool measure(struct scale *s, const struct lmd_cand *v, size_t n, rank_fn rank,
		    uint32_t *count)
{
	float low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		float x = rank(&v[i]);

		low = x < low ? x : low;
		high = x > high && x < INFINITY ? x : high;
	}
	s->low = low;
	s->last = (unsigned)(n / PIECE < SAMPLER_PIECES ? n / PIECE : SAMPLER_PIECES) - 1;
	s->per_rank = (float)(s->last - 1) / (high - low);
	if (!(high > low) || !isfinite(high - low) || !isfinite(s->per_rank))
		return false;
	memset(count, 0, (s->last + 1) * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		count[piece_of(s, rank(&v[i]))]++;
	return true;
}

/* Moves each candidate to its piece, following permutation cycles.  end: in, the size of each
 * piece; out, its end. */
INLINE void spread(struct lmd_cand *v, const struct scale *s, rank_fn rank, uint32_t *end)
{
	uint32_t at[SAMPLER_PIECES], sum = 0;

	for (unsigned b = 0; b <= s->last; b++) {
		at[b] = sum;
		sum += end[b];
		end[b] = sum;
	}
	for (unsigned b = 0; b <= s->last; b++) {
		while (at[b] < end[b]) {
			struct lmd_cand x = v[at[b]];

			for (unsigned to; (to = piece_of(s, rank(&x))) != b;)
				swap(&x, &v[at[to]++]);
			v[at[b]++] = x;
		}
	}
}

INLINE void cut(struct sampler_pieces *p, struct lmd_cand *v, size_t n, rank_fn rank)
{
	struct scale s;

	*p = (struct sampler_pieces){.n = 1};
	if (n >= LARGE && n <= UINT32_MAX && measure(&s, v, n, rank, p->end)) {
		spread(v, &s, rank, p->end);
		p->n = s.last + 1;
	} else {
		p->end[0] = (uint32_t)n;
	}
}

INLINE bool in_order(const struct lmd_cand *v, size_t n, before_fn before)
{
	for (size_t i = 1; i < n; i++) {
		if (!before(&v[i - 1], &v[i]))
			return false;
	}
	return true;
}

static void sort_by_logit(struct lmd_cand *v, size_t n, unsigned cuts)
{
	struct sampler_pieces p;

	if (n < LARGE || !cuts) {
		quicksort(v, n, sampler_cand_before);
		return;
	}
	if (in_order(v, n, sampler_cand_before))
		return;
	cut(&p, v, n, logit_rank);
	for (uint32_t from = 0, i = 0; i < p.n; from = p.end[i++])
		sort_by_logit(v + from, p.end[i] - from, cuts - 1);
}

void sampler_cands_sort(struct lmd_cands *c)
{
	if (!c->sorted)
		sort_by_logit(c->v, c->n, CUTS);
	c->sorted = true;
}

void sampler_pieces_by_p(struct sampler_pieces *p, struct lmd_cand *v, size_t n)
{
	cut(p, v, n, p_rank);
}

size_t sampler_pieces_next(struct sampler_pieces *p, struct lmd_cand *v)
{
	uint32_t from = p->at ? p->end[p->at - 1] : 0;

	while (p->at < p->n && p->end[p->at] == from)
		p->at++;
	if (p->at == p->n)
		return from;
	quicksort(v + from, p->end[p->at] - from, p_before);
	return p->end[p->at++];
}

void sampler_cands_top(struct lmd_cand *v, size_t n, size_t k)
{
	if (k > n / 4) {
		sort_by_logit(v, n, CUTS);
		return;
	}
	if (!k)
		return;
	heap_make(v, k, sampler_cand_before);
	for (size_t i = k; i < n; i++) {
		/* Most candidates are below the worst of the k, which one comparison shows.  NaN
		 * passes it. */
		if (v[i].logit < v[0].logit)
			continue;
		if (sampler_cand_before(&v[i], &v[0])) {
			swap(&v[0], &v[i]);
			sift(v, k, 0, sampler_cand_before);
		}
	}
	heap_sort(v, k, sampler_cand_before);
}
