/* SPDX-License-Identifier: MIT
 *
 * sampling_args.h - sampling options: one table for the command line and the protocol. */
#ifndef LLAMAD_LLAMACTL_SAMPLING_ARGS_H
#define LLAMAD_LLAMACTL_SAMPLING_ARGS_H

#include "client/llamactl/ctl.h"
#include "proto/proto.h"

/* X(type of option, option, member of the protocol's generate, member of struct lmi_sampler_params,
 *   name of the value, minimum, maximum, default, text) */
/* clang-format off */
#define LMI_CTL_SAMPLING(X) \
	X(FLOAT, "temp", temp, temp, "T", 0, 5, "0.8", \
	  "Temperature; 0 always takes the most likely token.") \
	X(INT, "top-k", top_k, top_k, "K", -1, INT32_MAX, "40", \
	  "Sample from the K most likely tokens; 0 means all.") \
	X(FLOAT, "top-p", top_p, top_p, "P", 0, 1, "0.95", \
	  "Sample from the most likely tokens whose probabilities add up to P; 1 means all.") \
	X(FLOAT, "min-p", min_p, min_p, "P", 0, 1, "0.05", \
	  "Drop tokens whose probability is below P times that of the most likely one; 0 " \
	  "keeps all.") \
	X(FLOAT, "typical", typical, typical, "P", 0, 1, "1", \
	  "Sample from the most typical tokens whose probabilities add up to P (locally " \
	  "typical sampling); 1 means all.") \
	X(FLOAT, "top-n-sigma", top_n_sigma, top_n_sigma, "X", -1, 100, "-1", \
	  "Drop tokens whose logit is more than X standard deviations below the highest; 0 " \
	  "or less keeps all.") \
	X(INT, "min-keep", min_keep, min_keep, "N", 0, INT32_MAX, "0", \
	  "Minimum number of tokens that top-p, min-p, typical and xtc keep.") \
	X(INT, "repeat-last-n", repeat_last_n, last_n, "N", -1, INT32_MAX, "64", \
	  "Number of recent tokens that the penalties look at; 0 means off, -1 the whole " \
	  "context.") \
	X(FLOAT, "repeat-penalty", repeat_penalty, repeat_penalty, "X", 0.01, 100, "1", \
	  "Penalty on the logits of recent tokens; 1 means off.") \
	X(FLOAT, "frequency-penalty", frequency_penalty, frequency_penalty, "X", -100, 100, "0", \
	  "Subtract X from a token's logit for each time it occurred recently.") \
	X(FLOAT, "presence-penalty", presence_penalty, presence_penalty, "X", -100, 100, "0", \
	  "Subtract X once from the logit of a token that occurred recently.") \
	X(FLOAT, "dynatemp-range", dynatemp_range, dynatemp_range, "X", 0, 5, "0", \
	  "Dynamic temperature: how far the entropy may move the temperature; 0 means off.") \
	X(FLOAT, "dynatemp-exponent", dynatemp_exponent, dynatemp_exponent, "X", 0, 100, "1", \
	  "Dynamic temperature: exponent of the entropy.") \
	X(FLOAT, "xtc-probability", xtc_probability, xtc_probability, "P", 0, 1, "0", \
	  "XTC: probability with which the most likely tokens are left out; 0 means off.") \
	X(FLOAT, "xtc-threshold", xtc_threshold, xtc_threshold, "P", 0, 1, "0.1", \
	  "XTC: probability from which on a token counts as likely.") \
	X(FLOAT, "dry-multiplier", dry_multiplier, dry_multiplier, "X", 0, 100, "0", \
	  "DRY: strength of the penalty on repeated sequences; 0 means off.") \
	X(FLOAT, "dry-base", dry_base, dry_base, "X", 0, 100, "1.75", \
	  "DRY: base of the penalty, which grows exponentially with the length of the " \
	  "repetition.") \
	X(INT, "dry-allowed-length", dry_allowed_length, dry_allowed_length, "N", 0, INT32_MAX, \
	  "2", \
	  "DRY: repetitions up to this length are not penalised.") \
	X(INT, "dry-last-n", dry_last_n, dry_last_n, "N", -1, INT32_MAX, "64", \
	  "DRY: number of recent tokens to search for repetitions; -1 means the whole " \
	  "context.") \
	X(INT, "mirostat", mirostat, mirostat, "N", 0, 2, "0", \
	  "Mirostat version 1 or 2, which then chooses the token; 0 means off.") \
	X(FLOAT, "mirostat-tau", mirostat_tau, mirostat_tau, "X", 0, 100, "5", \
	  "Mirostat: target surprise.") \
	X(FLOAT, "mirostat-eta", mirostat_eta, mirostat_eta, "X", 0, 100, "0.1", \
	  "Mirostat: learning rate.")

#define LMI_CTL_SAMPLING_OPT(type_, opt_, member_, field_, value_, min_, max_, def_, doc_) \
	{.name = opt_, \
	 .type = LMI_OPT_##type_, \
	 .value = value_, \
	 .def = def_, \
	 .min = min_, \
	 .max = max_, \
	 .doc = doc_},

/* Rows of an option table. */
#define LMI_CTL_OPTS_SAMPLING \
	LMI_CTL_SAMPLING(LMI_CTL_SAMPLING_OPT) \
	{.name = "dry-breaker", \
	 .type = LMI_OPT_LIST, \
	 .value = "TEXT", \
	 .def_text = "newline, colon, quote and asterisk", \
	 .doc = "DRY: text that breaks repeated sequences; may be repeated."}, \
	{.name = "logit-bias", \
	 .type = LMI_OPT_LIST, \
	 .value = "ID=X", \
	 .doc = "Add X to the logit of token ID; -inf forbids the token. May be repeated."}, \
	{.name = "order", \
	 .type = LMI_OPT_STR, \
	 .value = "ORDER", \
	 .doc = "Order of the samplers: default, temperature-first, letters such as edskypmxt, " \
		"or names separated by commas."}, \
	{.name = "chain", \
	 .type = LMI_OPT_STR, \
	 .value = "JSON", \
	 .doc = "Sampler chain with its parameters, instead of the sampling options above: " \
		"'[{\"sampler\": \"top_k\", \"k\": 5}, \"dist\"]'. The last sampler chooses " \
		"the token."}
/* clang-format on */

/* Sets the sampling members of a request whose options were given.  What they point to is in the
 * arena or belongs to ctl. */
enum lmd_status lmi_ctl_sampling(struct lmi_wire_req_generate *q, struct lmi_ctl *ctl,
				 struct lmd_arena *arena, struct lmd_error *err);

/* Returns the values of an option that may be repeated, as an array in the arena. */
enum lmd_status lmi_ctl_arg_texts(const struct lmi_args *a, const char *opt,
				  struct lmd_arena *arena, const struct lmd_str **out, uint32_t *n,
				  struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_SAMPLING_ARGS_H */
