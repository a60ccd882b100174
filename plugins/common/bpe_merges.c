/* SPDX-License-Identifier: MIT
 *
 * Adds the merges to the pair table, and records the merge boundaries.
 *
 * Some files have half a million merges, so each of them must be cheap. The bytes of its parts are
 * taken from the token that it produces, which is usually the one that is expected next, and
 * merges pass through each step in groups, so that prefetched table entries have time to arrive in
 * the cache. */
#include <string.h>

#include "common/bpe_tables.h"

/* A merge while it is being added. */
struct merge {
	struct tok_string_map_key part[3]; /* bytes of left, right and joined text */
	uint32_t sym[3];
	uint32_t rank;
	char *owned; /* memory for bytes of the parts that belong to no symbol, or NULL */
	size_t n_owned;
};

/* Splits a merge into its two parts; returns false if it has none. */
static bool split_merge(const struct lmd_tok_spec *spec, uint32_t rank, struct lmd_str part[2])
{
	const struct lmd_str *t = &spec->merge[rank];
	const char *gap = t->ptr;

	if (spec->merge_left)
		gap += spec->merge_left[rank];
	else
		gap = t->len > 1 ? memchr(t->ptr + 1, ' ', t->len - 1) : NULL;
	if (!gap || gap == t->ptr || gap + 1 >= t->ptr + t->len)
		return false;
	part[0] = (struct lmd_str){t->ptr, (size_t)(gap - t->ptr)};
	part[1] = (struct lmd_str){gap + 1, (size_t)(t->ptr + t->len - gap - 1)};
	return true;
}

/* Counts the characters of a text in the byte alphabet; each takes one or two bytes. */
static size_t n_chars(const struct lmd_str *s)
{
	const uint64_t ones = 0x0101010101010101ull;
	size_t n = s->len, i = 0;
	uint64_t w;

	for (; i + 8 <= s->len; i += 8) { /* subtracts the continuation bytes, 10xxxxxx */
		memcpy(&w, s->ptr + i, 8);
		n -= (w >> 7 & ~(w >> 6) & ones) * ones >> 56;
	}
	for (; i < s->len; i++)
		n -= ((unsigned char)s->ptr[i] & 0xc0) == 0x80;
	return n;
}

static inline uint64_t differ(const char *a, const char *b, size_t n)
{
	uint64_t x = 0, y = 0;

	memcpy(&x, a, n);
	memcpy(&y, b, n);
	return x ^ y;
}

/* Compares short texts, most of which are equal, without calls and with few branches. */
static inline bool same(const char *a, const char *b, size_t n)
{
	uint64_t d = 0;

	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8)
			d |= differ(a + i, b + i, 8);
		return !(d | differ(a + n - 8, b + n - 8, 8));
	}
	if (n >= 4)
		return !(differ(a, b, 4) | differ(a + n - 4, b + n - 4, 4));
	return !n || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Tries the token at *likely_token, and the one after it, as the result of the merge: most files
 * list the tokens in the order of the merges that produce them. On success, the bytes of left and
 * right are those of that symbol. */
static bool read_expected(const struct tok_bpe *b, const struct lmd_str part[2],
			  uint32_t *likely_token, struct merge *m)
{
	const struct lmd_str *text = b->vocab->text;

	if (b->byte_level && ((unsigned char)*part[1].ptr & 0xc0) == 0x80)
		return false; /* in the middle of a character of the alphabet */
	for (uint32_t id = *likely_token; id < b->vocab->n && id < *likely_token + 2; id++) {
		const struct lmd_str *s = tok_bpe_sym(b, id), *t = &text[id];
		size_t n;

		if (!s->ptr || t->len != part[0].len + part[1].len ||
		    !same(t->ptr, part[0].ptr, part[0].len) ||
		    !same(t->ptr + part[0].len, part[1].ptr, part[1].len))
			continue;
		n = s->len == t->len ? part[0].len : n_chars(&part[0]);
		m->part[0] = tok_string_map_key(&b->map, s->ptr, n);
		m->part[1] = tok_string_map_key(&b->map, s->ptr + n, s->len - n);
		m->sym[2] = *likely_token = id;
		return true;
	}
	return false;
}

