/* SPDX-License-Identifier: MIT
 *
 * common.h - shared by the samplers: the order of candidates, selection of the best ones,
 * probabilities, random choice.
 *
 * Nothing here allocates.  A NaN logit counts as minus infinity everywhere, so any row of logits
 * has an order and a distribution.  Sums run over the candidates in their current order in f32,
 * the precision in which the thresholds of requests are compared. */
#ifndef LLAMAD_SAMPLER_COMMON_H
#define LLAMAD_SAMPLER_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

#include "params.gen.h"

/* Number of each sampler's random draw within a step (lmd_sample_rand). */
enum sampler_draw { SAMPLER_DRAW_DIST = 0, SAMPLER_DRAW_XTC = 1 };

static inline float sampler_logit(const struct lmd_cand *c)
{
	return c->logit == c->logit ? c->logit : -INFINITY;
}

/* The order of candidates: larger logit first, equal logits by lower id. */
static inline bool sampler_cand_before(const struct lmd_cand *a, const struct lmd_cand *b)
{
	float x = sampler_logit(a), y = sampler_logit(b);

	return x > y || (x == y && a->id < b->id);
}

/* Is the candidate for `id` at index `id`, as it is in a complete row of logits? */
static inline bool sampler_cand_is_at_own_index(const struct lmd_cands *c, lmd_token id)
{
	return id >= 0 && (size_t)id < c->n && c->v[id].id == id;
}

/* Sorts all candidates; does nothing if they are sorted.  Takes about n steps if the logits are
 * spread evenly, n log n in the worst case. */
void sampler_cands_sort(struct lmd_cands *c);

/* Moves the first k candidates, in order, to the front of v[0..n); the others follow in any order.
 * Takes about n + k log k steps for logits in random order, n log k in the worst case. */
void sampler_cands_top(struct lmd_cand *v, size_t n, size_t k);

/* Sorts candidates piece by piece, for callers that need only the first ones.  sampler_pieces_by_p
 * divides v[0..n) into pieces, in the order of smallest p first, equal p by lower id; no p may be
 * NaN.  sampler_pieces_next sorts the next piece and returns how many candidates are in order now,
 * which is more than before unless all were. */
#define SAMPLER_PIECES 4096
struct sampler_pieces {
	uint32_t n, at;           /* number of pieces; the next one to sort */
	uint32_t end[SAMPLER_PIECES]; /* end of each piece */
};
void sampler_pieces_by_p(struct sampler_pieces *p, struct lmd_cand *v, size_t n);
size_t sampler_pieces_next(struct sampler_pieces *p, struct lmd_cand *v);

/* Clears c->sorted if the logits are no longer in order. */
void sampler_cands_check_sorted(struct lmd_cands *c);

/* Largest logit; -inf if there is no other. */
float sampler_cands_max(const struct lmd_cands *c);

/* Sets p = softmax of the logits.  If all are -inf they get equal shares; if some are +inf these
 * get equal shares.  With the result, sampler_probability computes the same p again for a single
 * candidate. */
struct sampler_softmax {
	float max, sum;
};
struct sampler_softmax sampler_cands_softmax(struct lmd_cands *c);

static inline float sampler_weight(const struct lmd_cand *c, float max)
{
	float x = sampler_logit(c);

	return isinf(max) ? (float)(x == max) : expf(x - max);
}

static inline float sampler_probability(const struct lmd_cand *c, struct sampler_softmax s)
{
	return sampler_weight(c, s.max) / s.sum;
}

/* -sum p ln p over the candidates. */
float sampler_cands_entropy(const struct lmd_cands *c);

/* Computes the softmax and returns the index that a draw u in [0,1) selects; its p is never 0. */
size_t sampler_cands_draw(struct lmd_cands *c, float u);
/* Makes the same choice without changing the p of the candidates. */
size_t sampler_cands_draw_const(const struct lmd_cands *c, float u);

/* Common bounds of parameter ranges.  params.gen.h has the rows of the parameters that a request may
 * set, made from proto/schema/sampling.json. */
#define SAMPLER_PARAM_BIG 1e6
#define SAMPLER_KEEP_MAX  2147483647.0

extern const struct lmd_sampler_ops sampler_greedy, sampler_dist, sampler_temp, sampler_temp_ext,
	sampler_top_k, sampler_top_p, sampler_min_p, sampler_typical, sampler_penalties,
	sampler_logit_bias, sampler_top_n_sigma, sampler_xtc, sampler_dry, sampler_mirostat,
	sampler_mirostat_v2, sampler_adaptive_p, sampler_infill;

#endif /* LLAMAD_SAMPLER_COMMON_H */
