/* SPDX-License-Identifier: MIT
 *
 * Merging of one word. Short words (almost all) are merged in arrays on the stack, by scanning for
 * the lowest rank. Long words use a heap, so that a megabyte without a blank takes O(n log n). */
#include "common/bpe.h"

#include <string.h>

#include "common/unicode.h"

/* j->buf[1]: arrays of a long word; j->buf[2]: its heap. */
#define SHORT_MAX 48
#define HEAP_STEPS 8 /* steps of removing one pair from a heap that does not fit in the cache */

/* Emits a symbol that is not a token: its bytes, as far as there are tokens for them. */
static void put_bytes(const struct tok_bpe *b, struct tok_encode_job *j, const char *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)w[i];
		char utf8[4];
		size_t len = 1;

		utf8[0] = (char)c;
		if (b->byte_level)
			len = tok_ucd_put_utf8(utf8, tok_byte_char(c));
		for (size_t k = 0; k < len; k++)
			if (b->byte_token[(unsigned char)utf8[k]] != TOK_NONE)
				tok_encode_job_put(j, b->byte_token[(unsigned char)utf8[k]]);
	}
}

static inline void put_symbol(const struct tok_bpe *b, struct tok_encode_job *j, uint32_t sym,
			      const char *w, size_t n)
{
	if (LMD_LIKELY(sym < b->vocab->n))
		tok_encode_job_put(j, sym);
	else
		put_bytes(b, j, w, n);
}

/* Reads the symbols of a word from left to right. */
struct reader {
	const struct tok_bpe *b;
	const char *w;
	size_t n, at;
	bool unknown;        /* the previous symbol was the unknown token */
	uint32_t n_bytes;    /* remaining byte tokens of the character before `at` */
};

/* Returns the symbol of a character with the prefix and suffix that its position requires. */
static uint32_t with_affixes(const struct reader *r, size_t len)
{
	const struct tok_bpe *b = r->b;
	size_t front = r->at ? b->prefix.len : 0, back = r->at + len == r->n ? b->suffix.len : 0;
	char text[128];

	if (!front && !back)
		return tok_string_map_find(&b->map, b->sym.p, r->w + r->at, len);
	if (front + len + back > sizeof(text))
		return TOK_NONE;
	if (front)
		memcpy(text, b->prefix.ptr, front);
	memcpy(text + front, r->w + r->at, len);
	if (back)
		memcpy(text + front + len, b->suffix.ptr, back);
	return tok_string_map_find(&b->map, b->sym.p, text, front + len + back);
}

static bool have_bytes(const struct tok_bpe *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b->byte_token[(unsigned char)s[i]] == TOK_NONE)
			return false;
	return true;
}

/* Reads the next symbol by the strict rules; returns false at the end. */
static bool next_strict(struct reader *r, uint32_t *sym, size_t *at)
{
	const struct tok_bpe *b = r->b;

	while (r->n_bytes || r->at < r->n) {
		size_t len = 1;
		uint32_t id;

		if (r->n_bytes) {
			*at = r->at - r->n_bytes--;
			*sym = b->byte_token[(unsigned char)r->w[*at]];
			return true;
		}
		if (!b->byte_level) {
			len = tok_utf8_len((unsigned char)r->w[r->at]);
			len = len < r->n - r->at ? len : r->n - r->at;
		}
		*at = r->at;
		id = b->byte_level ? b->byte_sym[(unsigned char)r->w[r->at]] : with_affixes(r, len);
		r->at += len;
		if (id < b->vocab->n) {
			r->unknown = false;
			*sym = id;
			return true;
		}
		if (b->byte_fallback && have_bytes(b, r->w + *at, len)) {
			r->unknown = false;
			r->n_bytes = (uint32_t)len;
			continue;
		}
		if (b->unk == TOK_NONE || (r->unknown && b->fuse_unk))
			continue;
		r->unknown = true;
		*sym = b->unk;
		return true;
	}
	return false;
}

