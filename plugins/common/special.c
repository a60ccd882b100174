/* SPDX-License-Identifier: MIT
 *
 * Finds special tokens. One scan of the text with filters over its bytes finds the positions where
 * some token may start, and which lengths occur at all. Then there is one pass over these
 * positions for each length that occurs, the longest first. The total time is the length of the
 * text plus positions times lengths, whatever the number of tokens. */
#include "common/special.h"
#include "common/work.h"

#include <stdlib.h>
#include <string.h>

/* Buckets from this one on share the last bit of a filter word. */
#define LAST_BIT 63u

static inline unsigned slot_of(unsigned char b0, unsigned char b1)
{
	return (b0 * 37u + b1 * 5u) & (TOK_SPECIAL_PAIRS - 1);
}

static inline unsigned bit_of(uint32_t bucket)
{
	return bucket < LAST_BIT ? bucket : LAST_BIT;
}

static void add_start(struct tok_special *sp, const struct lmd_str *t, uint32_t bucket)
{
	const unsigned char *b = (const unsigned char *)t->ptr;
	uint64_t bit = 1ull << bit_of(bucket);

	sp->first[b[0]] |= bit;
	if (t->len > 1) {
		sp->pair[slot_of(b[0], b[1])] |= bit;
		return;
	}
	for (unsigned i = 0; i < 256; i++)
		sp->pair[slot_of(b[0], (unsigned char)i)] |= bit;
}

/* Sorts ids by descending length, then ascending id: a merge sort over two arrays. */
static void sort_ids(const struct lmd_str *text, uint32_t *id, uint32_t *tmp, uint32_t n)
{
	for (uint64_t run = 1; run < n; run *= 2) {
		for (uint64_t at = 0; at < n; at += 2 * run) {
			uint64_t mid = at + run < n ? at + run : n;
			uint64_t end = at + 2 * run < n ? at + 2 * run : n, l = at, r = mid;

			for (uint64_t o = at; o < end; o++) {
				bool left = r == end ||
					    (l < mid && text[id[l]].len >= text[id[r]].len);

				tmp[o] = left ? id[l++] : id[r++];
			}
		}
		memcpy(id, tmp, n * sizeof(*id));
	}
}

enum lmd_status tok_special_init(struct tok_vocab *v, struct lmd_error *err)
{
	const uint8_t mask = TOK_ATTR_CONTROL | TOK_ATTR_USER | TOK_ATTR_UNKNOWN;
	struct tok_special *sp = &v->special;
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n; i++)
		n += (v->attr[i] & mask) != 0;
	sp->n = n;
	sp->id = tok_host_array(v->host, n, sizeof(*sp->id));
	sp->bucket = tok_host_array(v->host, (size_t)n + 1, sizeof(*sp->bucket));
	sp->strips = tok_host_array(v->host, n, sizeof(*sp->strips));
	if (!sp->id || !sp->bucket || !sp->strips || !tok_string_map_init(&sp->map, v->host, n)) {
		tok_special_fini(v);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u special tokens", n);
	}
	n = 0;
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->attr[i] & mask) {
			sp->id[n++] = i;
			(void)tok_string_map_add(&sp->map, v->text, i); /* texts are unique */
		}
	}
	sort_ids(v->text, sp->id, sp->bucket, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || v->text[sp->id[i]].len != v->text[sp->id[i - 1]].len)
			sp->bucket[sp->n_bucket++] = i;
		add_start(sp, &v->text[sp->id[i]], sp->n_bucket - 1);
		sp->strips[sp->n_bucket - 1] |=
			(v->attr[sp->id[i]] & (TOK_ATTR_LSTRIP | TOK_ATTR_RSTRIP)) != 0;
	}
	sp->bucket[sp->n_bucket] = n;
	return LMD_OK;
}

void tok_special_fini(struct tok_vocab *v)
{
	struct tok_special *sp = &v->special;

	tok_host_free(v->host, sp->id);
	tok_host_free(v->host, sp->bucket);
	tok_host_free(v->host, sp->strips);
	tok_string_map_fini(&sp->map, v->host);
	memset(sp, 0, sizeof(*sp));
}

