/* SPDX-License-Identifier: MIT
 *
 * top_p: keeps the shortest list of the most likely candidates whose probabilities reach p
 * (nucleus sampling: Holtzman et al., "The Curious Case of Neural Text Degeneration").
 *
 * The list is usually short, so candidates are sorted in growing portions and the long tail is
 * never sorted.  For a whole vocabulary, a first pass counts the weight by distance from the
 * largest logit.  Candidates that certainly contain the list are then moved to the front and
 * sorted alone, using the tail as the sort's memory.  No exponential is computed for candidates of
 * the tail that are too small to change the sum. */
#include "common.h"

#include <string.h>

#define FIRST_PORTION 256

/* Counting does not pay off for fewer candidates. */
#define COUNT_MIN 4096
/* Number of candidates that are counted together. */
#define BLOCK 512
/* Distances from the largest logit are counted in steps of 1/16, up to 64. */
#define STEPS	 16.0f
#define DISTANCES 1024
/* Relative error of one float addition, rounded up. */
#define UNIT 1e-7

#define RADIX_BITS 11
#define RADIX	   (1u << RADIX_BITS)

enum { P_P, P_MIN_KEEP };

struct state {
	float p;
	size_t min_keep;
};

static const struct lmd_param params[] = {
	[P_P] = SAMPLER_PARAM_top_p_p,
	[P_MIN_KEEP] = SAMPLER_PARAM_top_p_min_keep,
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	(void)in;
	return sizeof(struct state);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->p = (float)in->params[P_P].f;
	s->min_keep = (size_t)in->params[P_MIN_KEEP].i;
	return LMD_OK;
}

/* A weight below exp(result) does not change a float sum: it is less than half of the sum's last
 * bit, with a margin for the rounding of exp. */
static float min_visible_logit(float sum)
{
	int e;

	if (!(sum > 0))
		return -INFINITY;
	(void)frexpf(sum, &e); /* only the exponent is needed */
	return (float)(e - 25) * 0.69314718f - 0.01f;
}

static inline unsigned distance(const struct lmd_cand *c, float max)
{
	float d = (max - sampler_logit(c)) * STEPS;

	return d < DISTANCES - 1 ? (unsigned)d : DISTANCES - 1;
}

/* Number and weight of the candidates at each distance. */
struct counts {
	double weight[DISTANCES];
	uint32_t n[DISTANCES];
	float sum; /* sum of all weights, in the order of the candidates */
};

/* Counts all candidates.  Each p becomes the weight, or 0 if it is too small to change the sum. */
static void count(struct counts *k, struct lmd_cands *c, float max)
{
	uint16_t some[BLOCK];

	memset(k, 0, sizeof(*k));
	for (size_t from = 0; from < c->n; from += BLOCK) {
		size_t n = c->n - from < BLOCK ? c->n - from : BLOCK, m = 0;
		struct lmd_cand *v = c->v + from;
		float low = min_visible_logit(k->sum);

		for (size_t i = 0; i < n; i++) {
			k->n[distance(&v[i], max)]++;
			v[i].p = 0;
			some[m] = (uint16_t)i;
			m += v[i].logit - max >= low;
		}
		for (size_t i = 0; i < m; i++) {
			struct lmd_cand *x = &v[some[i]];

			x->p = sampler_weight(x, max);
			k->sum += x->p;
			k->weight[distance(x, max)] += (double)x->p;
		}
	}
}

/* Returns the smallest distance up to which there are at least min_keep candidates that reach p,
 * whatever the rounding of their sum; *m = their number.  Returns DISTANCES if none is certain
 * to. */
static unsigned reach(const struct state *s, const struct counts *k, size_t *m)
{
	double sum = 0, want = ((double)s->p + UNIT) * (double)k->sum;

	*m = 0;
	for (unsigned d = 0; d < DISTANCES; d++) {
		sum += k->weight[d];
		*m += k->n[d];
		if (*m >= s->min_keep && sum * (1 - (double)*m * UNIT) > want)
			return d;
	}
	return DISTANCES;
}

/* Sort key: ascending as the logit falls, equal for equal logits. */
static inline uint32_t key(const struct lmd_cand *c)
{
	float x = sampler_logit(c) + 0.0f; /* -0 becomes 0 */
	uint32_t b;

	memcpy(&b, &x, sizeof(b));
	return b >> 31 ? b : ~b & 0x7fffffffu;
}

/* Sorts v[0..m), which is in the order of ids; v[m..2m) is overwritten. */
static void radix_sort(struct lmd_cand *v, size_t m)
{
	uint32_t at[3][RADIX] = {{0}};
	struct lmd_cand *from = v, *to = v + m;

	for (size_t i = 0; i < m; i++) {
		uint32_t k = key(&v[i]);

		for (int r = 0; r < 3; r++)
			at[r][k >> r * RADIX_BITS & (RADIX - 1)]++;
	}
	for (int r = 0; r < 3; r++) {
		uint32_t sum = 0;

		for (uint32_t b = 0; b < RADIX; b++) {
			uint32_t n = at[r][b];

			at[r][b] = sum;
			sum += n;
		}
		for (size_t i = 0; i < m; i++)
			to[at[r][key(&from[i]) >> r * RADIX_BITS & (RADIX - 1)]++] = from[i];
		from = to;
		to = from == v ? v + m : v;
	}
	memcpy(v, from, m * sizeof(*v)); /* after three rounds the result is in the second half */
}

/* Keeps only candidates that certainly contain the list, sorted and with their p.  Returns false if
 * that is not possible; then only the p are lost. */
static bool narrow(const struct state *s, struct lmd_cands *c, float max)
{
	size_t n = c->n, m, k = 0;
	struct counts counts;
	bool by_id = true;
	unsigned d;

	count(&counts, c, max);
	d = reach(s, &counts, &m);
	if (d == DISTANCES)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct lmd_cand x = c->v[i];

		if (distance(&x, max) > d)
			continue;
		by_id = by_id && (!k || c->v[k - 1].id < x.id);
		x.p = (x.p > 0 ? x.p : sampler_weight(&x, max)) / counts.sum;
		c->v[k++] = x;
	}
	c->n = m;
	if (by_id && m <= n / 2) {
		radix_sort(c->v, m);
		c->sorted = true;
	} else {
		sampler_cands_sort(c);
	}
	return true;
}

/* Sorts more of the best candidates after the first `ordered` and returns how many are in order; at
 * most all of them. */
static size_t order_more(struct lmd_cands *c, size_t ordered)
{
	size_t left = c->n - ordered, k = ordered < FIRST_PORTION ? FIRST_PORTION : 7 * ordered;

	k = k < left ? k : left;
	sampler_cands_top(c->v + ordered, left, k);
	return ordered + k;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	float max = sampler_cands_max(c), sum = 0.0f;
	size_t ordered;

	if (s->p >= 1.0f)
		return;
	if (c->sorted || c->n < COUNT_MIN || isinf(max) || !narrow(s, c, max))
		(void)sampler_cands_softmax(c); /* only for its effect on p */
	ordered = c->sorted ? c->n : 0;
	for (size_t i = 0; i < c->n; i++) {
		if (i == ordered)
			ordered = order_more(c, ordered);
		sum += c->v[i].p;
		if (sum >= s->p && i + 1 >= s->min_keep) {
			c->n = i + 1;
			break;
		}
	}
	c->sorted = true;
}

const struct lmd_sampler_ops sampler_top_p = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
