/* SPDX-License-Identifier: MIT
 *
 * shortlist.h - selects the candidates of a chain with an early top_k.
 *
 * The samplers before top_k may change the logits of a few tokens and leave all others unchanged:
 * penalties change the last accepted tokens, logit_bias those of its list. The k best of all tokens
 * are then among the k best of the unchanged ones plus the changed ones; no other token needs to
 * become a candidate. */
#ifndef LLAMAD_CORE_ENGINE_SHORTLIST_H
#define LLAMAD_CORE_ENGINE_SHORTLIST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

/* Maximum window of accepted tokens, and of listed tokens, for which this is worthwhile. */
#define LMI_TOUCHED_MAX 1024

/* The tokens that are changed before top_k; part of a plan. */
struct lmi_touched {
	uint32_t last;	/* the last so many accepted tokens */
	lmd_token *ids; /* [n_ids] and these */
	uint32_t n_ids;
};

/* Adds the tokens that a sampler changes. *goes_on: true if it is such a sampler and changes few
 * tokens. Returns false if memory runs out. */
bool lmi_touched_add(struct lmi_touched *t, const char *name, const struct lmd_sampler_ops *ops,
		     const struct lmd_sampler_init *in, bool *goes_on);
/* *t may be zeroed. */
void lmi_touched_fini(struct lmi_touched *t);

/* Returns the parameter of that name; 0 if there is none. */
int64_t lmi_sampler_int(const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in,
			const char *name);

struct lmi_shortlist;

/* Creates the list of one chain, with the tokens it has accepted. t must outlive it. Returns NULL
 * if memory runs out. */
struct lmi_shortlist *lmi_shortlist_create(const struct lmi_touched *t, size_t k, uint32_t n_vocab);
void lmi_shortlist_copy(struct lmi_shortlist *to, const struct lmi_shortlist *from);
/* s may be NULL. */
void lmi_shortlist_destroy(struct lmi_shortlist *s);

void lmi_shortlist_accept(struct lmi_shortlist *s, lmd_token token);
void lmi_shortlist_reset(struct lmi_shortlist *s);

/* Writes candidates of logits[n] that the mask allows (NULL: all) such that, after the changes
 * described by t, they have the same k best as all tokens. Returns their number; 0: use the full
 * way. v: room for n; *sorted: true if in order. */
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
