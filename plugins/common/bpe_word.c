/* SPDX-License-Identifier: MIT
 *
 * Encodes one word: it may be a token as a whole; otherwise it is split at merge boundaries. Words
 * and parts of words that were merged before in the same call come from the word cache; both share
 * one table. */
#include "common/bpe.h"
#include "common/word_cache.h"

enum { BUF_CACHE };

static bool is_whole(const struct tok_bpe *b, const char *w, size_t n, uint32_t *id)
{
	if (!b->ignore_merges) {
		if (!b->keep_line_feeds)
			return false;
		for (size_t i = 0; i < n; i++)
			if (w[i] != '\n')
				return false;
	}
	*id = tok_string_map_find(&b->map, b->sym.p, w, n);
	return *id < b->vocab->n;
}

/* Emits a part of a word. The whole-word rules do not apply to parts, so a cached part must not be
 * confused with a cached word of the same text: the hash seeds differ. */
static enum lmd_status put_piece(const struct tok_bpe *b, struct tok_encode_job *j, const char *w,
				 size_t n)
{
	bool try_whole = b->ignore_merges || b->keep_line_feeds;
	struct tok_cached_word word =
		tok_word_cache_find(j, &j->buf[BUF_CACHE], b->map.seed ^ try_whole, w, n);
	enum lmd_status st;

	if (!tok_encode_job_step(j, n <= TOK_WORD_CACHE_BYTES_MAX ? n : tok_work_scan(n)))
		return LMD_CANCELLED;
	if (tok_word_cache_emit(&word, j))
		return LMD_OK;
	st = tok_bpe_merge(b, j, w, n);
	if (st == LMD_OK)
		tok_word_cache_store(&word, j);
	return st;
}

enum lmd_status tok_bpe_word(const struct tok_bpe *b, struct tok_encode_job *j, const char *w,
			     size_t n)
{
	struct tok_cached_word word = tok_word_cache_find(j, &j->buf[BUF_CACHE], b->map.seed, w, n);
	const char *end = w + n, *boundary;
	enum lmd_status st = LMD_OK;
	uint32_t id;

	if (!tok_encode_job_step(j, n <= TOK_WORD_CACHE_BYTES_MAX ? n : tok_work_scan(n)))
		return LMD_CANCELLED;
	if (tok_word_cache_emit(&word, j))
		return LMD_OK;
	boundary = tok_merge_boundary_next(&b->boundaries, w, end);
	if (is_whole(b, w, n, &id))
		tok_encode_job_put(j, id);
	else if (boundary == end)
		st = tok_bpe_merge(b, j, w, n);
	else
		for (const char *at = w; at < end && st == LMD_OK; at = boundary) {
			boundary = at == w ? boundary
					   : tok_merge_boundary_next(&b->boundaries, at, end);
			st = put_piece(b, j, at, (size_t)(boundary - at));
		}
	if (st == LMD_OK)
		tok_word_cache_store(&word, j);
	return st;
}
