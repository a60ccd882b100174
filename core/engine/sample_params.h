/* SPDX-License-Identifier: MIT
 *
 * sample_params.h - the plain sampling parameters of a request, and the chain they stand for.
 *
 * Most requests carry a temperature and a few limits instead of a chain.  This file turns
 * them into specs in the usual order
 *     logit_bias, penalties, dry, top_n_sigma, top_k, typical, top_p, min_p, xtc,
 *     temperature, dist
 * or in an order that the request names.  Values are not checked here: the chain checks
 * them against the tables of its samplers. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_H
#define LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_H

#include "core/engine/sample.h"

struct lmi_sampler_params {
	double temp;                /* 0.8; <= 0: greedy */
	double dynatemp_range;      /* 0 = off */
	double dynatemp_exponent;   /* 1 */
	int64_t top_k;              /* 40; <= 0 = off */
	double top_p;               /* 0.95; 1 = off */
	double min_p;               /* 0.05; 0 = off */
	double typical;             /* 1 = off */
	double top_n_sigma;         /* -1; <= 0 = off */
	double xtc_probability;     /* 0 = off */
	double xtc_threshold;       /* 0.1 */
	int64_t last_n;             /* 64; window of the penalties; -1 = n_ctx */
	double repeat_penalty;      /* 1 = off */
	double frequency_penalty;   /* 0 = off */
	double presence_penalty;    /* 0 = off */
	double dry_multiplier;      /* 0 = off */
	double dry_base;            /* 1.75 */
	int64_t dry_allowed_length; /* 2 */
	int64_t dry_last_n;         /* 64; -1 = n_ctx */
	const struct lmd_str *dry_breakers; /* [n_dry_breakers]; NULL = newline : " * */
	uint32_t n_dry_breakers;
	int64_t mirostat;           /* 0 = off; 1, else 2: chooses instead of dist */
	double mirostat_tau;        /* 5 */
	double mirostat_eta;        /* 0.1 */
	int64_t min_keep;           /* 0; for top_p, min_p, typical and xtc */
	const struct lmd_bias *bias; /* [n_bias] */
	uint32_t n_bias;
	int64_t n_ctx;              /* meaning of -1 above; 0 = unknown: off */
};

/* Sets the defaults given in the comments above. */
void lmi_sampler_params_default(struct lmi_sampler_params *p);

/* Specs with space for their arguments. The arguments point into the list and into the parameters
 * it was made from, so neither may move while the list is in use. */
struct lmi_sampler_spec_list {
	uint32_t n, n_args;
	struct lmi_sampler_spec spec[LMI_SAMPLER_CHAIN_MAX];
	struct lmi_sampler_arg arg[5 * LMI_SAMPLER_CHAIN_MAX];
};

/* Makes the usual order, without samplers that the values switch off. temp <= 0 leaves only biases,
 * penalties, dry and greedy. */
void lmi_sampler_specs(struct lmi_sampler_spec_list *out, const struct lmi_sampler_params *p);

/* Makes the named samplers in the given order, each with its values from p; a name without values
 * in p gets no arguments. logit_bias comes first if there are biases, and a sampler that chooses is
 * added at the end unless the last name is one. LMD_INVALID: too many names. */
enum lmd_status lmi_sampler_specs_ordered(struct lmi_sampler_spec_list *out,
					  const struct lmi_sampler_params *p,
					  const char *const *names, uint32_t n_names,
					  struct lmd_error *err);

/* Makes the order that a text describes: "default" (or NULL), the usual one; "temperature-first":
 * penalties, temperature, top_k, top_p, min_p, typical and then the choice; letters, such as
 * "edskypmxt"; or names separated by commas. In the first two, samplers that the values switch off
 * are left out. names_buf, [LMI_ENGINE_COMMAND_MAX], holds names as long as the list is used.
 * LMD_INVALID: too long, or too many. */
#define LMI_ENGINE_COMMAND_MAX 256
enum lmd_status lmi_sampler_specs_order(struct lmi_sampler_spec_list *out,
					const struct lmi_sampler_params *p, struct lmd_str text,
					char *names_buf, struct lmd_error *err);

/* Returns the sampler for a letter in the short form of an order, such as "edskypmxt"; NULL if
 * there is none. */
const char *lmi_sampler_letter(char letter);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_H */
