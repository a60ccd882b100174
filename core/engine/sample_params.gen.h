/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema/sampling.json.  The sampling
 * parameters of a request. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_GEN_H
#define LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/sampler.h"

struct lmi_sampler_params {
	/* Temperature; 0 = greedy, always the most likely token. (0..5; default 0.8) */
	double temp;
	/* Sample from the K most likely tokens; 0 or less = all. (-1..2147483647; default 40) */
	int64_t top_k;
	/* Sample from the most likely tokens whose probabilities add up to this value; 1 = all.
	 * (0..1; default 0.95) */
	double top_p;
	/* Drop tokens less likely than this fraction of the most likely token's probability; 0
	 * = off. (0..1; default 0.05) */
	double min_p;
	/* Locally typical sampling: keep the most typical tokens whose probabilities add up to
	 * this value; 1 = off. (0..1; default 1) */
	double typical;
	/* Keep tokens whose logits are within this many standard deviations of the highest
	 * logit; 0 or less = off. (-1..100; default -1) */
	double top_n_sigma;
	/* Minimum number of tokens that typical, top_p, min_p and xtc keep. (0..2147483647;
	 * default 0) */
	int64_t min_keep;
	/* Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the
	 * whole context. (tokens; -1..2147483647; default 64) */
	int64_t repeat_last_n;
	/* Repetition penalty: divides positive logits of recent tokens and multiplies negative
	 * ones; 1 = off. (0.01..100; default 1) */
	double repeat_penalty;
	/* Subtracted from a recent token's logit for each time it occurred; 0 = off.
	 * (-100..100; default 0) */
	double frequency_penalty;
	/* Subtracted once from the logit of each recent token; 0 = off. (-100..100; default 0) */
	double presence_penalty;
	/* Dynamic temperature: the entropy moves the temperature by at most this much in either
	 * direction; 0 = off. (0..5; default 0) */
	double dynatemp_range;
	/* Dynamic temperature: exponent of the normalised entropy. (0..100; default 1) */
	double dynatemp_exponent;
	/* XTC: probability with which the most likely tokens are removed; 0 = off. (0..1;
	 * default 0) */
	double xtc_probability;
	/* XTC: only tokens at least this likely are removed. (0..1; default 0.1) */
	double xtc_threshold;
	/* DRY: strength of the penalty on repeated sequences; 0 = off. (0..100; default 0) */
	double dry_multiplier;
	/* DRY: base of the penalty, which grows exponentially with the length of the
	 * repetition. (0..100; default 1.75) */
	double dry_base;
	/* DRY: repeated sequences up to this length are not penalised. (tokens; 0..2147483647;
	 * default 2) */
	int64_t dry_allowed_length;
	/* DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole
	 * context. (tokens; -1..2147483647; default 64) */
	int64_t dry_last_n;
	/* DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and
	 * asterisk. */
	bool has_dry_breakers;
	const struct lmd_str *dry_breakers;
	uint32_t n_dry_breakers;
	/* Mirostat: version 1 or 2, which then chooses the token; 0 = off. (0..2; default 0) */
	int64_t mirostat;
	/* Mirostat: target surprise of a token in bits. (0..100; default 5) */
	double mirostat_tau;
	/* Mirostat: learning rate. (0..100; default 0.1) */
	double mirostat_eta;
	/* Values added to the logits of given tokens; -inf forbids a token. */
	const struct lmd_bias *logit_bias;
	uint32_t n_logit_bias;
	/* Tokens that are never sampled. Defaults to those that the model's file names; an
	 * empty list allows all. */
	bool has_suppress_tokens;
	const lmd_token *suppress_tokens;
	uint32_t n_suppress_tokens;
	int64_t n_ctx; /* the window that -1 stands for; 0 = not known, no window */
};

