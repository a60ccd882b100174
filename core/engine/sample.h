/* SPDX-License-Identifier: MIT
 *
 * sample.h - the sampler chain of one sequence: from a row of logits to a token; and the two ways to
 * describe a chain, by the plain parameters of a request and as JSON.
 *
 * A chain is an ordered list of samplers (plugins of kind SAMPLER), each with its parameters. The
 * states of all samplers are in one block of memory, so that forking a sequence copies them with
 * one memcpy. The order is data: any order, any sampler any number of times. The last sampler, and
 * no other, chooses the token.
 *
 * Creating a chain performs all checks. The functions that run once per token (sample, apply,
 * accept) allocate nothing and return only a status. A chain is used by one thread at a time. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_H
#define LLAMAD_CORE_ENGINE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/sample_params.gen.h"
#include "core/plugin/registry.h"
#include "llamad/sampler.h"

struct json_t; /* jansson */
struct lmd_arena;
struct lmd_model;
struct lmi_sampler_stages;
struct lmi_tokenizer;

/* Maximum number of samplers in a chain. */
#define LMI_SAMPLER_CHAIN_MAX 32
/* Maximum memory for the states of one chain. */
#define LMI_SAMPLER_CHAIN_STATE_MAX (256u << 20)

/* One named argument of a sampler. The type is as in the request; it is converted if that loses
 * nothing (a whole FLOAT for an INT, an INT for a FLOAT, one STR for a list of them, "-inf", "inf"
 * for a FLOAT, an empty list for any list). */
struct lmi_sampler_arg {
	const char *name;
	enum lmd_param_type type;
	struct lmd_param_value v;
};

/* One member of a chain. Besides the parameters of its table every sampler accepts `seed` and
 * `n_vocab`, which override those of the chain. */
struct lmi_sampler_spec {
	const char *name;     /* name or alias of a factory */
	const struct lmi_sampler_arg *args; /* [n_args]; missing ones get their defaults */
	uint32_t n_args;
};

struct lmi_sampler_chain_opts {
	struct lmi_plugin_registry *registry; /* must outlive the chain */
	const struct lmd_host *host;        /* must outlive the chain */
	const struct lmi_sampler_spec *specs; /* [n_specs], used only during create */
	uint32_t n_specs;
	const struct lmd_sample_vocab *vocab; /* must outlive the chain; or NULL */
	uint32_t n_vocab;     /* entries of a row of logits, >= 1 */
	uint64_t seed;
	/* n_vocab candidates shared by several chains of one thread; NULL: the chain allocates its
	 * own. Must outlive the chain. */
	struct lmd_cand *scratch;
	/* For tools that examine what samplers leave: no sampler has to choose, and only
	 * lmi_sampler_chain_apply may be used. */
	bool partial;
};

struct lmi_sampler_chain;

/* Checks the options and builds a chain. LMD_INVALID: the message names the sampler, the parameter,
 * the value and the limit; LMD_NOTFOUND: unknown sampler. A chain must have exactly one sampler
 * that chooses, and it must be the last. */
enum lmd_status lmi_sampler_chain_create(struct lmi_sampler_chain **out,
					 const struct lmi_sampler_chain_opts *opts,
					 struct lmd_error *err);
/* Copies a chain with its state, for a fork. Shares the scratch if there is one. */
enum lmd_status lmi_sampler_chain_clone(struct lmi_sampler_chain **out,
					const struct lmi_sampler_chain *from,
					struct lmd_error *err);
/* ch may be NULL. */
void lmi_sampler_chain_destroy(struct lmi_sampler_chain *ch);

/* Chooses a token of logits[n], n <= n_vocab. NaN counts as minus infinity.
 * mask: bit i % 64 of word i / 64 says that token i is allowed; NULL allows all.
 * LMD_INVALID: n is 0 or too large; LMD_NOTFOUND: the mask allows no token;
 * LMD_INTERNAL: a sampler broke its contract. */
enum lmd_status lmi_sampler_chain_sample(struct lmi_sampler_chain *ch, const float *logits,
					 size_t n, const uint64_t *mask, lmd_token *out);

/* Returns how many of the best candidates of a row are enough for lmi_sampler_chain_sample_best; 0: the
 * chain needs the whole row. */
uint32_t lmi_sampler_chain_n_best(const struct lmi_sampler_chain *ch);
/* Chooses what lmi_sampler_chain_sample would choose without a mask, knowing only the n best logits, in
 * order (equal ones by lower id), and their ids: all of a row, or at least lmi_sampler_chain_n_best. */
enum lmd_status lmi_sampler_chain_sample_best(struct lmi_sampler_chain *ch, const int32_t *ids,
					      const float *logits, size_t n, lmd_token *out);

/* Runs the chain on the caller's candidates. Afterwards *c has the remaining ones, and c->selected
 * is the choice (-1 if no member of a partial chain chooses). Sets seed and step of *c.
 * LMD_NOTFOUND: no candidates; LMD_INTERNAL: a sampler broke its contract. */
enum lmd_status lmi_sampler_chain_apply(struct lmi_sampler_chain *ch, struct lmd_cands *c);

/* Returns the name of a sampler that learns from the logits (mirostat), or NULL. Without one, the
 * state of a chain follows from the tokens that it has accepted. */
const char *lmi_sampler_chain_learner(const struct lmi_sampler_chain *ch);

/* Returns the parameters with which a device chooses the same tokens (sample_stages.h), valid as long as
 * the chain; NULL: it cannot, because of a sampler or of their order. */
