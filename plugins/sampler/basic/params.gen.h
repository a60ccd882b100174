/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema/sampling.json.  Rows of the
 * samplers' parameter tables: SAMPLER_PARAM_ and the names of sampler and parameter. */
#ifndef LLAMAD_PLUGINS_SAMPLER_BASIC_PARAMS_GEN_H
#define LLAMAD_PLUGINS_SAMPLER_BASIC_PARAMS_GEN_H

/* clang-format off */
#define SAMPLER_PARAM_temp_t \
	{.name = "t", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.8, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Temperature; 0 = greedy, always the most likely token."}
#define SAMPLER_PARAM_temp_ext_t \
	{.name = "t", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.8, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Temperature; 0 = greedy, always the most likely token."}
#define SAMPLER_PARAM_top_k_k \
	{.name = "k", \
	 .type = LMD_PARAM_INT, \
	 .def = 40, \
	 .min = -1, \
	 .max = 2147483647, \
	 .doc = "Sample from the K most likely tokens; 0 or less = all."}
#define SAMPLER_PARAM_top_p_p \
	{.name = "p", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.95, \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Sample from the most likely tokens whose probabilities add up to this value; 1 = all."}
#define SAMPLER_PARAM_min_p_p \
	{.name = "p", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.05, \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Drop tokens less likely than this fraction of the most likely token's probability; 0 = off."}
#define SAMPLER_PARAM_typical_p \
	{.name = "p", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 1, \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Locally typical sampling: keep the most typical tokens whose probabilities add up to this value; 1 = off."}
#define SAMPLER_PARAM_top_n_sigma_n \
	{.name = "n", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = -1, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Keep tokens whose logits are within this many standard deviations of the highest logit; 0 or less = off."}
#define SAMPLER_PARAM_typical_min_keep \
	{.name = "min_keep", \
	 .type = LMD_PARAM_INT, \
	 .def = 0, \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "Minimum number of tokens that typical, top_p, min_p and xtc keep."}
#define SAMPLER_PARAM_top_p_min_keep \
	{.name = "min_keep", \
	 .type = LMD_PARAM_INT, \
	 .def = 0, \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "Minimum number of tokens that typical, top_p, min_p and xtc keep."}
#define SAMPLER_PARAM_min_p_min_keep \
	{.name = "min_keep", \
	 .type = LMD_PARAM_INT, \
	 .def = 0, \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "Minimum number of tokens that typical, top_p, min_p and xtc keep."}
#define SAMPLER_PARAM_xtc_min_keep \
	{.name = "min_keep", \
	 .type = LMD_PARAM_INT, \
	 .def = 0, \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "Minimum number of tokens that typical, top_p, min_p and xtc keep."}
#define SAMPLER_PARAM_penalties_last_n \
	{.name = "last_n", \
	 .type = LMD_PARAM_INT, \
	 .def = 64, \
	 .min = -1, \
	 .max = SAMPLER_HISTORY_MAX, \
	 .doc = "Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the whole context."}
#define SAMPLER_PARAM_penalties_repeat \
	{.name = "repeat", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 1, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Repetition penalty: divides positive logits of recent tokens and multiplies negative ones; 1 = off."}
#define SAMPLER_PARAM_penalties_freq \
	{.name = "freq", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Subtracted from a recent token's logit for each time it occurred; 0 = off."}
#define SAMPLER_PARAM_penalties_present \
	{.name = "present", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Subtracted once from the logit of each recent token; 0 = off."}
#define SAMPLER_PARAM_temp_ext_delta \
	{.name = "delta", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Dynamic temperature: the entropy moves the temperature by at most this much in either direction; 0 = off."}
#define SAMPLER_PARAM_temp_ext_exponent \
	{.name = "exponent", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 1, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Dynamic temperature: exponent of the normalised entropy."}
#define SAMPLER_PARAM_xtc_p \
	{.name = "p", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0, \
	 .min = 0, \
	 .max = 1, \
	 .doc = "XTC: probability with which the most likely tokens are removed; 0 = off."}
#define SAMPLER_PARAM_xtc_threshold \
	{.name = "threshold", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.1, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "XTC: only tokens at least this likely are removed."}
#define SAMPLER_PARAM_dry_multiplier \
	{.name = "multiplier", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0, \
	 .min = -SAMPLER_PARAM_BIG, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "DRY: strength of the penalty on repeated sequences; 0 = off."}
#define SAMPLER_PARAM_dry_base \
	{.name = "base", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 1.75, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "DRY: base of the penalty, which grows exponentially with the length of the repetition."}
#define SAMPLER_PARAM_dry_allowed_length \
	{.name = "allowed_length", \
	 .type = LMD_PARAM_INT, \
	 .def = 2, \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "DRY: repeated sequences up to this length are not penalised."}
#define SAMPLER_PARAM_dry_last_n \
	{.name = "last_n", \
	 .type = LMD_PARAM_INT, \
	 .def = 64, \
	 .min = -1, \
	 .max = SAMPLER_HISTORY_MAX, \
	 .doc = "DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole context."}
#define SAMPLER_PARAM_dry_breakers \
	{.name = "breakers", \
	 .type = LMD_PARAM_STRS, \
	 .doc = "DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and asterisk."}
#define SAMPLER_PARAM_mirostat_tau \
	{.name = "tau", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 5, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Mirostat: target surprise of a token in bits."}
#define SAMPLER_PARAM_mirostat_v2_tau \
	{.name = "tau", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 5, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Mirostat: target surprise of a token in bits."}
#define SAMPLER_PARAM_mirostat_eta \
	{.name = "eta", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.1, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Mirostat: learning rate."}
#define SAMPLER_PARAM_mirostat_v2_eta \
	{.name = "eta", \
	 .type = LMD_PARAM_FLOAT, \
	 .def = 0.1, \
	 .min = 0, \
	 .max = SAMPLER_PARAM_BIG, \
	 .doc = "Mirostat: learning rate."}
#define SAMPLER_PARAM_logit_bias_bias \
	{.name = "bias", \
	 .type = LMD_PARAM_BIAS, \
	 .min = -INFINITY, \
	 .max = INFINITY, \
	 .doc = "Values added to the logits of given tokens; -inf forbids a token."}
#define SAMPLER_PARAM_logit_bias_suppress \
	{.name = "suppress", \
	 .type = LMD_PARAM_TOKENS, \
	 .doc = "Tokens that are never sampled. Defaults to those that the model's file names; an empty list allows all."}
/* clang-format on */

#endif /* LLAMAD_PLUGINS_SAMPLER_BASIC_PARAMS_GEN_H */
