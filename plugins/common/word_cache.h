/* SPDX-License-Identifier: MIT
 *
 * word_cache.h - caches the tokens of words by their text within one encode call.
 *
 * The table is direct-mapped: each hash has one slot, and a stored word replaces the word that was
 * in its slot. Words of more than LMI_WORD_TEXT bytes or LMI_WORD_IDS tokens are not stored, nor
 * are words of which some token did not fit in the output.
 *
 * Calls with less than LMI_WORD_CALL bytes of text (job->text_bytes) have no table. For others,
 * the number of slots is the smallest power of two, from 256 to 8192, with less than 256 bytes of
 * text per slot, or 8192 if there is none. If memory is short, there is no table; this is not an
 * error.
 *
 * The table is in a buffer of the job, which owns it: it is allocated zeroed at the first word and
 * freed with the job's other buffers. A job belongs to one thread, and so does its table. Tables
 * are never shared between tokenizers; a tokenizer that has two sets of rules for the same text
 * keeps them apart by different seeds.
 *
 * 	struct lmi_word word = lmi_word_find(job, &job->buf[0], seed, s, n);
 *
 * 	if (!lmi_word_put(&word, job)) {
 * 		... put the tokens ...
 * 		lmi_word_keep(&word, job);
 * 	} */
#ifndef LLAMAD_PLUGINS_COMMON_WORD_CACHE_H
#define LLAMAD_PLUGINS_COMMON_WORD_CACHE_H

#include "common/tok.h"

#define LMI_WORD_TEXT 22   /* bytes */
#define LMI_WORD_IDS  9
#define LMI_WORD_CALL 2048 /* calls with fewer bytes of text have no table */

struct lmi_word_slot {
	uint32_t tag;         /* the hash bits that do not select the slot */
	uint8_t n_text, n_id; /* n_text 0 = free */
	char text[LMI_WORD_TEXT];
	uint32_t id[LMI_WORD_IDS];
};
LMD_STATIC_ASSERT(sizeof(struct lmi_word_slot) == 64, "one cache line");

/* A word that has been looked up. */
struct lmi_word {
	struct lmi_word_slot *slot; /* its slot in the table; NULL if it cannot be stored */
	const char *s;              /* its text of n bytes, borrowed */
	size_t n;
	size_t first;               /* where its tokens start in the output */
	uint32_t tag;
};

/* Allocates the table of a job that has none yet; returns false if out of memory. Used only by
 * lmi_word_find. */
bool lmi_word_table(const struct lmi_job *j, struct lmi_buf *table);

/* Looks up the word s, n >= 1 bytes, whose tokens are to be emitted next. table: the buffer of the
 * job that is reserved for the table; seed: hash seed, the same for all words under the same
 * rules. */
static inline struct lmi_word lmi_word_find(const struct lmi_job *j, struct lmi_buf *table,
					    uint64_t seed, const char *s, size_t n)
{
	struct lmi_word w = {.s = s, .n = n, .first = j->n};
	size_t slots;
	uint64_t h;

	if (n > LMI_WORD_TEXT || j->text_bytes < LMI_WORD_CALL)
		return w;
	if (!table->p && !lmi_word_table(j, table))
		return w;
	slots = table->bytes / sizeof(*w.slot);
	h = lmi_hash(s, n, seed);
	w.tag = (uint32_t)(h >> 32);
	w.slot = (struct lmi_word_slot *)table->p + (h & (slots - 1));
	return w;
}

/* Emits the tokens of a cached word. Returns false and emits nothing if the word is not cached. */
static inline bool lmi_word_put(const struct lmi_word *w, struct lmi_job *j)
{
	const struct lmi_word_slot *c = w->slot;

	if (!c || c->n_text != w->n || c->tag != w->tag || memcmp(c->text, w->s, w->n) != 0)
		return false;
	for (unsigned i = 0; i < c->n_id; i++)
		lmi_job_put(j, c->id[i]);
	return true;
}

/* Stores the tokens emitted since lmi_word_find as those of the word, if it can be stored. */
static inline void lmi_word_keep(const struct lmi_word *w, const struct lmi_job *j)
{
	struct lmi_word_slot *c = w->slot;

	if (!c || j->n - w->first > LMI_WORD_IDS || j->n > j->cap)
		return;
	c->tag = w->tag;
	c->n_text = (uint8_t)w->n;
	c->n_id = (uint8_t)(j->n - w->first);
	memcpy(c->text, w->s, w->n);
	for (unsigned i = 0; i < c->n_id; i++)
		c->id[i] = (uint32_t)j->out[w->first + i];
}

#endif /* LLAMAD_PLUGINS_COMMON_WORD_CACHE_H */