/* Reads the next symbol: one byte, or one character as given by its lead byte. */
static inline bool next_symbol(struct reader *r, uint32_t *sym, size_t *at)
{
	size_t len;

	if (LMD_UNLIKELY(r->b->strict))
		return next_strict(r, sym, at);
	if (r->at == r->n)
		return false;
	*at = r->at;
	if (r->b->byte_level) {
		*sym = r->b->byte_sym[(unsigned char)r->w[r->at++]];
		return true;
	}
	len = tok_utf8_len((unsigned char)r->w[r->at]);
	len = len < r->n - r->at ? len : r->n - r->at;
	*sym = tok_string_map_find(&r->b->map, r->b->sym.p, r->w + r->at, len);
	r->at += len;
	return true;
}

static inline uint32_t rank_of(const struct tok_bpe *b, uint32_t left, uint32_t right,
			       uint32_t *join)
{
	const struct tok_pairslot *e = tok_pairmap_find(&b->pairs, left, right);

	if (!e)
		return TOK_NONE;
	*join = e->id;
	return e->next - 1;
}

/* Merges a word of at most SHORT_MAX symbols. */
static void merge_short(const struct tok_bpe *b, struct tok_encode_job *j, const char *w, size_t n)
{
	uint32_t sym[SHORT_MAX], rank[SHORT_MAX], join[SHORT_MAX], at[SHORT_MAX + 1];
	struct reader r = {.b = b, .w = w, .n = n};
	size_t k = 0, where;

	for (; next_symbol(&r, &sym[k], &where); k++) /* at most one symbol per byte */
		at[k] = (uint32_t)where;
	at[k] = (uint32_t)n;
	for (size_t i = 0; i + 1 < k; i++)
		rank[i] = rank_of(b, sym[i], sym[i + 1], &join[i]);
	while (k > 1) {
		size_t best = 0;

		for (size_t i = 1; i + 1 < k; i++)
			if (rank[i] < rank[best])
				best = i;
		if (rank[best] == TOK_NONE)
			break;
		sym[best] = join[best];
		k--;
		for (size_t i = best + 1; i < k; i++) {
			sym[i] = sym[i + 1];
			at[i] = at[i + 1];
			rank[i - 1] = rank[i];
			join[i - 1] = join[i];
		}
		at[k] = (uint32_t)n;
		if (best + 1 < k)
			rank[best] = rank_of(b, sym[best], sym[best + 1], &join[best]);
		if (best)
			rank[best - 1] = rank_of(b, sym[best - 1], sym[best], &join[best - 1]);
	}
	for (size_t i = 0; i < k; i++)
		put_symbol(b, j, sym[i], w + at[i], at[i + 1] - at[i]);
}

/* Symbols of a long word as a linked list, each at the index of its first byte: at most 12 bytes of
 * memory for a byte of the word. The symbol of a merged-away link is TOK_NONE, which no pair has. */
struct link {
	uint32_t sym;
	uint32_t prev, next; /* TOK_NONE = end */
};

/* A long word while it is merged. Pairs stay queued when one of their symbols is merged with
 * another; such stale pairs are recognised when it is their turn, or removed when the queue is
 * full. */
struct long_word {
	const struct tok_bpe *b;
	struct tok_encode_job *j;
	struct link *l; /* [bytes of the word] */
	uint64_t *heap; /* [cap] of which n are in use: rank << 32 | left */
	size_t n, cap;
};

static void sift_down(uint64_t *h, size_t n, size_t i)
{
	uint64_t x = h[i];

	for (size_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && h[c + 1] < h[c])
			c++;
		if (h[c] >= x)
			break;
		h[i] = h[c];
	}
	h[i] = x;
}

/* Returns the rank of the pair of link i and its successor, TOK_NONE if it cannot be merged. */
static uint32_t rank_at(const struct long_word *w, uint32_t i, uint32_t *join)
{
	const struct link *l = &w->l[i];

	return l->next == TOK_NONE ? TOK_NONE : rank_of(w->b, l->sym, w->l[l->next].sym, join);
}

