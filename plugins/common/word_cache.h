/* SPDX-License-Identifier: MIT
 *
 * word_cache.h - caches the tokens of words by their text within one encode call.
 *
 * The table is direct-mapped: each hash has one slot, and a stored word replaces the word that was
 * in its slot. Words of more than TOK_WORD_CACHE_BYTES_MAX bytes or TOK_WORD_CACHE_TOKENS_MAX
 * tokens are not stored, nor are words of which some token did not fit in the output.
 *
 * Calls with less than TOK_WORD_CACHE_MIN_CALL_BYTES bytes of text (job->text_bytes) have no table.
 * For others, the number of slots is the smallest power of two, from 256 to 8192, with less than
 * 256 bytes of text per slot, or 8192 if there is none. If memory is short, there is no table; this
 * is not an error.
 *
 * The table is in a buffer of the job, which owns it: it is allocated zeroed at the first word and
 * freed with the job's other buffers. A job belongs to one thread, and so does its table. Tables
 * are never shared between tokenizers; a tokenizer that has two sets of rules for the same text
 * keeps them apart by different seeds.
 *
 * 	struct tok_cached_word word = tok_word_cache_find(job, &job->buf[0], seed, s, n);
 *
 * 	if (!tok_word_cache_emit(&word, job)) {
 * 		... put the tokens ...
 * 		tok_word_cache_store(&word, job);
 * 	} */
#ifndef LLAMAD_PLUGINS_COMMON_WORD_CACHE_H
#define LLAMAD_PLUGINS_COMMON_WORD_CACHE_H

#include <string.h>

#include "common/tokenizer_base.h"

#define TOK_WORD_CACHE_BYTES_MAX      22 /* bytes */
#define TOK_WORD_CACHE_TOKENS_MAX     9
#define TOK_WORD_CACHE_MIN_CALL_BYTES 2048 /* calls with fewer bytes of text have no table */

struct tok_word_slot {
	uint32_t tag;         /* the hash bits that do not select the slot */
	uint8_t n_text, n_id; /* n_text 0 = free */
	char text[TOK_WORD_CACHE_BYTES_MAX];
	uint32_t id[TOK_WORD_CACHE_TOKENS_MAX];
};
LMD_STATIC_ASSERT(sizeof(struct tok_word_slot) == 64, "one cache line");

/* A word that has been looked up. */
struct tok_cached_word {
	struct tok_word_slot *slot; /* its slot in the table; NULL if it cannot be stored */
	const char *s;              /* its text of n bytes, borrowed */
	size_t n;
	size_t first;               /* where its tokens start in the output */
	uint32_t tag;
};

/* Allocates the table of a job that has none yet; returns false if out of memory. Used only by
 * tok_word_cache_find. */
bool tok_word_cache_alloc(const struct tok_encode_job *j, struct tok_buf *table);

/* Looks up the word s, n >= 1 bytes, whose tokens are to be emitted next. table: the buffer of the
 * job that is reserved for the table; seed: hash seed, the same for all words under the same
 * rules. */
static inline struct tok_cached_word tok_word_cache_find(const struct tok_encode_job *j,
							 struct tok_buf *table, uint64_t seed,
							 const char *s, size_t n)
{
	struct tok_cached_word w = {.s = s, .n = n, .first = j->n};
	size_t slots;
	uint64_t h;

	if (n > TOK_WORD_CACHE_BYTES_MAX || j->text_bytes < TOK_WORD_CACHE_MIN_CALL_BYTES)
		return w;
	if (!table->p && !tok_word_cache_alloc(j, table))
		return w;
	slots = table->bytes / sizeof(*w.slot);
	h = tok_hash(s, n, seed);
	w.tag = (uint32_t)(h >> 32);
	w.slot = (struct tok_word_slot *)table->p + (h & (slots - 1));
	return w;
}

/* Emits the tokens of a cached word. Returns false and emits nothing if the word is not cached. */
static inline bool tok_word_cache_emit(const struct tok_cached_word *w, struct tok_encode_job *j)
{
	const struct tok_word_slot *c = w->slot;

	if (!c || c->n_text != w->n || c->tag != w->tag || memcmp(c->text, w->s, w->n) != 0)
		return false;
	for (unsigned i = 0; i < c->n_id; i++)
		tok_encode_job_put(j, c->id[i]);
	return true;
}

/* Stores the tokens emitted since tok_word_cache_find as those of the word, if it can be stored. */
static inline void tok_word_cache_store(const struct tok_cached_word *w,
					const struct tok_encode_job *j)
{
	struct tok_word_slot *c = w->slot;

	if (!c || j->n - w->first > TOK_WORD_CACHE_TOKENS_MAX || j->n > j->cap)
		return;
	c->tag = w->tag;
	c->n_text = (uint8_t)w->n;
	c->n_id = (uint8_t)(j->n - w->first);
	memcpy(c->text, w->s, w->n);
	for (unsigned i = 0; i < c->n_id; i++)
		c->id[i] = (uint32_t)j->out[w->first + i];
}

#endif /* LLAMAD_PLUGINS_COMMON_WORD_CACHE_H */
