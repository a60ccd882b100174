/* SPDX-License-Identifier: MIT
 *
 * sample.h - the sampler chain of one sequence: from a row of logits to a token.
 *
 * A chain is an ordered list of samplers (plugins of kind SAMPLER), each with its
 * parameters, and the state of all of them in one block of memory, so that a fork of a
 * sequence copies it with one memcpy.  The order is data: any order, any sampler any
 * number of times.  The last one chooses the token, no other does.
 *
 * Creating a chain checks everything there is to check; what runs once a token
 * (sample, apply, accept) allocates nothing and returns a status alone.
 * A chain is used by one thread at a time. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_H
#define LLAMAD_CORE_ENGINE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plugin/registry.h"
#include "llamad/sampler.h"

/* The longest chain. */
#define LMI_CHAIN_MAX 32
/* The most memory that the states of one chain may take. */
#define LMI_CHAIN_STATE_MAX (256u << 20)

/* One argument of a sampler by name.  The type is what the request wrote; it is converted
 * where that loses nothing (a whole FLOAT for an INT, an INT for a FLOAT, one STR for a
 * list of them, "-inf", "inf" for a FLOAT, an empty list for any list). */
struct lmi_sampler_arg {
	const char *name;
	enum lmd_param_type type;
	struct lmd_value_param v;
};

/* One member of a chain.  Besides the parameters of its table every sampler takes `seed`
 * and `n_vocab`, which replace those of the chain. */
struct lmi_sampler_spec {
	const char *name;     /* name or alias of a factory */
	const struct lmi_sampler_arg *args; /* [n_args]; what is missing gets its default */
	uint32_t n_args;
};

struct lmi_chain_opts {
	struct lmi_registry *registry;      /* outlives the chain */
	const struct lmd_host *host;        /* outlives the chain */
	const struct lmi_sampler_spec *specs; /* [n_specs], used during create only */
	uint32_t n_specs;
	const struct lmd_sample_vocab *vocab; /* outlives the chain; or NULL */
	uint32_t n_vocab;     /* entries of a row of logits, >= 1 */
	uint64_t seed;
	/* n_vocab candidates that several chains of one thread share; NULL: the chain has
	 * its own.  Outlives the chain. */
	struct lmd_cand *scratch;
	/* For tools that look at what samplers leave: nobody need choose, and only
	 * lmi_chain_apply may be used. */
	bool partial;
};

struct lmi_chain;

/* Checks and builds.  LMD_INVALID names the sampler, the parameter, the value and the
 * bound; LMD_NOTFOUND an unknown sampler.  A chain in which not exactly the last sampler
 * chooses is refused here. */
enum lmd_status lmi_chain_create(struct lmi_chain **out, const struct lmi_chain_opts *opts,
				 struct lmd_error *err);
/* The same chain in the same state, for a fork.  Shares the scratch if there is one. */
enum lmd_status lmi_chain_clone(struct lmi_chain **out, const struct lmi_chain *from,
				struct lmd_error *err);
/* NULL allowed. */
void lmi_chain_destroy(struct lmi_chain *ch);

/* Chooses a token of logits[n], n <= n_vocab.  NaN counts as minus infinity.
 * mask: bit i % 64 of word i / 64 says that token i is allowed; NULL allows all.
 * LMD_INVALID: n is 0 or too large; LMD_NOTFOUND: the mask allows no token;
 * LMD_INTERNAL: a sampler broke its contract. */
enum lmd_status lmi_chain_sample(struct lmi_chain *ch, const float *logits, size_t n,
				 const uint64_t *mask, lmd_token *out);

/* The same for candidates of the caller; what is left is in *c, c->selected the choice
 * (-1 if none of a partial chain chooses).  Sets seed and step of *c.  LMD_NOTFOUND: no
 * candidates; LMD_INTERNAL: a sampler broke its contract. */
enum lmd_status lmi_chain_apply(struct lmi_chain *ch, struct lmd_cands *c);

/* As lmi_chain_sample with a mask that allows this token alone, for logits that nobody knows: the
 * choice is made, and what samplers remember of one is as it would be. */
enum lmd_status lmi_chain_force(struct lmi_chain *ch, lmd_token token);

/* What the last sample left, with the choice; valid until the next use of the chain or of
 * its scratch.  n is 0 before the first sample, and for a chain of `greedy` alone, which
 * keeps no candidates. */
const struct lmd_cands *lmi_chain_cands(const struct lmi_chain *ch);

/* Tells all members about a token that was chosen or, with prompt, stands in the prompt. */
void lmi_chain_accept(struct lmi_chain *ch, lmd_token token, bool prompt);

/* Forgets every accepted token. */
void lmi_chain_reset(struct lmi_chain *ch);

/* Number of tokens accepted that were not of a prompt. */
uint64_t lmi_chain_step(const struct lmi_chain *ch);

/* Members, for reports. */
uint32_t lmi_chain_length(const struct lmi_chain *ch);
const char *lmi_chain_name(const struct lmi_chain *ch, uint32_t i);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_H */
