/* SPDX-License-Identifier: MIT
 *
 * The control texts are sorted; matching narrows the range of texts that start with the bytes read
 * so far. */
#include "core/text/chat/control_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/text/answer/parser.h"

struct control {
	struct lmd_str text;
	lmd_token id;
};

struct lmi_text_control_tokens {
	struct control *v; /* [n], sorted by text, each text once */
	uint32_t n;
	char *bytes;
};

/* ---- collecting ---- */

static int by_bytes(const void *pa, const void *pb)
{
	const struct lmd_str *a = &((const struct control *)pa)->text;
	const struct lmd_str *b = &((const struct control *)pb)->text;
	size_t n = a->len < b->len ? a->len : b->len;
	int d = memcmp(a->ptr, b->ptr, n);

	return d ? d : (a->len > b->len) - (a->len < b->len);
}

/* Returns the length of the text if this is a control token, one that has text only with
 * LMD_DECODE_UNPARSE_SPECIAL; otherwise 0. */
static size_t control_text(const struct lmi_tokenizer *tok, lmd_token id, char *out, size_t cap)
{
	if (lmi_tokenizer_piece(tok, id, 0, out, cap))
		return 0;
	return lmi_tokenizer_piece(tok, id, LMD_DECODE_UNPARSE_SPECIAL, out, cap);
}

/* Lists the control tokens and adds up the lengths of their texts. */
static enum lmd_status list_controls(struct lmi_text_token_buf *ids, size_t *bytes,
				     const struct lmi_tokenizer *tok, char *buf, size_t cap,
				     struct lmd_error *err)
{
	uint32_t n_tokens = lmi_tokenizer_info(tok)->n_tokens;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < n_tokens && st == LMD_OK; i++) {
		const lmd_token id = (lmd_token)i;
		size_t len = control_text(tok, id, buf, cap);

		if (len)
			st = lmi_text_token_buf_append(ids, &id, 1, err);
		*bytes += len;
	}
	return st;
}

static enum lmd_status collect(struct lmi_text_control_tokens *c, const struct lmi_tokenizer *tok,
			       char *buf, size_t cap, struct lmd_error *err)
{
	struct lmi_text_token_buf ids = {0};
	size_t bytes = 0, at = 0;
	enum lmd_status st = list_controls(&ids, &bytes, tok, buf, cap, err);

	if (st == LMD_OK) {
		c->v = lmi_alloc(ids.n + 1, sizeof(*c->v));
		c->bytes = lmi_alloc(bytes + 1, 1);
		if (!c->v || !c->bytes)
			st = lmd_fail(err, LMD_NOMEM, "no memory for %zu control tokens", ids.n);
	}
	for (size_t i = 0; i < ids.n && st == LMD_OK; i++) {
		size_t len = control_text(tok, ids.id[i], c->bytes + at, bytes - at);

		c->v[c->n++] = (struct control){.text = {.ptr = c->bytes + at, .len = len},
						.id = ids.id[i]};
		at += len;
	}
	lmi_text_token_buf_fini(&ids);
	return st;
}

enum lmd_status lmi_text_control_tokens_create(struct lmi_text_control_tokens **out,
					       const struct lmi_tokenizer *tok,
					       struct lmd_error *err)
{
	size_t cap = lmi_tokenizer_info(tok)->max_piece_bytes;
	struct lmi_text_control_tokens *c = lmi_alloc(1, sizeof(*c));
	char *buf = lmi_alloc(cap + 1, 1);
	enum lmd_status st;
	uint32_t n = 0;

	if (c && buf)
		st = collect(c, tok, buf, cap, err);
	else
		st = lmd_fail(err, LMD_NOMEM, "no memory for control tokens");
	lmi_free(buf);
	if (st != LMD_OK) {
		lmi_text_control_tokens_destroy(c);
		return st;
	}
	qsort(c->v, c->n, sizeof(*c->v), by_bytes);
	for (uint32_t i = 0; i < c->n; i++)
		if (!n || by_bytes(&c->v[n - 1], &c->v[i]))
			c->v[n++] = c->v[i];
	c->n = n;
	*out = c;
	return LMD_OK;
}

void lmi_text_control_tokens_destroy(struct lmi_text_control_tokens *c)
{
	if (!c)
		return;
	lmi_free(c->v);
	lmi_free(c->bytes);
	lmi_free(c);
}

/* ---- finding ---- */

/* Binary search among the texts lo..hi, which agree in their first `at` bytes: returns the first
 * one whose byte `at` is not less than b.  A text that ends there compares less than all others. */
