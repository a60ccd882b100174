/* SPDX-License-Identifier: MIT
 *
 * A breaker is a text, but the history is tokens.  A breaker occurs in the history where
 *   - one token contains the whole text, or
 *   - a token ends with the first i bytes of it and the tokens of the rest follow.
 * So there is an entry (head, tail) for each such token and i.  A tail depends only on the breaker
 * and i, and is stored once.  Entries are sorted by head. */
#include "dry.h"

#include <stdlib.h>
#include <string.h>

/* Longer tokens are ignored. */
#define PIECE_MAX 512

struct entry {
	lmd_token head;
	uint32_t tail;        /* index; 0 = the empty tail */
};

struct tail {
	uint32_t n;
	lmd_token token[SAMPLER_BREAKER_TAIL];
};

struct sampler_breakers {
	uint32_t n_entries, n_tails;
	/* Followed by the tails and then the entries. */
};

static struct tail *tails(const struct sampler_breakers *b)
{
	return (struct tail *)(b + 1);
}

static struct entry *entries(const struct sampler_breakers *b)
{
	return (struct entry *)(tails(b) + b->n_tails);
}

static size_t text_bytes(const struct lmd_str *text)
{
	return text->len < SAMPLER_BREAKER_TEXT ? text->len : SAMPLER_BREAKER_TEXT;
}

/* Number of tails: the empty one, and one for each byte of each breaker. */
static size_t count_tails(const struct lmd_param_value *texts)
{
	size_t n = 1;

	for (uint32_t i = 0; i < texts->n; i++)
		n += text_bytes(&texts->s[i]);
	return n;
}

/* Finds the entries of one token for one breaker, whose tails begin at first_tail.  Writes them to
 * out and returns their number; out may be NULL. */
static size_t match(const char *piece, size_t n_piece, const struct lmd_str *text,
		    uint32_t first_tail, lmd_token id, struct entry *out)
{
	size_t len = text_bytes(text), n = 0;

	if (!len)
		return 0;
	if (memmem(piece, n_piece, text->ptr, len)) {
		if (out)
			out[0] = (struct entry){.head = id};
		return 1;
	}
	for (size_t at = n_piece > len ? n_piece - len : 0; at < n_piece; at++) {
		size_t i = n_piece - at;

		if (memcmp(piece + at, text->ptr, i))
			continue;
		if (out)
			out[n] = (struct entry){.head = id, .tail = first_tail + (uint32_t)i};
		n++;
	}
	return n;
}

static size_t scan(const struct lmd_sample_vocab *vocab, const struct lmd_param_value *texts,
		   struct entry *out)
{
	char piece[PIECE_MAX];
	size_t n = 0;

	for (uint32_t id = 0; id < vocab->n_tokens; id++) {
		size_t len = vocab->piece(vocab->ctx, (lmd_token)id, piece, sizeof(piece));
		uint32_t first_tail = 0;

		if (len > sizeof(piece))
			len = sizeof(piece);
		for (uint32_t i = 0; len && i < texts->n; i++) {
			n += match(piece, len, &texts->s[i], first_tail, (lmd_token)id,
				   out ? out + n : NULL);
			first_tail += (uint32_t)text_bytes(&texts->s[i]);
		}
	}
	return n;
}

size_t sampler_breakers_bytes(const struct lmd_sample_vocab *vocab,
			      const struct lmd_param_value *texts)
{
	if (!vocab || !texts->n)
		return sizeof(struct sampler_breakers);
	return sizeof(struct sampler_breakers) + count_tails(texts) * sizeof(struct tail) +
	       scan(vocab, texts, NULL) * sizeof(struct entry);
}

/* Tokenises what follows the first i bytes of a breaker. */
static void make_tail(struct tail *t, const struct lmd_sample_vocab *vocab,
		      const struct lmd_str *text, size_t i)
{
	size_t n = 0;

	if (i == text_bytes(text) || vocab->encode(vocab->ctx, text->ptr + i, text_bytes(text) - i,
						   t->token, SAMPLER_BREAKER_TAIL, &n) != LMD_OK)
		n = 0;
	t->n = n < SAMPLER_BREAKER_TAIL ? (uint32_t)n : SAMPLER_BREAKER_TAIL;
}

static int by_head(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->head != y->head)
		return x->head > y->head ? 1 : -1;
	return (x->tail > y->tail) - (x->tail < y->tail);
}

void sampler_breakers_init(struct sampler_breakers *b, const struct lmd_sample_vocab *vocab,
			   const struct lmd_param_value *texts)
{
	struct tail *t = tails(b) + 1;

	b->n_tails = (uint32_t)count_tails(texts);
	for (uint32_t k = 0; k < texts->n; k++) {
		for (size_t i = 1; i <= text_bytes(&texts->s[k]); i++)
			make_tail(t++, vocab, &texts->s[k], i);
	}
	b->n_entries = (uint32_t)scan(vocab, texts, entries(b));
	qsort(entries(b), b->n_entries, sizeof(struct entry), by_head);
}

/* Do the tokens of the tail follow the token that is `back` positions before the end? */
static bool follows(const struct tail *t, const struct sampler_history *h, uint32_t back)
{
	if (t->n > back)
		return false;
	for (uint32_t i = 0; i < t->n; i++) {
		if (sampler_history_back(h, back - i - 1) != t->token[i])
			return false;
	}
	return true;
}

/* Index of the first entry whose head is at least id. */
static uint32_t first_of(const struct sampler_breakers *b, lmd_token id)
{
	const struct entry *e = entries(b);
	uint32_t lo = 0, hi = b->n_entries;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (e[mid].head < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t sampler_breakers_limit(const struct sampler_breakers *b, const struct sampler_history *h)
{
	const struct entry *e = entries(b);

	for (uint32_t back = 0; b->n_entries && back < h->used; back++) {
		lmd_token id = sampler_history_back(h, back);
		int64_t longest = -1;

		for (uint32_t i = first_of(b, id); i < b->n_entries && e[i].head == id; i++) {
			const struct tail *t = &tails(b)[e[i].tail];

			if ((int64_t)t->n > longest && follows(t, h, back))
				longest = t->n;
		}
		if (longest >= 0)
			return back - (uint32_t)longest;
	}
	return h->used;
}

bool sampler_breakers_has(const struct sampler_breakers *b, lmd_token id)
{
	const struct entry *e = entries(b);

	for (uint32_t i = first_of(b, id); i < b->n_entries && e[i].head == id; i++) {
		if (!tails(b)[e[i].tail].n)
			return true;
	}
	return false;
}
