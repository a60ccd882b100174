/* SPDX-License-Identifier: MIT
 *
 * sampling_args.h - how the next token is chosen, on the command line: one table for the options,
 * for the engine inside of this program and for the daemon. */
#ifndef LLAMAD_LLAMACTL_SAMPLING_ARGS_H
#define LLAMAD_LLAMACTL_SAMPLING_ARGS_H

#include <jansson.h>

#include "client/llamactl/ctl.h"
#include "core/engine/sample_params.h"

/* X(type of option, option, field of the protocol's generate, field of struct lmi_sample_params,
 *   name of the value, least, most, text) */
/* clang-format off */
#define LMI_SAMPLING(X) \
	X(FLOAT, "temp", temp, temp, "T", 0, 5, \
	  "Temperature; 0 takes the likeliest token (0.8 without it).") \
	X(INT, "top-k", top_k, top_k, "K", -1, INT32_MAX, \
	  "Only the K likeliest tokens; 0: all (40 without it).") \
	X(FLOAT, "top-p", top_p, top_p, "P", 0, 1, \
	  "Only the likeliest tokens that make up this probability; 1: " \
	  "all (0.95 without it).") \
	X(FLOAT, "min-p", min_p, min_p, "P", 0, 1, \
	  "Only tokens with this share of the best one's probability; 0: " \
	  "all (0.05 without it).") \
	X(FLOAT, "typical", typical, typical, "P", 0, 1, \
	  "Only the most typical tokens that make up this probability; 1: " \
	  "all (1 without it).") \
	X(FLOAT, "top-n-sigma", top_n_sigma, top_n_sigma, "X", -1, 100, \
	  "Only tokens whose logit lies within so many deviations of the " \
	  "best; 0 or less: all.") \
	X(INT, "min-keep", min_keep, min_keep, "N", 0, INT32_MAX, \
	  "Tokens that top-p, min-p, typical and xtc leave at least.") \
	X(INT, "repeat-last-n", repeat_last_n, last_n, "N", -1, INT32_MAX, \
	  "Window of the penalties in tokens; 0: off, -1: the context (64 " \
	  "without it).") \
	X(FLOAT, "repeat-penalty", repeat_penalty, repeat_penalty, "X", 0.01, 100, \
	  "Divides the logits of tokens in the window; 1: off (1 without " \
	  "it).") \
	X(FLOAT, "frequency-penalty", frequency_penalty, frequency_penalty, "X", -100, 100, \
	  "Taken from a token's logit for each time it stands in the " \
	  "window (0 without it).") \
	X(FLOAT, "presence-penalty", presence_penalty, presence_penalty, "X", -100, 100, \
	  "Taken from it once if it stands in the window (0 without it).") \
	X(FLOAT, "dynatemp-range", dynatemp_range, dynatemp_range, "X", 0, 5, \
	  "The temperature moves by so much with the entropy; 0: off.") \
	X(FLOAT, "dynatemp-exponent", dynatemp_exponent, dynatemp_exponent, "X", 0, 100, \
	  "How the entropy counts there (1 without it).") \
	X(FLOAT, "xtc-probability", xtc_probability, xtc_probability, "P", 0, 1, \
	  "How often the likeliest tokens are left out; 0: off.") \
	X(FLOAT, "xtc-threshold", xtc_threshold, xtc_threshold, "P", 0, 1, \
	  "From which probability on a token is likely there (0.1 without " \
	  "it).") \
	X(FLOAT, "dry-multiplier", dry_multiplier, dry_multiplier, "X", 0, 100, \
	  "Strength of the penalty on repeated sequences; 0: off.") \
	X(FLOAT, "dry-base", dry_base, dry_base, "X", 0, 100, \
	  "Its base (1.75 without it).") \
	X(INT, "dry-allowed-length", dry_allowed_length, dry_allowed_length, "N", 0, INT32_MAX, \
	  "Repetitions up to this length are free (2 without it).") \
	X(INT, "dry-last-n", dry_last_n, dry_last_n, "N", -1, INT32_MAX, \
	  "Its window in tokens; -1: the context (64 without it).") \
	X(INT, "mirostat", mirostat, mirostat, "N", 0, 2, \
	  "Version of mirostat, which then chooses the token; 0: off.") \
	X(FLOAT, "mirostat-tau", mirostat_tau, mirostat_tau, "X", 0, 100, \
	  "The surprise it aims at (5 without it).") \
	X(FLOAT, "mirostat-eta", mirostat_eta, mirostat_eta, "X", 0, 100, \
	  "How fast it learns (0.1 without it).")

#define LMI_SAMPLING_OPT(type_, opt_, member_, field_, value_, min_, max_, doc_) \
	{.name = opt_, \
	 .type = LMI_OPT_##type_, \
	 .value = value_, \
	 .min = min_, \
	 .max = max_, \
	 .doc = doc_},

/* Rows of an option table. */
#define LMI_OPTS_SAMPLING \
	LMI_SAMPLING(LMI_SAMPLING_OPT) \
	{.name = "dry-breaker", \
	 .type = LMI_OPT_LIST, \
	 .value = "TEXT", \
	 .doc = "Text that ends a sequence for dry; may be repeated; without it newline, colon, " \
		"quote and asterisk."}, \
	{.name = "logit-bias", \
	 .type = LMI_OPT_LIST, \
	 .value = "ID=X", \
	 .doc = "Added to the logit of a token; -inf forbids it.  May be repeated."}, \
	{.name = "order", \
	 .type = LMI_OPT_STR, \
	 .value = "ORDER", \
	 .doc = "Order of the samplers: default, temperature-first, letters as edskypmxt, or " \
		"names with commas."}, \
	{.name = "chain", \
	 .type = LMI_OPT_STR, \
	 .value = "JSON", \
	 .doc = "The sampler chain with its parameters, in place of the sampling options above: " \
		"'[{\"sampler\": \"top_k\", \"k\": 5}, \"dist\"]'.  The last sampler chooses the token."}
/* clang-format on */

/* The sampler chain of the command line: that of --chain, or what the sampling options mean in the
 * order of --order. */
struct lmi_sampling_chain {
	const struct lmi_sampler_spec *specs; /* [n_specs]; they live until lmi_sampling_chain_fini */
	uint32_t n_specs;
	struct lmd_arena *arena; /* holds all of it */
};

/* n_ctx: the context in tokens, for windows of -1.  A zeroed *out may be given to _fini after a
 * failure. */
enum lmd_status lmi_sampling_chain(struct lmi_sampling_chain *out, struct lmi_ctl *ctl,
				   int64_t n_ctx, struct lmd_error *err);
void lmi_sampling_chain_fini(struct lmi_sampling_chain *c);

/* Sets the options that were given as members of a request to generate. */
enum lmd_status lmi_sampling_members(json_t *m, struct lmi_ctl *ctl, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_SAMPLING_ARGS_H */