/* State of one tok_special_find call. */
struct finder {
	const struct tok_vocab *v;
	const char *text;
	uint32_t n;
	bool control;
	uint32_t only;      /* search only for this token, or TOK_NONE */
	struct tok_buf pos; /* uint32_t: positions where some token may start */
	size_t n_pos;
	struct tok_work work;
	uint64_t lens;        /* bit set of the buckets that may occur */
	struct tok_buf cand;  /* struct cand: matches of one length */
	struct tok_buf other; /* struct tok_special_match: the matches of longer lengths */
};

struct cand {
	uint32_t pos, id;
	uint32_t taken;
};

/* Returns the special token of that length at pos, or TOK_NONE. */
static uint32_t token_at(const struct finder *f, uint32_t pos, uint32_t len)
{
	uint32_t id;

	if (len > f->n - pos)
		return TOK_NONE;
	id = tok_string_map_find(&f->v->special.map, f->v->text, f->text + pos, len);
	if (id != TOK_NONE && ((!f->control && (f->v->attr[id] & TOK_ATTR_HIDDEN)) ||
			       (f->only != TOK_NONE && f->only != id)))
		return TOK_NONE;
	return id;
}

static bool scan(struct finder *f)
{
	const struct tok_special *sp = &f->v->special;
	const unsigned char *t = (const unsigned char *)f->text;

	for (uint32_t i = 0; i < f->n; i++) {
		uint64_t bits = sp->first[t[i]];

		if (!(i % TOK_WORK_BATCH) && !tok_work_step(&f->work, f->v->host, TOK_WORK_BATCH / 8))
			return false;
		if (LMD_LIKELY(!bits))
			continue;
		bits &= sp->pair[slot_of(t[i], i + 1 < f->n ? t[i + 1] : 0)];
		if (!bits)
			continue;
		if (!tok_buf_reserve(&f->pos, f->v->host, (f->n_pos + 1) * sizeof(uint32_t)))
			return false;
		((uint32_t *)f->pos.p)[f->n_pos++] = i;
		f->lens |= bits;
	}
	return true;
}

static int by_order(const void *a, const void *b)
{
	const struct cand *x = *(struct cand *const *)a, *y = *(struct cand *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* Resolves a chain c[0..n) of overlapping matches of one length: the lowest id goes first, each
 * from the left. */
static bool resolve_chain(const struct lmd_host *host, struct cand *c, size_t n, uint32_t len)
{
	struct cand **order;
	bool one_id = true;
	uint64_t free_from = 0;

	for (size_t i = 1; i < n && one_id; i++)
		one_id = c[i].id == c[0].id;
	if (one_id) {
		for (size_t i = 0; i < n; i++) {
			c[i].taken = c[i].pos >= free_from;
			if (c[i].taken)
				free_from = (uint64_t)c[i].pos + len;
		}
		return true;
	}
	order = tok_host_array(host, n, sizeof(struct cand *));
	if (!order)
		return false;
	for (size_t i = 0; i < n; i++)
		order[i] = &c[i];
	qsort(order, n, sizeof(struct cand *), by_order);
	for (size_t i = 0; i < n; i++) {
		struct cand *x = order[i];
		bool ok = true;

		for (struct cand *y = x; ok && y-- > c && x->pos - y->pos < len;)
			ok = !y->taken;
		for (struct cand *y = x + 1; ok && y < c + n && y->pos - x->pos < len; y++)
			ok = !y->taken;
		x->taken = ok;
	}
	tok_host_free(host, order);
	return true;
}

static inline bool is_space(char c)
{
	return c == ' ' || (c >= 9 && c <= 13);
}

/* Makes the claim of an accepted match; low and high bound the white space that it may strip. */
static struct tok_special_match claim_of(const struct finder *f, const struct cand *c, uint32_t len,
					 uint32_t low, uint32_t high)
{
	struct tok_special_match k = {c->pos, c->pos + len, c->id};
	uint8_t attr = f->v->attr[c->id];

	if (attr & TOK_ATTR_LSTRIP)
		while (k.begin > low && is_space(f->text[k.begin - 1]))
			k.begin--;
	if (attr & TOK_ATTR_RSTRIP)
		while (k.end < high && is_space(f->text[k.end]))
			k.end++;
	return k;
}

/* Collects the matches of one length in free text; *n is their number. */
static bool collect(struct finder *f, const struct tok_special_match *old, size_t n_old,
		    uint32_t len, size_t *n)
{
	const uint32_t *pos = f->pos.p;
	struct cand *c;
	size_t k = 0;

	*n = 0;
	for (size_t i = 0; i < f->n_pos; i++) {
		uint32_t id;

		while (k < n_old && old[k].end <= pos[i])
			k++;
		if (!tok_work_step(&f->work, f->v->host, 4))
			return false;
		if (k < n_old && (uint64_t)pos[i] + len > old[k].begin)
			continue;
		id = token_at(f, pos[i], len);
		if (id == TOK_NONE)
			continue;
		if (!tok_buf_reserve(&f->cand, f->v->host, (*n + 1) * sizeof(*c)))
			return false;
		c = f->cand.p;
		c[(*n)++] = (struct cand){pos[i], id, 0};
	}
	return true;
}

/* Resolves each chain of overlapping matches. */
static bool resolve_overlaps(struct finder *f, size_t n, uint32_t len)
{
	struct cand *c = f->cand.p;
	size_t chain = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && c[i].pos - c[i - 1].pos < len)
			continue;
		if (!resolve_chain(f->v->host, c + chain, i - chain, len))
			return false;
		chain = i;
	}
	return true;
}

