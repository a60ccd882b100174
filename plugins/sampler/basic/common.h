/* SPDX-License-Identifier: MIT
 *
 * common.h - what the samplers share: the order of candidates, selection of the best,
 * probabilities, the draw.
 *
 * Nothing here allocates.  A NaN logit counts as minus infinity everywhere, so any row of
 * logits has an order and a distribution.  Sums run over the candidates in their order in
 * f32, the precision in which thresholds of requests are compared. */
#ifndef LLAMAD_SAMPLER_COMMON_H
#define LLAMAD_SAMPLER_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

/* Number of the random draw of each sampler in one step (lmd_sample_rand). */
enum lmi_draw {
	LMI_DRAW_DIST = 0,
	LMI_DRAW_XTC = 1
};

static inline float lmi_logit(const struct lmd_cand *c)
{
	return c->logit == c->logit ? c->logit : -INFINITY;
}

/* The order of candidates: greater logit first, equal logits by lower id. */
static inline bool lmi_cand_before(const struct lmd_cand *a, const struct lmd_cand *b)
{
	float x = lmi_logit(a), y = lmi_logit(b);

	return x > y || (x == y && a->id < b->id);
}

/* True if id stands at its own index, as all do in a whole row of logits. */
static inline bool lmi_cand_is_home(const struct lmd_cands *c, lmd_token id)
{
	return id >= 0 && (size_t)id < c->n && c->v[id].id == id;
}

/* Sorts all candidates; nothing to do if they are sorted.  About n for logits that are spread,
 * n log n at worst. */
void lmi_cands_sort(struct lmd_cands *c);

/* Brings the k first of v[0..n) in order to its front, the others behind in any order.
 * About n + k log k for logits in random order, n log k at worst. */
void lmi_cands_top(struct lmd_cand *v, size_t n, size_t k);

/* Candidates on their way into order, a piece after the other, for those who need only the first
 * ones.  by_p: smallest p first, equal p by lower id; no p is NaN.  next: sorts the next piece, and
 * says how many are in order then, more than before unless all were. */
#define LMI_PIECES 4096
struct lmi_pieces {
	uint32_t n, at;           /* pieces; the next one */
	uint32_t end[LMI_PIECES]; /* where each ends */
};
void lmi_pieces_by_p(struct lmi_pieces *p, struct lmd_cand *v, size_t n);
size_t lmi_pieces_next(struct lmi_pieces *p, struct lmd_cand *v);

/* Clears c->sorted if the logits have lost the order. */
void lmi_cands_recheck(struct lmd_cands *c);

/* The greatest logit; -inf if there is nothing else. */
float lmi_cands_max(const struct lmd_cands *c);

/* p = softmax of the logits.  All -inf: equal shares; some +inf: equal shares among them.
 * What is returned gives the same p again for a single candidate. */
struct lmi_softmax {
	float max, sum;
};
struct lmi_softmax lmi_cands_softmax(struct lmd_cands *c);

static inline float lmi_weight(const struct lmd_cand *c, float max)
{
	float x = lmi_logit(c);

	return isinf(max) ? (float)(x == max) : expf(x - max);
}

static inline float lmi_probability(const struct lmd_cand *c, struct lmi_softmax s)
{
	return lmi_weight(c, s.max) / s.sum;
}

/* -sum p ln p over the p of the candidates. */
float lmi_cands_entropy(const struct lmd_cands *c);

/* Softmax, then the index that a draw u in [0,1) selects; always one with p > 0. */
size_t lmi_cands_draw(struct lmd_cands *c, float u);
/* The same choice, with the p left as they are. */
size_t lmi_cands_pick(const struct lmd_cands *c, float u);

/* Common ends of parameter ranges. */
#define LMI_PARAM_BIG 1e6
#define LMI_KEEP_MAX  2147483647.0

/* Row of a parameter table for samplers that never leave fewer than so many candidates. */
#define LMI_PARAM_MIN_KEEP                                                                         \
	{                                                                                          \
		.name = "min_keep", .type = LMD_PARAM_INT, .def = 0, .min = 0,                     \
		.max = LMI_KEEP_MAX, .doc = "Never leave fewer candidates than this."              \
	}

extern const struct lmd_sampler_ops lmi_sampler_greedy, lmi_sampler_dist, lmi_sampler_temp,
	lmi_sampler_temp_ext, lmi_sampler_top_k, lmi_sampler_top_p, lmi_sampler_min_p,
	lmi_sampler_typical, lmi_sampler_penalties, lmi_sampler_logit_bias,
	lmi_sampler_top_n_sigma, lmi_sampler_xtc, lmi_sampler_dry, lmi_sampler_mirostat,
	lmi_sampler_mirostat_v2, lmi_sampler_adaptive_p, lmi_sampler_infill;

#endif /* LLAMAD_SAMPLER_COMMON_H */
