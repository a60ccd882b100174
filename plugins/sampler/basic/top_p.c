/* SPDX-License-Identifier: MIT
 *
 * top_p: the shortest list of most likely candidates whose probabilities reach p
 * (nucleus sampling: Holtzman et al., "The Curious Case of Neural Text Degeneration").
 *
 * The list is usually short, so candidates are brought into order in growing portions and the
 * long tail is never sorted.  Where a whole vocabulary comes in, how much probability lies how far
 * below the greatest logit is counted first; what reaches p for certain is put in front and sorted
 * alone, with the tail as the sort's memory. */
#include "common.h"

#include <string.h>

#define FIRST_PORTION 256

/* Fewer candidates are not worth counting. */
#define COUNT_MIN 4096
/* Distances from the greatest logit are counted in steps of 1/16, up to 64. */
#define STEPS	 16.0f
#define DISTANCES 1024
/* Relative error of one addition of floats, rounded up. */
#define UNIT 1e-7

#define RADIX_BITS 11
#define RADIX	   (1u << RADIX_BITS)

enum { P_P, P_MIN_KEEP };

struct state {
	float p;
	size_t min_keep;
};

static const struct lmd_param params[] = {
	[P_P] = { .name = "p", .type = LMD_PARAM_FLOAT, .def = 0.95, .min = 0, .max = 1,
		  .doc = "Sum of probabilities to keep; 1 keeps all, 0 the best alone." },
	[P_MIN_KEEP] = LMI_PARAM_MIN_KEEP,
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

static inline unsigned distance(const struct lmd_cand *c, float max)
{
	float d = (max - lmi_logit(c)) * STEPS;

	return d < DISTANCES - 1 ? (unsigned)d : DISTANCES - 1;
}

/* The distance up to which candidates reach p, however their sum is rounded, and are min_keep or
 * more; *m of them.  DISTANCES: none is known to. */
static unsigned reach(const struct state *s, const struct lmd_cands *c, float max, size_t *m)
{
	double mass[DISTANCES] = {0}, sum = 0;
	uint32_t count[DISTANCES] = {0};

	for (size_t i = 0; i < c->n; i++) {
		unsigned d = distance(&c->v[i], max);

		mass[d] += (double)c->v[i].p;
		count[d]++;
	}
	*m = 0;
	for (unsigned d = 0; d < DISTANCES; d++) {
		sum += mass[d];
		*m += count[d];
		if (*m >= s->min_keep && sum * (1 - (double)*m * UNIT) > (double)s->p + UNIT)
			return d;
	}
	return DISTANCES;
}

/* Ascending where the logit falls; equal for equal logits. */
static inline uint32_t key(const struct lmd_cand *c)
{
	float x = lmi_logit(c) + 0.0f; /* -0 is 0 */
	uint32_t b;

	memcpy(&b, &x, sizeof(b));
	return b >> 31 ? b : ~b & 0x7fffffffu;
}

/* Sorts v[0..m), which stand in the order of their ids; v[m..2m) is overwritten. */
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
	memcpy(v, from, m * sizeof(*v)); /* three rounds end behind */
}

/* Where it is worth it, leaves only candidates that are sure to hold the list, in order. */
static void narrow(const struct state *s, struct lmd_cands *c, float max)
{
	bool by_id = true;
	size_t m, k = 0;
	unsigned d;

	if (c->sorted || c->n < COUNT_MIN || isinf(max))
		return;
	d = reach(s, c, max, &m);
	if (d == DISTANCES || m > c->n / 2)
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (distance(&c->v[i], max) > d)
			continue;
		by_id = by_id && (!k || c->v[k - 1].id < c->v[i].id);
		c->v[k++] = c->v[i];
	}
	c->n = m;
	if (by_id)
		radix_sort(c->v, m);
	else
		lmi_cands_sort(c);
	c->sorted = true;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	size_t portion = FIRST_PORTION, ordered;
	float sum = 0.0f;

	if (s->p >= 1.0f)
		return;
	/* the p are wanted */
	narrow(s, c, lmi_cands_softmax(c).max);
	ordered = c->sorted ? c->n : 0;
	for (size_t i = 0; i < c->n; i++) {
		if (i == ordered) {
			size_t left = c->n - ordered;
			size_t k = portion < left ? portion : left;

			lmi_cands_top(c->v + ordered, left, k);
			ordered += k;
			portion *= 8;
		}
		sum += c->v[i].p;
		if (sum >= s->p && i + 1 >= s->min_keep) {
			c->n = i + 1;
			break;
		}
	}
	c->sorted = true;
}

const struct lmd_sampler_ops lmi_sampler_top_p = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