/* Copies the parameters that a request has; the others keep their values. */
#define LMI_SAMPLER_PARAMS_COPY(to, from) \
	do { \
		if ((from)->has_temp) \
			(to)->temp = (from)->temp; \
		if ((from)->has_top_k) \
			(to)->top_k = (from)->top_k; \
		if ((from)->has_top_p) \
			(to)->top_p = (from)->top_p; \
		if ((from)->has_min_p) \
			(to)->min_p = (from)->min_p; \
		if ((from)->has_typical) \
			(to)->typical = (from)->typical; \
		if ((from)->has_top_n_sigma) \
			(to)->top_n_sigma = (from)->top_n_sigma; \
		if ((from)->has_min_keep) \
			(to)->min_keep = (from)->min_keep; \
		if ((from)->has_repeat_last_n) \
			(to)->repeat_last_n = (from)->repeat_last_n; \
		if ((from)->has_repeat_penalty) \
			(to)->repeat_penalty = (from)->repeat_penalty; \
		if ((from)->has_frequency_penalty) \
			(to)->frequency_penalty = (from)->frequency_penalty; \
		if ((from)->has_presence_penalty) \
			(to)->presence_penalty = (from)->presence_penalty; \
		if ((from)->has_dynatemp_range) \
			(to)->dynatemp_range = (from)->dynatemp_range; \
		if ((from)->has_dynatemp_exponent) \
			(to)->dynatemp_exponent = (from)->dynatemp_exponent; \
		if ((from)->has_xtc_probability) \
			(to)->xtc_probability = (from)->xtc_probability; \
		if ((from)->has_xtc_threshold) \
			(to)->xtc_threshold = (from)->xtc_threshold; \
		if ((from)->has_dry_multiplier) \
			(to)->dry_multiplier = (from)->dry_multiplier; \
		if ((from)->has_dry_base) \
			(to)->dry_base = (from)->dry_base; \
		if ((from)->has_dry_allowed_length) \
			(to)->dry_allowed_length = (from)->dry_allowed_length; \
		if ((from)->has_dry_last_n) \
			(to)->dry_last_n = (from)->dry_last_n; \
		(to)->dry_breakers = (from)->dry_breakers; \
		(to)->n_dry_breakers = (from)->n_dry_breakers; \
		(to)->has_dry_breakers = (from)->has_dry_breakers; \
		if ((from)->has_mirostat) \
			(to)->mirostat = (from)->mirostat; \
		if ((from)->has_mirostat_tau) \
			(to)->mirostat_tau = (from)->mirostat_tau; \
		if ((from)->has_mirostat_eta) \
			(to)->mirostat_eta = (from)->mirostat_eta; \
		(to)->logit_bias = (from)->logit_bias; \
		(to)->n_logit_bias = (from)->n_logit_bias; \
		(to)->suppress_tokens = (from)->suppress_tokens; \
		(to)->n_suppress_tokens = (from)->n_suppress_tokens; \
		(to)->has_suppress_tokens = (from)->has_suppress_tokens; \
	} while (0)

/* Parameters that are one number. */
#define LMI_SAMPLER_N_SCALAR 22

/* Keys of GGUF files. */
#define LMI_SAMPLER_KEY_TEMP "general.sampling.temp"
#define LMI_SAMPLER_KEY_TOP_K "general.sampling.top_k"
#define LMI_SAMPLER_KEY_TOP_P "general.sampling.top_p"
#define LMI_SAMPLER_KEY_MIN_P "general.sampling.min_p"
#define LMI_SAMPLER_KEY_REPEAT_LAST_N "general.sampling.penalty_last_n"
#define LMI_SAMPLER_KEY_REPEAT_PENALTY "general.sampling.penalty_repeat"
#define LMI_SAMPLER_KEY_XTC_PROBABILITY "general.sampling.xtc_probability"
#define LMI_SAMPLER_KEY_XTC_THRESHOLD "general.sampling.xtc_threshold"
#define LMI_SAMPLER_KEY_MIROSTAT "general.sampling.mirostat"
#define LMI_SAMPLER_KEY_MIROSTAT_TAU "general.sampling.mirostat_tau"
#define LMI_SAMPLER_KEY_MIROSTAT_ETA "general.sampling.mirostat_eta"
#define LMI_SAMPLER_KEY_SUPPRESS_TOKENS "tokenizer.ggml.suppress_tokens"

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_PARAMS_GEN_H */
