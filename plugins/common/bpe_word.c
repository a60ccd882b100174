/* SPDX-License-Identifier: MIT
 *
 * Encodes one word: it may be a token as a whole; otherwise it is split at merge boundaries. Words
 * and parts of words that were merged before in the same call come from the word cache; both share
 * one table. */
#include "common/bpe.h"
#include "common/word_cache.h"

enum { BUF_CACHE };

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

/* Emits a part of a word. The whole-word rules do not apply to parts, so a cached part must not be
 * confused with a cached word of the same text: the hash seeds differ. */
static enum lmd_status put_piece(const struct lmi_bpe *b, struct lmi_job *j, const char *w,
				 size_t n)
{
	bool apart = b->ignore_merges || b->lines_whole;
	struct lmi_word word = lmi_word_find(j, &j->buf[BUF_CACHE], b->map.seed ^ apart, w, n);
	enum lmd_status st;

	if (lmi_word_put(&word, j))
		return LMD_OK;
	st = lmi_bpe_merge(b, j, w, n);
	if (st == LMD_OK)
		lmi_word_keep(&word, j);
	return st;
}

enum lmd_status lmi_bpe_word(const struct lmi_bpe *b, struct lmi_job *j, const char *w, size_t n)
{
	struct lmi_word word = lmi_word_find(j, &j->buf[BUF_CACHE], b->map.seed, w, n);
	const char *end = w + n, *seam;
	enum lmd_status st = LMD_OK;
	uint32_t id;

	if (lmi_word_put(&word, j))
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
		lmi_word_keep(&word, j);
	return st;
}