static uint32_t not_below(const struct lmi_text_control_tokens *c, uint32_t lo, uint32_t hi,
			  size_t at, int b)
{
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct lmd_str *t = &c->v[mid].text;

		if (t->len <= at || (unsigned char)t->ptr[at] < b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Calls visit() with the length of each control text at text[at], shortest first.  Returns the
 * length of the longest. */
static size_t match_at(const struct lmi_text_control_tokens *c, const char *text, size_t n,
		       size_t at, void (*visit)(void *arg, size_t at, size_t len), void *arg)
{
	uint32_t lo = 0, hi = c->n;
	size_t longest = 0;

	for (size_t i = 0; lo < hi; i++) {
		if (c->v[lo].text.len == i && i) {
			longest = i;
			visit(arg, at, i);
		}
		if (at + i >= n)
			break;
		lo = not_below(c, lo, hi, i, (unsigned char)text[at + i]);
		hi = not_below(c, lo, hi, i, (unsigned char)text[at + i] + 1);
	}
	return longest;
}

/* ---- markers ---- */

static int by_id(const void *pa, const void *pb)
{
	lmd_token a = *(const lmd_token *)pa, b = *(const lmd_token *)pb;

	return (a > b) - (a < b);
}

enum lmd_status lmi_text_control_tokens_in_markers(const struct lmi_text_control_tokens *c,
						   const struct lmi_answer_format *f,
						   struct lmi_text_token_buf *out,
						   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	out->n = 0;
	for (uint32_t i = 0; i < c->n && st == LMD_OK; i++)
		if (lmi_answer_format_has_marker(f, c->v[i].text))
			st = lmi_text_token_buf_append(out, &c->v[i].id, 1, err);
	if (out->n)
		qsort(out->id, out->n, sizeof(*out->id), by_id);
	return st;
}

/* ---- encoding ---- */

/* A span of text that contains control texts from outside, but no control token of the
 * template's. */
struct span {
	size_t from, to;
};

struct scan {
	const uint8_t *own;
	struct span *v; /* in order; the last one is unfinished while `open` is set */
	size_t n, cap;
	size_t last; /* end of the template's last control token */
	bool open, failed;
};

static bool all_own(const uint8_t *own, size_t at, size_t n)
{
	return !memchr(own + at, 0, n);
}

static void open_span(struct scan *s)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;
		struct span *v = lmi_realloc(s->v, cap, sizeof(*v));

		if (!v) {
			s->failed = true;
			return;
		}
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = (struct span){.from = s->last};
	s->open = true;
}

static void visit_outside(void *arg, size_t at, size_t len)
{
	struct scan *s = arg;

	if (!s->open && !s->failed && !all_own(s->own, at, len))
		open_span(s);
}

/* Receives the longest control text, at one position, whose bytes are all the template's. */
struct longest {
	const uint8_t *own;
	size_t len;
};

static void visit_own(void *arg, size_t at, size_t len)
{
	struct longest *l = arg;

	if (all_own(l->own, at, len))
		l->len = len;
}

static void find_spans(const struct lmi_text_control_tokens *c, struct scan *s, const char *text,
		       size_t n)
{
	size_t at = 0;

	while (at < n && !s->failed) {
		struct longest l = {.own = s->own};

		/* a longer control text that is not all the template's would be matched instead */
		if (match_at(c, text, n, at, visit_own, &l) != l.len || !l.len) {
			(void)match_at(c, text, n, at, visit_outside, s);
			at++;
			continue;
		}
		if (s->open)
			s->v[s->n - 1].to = at;
		s->open = false;
		/* a control text that starts inside this token does not count */
		at += l.len;
		s->last = at;
	}
	if (s->open)
		s->v[s->n - 1].to = n;
}

static enum lmd_status add(const struct lmi_tokenizer *tok, const char *text, size_t n,
			   uint32_t flags, struct lmi_text_token_buf *part,
			   struct lmi_text_token_buf *out, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (!n)
		return LMD_OK;
	st = lmi_tokenizer_encode(tok, text, n, flags, part, err);
	return st == LMD_OK ? lmi_text_token_buf_append(out, part->id, part->n, err) : st;
}

enum lmd_status lmi_text_control_tokens_encode_prompt(const struct lmi_text_control_tokens *c,
						      const struct lmi_tokenizer *tok,
						      const char *text, const uint8_t *own,
						      size_t n, struct lmi_text_token_buf *out,
						      struct lmd_error *err)
{
	struct scan s = {.own = own};
	struct lmi_text_token_buf part = {0};
	enum lmd_status st = LMD_OK;
	size_t at = 0;

	out->n = 0;
	find_spans(c, &s, text, n);
	if (s.failed)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a prompt of %zu bytes", n);
	for (size_t i = 0; i < s.n && st == LMD_OK; i++) {
		st = add(tok, text + at, s.v[i].from - at, LMD_ENCODE_PARSE_SPECIAL, &part, out,
			 err);
		if (st == LMD_OK)
			st = add(tok, text + s.v[i].from, s.v[i].to - s.v[i].from, 0, &part, out,
				 err);
		at = s.v[i].to;
	}
	if (st == LMD_OK)
		st = add(tok, text + at, n - at, LMD_ENCODE_PARSE_SPECIAL, &part, out, err);
	lmi_text_token_buf_fini(&part);
	lmi_free(s.v);
	return st;
}
