/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema/sampling.json.  The sampling
 * options of llamactl. */
#ifndef LLAMAD_CLIENT_LLAMACTL_SAMPLING_OPTS_GEN_H
#define LLAMAD_CLIENT_LLAMACTL_SAMPLING_OPTS_GEN_H

/* clang-format off */
/* Rows of an option table. */
#define LMI_CTL_OPTS_SAMPLING_PARAMS \
	{.name = "temp", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "T", \
	 .min = 0, \
	 .max = 5, \
	 .doc = "Temperature; 0 = greedy, always the most likely token. Defaults to the value of the configuration or of the model, or 0.8."}, \
	{.name = "top-k", \
	 .type = LMI_OPT_INT, \
	 .value = "K", \
	 .min = -1, \
	 .max = 2147483647, \
	 .doc = "Sample from the K most likely tokens; 0 or less = all. Defaults to the value of the configuration or of the model, or 40."}, \
	{.name = "top-p", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "P", \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Sample from the most likely tokens whose probabilities add up to this value; 1 = all. Defaults to the value of the configuration or of the model, or 0.95."}, \
	{.name = "min-p", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "P", \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Drop tokens less likely than this fraction of the most likely token's probability; 0 = off. Defaults to the value of the configuration or of the model, or 0.05."}, \
	{.name = "typical", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "P", \
	 .min = 0, \
	 .max = 1, \
	 .doc = "Locally typical sampling: keep the most typical tokens whose probabilities add up to this value; 1 = off. Defaults to the value of the configuration or of the model, or 1."}, \
	{.name = "top-n-sigma", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = -1, \
	 .max = 100, \
	 .doc = "Keep tokens whose logits are within this many standard deviations of the highest logit; 0 or less = off. Defaults to the value of the configuration or of the model, or -1."}, \
	{.name = "min-keep", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "Minimum number of tokens that typical, top_p, min_p and xtc keep. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "repeat-last-n", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = -1, \
	 .max = 2147483647, \
	 .doc = "Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the whole context. Defaults to the value of the configuration or of the model, or 64."}, \
	{.name = "repeat-penalty", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0.01, \
	 .max = 100, \
	 .doc = "Repetition penalty: divides positive logits of recent tokens and multiplies negative ones; 1 = off. Defaults to the value of the configuration or of the model, or 1."}, \
	{.name = "frequency-penalty", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = -100, \
	 .max = 100, \
	 .doc = "Subtracted from a recent token's logit for each time it occurred; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "presence-penalty", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = -100, \
	 .max = 100, \
	 .doc = "Subtracted once from the logit of each recent token; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "dynatemp-range", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 5, \
	 .doc = "Dynamic temperature: the entropy moves the temperature by at most this much in either direction; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "dynatemp-exponent", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 100, \
	 .doc = "Dynamic temperature: exponent of the normalised entropy. Defaults to the value of the configuration or of the model, or 1."}, \
	{.name = "xtc-probability", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "P", \
	 .min = 0, \
	 .max = 1, \
	 .doc = "XTC: probability with which the most likely tokens are removed; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "xtc-threshold", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "P", \
	 .min = 0, \
	 .max = 1, \
	 .doc = "XTC: only tokens at least this likely are removed. Defaults to the value of the configuration or of the model, or 0.1."}, \
	{.name = "dry-multiplier", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 100, \
	 .doc = "DRY: strength of the penalty on repeated sequences; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "dry-base", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 100, \
	 .doc = "DRY: base of the penalty, which grows exponentially with the length of the repetition. Defaults to the value of the configuration or of the model, or 1.75."}, \
	{.name = "dry-allowed-length", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 2147483647, \
	 .doc = "DRY: repeated sequences up to this length are not penalised. Defaults to the value of the configuration or of the model, or 2."}, \
	{.name = "dry-last-n", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = -1, \
	 .max = 2147483647, \
	 .doc = "DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole context. Defaults to the value of the configuration or of the model, or 64."}, \
	{.name = "dry-breaker", \
	 .type = LMI_OPT_LIST, \
	 .value = "TEXT", \
	 .doc = "DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and asterisk. May be repeated. An empty value ('') gives an empty list."}, \
	{.name = "mirostat", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 2, \
	 .doc = "Mirostat: version 1 or 2, which then chooses the token; 0 = off. Defaults to the value of the configuration or of the model, or 0."}, \
	{.name = "mirostat-tau", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 100, \
	 .doc = "Mirostat: target surprise of a token in bits. Defaults to the value of the configuration or of the model, or 5."}, \
	{.name = "mirostat-eta", \
	 .type = LMI_OPT_FLOAT, \
	 .value = "X", \
	 .min = 0, \
	 .max = 100, \
	 .doc = "Mirostat: learning rate. Defaults to the value of the configuration or of the model, or 0.1."}, \
	{.name = "logit-bias", \
	 .type = LMI_OPT_LIST, \
	 .value = "ID=X", \
	 .doc = "Values added to the logits of given tokens; -inf forbids a token. May be repeated."}, \
	{.name = "suppress-token", \
	 .type = LMI_OPT_LIST, \
	 .value = "ID", \
	 .doc = "Tokens that are never sampled. Defaults to those that the model's file names; an empty list allows all. May be repeated. An empty value ('') gives an empty list."},

/* Where the values go in struct lmi_wire_req_generate. */
#define LMI_CTL_SAMPLING_ROWS \
	{.opt = "temp", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, temp), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_temp)}, \
	{.opt = "top-k", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, top_k), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_top_k)}, \
	{.opt = "top-p", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, top_p), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_top_p)}, \
	{.opt = "min-p", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, min_p), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_min_p)}, \
	{.opt = "typical", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, typical), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_typical)}, \
	{.opt = "top-n-sigma", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, top_n_sigma), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_top_n_sigma)}, \
	{.opt = "min-keep", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, min_keep), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_min_keep)}, \
	{.opt = "repeat-last-n", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, repeat_last_n), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_repeat_last_n)}, \
	{.opt = "repeat-penalty", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, repeat_penalty), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_repeat_penalty)}, \
	{.opt = "frequency-penalty", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, frequency_penalty), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_frequency_penalty)}, \
	{.opt = "presence-penalty", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, presence_penalty), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_presence_penalty)}, \
	{.opt = "dynatemp-range", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, dynatemp_range), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dynatemp_range)}, \
	{.opt = "dynatemp-exponent", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, dynatemp_exponent), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dynatemp_exponent)}, \
	{.opt = "xtc-probability", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, xtc_probability), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_xtc_probability)}, \
	{.opt = "xtc-threshold", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, xtc_threshold), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_xtc_threshold)}, \
	{.opt = "dry-multiplier", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, dry_multiplier), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dry_multiplier)}, \
	{.opt = "dry-base", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, dry_base), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dry_base)}, \
	{.opt = "dry-allowed-length", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, dry_allowed_length), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dry_allowed_length)}, \
	{.opt = "dry-last-n", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, dry_last_n), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dry_last_n)}, \
	{.opt = "dry-breaker", \
	 .type = LMD_PARAM_STRS, \
	 .at = offsetof(struct lmi_wire_req_generate, dry_breakers), \
	 .n_at = offsetof(struct lmi_wire_req_generate, n_dry_breakers), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_dry_breakers)}, \
	{.opt = "mirostat", \
	 .type = LMD_PARAM_INT, \
	 .at = offsetof(struct lmi_wire_req_generate, mirostat), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_mirostat)}, \
	{.opt = "mirostat-tau", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, mirostat_tau), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_mirostat_tau)}, \
	{.opt = "mirostat-eta", \
	 .type = LMD_PARAM_FLOAT, \
	 .at = offsetof(struct lmi_wire_req_generate, mirostat_eta), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_mirostat_eta)}, \
	{.opt = "logit-bias", \
	 .type = LMD_PARAM_BIAS, \
	 .at = offsetof(struct lmi_wire_req_generate, logit_bias), \
	 .n_at = offsetof(struct lmi_wire_req_generate, n_logit_bias)}, \
	{.opt = "suppress-token", \
	 .type = LMD_PARAM_TOKENS, \
	 .at = offsetof(struct lmi_wire_req_generate, suppress_tokens), \
	 .n_at = offsetof(struct lmi_wire_req_generate, n_suppress_tokens), \
	 .optional = true, \
	 .has_at = offsetof(struct lmi_wire_req_generate, has_suppress_tokens)},
/* clang-format on */

#endif /* LLAMAD_CLIENT_LLAMACTL_SAMPLING_OPTS_GEN_H */