/* Reads any other merge; its bytes go to m->owned, which has room for twice the size of the text.
 * Returns false if the merge can never apply. */
static bool read_other(const struct tok_bpe *b, const struct tok_bpe_alphabet *alphabet,
		       const struct lmd_str part[2], struct merge *m)
{
	const char *join = m->owned;
	char *p = m->owned;
	size_t n[2];

	for (int i = 0; i < 2; i++) {
		n[i] = part[i].len;
		if (!b->byte_level)
			memcpy(p, part[i].ptr, n[i]);
		else if (!tok_bpe_to_bytes(alphabet, part[i].ptr, part[i].len, p, &n[i]))
			return false;
		m->part[i] = tok_string_map_key(&b->map, p, n[i]);
		p += n[i];
	}
	if (b->prefix.len && n[1] >= b->prefix.len &&
	    !memcmp(m->part[1].s, b->prefix.ptr, b->prefix.len)) {
		/* the joined text does not include the prefix of the right part */
		join = p;
		memcpy(p, m->part[0].s, n[0]);
		memcpy(p + n[0], m->part[1].s + b->prefix.len, n[1] - b->prefix.len);
		p += n[0] + n[1] - b->prefix.len;
	}
	m->part[2] = tok_string_map_key(&b->map, join, (size_t)(p - join));
	m->n_owned = (size_t)(p - m->owned);
	m->sym[2] = TOK_NONE;
	return true;
}

/* Reads merge `rank` into m; symbol_bytes: memory for its bytes if they belong to no symbol. */
static bool read_merge(const struct tok_bpe *b, const struct tok_bpe_alphabet *alphabet,
		       uint32_t rank, char *symbol_bytes, uint32_t *likely_token, struct merge *m)
{
	struct lmd_str part[2];

	if (!split_merge(b->vocab->spec, rank, part))
		return false;
	m->rank = rank;
	m->owned = symbol_bytes;
	m->n_owned = 0;
	if ((b->prefix.len || !read_expected(b, part, likely_token, m)) &&
	    !read_other(b, alphabet, part, m))
		return false;
	for (int i = 0; i < (m->n_owned ? 3 : 2); i++)
		__builtin_prefetch(tok_string_map_prefetch_slot(&b->map, &m->part[i]));
	return true;
}

/* Finds or creates the three symbols. *used: some symbol now refers to bytes in m->owned. */
static enum lmd_status find_symbols(struct tok_bpe *b, const struct lmd_host *host, struct merge *m,
				    bool *used, struct lmd_error *err)
{
	*used = false;
	for (int i = 0; i < (m->n_owned ? 3 : 2); i++) {
		const struct tok_string_map_key *k = &m->part[i];

		m->sym[i] = tok_string_map_find_key(&b->map, b->sym.p, k);
		if (m->sym[i] != TOK_NONE)
			continue;
		if (b->strict)
			return lmd_fail(err, LMD_CORRUPT,
					"vocabulary: merge %u: '%.*s' is not a token", m->rank,
					(int)(k->len < 60 ? k->len : 60), k->s);
		m->sym[i] = tok_bpe_new_symbol(b, host, k->s, k->len);
		*used = true;
		if (m->sym[i] == TOK_NONE)
			return LMD_NOMEM;
	}
	__builtin_prefetch(tok_pairmap_place(&b->pairs, m->sym[0], m->sym[1]), 1);
	return LMD_OK;
}

/* Returns true if words may be split at merge boundaries. They may not if the conversion of a
 * character depends on its position in the word or on the preceding text, or if a character may be
 * dropped, so that its neighbours become adjacent. */
