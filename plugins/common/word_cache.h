/* SPDX-License-Identifier: MIT
 *
 * word_cache.h - the tokens of words, remembered by their text within one call of encode.
 *
 * A table of one slot for each hash of a word: a word that is kept replaces the one that was in its
 * slot.  Words of more than LMI_WORD_TEXT bytes or LMI_WORD_IDS tokens are not kept, nor are
 * words of which a token had no room in the output.
 *
 * Size rule: calls of less than LMI_WORD_CALL bytes of text (job->text_bytes) have no table.
 * Others get a power of two of slots, the least of 256 to 8192 that has less than 256 bytes of text
 * to a slot, or 8192.  Memory that is short means no table either, and is no failure.
 *
 * The table lies in a buffer of the job, which owns it: it is taken zeroed at the first word and
 * goes with the job's other buffers.  A job belongs to one thread, and so does its table.  Tables
 * are never shared between tokenizers; one tokenizer that has two sets of rules for the same text tells
 * them apart by the seed.
 *
 *	struct lmi_word word = lmi_word_find(job, &job->buf[0], seed, s, n);
 *
 *	if (!lmi_word_put(&word, job)) {
 *		... put the tokens ...
 *		lmi_word_keep(&word, job);
 *	} */
#ifndef LLAMAD_PLUGINS_COMMON_WORD_CACHE_H
#define LLAMAD_PLUGINS_COMMON_WORD_CACHE_H

#include "common/tok.h"

#define LMI_WORD_TEXT 22   /* bytes */
#define LMI_WORD_IDS  9
#define LMI_WORD_CALL 2048 /* bytes of text that a call has at least, if it has a table */

struct lmi_word_slot {
	uint32_t tag;         /* the part of the hash that does not choose the slot */
	uint8_t n_text, n_id; /* n_text 0 = free */
	char text[LMI_WORD_TEXT];
	uint32_t id[LMI_WORD_IDS];
};
LMD_STATIC_ASSERT(sizeof(struct lmi_word_slot) == 64, "one cache line");

/* A word that was looked for. */
struct lmi_word {
	struct lmi_word_slot *slot; /* its place in the table; NULL: it cannot be kept */
	const char *s;              /* its text, borrowed, of n bytes */
	size_t n;
	size_t first;               /* where its tokens begin in the output */
	uint32_t tag;
};

/* Takes the table of a job that has none yet; false without memory.  For lmi_word_find alone. */
bool lmi_word_table(const struct lmi_job *j, struct lmi_buf *table);

/* Looks for the word s, n >= 1 bytes, whose tokens are to be put next.  table: the buffer of the
 * job that is for this alone; seed: of the hash, the same for all words by the same rules. */
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

/* Puts the tokens of a word that is remembered; false, and nothing put, of one that is not. */
static inline bool lmi_word_put(const struct lmi_word *w, struct lmi_job *j)
{
	const struct lmi_word_slot *c = w->slot;

	if (!c || c->n_text != w->n || c->tag != w->tag || memcmp(c->text, w->s, w->n) != 0)
		return false;
	for (unsigned i = 0; i < c->n_id; i++)
		lmi_job_put(j, c->id[i]);
	return true;
}

/* Remembers, if it can be, that what was put since lmi_word_find are the tokens of the word. */
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
