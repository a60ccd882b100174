/* SPDX-License-Identifier: MIT
 *
 * Dynamic programming from the left: best[i] is the best segmentation of s[0..i). Positions are
 * character boundaries as given by the lead bytes. */
#include "common/unigram.h"

#include <float.h>

#include "common/unicode.h"

#define UNKNOWN_PENALTY 10.0

struct best {
	double sum;
	uint32_t id; /* TOK_NONE: one character without a token */
	uint32_t from;
};

static bool counts(const struct tok_unigram *u, uint32_t id)
{
	const uint8_t known = TOK_ATTR_NORMAL | TOK_ATTR_USER | TOK_ATTR_UNUSED;

	return u->exact ? tok_vocab_in_model(u->vocab, id) : (u->vocab->attr[id] & known) != 0;
}

enum lmd_status tok_unigram_open(struct tok_unigram *u, const struct tok_vocab *v,
				 struct lmd_error *err)
{
	double min = FLT_MAX;
	size_t bytes = 0;
	bool ok;

	u->vocab = v;
	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	u->score = tok_host_array(v->host, v->n, sizeof(*u->score));
	ok = u->score && tok_trie_init(&u->trie, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++) {
		double score = u->exact ? u->exact[i] : (double)tok_vocab_score(v, i);

		if (u->exact ? counts(u, i) : (v->attr[i] & TOK_ATTR_NORMAL) != 0)
			min = score < min ? score : min;
		u->score[i] = !u->exact && (v->attr[i] & TOK_ATTR_USER) ? 0.0 : score;
		if (counts(u, i))
			ok = tok_trie_add(&u->trie, v->host, v->text[i].ptr, v->text[i].len, i);
	}
	/* in single precision if the scores are */
	u->unknown_score = u->exact ? min - UNKNOWN_PENALTY
				    : (double)((float)min - (float)UNKNOWN_PENALTY);
	for (unsigned c = 0; c < 256; c++)
		u->byte_token[c] = tok_vocab_byte(v, c);
	if (ok)
		return LMD_OK;
	tok_unigram_close(u);
	return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
}

void tok_unigram_close(struct tok_unigram *u)
{
	if (!u->vocab)
		return;
	tok_trie_fini(&u->trie, u->vocab->host);
	tok_host_free(u->vocab->host, u->score);
	u->vocab = NULL;
}

static inline void consider(struct best *b, double sum, uint32_t id, size_t from)
{
	if (sum > b->sum)
		*b = (struct best){sum, id, (uint32_t)from};
}

/* Tries all tokens that start at `at`; returns how many bytes it looked at. */
static size_t extend(const struct tok_unigram *u, struct best *b, const char *s, size_t n,
		     size_t at, size_t one)
{
	uint32_t node = TOK_TRIE_ROOT;
	bool whole = false;
	size_t i;

	for (i = at; i < n; i++) {
		uint32_t id;

		node = tok_trie_next(&u->trie, node, (unsigned char)s[i]);
		if (node == TOK_NONE)
			break;
		id = u->trie.node[node].value;
		if (id == TOK_NONE)
			continue;
		whole |= i + 1 - at == one;
		consider(&b[i + 1], b[at].sum + u->score[id], id, at);
	}
	if (!whole)
		consider(&b[at + one], b[at].sum + u->unknown_score, TOK_NONE, at);
	return i - at;
}

/* A range of the text and its token. */
struct found {
	uint32_t id, from, to;
};

static void put_unknown(const struct tok_unigram *u, struct tok_encode_job *j, const char *s,
			size_t n, int32_t unk)
{
	bool bytes = u->byte_fallback;

	for (size_t i = 0; bytes && i < n; i++)
		bytes = u->byte_token[(unsigned char)s[i]] != TOK_NONE;
	for (size_t i = 0; bytes && i < n; i++)
		tok_encode_job_put(j, u->byte_token[(unsigned char)s[i]]);
	if (!bytes && unk >= 0)
		tok_encode_job_put(j, (uint32_t)unk);
}

enum lmd_status tok_unigram_text(const struct tok_unigram *u, struct tok_encode_job *j,
				 const char *s, size_t n)
{
	int32_t unk = u->exact ? u->unk : u->vocab->info.unk;
	struct found *f;
	size_t k = 0;
	struct best *b;

	if (!n)
		return LMD_OK;
	if (!tok_buf_reserve(&j->buf[0], j->host, (n + 1) * sizeof(*b)) ||
	    !tok_buf_reserve(&j->buf[1], j->host, n * sizeof(*f)))
		return LMD_NOMEM;
	b = j->buf[0].p;
	f = j->buf[1].p;
	for (size_t i = 0; i <= n; i++) {
		b[i] = (struct best){-DBL_MAX, TOK_NONE, 0};
		if (!(i % TOK_WORK_BATCH) && !tok_encode_job_step(j, TOK_WORK_BATCH / 4))
			return LMD_CANCELLED;
	}
	b[0].sum = 0;
	for (size_t at = 0, one; at < n; at += one) {
		one = tok_utf8_len((unsigned char)s[at]);
		if (one > n - at)
			one = n - at;
		if (!tok_encode_job_step(j, 1 + extend(u, b, s, n, at, one)))
			return LMD_CANCELLED;
	}
	for (size_t at = n; at; at = b[at].from) {
		uint32_t id = b[at].id == (uint32_t)unk ? TOK_NONE : b[at].id;

		if (id == TOK_NONE && k && f[k - 1].id == TOK_NONE)
			f[k - 1].from = b[at].from; /* merge with the following unknown text */
		else
			f[k++] = (struct found){id, b[at].from, (uint32_t)at};
		if (!tok_encode_job_step(j, 1))
			return LMD_CANCELLED;
	}
	while (k--) {
		if (!tok_encode_job_step(j, 1 + (f[k].to - f[k].from) / 8))
			return LMD_CANCELLED;
		if (f[k].id != TOK_NONE)
			tok_encode_job_put(j, f[k].id);
		else
			put_unknown(u, j, s + f[k].from, f[k].to - f[k].from, unk);
	}
	return LMD_OK;
}