/* Removes the stale pairs: fewer than the word has bytes remain. Returns false if cancelled. */
static bool remove_stale(struct long_word *w)
{
	size_t n = 0;
	uint32_t join;

	w->j->work += w->n;
	for (size_t i = 0; i < w->n; i++) {
		if (rank_at(w, (uint32_t)w->heap[i], &join) == (uint32_t)(w->heap[i] >> 32))
			w->heap[n++] = w->heap[i];
		if (!tok_encode_job_step(w->j, 2))
			return false;
	}
	w->n = n;
	for (size_t i = n / 2; i-- > 0;)
		sift_down(w->heap, n, i);
	return true;
}

/* Queues the pair of link i and its successor if it can be merged. Returns false if cancelled. */
static bool queue_pair(struct long_word *w, uint32_t i)
{
	uint32_t join, rank = rank_at(w, i, &join);
	const uint64_t x = (uint64_t)rank << 32 | i;
	size_t at;

	if (rank == TOK_NONE)
		return true;
	if (w->n == w->cap && !remove_stale(w))
		return false;
	for (at = w->n++; at && w->heap[(at - 1) / 2] > x; at = (at - 1) / 2)
		w->heap[at] = w->heap[(at - 1) / 2];
	w->heap[at] = x;
	return true;
}

static uint64_t take_pair(struct long_word *w)
{
	uint64_t *h = w->heap, top = h[0];

	h[0] = h[--w->n];
	if (w->n)
		sift_down(h, w->n, 0);
	return top;
}

/* Merges link i with its successor. Returns false if cancelled. */
static bool join_pair(struct long_word *w, uint32_t i, uint32_t join)
{
	struct link *l = &w->l[i], *r = &w->l[l->next];

	l->sym = join;
	l->next = r->next;
	r->sym = TOK_NONE;
	if (l->next != TOK_NONE)
		w->l[l->next].prev = i;
	return queue_pair(w, i) && (l->prev == TOK_NONE || queue_pair(w, l->prev));
}

static enum lmd_status merge_long(const struct tok_bpe *b, struct tok_encode_job *j, const char *s,
				  size_t n)
{
	/* a quarter more than there can be pairs, so that few passes remove the stale ones */
	struct long_word w = {.b = b, .j = j, .cap = n + n / 4};
	struct reader r = {.b = b, .w = s, .n = n};
	uint32_t sym, first = TOK_NONE, last = TOK_NONE;
	size_t at;

	if (!tok_buf_reserve(&j->buf[1], j->host, n * sizeof(*w.l)) ||
	    !tok_buf_reserve(&j->buf[2], j->host, w.cap * sizeof(*w.heap)))
		return LMD_NOMEM;
	w.l = j->buf[1].p;
	w.heap = j->buf[2].p;
	while (next_symbol(&r, &sym, &at)) {
		w.l[at] = (struct link){sym, last, TOK_NONE};
		if (last == TOK_NONE)
			first = (uint32_t)at;
		else
			w.l[last].next = (uint32_t)at;
		last = (uint32_t)at;
		j->work++;
		if (!tok_encode_job_step(j, 1))
			return LMD_CANCELLED;
	}
	for (uint32_t i = first; i != TOK_NONE; i = w.l[i].next)
		if (!queue_pair(&w, i) || !tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
	while (w.n) {
		uint64_t top = take_pair(&w);
		uint32_t i = (uint32_t)top, join;

		j->work += 3;
		if (!tok_encode_job_step(j, HEAP_STEPS))
			return LMD_CANCELLED;
		if (rank_at(&w, i, &join) == (uint32_t)(top >> 32) && !join_pair(&w, i, join))
			return LMD_CANCELLED;
	}
	for (uint32_t i = first, next; i != TOK_NONE; i = next) {
		next = w.l[i].next;
		put_symbol(b, j, w.l[i].sym, s + i, (next == TOK_NONE ? n : next) - i);
		if (!tok_encode_job_step(j, 1))
			return LMD_CANCELLED;
	}
	return LMD_OK;
}

enum lmd_status tok_bpe_merge(const struct tok_bpe *b, struct tok_encode_job *j, const char *w,
			      size_t n)
{
	if (n > SHORT_MAX)
		return merge_long(b, j, w, n);
	merge_short(b, j, w, n);
	return LMD_OK;
}
