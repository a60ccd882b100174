/* SPDX-License-Identifier: MIT
 *
 * grammar_cache.h - a cache of grammars compiled for a vocabulary.
 *
 * An entry is found by the SHA-256 of its source: kind, text and triggers. It holds the compiled
 * grammar, which any number of answers share, and matchers that are currently idle. A matcher
 * remembers the masks it has computed, so a request that is sent often pays for its masks once; a
 * matcher belongs to one answer at a time.
 *
 * The cache is bounded in entries and bytes; the least recently used entry is evicted first. An
 * evicted entry stays valid for its users until it is given back. Any thread. A grammar is compiled
 * on the calling thread; other threads that need the same grammar wait for it. */
#ifndef LLAMAD_CORE_ENGINE_GRAMMAR_CACHE_H
#define LLAMAD_CORE_ENGINE_GRAMMAR_CACHE_H

#include <pthread.h>
#include <stdint.h>

#include "core/engine/constrain.h"
#include "core/engine/engine.h"

struct lmi_engine_grammar_cache_entry;
struct lmi_grammar_vocab;
struct lmi_grammar_matcher;

#define LMI_ENGINE_GRAMMAR_CACHE_MAX   64u
#define LMI_ENGINE_GRAMMAR_CACHE_BYTES (64u << 20)

struct lmi_engine_grammar_cache {
	pthread_mutex_t lock;
	pthread_cond_t made;
	uint32_t max;       /* maximum number of entries */
	uint64_t max_bytes; /* maximum bytes of entries; 0 caches nothing */
	struct lmi_engine_grammar_cache_entry *first, *last; /* most recently used first */
	struct lmi_engine_grammar_cache_stats stats;
};

/* A grammar and one of its matchers, leased to one answer. */
struct lmi_engine_grammar_lease {
	struct lmi_engine_grammar_cache_entry *entry; /* NULL: empty */
	struct lmi_grammar_matcher *matcher;
};

void lmi_engine_grammar_cache_init(struct lmi_engine_grammar_cache *x, uint32_t max,
				   uint64_t max_bytes);
/* Everything that was taken must have been given back. */
void lmi_engine_grammar_cache_fini(struct lmi_engine_grammar_cache *x);

/* The vocabulary must outlive the cache and be the same in all calls. Error messages are those of
 * grammar.h; failures are not cached. */
enum lmd_status lmi_engine_grammar_cache_take(struct lmi_engine_grammar_cache *x,
					      const struct lmi_grammar_vocab *v,
					      const struct lmi_engine_grammar_source *from,
					      struct lmi_engine_grammar_lease *out,
					      struct lmd_error *err);
/* States of the matcher must have been destroyed before. Zeroes *own; an empty lease is allowed. */
void lmi_engine_grammar_cache_give(struct lmi_engine_grammar_cache *x,
				   struct lmi_engine_grammar_lease *own);

void lmi_engine_grammar_cache_stats_get(struct lmi_engine_grammar_cache *x,
					struct lmi_engine_grammar_cache_stats *out);

#endif /* LLAMAD_CORE_ENGINE_GRAMMAR_CACHE_H */