const struct lmi_sampler_stages *lmi_sampler_chain_stages(const struct lmi_sampler_chain *ch);
/* Returns the number of tokens that it has accepted, without the prompt: the step of its next random
 * numbers. */
uint64_t lmi_sampler_chain_step(const struct lmi_sampler_chain *ch);

/* Acts like lmi_sampler_chain_sample with a mask that allows only this token, for unknown logits:
 * samplers that remember their choices are updated. */
enum lmd_status lmi_sampler_chain_force(struct lmi_sampler_chain *ch, lmd_token token);

/* Returns the candidates that the last sample left, with the choice; valid until the next use of
 * the chain or of its scratch. n is 0 before the first sample, and for a chain of `greedy` alone,
 * which keeps no candidates. */
const struct lmd_cands *lmi_sampler_chain_cands(const struct lmi_sampler_chain *ch);

/* Passes a token to all members: one that was chosen or, with `prompt`, one of the prompt. */
void lmi_sampler_chain_accept(struct lmi_sampler_chain *ch, lmd_token token, bool prompt);

/* Forgets all accepted tokens. */
void lmi_sampler_chain_reset(struct lmi_sampler_chain *ch);

/* ---- the vocabulary as samplers see it: sample_vocab.c ---- */

struct lmi_sampler_vocab {
	const struct lmi_tokenizer *tok;
	struct lmd_sample_vocab view;
};
/* `v` must not move: samplers keep pointers into it. The tokenizer must outlive it. */
enum lmd_status lmi_sampler_vocab_init(struct lmi_sampler_vocab *v,
				       const struct lmi_tokenizer *tok, struct lmd_error *err);

/* ---- plain parameters: sample_params.c ----
 *
 * Most requests carry a temperature and a few limits instead of a chain. They stand for a chain in
 * the usual order
 *     logit_bias, penalties, dry, top_n_sigma, top_k, typical, top_p, min_p, xtc,
 *     temperature, dist
 * or in an order that the request names. Values are not checked here: the chain checks them against
 * the tables of its samplers. struct lmi_sampler_params, its defaults and the arguments that its
 * members set are made from proto/schema/sampling.json. */

/* Sets the defaults that the comments of the members give. */
void lmi_sampler_params_default(struct lmi_sampler_params *p);

/* A parameter that is one number; the rows are generated, LMI_SAMPLER_N_SCALAR of them. */
struct lmi_sampler_scalar_row {
	const char *name;
	const char *key; /* of GGUF files; NULL: none */
	enum lmd_param_type type; /* LMD_PARAM_INT or LMD_PARAM_FLOAT */
	size_t at;                /* offset in struct lmi_sampler_params */
	double min, max;          /* bounds of a request */
};
extern const struct lmi_sampler_scalar_row lmi_sampler_scalar_rows[];

/* Values of some of these parameters, by row. */
struct lmi_sampler_scalars {
	double value[LMI_SAMPLER_N_SCALAR];
	bool has[LMI_SAMPLER_N_SCALAR];
};
/* Returns the row of a parameter, or -1 if there is none of that name. */
int lmi_sampler_scalar_find(const char *name);
double lmi_sampler_scalar_get(const struct lmi_sampler_params *p, uint32_t row);
/* Replaces the parameters that `from` has. */
void lmi_sampler_params_set(struct lmi_sampler_params *p, const struct lmi_sampler_scalars *from);
/* Reads the values that the file of a model recommends.  Values out of bounds are left out. */
void lmi_sampler_scalars_of_model(struct lmi_sampler_scalars *out, const struct lmd_model *m);

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
 * are left out. names_buf, [LMI_SAMPLER_ORDER_MAX], holds names as long as the list is used.
 * LMD_INVALID: too long, or too many. */
#define LMI_SAMPLER_ORDER_MAX 256
enum lmd_status lmi_sampler_specs_order(struct lmi_sampler_spec_list *out,
					const struct lmi_sampler_params *p, struct lmd_str text,
					char *names_buf, struct lmd_error *err);

/* Returns the sampler for a letter in the short form of an order, such as "edskypmxt"; NULL if
 * there is none. */
const char *lmi_sampler_letter(char letter);

/* ---- a chain written as JSON: sample_spec.c ----
 *
 *     [{"sampler": "top_k", "k": 40}, {"sampler": "dist", "seed": 7}]
 *
 * Every other member of an object is a named argument. A bare string "top_k" is an object without
 * arguments. Numbers, true and false, strings and lists of strings or tokens stand for themselves; "-inf" and
 * "inf" are accepted as numbers. A bias is a list of pairs [token, number] or an object {"token":
 * number}; in both, false means -inf. */

/* Maximum number of entries in a list of texts or biases. */
#define LMI_SAMPLER_SPEC_LIST_MAX (1 << 20)

/* Converts a JSON list to specs, which live in the arena and do not refer to the JSON. LMD_INVALID:
 * the message names the number of the sampler and the argument. */
enum lmd_status lmi_sampler_specs_from_json(const struct json_t *list, struct lmd_arena *arena,
					    struct lmi_sampler_spec **out, uint32_t *n,
					    struct lmd_error *err);
/* Parses a text and converts it like lmi_sampler_specs_from_json. */
enum lmd_status lmi_sampler_specs_parse(const char *text, size_t bytes, struct lmd_arena *arena,
					struct lmi_sampler_spec **out, uint32_t *n,
					struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_H */