/* Handles one length: merges new claims into the list. */
static bool take_length(struct finder *f, uint32_t len, struct tok_buf *claims, size_t *n_claims)
{
	struct tok_special_match *old = claims->p, *out;
	size_t n_old = *n_claims, n_cand, k = 0, o = 0;
	const struct cand *c;
	struct tok_buf swap;
	uint32_t end = 0;

	if (!collect(f, old, n_old, len, &n_cand))
		return false;
	if (!n_cand)
		return true;
	if (!resolve_overlaps(f, n_cand, len) ||
	    !tok_buf_reserve(&f->other, f->v->host, (n_old + n_cand) * sizeof(*out)))
		return false;
	out = f->other.p;
	c = f->cand.p;
	for (size_t i = 0; i < n_cand; i++) {
		while (k < n_old && old[k].begin < c[i].pos) {
			out[o++] = old[k];
			end = old[k++].end;
		}
		if (!c[i].taken || c[i].pos < end)
			continue;
		out[o] = claim_of(f, &c[i], len, end, k < n_old ? old[k].begin : f->n);
		end = out[o++].end;
	}
	while (k < n_old)
		out[o++] = old[k++];
	swap = *claims;
	*claims = f->other;
	f->other = swap;
	*n_claims = o;
	return true;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Handles one length with tokens that strip white space. What one of them strips may be the start
 * of the next, so each token that occurs gets its own pass. */
static bool take_stripping(struct finder *f, uint32_t len, struct tok_buf *claims, size_t *n_claims)
{
	size_t n;
	uint32_t *id;
	bool ok = collect(f, claims->p, *n_claims, len, &n);

	if (!ok || !n)
		return ok;
	id = tok_host_array(f->v->host, n, sizeof(*id));
	if (!id)
		return false;
	for (size_t i = 0; i < n; i++)
		id[i] = ((struct cand *)f->cand.p)[i].id;
	qsort(id, n, sizeof(*id), by_id);
	for (size_t i = 0; ok && i < n; i++) {
		if (i && id[i] == id[i - 1])
			continue;
		f->only = id[i];
		ok = take_length(f, len, claims, n_claims);
	}
	f->only = TOK_NONE;
	tok_host_free(f->v->host, id);
	return ok;
}

enum lmd_status tok_special_find(const struct tok_vocab *v, const char *text, size_t n,
				 bool control, struct tok_buf *claims, size_t *n_claims)
{
	const struct tok_special *sp = &v->special;
	struct finder f = {
		.v = v, .text = text, .n = (uint32_t)n, .control = control, .only = TOK_NONE};
	bool ok = true;

	*n_claims = 0;
	if (!sp->n)
		return LMD_OK;
	ok = scan(&f);
	for (uint32_t b = 0; ok && f.n_pos && b < sp->n_bucket; b++) {
		uint32_t len = (uint32_t)v->text[sp->id[sp->bucket[b]]].len;

		if (!(f.lens >> bit_of(b) & 1))
			continue;
		ok = sp->strips[b] ? take_stripping(&f, len, claims, n_claims)
				   : take_length(&f, len, claims, n_claims);
	}
	tok_buf_fini(&f.pos, v->host);
	tok_buf_fini(&f.cand, v->host);
	tok_buf_fini(&f.other, v->host);
	return ok ? LMD_OK : f.work.stopped ? LMD_CANCELLED : LMD_NOMEM;
}
