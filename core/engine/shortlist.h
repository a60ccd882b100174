/* SPDX-License-Identifier: MIT
 *
 * shortlist.h - the candidates of a chain whose top_k comes early.
 *
 * Before top_k there may be samplers that change the logits of few tokens and leave all others as
 * they are: penalties those of the last so many tokens, logit_bias those of its list.  The k
 * best of all tokens are then among the k best of the others, and those few; nothing else need
 * become a candidate. */
#ifndef LLAMAD_CORE_ENGINE_SHORTLIST_H
#define LLAMAD_CORE_ENGINE_SHORTLIST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

/* Tokens back, and tokens of a list, that it is worth for. */
#define LMI_TOUCHED_MAX 1024

/* Which tokens are changed before top_k; part of a plan. */
struct lmi_touched {
	uint32_t last;	/* of the last so many accepted ones */
	lmd_token *ids; /* [n_ids] and these */
	uint32_t n_ids;
};

/* Adds what a sampler changes.  *goes_on: it is one of those, and what it changes is little.
 * False: no memory. */
bool lmi_touched_add(struct lmi_touched *t, const char *name, const struct lmd_sampler_ops *ops,
		     const struct lmd_sampler_init *in, bool *goes_on);
/* Zeroed allowed. */
void lmi_touched_fini(struct lmi_touched *t);

/* A parameter of that name; 0: there is none. */
int64_t lmi_sampler_int(const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in,
			const char *name);

struct lmi_shortlist;

/* Of one chain, with the tokens it has accepted.  t outlives it.  NULL: no memory. */
struct lmi_shortlist *lmi_shortlist_create(const struct lmi_touched *t, size_t k, uint32_t n_vocab);
void lmi_shortlist_copy(struct lmi_shortlist *to, const struct lmi_shortlist *from);
/* NULL allowed. */
void lmi_shortlist_destroy(struct lmi_shortlist *s);

void lmi_shortlist_accept(struct lmi_shortlist *s, lmd_token token);
void lmi_shortlist_reset(struct lmi_shortlist *s);

/* Candidates of logits[n] that the mask allows (NULL: all), so that those changed as said have the
 * same k best as all; their number, 0: it is not the way.  v: room for n; *sorted: in order. */
size_t lmi_shortlist_fill(struct lmi_shortlist *s, const float *logits, size_t n,
			  const uint64_t *mask, struct lmd_cand *v, bool *sorted);

/* NaN counts as minus infinity. */
static inline void lmi_cand_put(struct lmd_cand *c, const float *logits, size_t i)
{
	c->id = (lmd_token)i;
	c->logit = logits[i] == logits[i] ? logits[i] : -INFINITY;
	c->p = 0.0f;
}

#endif /* LLAMAD_CORE_ENGINE_SHORTLIST_H */
