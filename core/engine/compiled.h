/* SPDX-License-Identifier: MIT
 *
 * compiled.h - grammars that were compiled for a vocabulary, to be used again.
 *
 * An entry is found by the SHA-256 of what it was made from: kind, text and triggers.  It holds the
 * compiled grammar, which any number of answers share, and matchers of it that no answer uses now.
 * A matcher knows the masks that were asked for before, so a request that is sent often pays for
 * its masks once; it belongs to one answer at a time.
 *
 * The cache is bounded in number and bytes; what was not used for the longest time goes first.
 * Who uses an entry that goes keeps it until it is given back.  Any thread; compiling happens on
 * the thread that asks, and who asks for the same meanwhile waits for it. */
#ifndef LLAMAD_CORE_ENGINE_COMPILED_H
#define LLAMAD_CORE_ENGINE_COMPILED_H

#include <pthread.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_compiled;
struct lmi_gvocab;
struct lmi_matcher;

#define LMI_COMPILED_MAX   64u
#define LMI_COMPILED_BYTES (64u << 20)

/* What a grammar is made from; one of gbnf and schema has a ptr. */
struct lmi_grammar_source {
	struct lmd_str gbnf, schema;
	const struct lmd_str *triggers; /* [n_triggers] */
	uint32_t n_triggers;
};

struct lmi_compiled_stats {
	uint64_t n_hit, n_miss, n_evicted;
	uint32_t n;     /* entries */
	uint64_t bytes; /* of them, without matchers that are in use */
};

struct lmi_compiled_cache {
	pthread_mutex_t lock;
	pthread_cond_t made;
	uint32_t max;       /* entries */
	uint64_t max_bytes; /* of entries; 0 keeps none */
	struct lmi_compiled *first, *last; /* by use, latest first */
	struct lmi_compiled_stats stats;
};

/* A grammar and a matcher of it, for one answer. */
struct lmi_lent {
	struct lmi_compiled *entry; /* NULL: nothing */
	struct lmi_matcher *matcher;
};

void lmi_compiled_init(struct lmi_compiled_cache *x, uint32_t max, uint64_t max_bytes);
/* Everything that was taken was given back. */
void lmi_compiled_fini(struct lmi_compiled_cache *x);

/* The vocabulary outlives the cache and is the same in all calls.  Sentences are those of
 * grammar.h, whose failures are not remembered. */
enum lmd_status lmi_compiled_take(struct lmi_compiled_cache *x, const struct lmi_gvocab *v,
				  const struct lmi_grammar_source *from, struct lmi_lent *out,
				  struct lmd_error *err);
/* States of the matcher were destroyed before.  *own is zeroed; nothing allowed. */
void lmi_compiled_give(struct lmi_compiled_cache *x, struct lmi_lent *own);

void lmi_compiled_stats(struct lmi_compiled_cache *x, struct lmi_compiled_stats *out);

#endif /* LLAMAD_CORE_ENGINE_COMPILED_H */
