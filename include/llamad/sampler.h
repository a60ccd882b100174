/* SPDX-License-Identifier: MIT
 *
 * sampler.h - kind SAMPLER: from logits to one token, as a chain of small steps.
 *
 * A request has a sampler chain: a list of samplers in the requested order, each with its
 * parameters.  An instance is one member of one sequence's chain.  The host allocates state_bytes +
 * extra_bytes(params), zeroed, and calls init.  For every token it calls apply on each member in
 * order, takes the selected candidate, and calls accept on each member with the token.  An instance
 * is used by one thread at a time.  apply and accept run on the token path: they must not allocate,
 * lock or block.
 *
 * Randomness is counter-based: lmd_sample_rand(seed, step, draw) is a pure function, so batching,
 * preemption and restoring a session do not change the results. */
#ifndef LLAMAD_SAMPLER_H
#define LLAMAD_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/status.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

/* One candidate.  p is the value left by the last sampler that computed probabilities, and 0 before
 * that. */
struct lmd_cand {
	lmd_token id;
	float logit;
	float p;
};

/* The set of candidates.  A sampler changes logits, shortens n, reorders v, or selects.  Any logits
 * are legal input: NaN, infinities, all equal.  n >= 1 on entry and on return. */
struct lmd_cands {
	struct lmd_cand *v;
	size_t n;
	bool sorted;          /* by logit, greatest first; equal logits: lower id first */
	int64_t selected;     /* index into v, -1 = none yet; set by the last sampler of a chain */
	uint64_t seed;        /* seed of the request */
	uint64_t step;        /* number of tokens accepted so far, not counting the prompt */
};

/* Type of a parameter. */
enum lmd_param_type {
	LMD_PARAM_INT = 1,    /* i */
	LMD_PARAM_FLOAT = 2,  /* f; the host rejects NaN, and infinities unless min is -inf */
	LMD_PARAM_BOOL = 3,   /* i */
	LMD_PARAM_STR = 4,    /* s, n = 1 */
	LMD_PARAM_STRS = 5,   /* list of n strings at s */
	LMD_PARAM_BIAS = 6,   /* list of n {token, float} at bias */
	LMD_PARAM_TOKENS = 7  /* list of n tokens at tokens */
};

struct lmd_bias {
	lmd_token id;
	float bias;
};

/* One row of a sampler's parameter table.  The host uses it to check type and range before init, to
 * fill in defaults, and to generate help texts. */
struct lmd_param {
	const char *name;
	uint32_t type;        /* enum lmd_param_type */
	uint32_t reserved;
	double def, min, max; /* for numbers only; the bounds are inclusive */
	const char *doc;      /* one sentence */
};

/* The values of the parameters, in the order of the table. */
struct lmd_param_value {
	int64_t i;
	double f;
	uint32_t n;
	const struct lmd_str *s;
	union {
		const struct lmd_bias *bias;
		const lmd_token *tokens;
	};
};

/* What a sampler may know about the vocabulary; members are NULL if there is none. */
struct lmd_sample_vocab {
	uint32_t struct_size;
	uint32_t n_tokens;
	const void *ctx;
	/* bytes of a token, with control tokens written out; see lmd_tokenizer_ops.piece */
	size_t (*piece)(const void *ctx, lmd_token id, char *out, size_t cap);
	/* plain encoding: adds no special tokens and parses none; *n as in
	 * lmd_tokenizer_ops.encode */
	enum lmd_status (*encode)(const void *ctx, const char *text, size_t bytes, lmd_token *out,
				  size_t cap, size_t *n);
	const int32_t *eog;   /* ascending */
	uint32_t n_eog;
	int32_t eot, eos, nl; /* -1 = none */
};

struct lmd_sampler_init {
	uint32_t struct_size;
	const struct lmd_host *host;
	const struct lmd_param_value *params; /* [n_params], valid during init only */
	const struct lmd_sample_vocab *vocab; /* lives as long as the instance; or NULL */
	uint32_t n_vocab;     /* entries in a row of logits */
	uint64_t seed;
};

struct lmd_sampler_ops {
	uint32_t struct_size;
	uint32_t n_params;
	const struct lmd_param *params;       /* [n_params] */

	/* Optional (NULL = 0): bytes of state in addition to the factory's state_bytes that these
	 * parameters need. */
	size_t (*extra_bytes)(const struct lmd_sampler_init *init);
	/* Mandatory.  Fills the zeroed state.  The state is all the memory that the instance may
	 * use.  It may be moved by memcpy, copied for a fork, and written to a file, so it must not
	 * contain pointers into itself. */
	enum lmd_status (*init)(void *state, const struct lmd_sampler_init *init,
				struct lmd_error *err);
	/* Mandatory. */
	void (*apply)(void *state, struct lmd_cands *c);
	/* Optional.  Called with the selected token (or, if prompt is true, a token of the
	 * prompt). */
	void (*accept)(void *state, lmd_token token, bool prompt);
	/* Optional.  Forgets all accepted tokens. */
	void (*reset)(void *state);
};

/* A uniform random number in [0,1) with 24 random bits: Philox4x32-10, key = seed, counter = (step,
 * draw).  The result is the same on every machine and backend. */
static inline float lmd_sample_rand(uint64_t seed, uint64_t step, uint64_t draw)
{
	uint32_t c0 = (uint32_t)step, c1 = (uint32_t)(step >> 32);
	uint32_t c2 = (uint32_t)draw, c3 = (uint32_t)(draw >> 32);
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

	for (int r = 0; r < 10; r++) {
		uint64_t a = (uint64_t)0xD2511F53u * c0;
		uint64_t b = (uint64_t)0xCD9E8D57u * c2;
		uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		uint32_t n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;

		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		c0 = n0;
		c2 = n2;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return (float)(c0 >> 8) * (1.0f / 16777216.0f);
}

LMD_END_DECLS

#endif /* LLAMAD_SAMPLER_H */
