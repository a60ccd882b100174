/* SPDX-License-Identifier: MIT
 *
 * A word on its way to merging: it may be a token as a whole, it falls apart at its seams, and
 * what was merged before in the same call is remembered.
 *
 * The memory is a table that is indexed by a hash of the word or piece; a newer one replaces an
 * older. */
#include "common/bpe.h"

/* j->buf[0]: the table. */
#define CACHE_TEXT 22
#define CACHE_IDS  9
struct cached {
	uint32_t tag;
	uint8_t n_text, n_id; /* n_text 0 = free */
	char text[CACHE_TEXT];
	uint32_t id[CACHE_IDS];
};
LMD_STATIC_ASSERT(sizeof(struct cached) == 64, "one cache line");

/* The place of a text in the table, or NULL if there is no table or the text is too long. */
static struct cached *cache_slot(struct lmi_job *j, const char *w, size_t n, uint64_t seed,
				 uint32_t *tag)
{
	size_t slots = 256;
	uint64_t h;

	if (n > CACHE_TEXT || j->text_bytes < 2048)
		return NULL;
	if (!j->buf[0].p) {
		while (slots < 8192 && slots * 64 * 4 <= j->text_bytes)
			slots *= 2;
		if (!lmi_buf_need(&j->buf[0], j->host, slots * sizeof(struct cached)))
			return NULL;
	}
	slots = j->buf[0].bytes / sizeof(struct cached);
	h = lmi_hash(w, n, seed);
	*tag = (uint32_t)(h >> 32);
	return (struct cached *)j->buf[0].p + (h & (slots - 1));
}

static inline bool put_cached(const struct cached *c, uint32_t tag, struct lmi_job *j, const char *w,
			      size_t n)
{
	if (!c || c->n_text != n || c->tag != tag || memcmp(c->text, w, n) != 0)
		return false;
	for (unsigned i = 0; i < c->n_id; i++)
		lmi_job_put(j, c->id[i]);
	return true;
}

/* The tokens from `first` on are those of the text. */
static void remember(struct cached *c, uint32_t tag, const struct lmi_job *j, size_t first,
		     const char *w, size_t n)
{
	if (!c || j->n - first > CACHE_IDS || j->n > j->cap)
		return;
	c->tag = tag;
	c->n_text = (uint8_t)n;
	c->n_id = (uint8_t)(j->n - first);
	memcpy(c->text, w, n);
	for (unsigned i = 0; i < c->n_id; i++)
		c->id[i] = (uint32_t)j->out[first + i];
}

static bool is_whole(const struct lmi_bpe *b, const char *w, size_t n, uint32_t *id)
{
	if (!b->ignore_merges) {
		if (!b->lines_whole)
			return false;
		for (size_t i = 0; i < n; i++)
			if (w[i] != '\n')
				return false;
	}
	*id = lmi_textmap_find(&b->map, b->sym.p, w, n);
	return *id < b->vocab->n;
}

/* A piece of a word: no rule for whole words looks at it, so that what is remembered of it is not
 * to be mixed up with a word of the same text. */
static enum lmd_status put_piece(const struct lmi_bpe *b, struct lmi_job *j, const char *w, size_t n)
{
	bool apart = b->ignore_merges || b->lines_whole;
	size_t first = j->n;
	enum lmd_status st;
	struct cached *c;
	uint32_t tag;

	c = cache_slot(j, w, n, b->map.seed ^ apart, &tag);
	if (put_cached(c, tag, j, w, n))
		return LMD_OK;
	st = lmi_bpe_merge(b, j, w, n);
	if (st == LMD_OK)
		remember(c, tag, j, first, w, n);
	return st;
}

enum lmd_status lmi_bpe_word(const struct lmi_bpe *b, struct lmi_job *j, const char *w, size_t n)
{
	const char *end = w + n, *seam;
	enum lmd_status st = LMD_OK;
	size_t first = j->n;
	struct cached *c;
	uint32_t tag, id;

	c = cache_slot(j, w, n, b->map.seed, &tag);
	if (put_cached(c, tag, j, w, n))
		return LMD_OK;
	seam = lmi_seam_next(&b->seams, w, end);
	if (is_whole(b, w, n, &id))
		lmi_job_put(j, id);
	else if (seam == end)
		st = lmi_bpe_merge(b, j, w, n);
	else
		for (const char *at = w; at < end && st == LMD_OK; at = seam) {
			seam = at == w ? seam : lmi_seam_next(&b->seams, at, end);
			st = put_piece(b, j, at, (size_t)(seam - at));
		}
	if (st == LMD_OK)
		remember(c, tag, j, first, w, n);
	return st;
}
