/* SPDX-License-Identifier: MIT
 *
 * Added tokens: at each position of a text the longest one that starts there is matched, from the
 * left. Adjacent white space may belong to it. */
#include "tokenizer/hf/hf_kind.h"

#include "common/unicode.h"

static void set_pair(struct hf_matcher *m, unsigned a, unsigned b)
{
	m->pair[(a << 8 | b) >> 3] |= (uint8_t)(1u << (b & 7));
}

static bool may_begin(const struct hf_matcher *m, const char *s, const char *end)
{
	unsigned a = (unsigned char)s[0], b = s + 1 < end ? (unsigned char)s[1] : 0;

	return m->pair[(a << 8 | b) >> 3] >> (b & 7) & 1;
}

/* Adds a text, unless an equal one is present. */
static bool enter(struct hf_matcher *m, const struct lmd_host *host, struct lmd_str s, uint32_t id)
{
	uint32_t other;

	if (!s.len || tok_trie_longest(&m->trie, s.ptr, s.len, &other) == s.len)
		return true;
	m->any = true;
	if (s.len > 1)
		set_pair(m, (unsigned char)s.ptr[0], (unsigned char)s.ptr[1]);
	for (unsigned b = 0; s.len == 1 && b < 256; b++)
		set_pair(m, (unsigned char)s.ptr[0], b);
	return tok_trie_add(&m->trie, host, s.ptr, s.len, id);
}

static enum lmd_status add_token(struct hf_state *h, struct tok_encode_job *j, uint32_t id,
				 struct lmd_error *err)
{
	const struct tok_vocab *v = &h->tok.vocab;
	bool normalized = v->spec->added[id] & LMD_ADDED_NORMALIZED, zero = true;
	struct lmd_str text = v->text[id];
	enum lmd_status st = normalized ? hf_normalize(h, j, &text, &zero) : LMD_OK;

	if (st == LMD_OK && text.len > HF_MAX_ADDED)
		return lmd_fail(err, LMD_UNSUPPORTED, "added token %u: %zu bytes, at most %d", id,
				text.len, HF_MAX_ADDED);
	if (st == LMD_OK && !enter(normalized ? &h->normalized : &h->raw, v->host, text, id))
		st = LMD_NOMEM;
	return st == LMD_NOMEM ? lmd_fail(err, st, "vocabulary: no memory for added tokens") : st;
}

enum lmd_status hf_added_open(struct hf_state *h, struct lmd_error *err)
{
	const struct tok_vocab *v = &h->tok.vocab;
	struct tok_encode_job j = {.tok = &h->tok, .host = v->host, .err = err};
	struct hf_matcher *const m[] = {&h->raw, &h->normalized};
	enum lmd_status st = LMD_OK;

	for (size_t i = 0; i < LMD_LEN(m) && st == LMD_OK; i++) {
		m[i]->pair = tok_host_array(v->host, 65536 / 8, 1);
		if (!m[i]->pair || !tok_trie_init(&m[i]->trie, v->host, 64))
			st = lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for added tokens");
	}
	/* special tokens first: of equal texts the first one counts */
	for (unsigned special = 1; special < 2; special--)
		for (uint32_t i = 0; v->spec->added && i < v->n && st == LMD_OK; i++)
			if ((v->spec->added[i] & LMD_ADDED_TOKEN) &&
			    !(v->spec->added[i] & LMD_ADDED_SPECIAL) == !special)
				st = add_token(h, &j, i, err);
	for (size_t i = 0; i < LMD_LEN(j.buf); i++)
		tok_buf_fini(&j.buf[i], v->host);
	return st;
}

void hf_added_close(struct hf_state *h)
{
	struct hf_matcher *const m[] = {&h->raw, &h->normalized};

	for (size_t i = 0; i < LMD_LEN(m); i++) {
		tok_trie_fini(&m[i]->trie, h->tok.vocab.host);
		tok_host_free(h->tok.vocab.host, m[i]->pair);
	}
}

static bool word_before(const char *s, const char *begin)
{
	return s > begin && hf_is_word(tok_utf8_get_back(&s, begin));
}

static bool word_at(const char *s, const char *end)
{
	return s < end && hf_is_word(tok_utf8_get(&s, end));
}

/* Finds the next token at or after *at, without the white space that it strips. */
static bool find(const struct hf_matcher *m, struct tok_encode_job *j, const char **at,
		 const char *end, const char **stop, uint32_t *id)
{
	for (const char *p = *at; p < end; p++) {
		size_t len;

		if (!((size_t)(p - *at + 1) % TOK_WORK_BATCH) &&
		    !tok_encode_job_step(j, TOK_WORK_BATCH / 8))
			return false;
		if (!may_begin(m, p, end))
			continue;
		len = tok_trie_longest(&m->trie, p, (size_t)(end - p), id);
		if (len) {
			*at = p;
			*stop = p + len;
			return true;
		}
	}
	return false;
}

enum lmd_status hf_added_split(const struct hf_state *h, const struct hf_matcher *m,
			       struct tok_encode_job *j, const struct hf_fragment *f,
			       hf_fragment_fn text)
{
	const char *s = f->s, *end = s + f->n, *done = s, *at = s, *begin, *stop;
	struct hf_fragment part = *f;
	enum lmd_status st = LMD_OK;
	uint32_t id;

	while (m->any && st == LMD_OK && find(m, j, &at, end, &stop, &id)) {
		uint8_t flags = h->tok.vocab.spec->added[id];

		begin = at;
		at = stop; /* where the search continues, whatever happens below */
		if (((flags & LMD_ADDED_SPECIAL) && !f->control) ||
		    ((flags & LMD_ADDED_SINGLE_WORD) &&
		     (word_before(begin, s) || word_at(stop, end))))
			continue;
		for (const char *p = begin; (flags & LMD_ADDED_LSTRIP) && p > done; begin = p)
			if (!hf_is_space(tok_utf8_get_back(&p, done)))
				break;
		if ((flags & LMD_ADDED_LSTRIP) && begin < done)
			begin = done;
		for (const char *p = stop; (flags & LMD_ADDED_RSTRIP) && p < end; stop = p)
			if (!hf_is_space(tok_utf8_get(&p, end)))
				break;
		if (begin > done) {
			part.s = done;
			part.n = (size_t)(begin - done);
			part.zero = f->zero && done == s;
			st = text(h, j, &part);
		}
		if (begin < stop) /* otherwise earlier tokens have taken all of it */
			tok_encode_job_put(j, id);
		done = stop;
	}
	if (st == LMD_OK && j->steps.stopped)
		st = LMD_CANCELLED;
	if (st != LMD_OK || done >= end)
		return st;
	part.s = done;
	part.n = (size_t)(end - done);
	part.zero = f->zero && done == s;
	return text(h, j, &part);
}
