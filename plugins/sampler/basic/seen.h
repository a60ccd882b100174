/* SPDX-License-Identifier: MIT
 *
 * seen.h - the probabilities of the last step, for samplers that adapt to the accepted token.
 *
 * The accepted token is nearly always the one that the sampler chose, but a grammar or a draft can
 * change it.  So the probabilities of the first candidates are stored beside that of the choice. */
#ifndef LLAMAD_SAMPLER_SEEN_H
#define LLAMAD_SAMPLER_SEEN_H

#include "common.h"

#define LMI_SEEN_MAX 4096

struct lmi_seen {
	uint32_t n, max;      /* max: capacity of `other` */
	struct {
		lmd_token id;
		float p;
	} choice, other[];
};

static inline uint32_t lmi_seen_max(uint32_t n_vocab)
{
	return n_vocab < LMI_SEEN_MAX ? n_vocab : LMI_SEEN_MAX;
}

static inline size_t lmi_seen_bytes(uint32_t n_vocab)
{
	return sizeof(struct lmi_seen) +
	       lmi_seen_max(n_vocab) * sizeof(((struct lmi_seen *)0)->other[0]);
}

static inline void lmi_seen_clear(struct lmi_seen *s)
{
	s->n = 0;
	s->choice.id = -1;
}

/* Stores the p of the candidates; call lmi_seen_choose afterwards. */
static inline void lmi_seen_note(struct lmi_seen *s, const struct lmd_cands *c)
{
	s->n = c->n < s->max ? (uint32_t)c->n : s->max;
	for (uint32_t k = 0; k < s->n; k++) {
		s->other[k].id = c->v[k].id;
		s->other[k].p = c->v[k].p;
	}
	s->choice.id = -1;
}

static inline void lmi_seen_choose(struct lmi_seen *s, lmd_token id, float p)
{
	s->choice.id = id;
	s->choice.p = p;
}

/* Probability of the token in the last step; -1 if unknown. */
static inline float lmi_seen_p(const struct lmi_seen *s, lmd_token id)
{
	if (s->choice.id == id)
		return s->choice.p;
	for (uint32_t k = 0; k < s->n; k++) {
		if (s->other[k].id == id)
			return s->other[k].p;
	}
	return -1.0f;
}

#endif /* LLAMAD_SAMPLER_SEEN_H */
