/* SPDX-License-Identifier: MIT
 *
 * constrain.h - a grammar that one answer follows.
 *
 * Compiling is slow and happens where the caller is, off the engine's thread; so does the first
 * look at the engine's vocabulary.  From then on it belongs to one generation.  What the grammar
 * remembers grows while it is used: the token path of such an answer allocates. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_H

#include <pthread.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_constraint;
struct lmi_engine;
struct lmi_gvocab;

struct lmi_constrain_opts {
	struct lmd_str gbnf;   /* one of both; ptr NULL: the other */
	struct lmd_str schema; /* JSON schema */
	/* Regular expressions: the grammar counts from where the answer matches one of them;
	 * none: from the beginning.  See grammar.h. */
	const struct lmd_str *triggers; /* [n_triggers] */
	uint32_t n_triggers;
};

/* The sentence of a failure begins with "grammar" or "json_schema".  The engine outlives it.  Any
 * thread. */
enum lmd_status lmi_engine_constrain(struct lmi_engine *e, const struct lmi_constrain_opts *o,
				     struct lmi_constraint **out, struct lmd_error *err);
/* NULL allowed. */
void lmi_constraint_destroy(struct lmi_constraint *c);

/* For generations, on the engine's thread.  Tokens below *n, at most n_logits, that may come next,
 * as lmi_gstate_mask has it. */
enum lmd_status lmi_constraint_mask(struct lmi_constraint *c, uint32_t n_logits,
				    const uint64_t **mask, uint32_t *n);
/* LMD_INVALID: it may not come. */
enum lmd_status lmi_constraint_accept(struct lmi_constraint *c, lmd_token token);

/* The index of an engine's vocabulary, made when it is first needed. */
struct lmi_vocab_index {
	pthread_mutex_t lock;
	struct lmi_gvocab *v; /* NULL: not yet */
};
void lmi_vocab_index_init(struct lmi_vocab_index *x);
void lmi_vocab_index_fini(struct lmi_vocab_index *x);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_H */
