/* SPDX-License-Identifier: MIT
 *
 * last_probs.h - the probabilities of the last step, for samplers that adapt to the accepted token.
 *
 * The accepted token is nearly always the one that the sampler chose, but a grammar or a draft can
 * change it.  So the probabilities of the first candidates are stored beside that of the choice. */
#ifndef LLAMAD_PLUGINS_SAMPLER_BASIC_LAST_PROBS_H
#define LLAMAD_PLUGINS_SAMPLER_BASIC_LAST_PROBS_H

#include "common.h"

#define SAMPLER_SEEN_MAX 4096

struct sampler_last_probs {
	uint32_t n, max;      /* max: capacity of `other` */
	struct {
		lmd_token id;
		float p;
	} choice, other[];
};

static inline uint32_t sampler_last_probs_max(uint32_t n_vocab)
{
	return n_vocab < SAMPLER_SEEN_MAX ? n_vocab : SAMPLER_SEEN_MAX;
}

static inline size_t sampler_last_probs_bytes(uint32_t n_vocab)
{
	return sizeof(struct sampler_last_probs) +
	       sampler_last_probs_max(n_vocab) * sizeof(((struct sampler_last_probs *)0)->other[0]);
}

static inline void sampler_last_probs_clear(struct sampler_last_probs *s)
{
	s->n = 0;
	s->choice.id = -1;
}

/* Stores the p of the candidates; call sampler_last_probs_choose afterwards. */
static inline void sampler_last_probs_store(struct sampler_last_probs *s, const struct lmd_cands *c)
{
	s->n = c->n < s->max ? (uint32_t)c->n : s->max;
	for (uint32_t k = 0; k < s->n; k++) {
		s->other[k].id = c->v[k].id;
		s->other[k].p = c->v[k].p;
	}
	s->choice.id = -1;
}

static inline void sampler_last_probs_choose(struct sampler_last_probs *s, lmd_token id, float p)
{
	s->choice.id = id;
	s->choice.p = p;
}

/* Probability of the token in the last step; -1 if unknown. */
static inline float sampler_last_probs_get(const struct sampler_last_probs *s, lmd_token id)
{
	if (s->choice.id == id)
		return s->choice.p;
	for (uint32_t k = 0; k < s->n; k++) {
		if (s->other[k].id == id)
			return s->other[k].p;
	}
	return -1.0f;
}

#endif /* LLAMAD_PLUGINS_SAMPLER_BASIC_LAST_PROBS_H */