static bool boundaries_are_safe(const struct tok_bpe *b)
{
	if (b->prefix.len || b->suffix.len)
		return false;
	if (!b->strict || (!b->byte_level && b->unk != TOK_NONE && !b->fuse_unk))
		return true;
	for (unsigned c = 0; c < 256; c++)
		if (b->byte_level ? b->byte_sym[c] >= b->vocab->n
				  : !b->byte_fallback || b->byte_token[c] == TOK_NONE)
			return false;
	return true;
}

/* Returns true if a token may stand for text other than its own. Under the strict rules, some
 * tokens stand for the bytes of characters that are not tokens, or for such characters themselves.
 * A merge with such a token can cross places that its parts do not reveal. */
static bool is_stand_in(const struct tok_bpe *b, uint32_t sym)
{
	if (!b->strict || b->byte_level)
		return false;
	for (unsigned c = 0; sym >= b->byte_low && sym <= b->byte_high && c < 256; c++)
		if (b->byte_token[c] == sym)
			return true;
	return sym == b->unk;
}

#define GROUP 64

/* State of the loop over all merges. */
struct walk {
	const struct lmd_host *host;
	const struct tok_bpe_alphabet *alphabet;
	char *symbol_bytes;    /* for bytes that belong to no symbol yet */
	uint32_t likely_token; /* the token that the next merge probably produces */
	bool has_boundaries;   /* merge boundaries are still possible */
	struct merge m[GROUP];
};

/* Adds the merges from..to, at most GROUP, step by step for all of them. Of equal pairs the first
 * one counts; under the strict rules the last one. */
static enum lmd_status add_group(struct tok_bpe *b, struct walk *k, uint32_t from, uint32_t to,
				 struct lmd_error *err)
{
	struct merge *m = k->m, *end = m;
	char *p = k->symbol_bytes;

	for (; from < to; from++) {
		if (read_merge(b, k->alphabet, from, p, &k->likely_token, end)) {
			p += end->n_owned;
			end++;
		}
	}
	for (m = k->m; m < end; m++)
		for (int i = 0; i < 2; i++)
			__builtin_prefetch(
				tok_string_map_prefetch_entry(&b->map, b->sym.p, &m->part[i]));
	for (m = k->m; m < end; m++) {
		bool used;
		enum lmd_status st = find_symbols(b, k->host, m, &used, err);

		if (st != LMD_OK)
			return st;
		k->likely_token = m->sym[2];
		if (used) /* also keeps the bytes before it */
			k->symbol_bytes = m->owned + m->n_owned;
	}
	for (m = k->m; m < end; m++) {
		tok_pairmap_add(&b->pairs, m->sym[0], m->sym[1], m->rank, m->sym[2], b->strict);
		k->has_boundaries &= !is_stand_in(b, m->sym[0]) && !is_stand_in(b, m->sym[1]);
		if (k->has_boundaries)
			tok_merge_boundaries_add(&b->boundaries, m->part[0].s, m->part[0].len,
						 m->part[1].s, m->part[1].len);
	}
	return LMD_OK;
}

enum lmd_status tok_bpe_add_merges(struct tok_bpe *b, const struct lmd_host *host,
				   const struct tok_bpe_alphabet *alphabet, char *symbol_bytes,
				   struct lmd_error *err)
{
	struct walk k = {.host = host,
			 .alphabet = alphabet,
			 .symbol_bytes = symbol_bytes,
			 .has_boundaries = boundaries_are_safe(b)};
	uint32_t n = (uint32_t)b->vocab->spec->n_merges;
	enum lmd_status st = LMD_OK;

	if (!tok_pairmap_init(&b->pairs, host, n) ||
	    !tok_merge_boundaries_init(&b->boundaries, host))
		return LMD_NOMEM;
	for (uint32_t from = 0; from < n && st == LMD_OK; from += GROUP)
		st = add_group(b, &k, from, n - from < GROUP ? n : from + GROUP, err);
	if (!k.has_boundaries)
		tok_merge_boundaries_fini(&b->boundaries, host);
	return st;
}
