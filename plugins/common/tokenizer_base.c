/* SPDX-License-Identifier: MIT
 *
 * Encode, decode and piece, built around a kind. Decoding a list concatenates its pieces, drops a
 * leading space if encode adds one, and cleans up spaces if the vocabulary asks for it. */
#include "common/tokenizer_base.h"

#include <string.h>

#include "common/piece.h"
#include "common/special.h"

enum lmd_status tok_finish(struct tok_tokenizer_base *t, const struct tok_vocab_defaults *def,
			   struct lmd_tok_info *info, struct lmd_error *err)
{
	struct tok_vocab *v = &t->vocab;
	enum lmd_status st = tok_vocab_finish(v, def, err);

	if (st != LMD_OK) {
		tok_close(t);
		return st;
	}
	v->info.max_piece_bytes = v->max_bytes;
	for (uint32_t i = 0; t->kind.long_piece && i < v->n; i++) {
		size_t len;

		if (!t->kind.long_piece(t, i))
			continue;
		len = tok_piece(t, (lmd_token)i, LMD_DECODE_UNPARSE_SPECIAL, NULL, 0);
		if (len > v->info.max_piece_bytes)
			v->info.max_piece_bytes = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	}
	*info = v->info;
	return LMD_OK;
}

void tok_close(void *state)
{
	struct tok_tokenizer_base *t = state;

	if (t->kind.close)
		t->kind.close(t);
	tok_vocab_close(&t->vocab);
}

static enum lmd_status encode_fragments(struct tok_encode_job *j, const char *text, size_t bytes,
					bool control)
{
	const struct tok_tokenizer_base *t = j->tok;
	struct tok_buf claims = {NULL, 0};
	const struct tok_special_match *c;
	size_t n_claims, at = 0;
	enum lmd_status st = tok_special_find(&t->vocab, text, bytes, control, &claims, &n_claims);

	c = claims.p;
	for (size_t i = 0; st == LMD_OK && i <= n_claims; i++) {
		size_t end = i < n_claims ? c[i].begin : bytes;

		if (end > at) {
			st = t->kind.text(t, j, text + at, end - at);
			j->after_special = false;
		}
		if (i < n_claims) {
			tok_encode_job_put(j, c[i].id);
			j->after_special = true;
			at = c[i].end;
		}
	}
	tok_buf_fini(&claims, j->host);
	return st;
}

enum lmd_status tok_encode_job_end(struct tok_encode_job *j, enum lmd_status st, size_t *n)
{
	for (size_t i = 0; i < LMD_LEN(j->buf); i++)
		tok_buf_fini(&j->buf[i], j->host);
	if (!tok_work_tell(j->host, j->steps.n) && st == LMD_OK)
		st = LMD_CANCELLED;
	if (st == LMD_NOMEM)
		return lmd_fail(j->err, st, "tokenizer: no memory for %zu bytes of text",
				j->text_bytes);
	if (st == LMD_CANCELLED)
		return lmd_fail(j->err, st, "tokenizer: cancelled after %zu tokens", j->n);
	if (st == LMD_OK)
		*n = j->n;
	return st;
}

enum lmd_status tok_encode(const void *state, const char *text, size_t bytes, uint32_t flags,
			   lmd_token *out, size_t cap, size_t *n, struct lmd_error *err)
{
	const struct tok_tokenizer_base *t = state;
	const struct lmd_tok_info *f = &t->vocab.info;
	struct tok_encode_job j = {.tok = t,
				   .host = t->vocab.host,
				   .out = out,
				   .cap = cap,
				   .after_special = true,
				   .text_bytes = bytes,
				   .err = err};
	bool add = flags & LMD_ENCODE_ADD_SPECIAL;
	enum lmd_status st;

	if (bytes >= UINT32_MAX)
		return lmd_fail(err, LMD_INVALID, "text: %zu bytes, at most %u are allowed", bytes,
				UINT32_MAX - 1);
	if (add && ((t->kind.add == TOK_ADD_FLAGS && f->add_bos) ||
		    (t->kind.add == TOK_ADD_BOS_SEP && f->bos >= 0)))
		tok_encode_job_put(&j, (uint32_t)f->bos);
	st = encode_fragments(&j, text, bytes, flags & LMD_ENCODE_PARSE_SPECIAL);
	if (add && t->kind.add == TOK_ADD_FLAGS && f->add_eos)
		tok_encode_job_put(&j, (uint32_t)f->eos);
	if (add && t->kind.add == TOK_ADD_BOS_SEP && f->sep >= 0)
		tok_encode_job_put(&j, (uint32_t)f->sep);
	return tok_encode_job_end(&j, st, n);
}

size_t tok_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	const struct tok_tokenizer_base *t = state;
	struct tok_byte_sink s = {out, cap, 0, 0};

	if (id < 0 || (uint32_t)id >= t->vocab.n)
		return 0;
	tok_piece_put(t, (uint32_t)id, flags & LMD_DECODE_UNPARSE_SPECIAL, &s);
	return s.n;
}

enum lmd_status tok_check_ids(const struct tok_vocab *v, const lmd_token *ids, size_t n_ids,
			      struct lmd_error *err)
{
	for (size_t i = 0; i < n_ids; i++)
		if (ids[i] < 0 || (uint32_t)ids[i] >= v->n)
			return lmd_fail(
				err, LMD_INVALID,
				"token %d at position %zu is outside the vocabulary 0..%u",
				ids[i], i, v->n - 1);
	return LMD_OK;
}

/* Writes all pieces one after the other; drops one space at the very start if `strip`. Returns
 * false if the work was cancelled. */
static bool put_pieces(const struct tok_tokenizer_base *t, const lmd_token *ids, size_t n_ids,
		       bool special, bool strip, struct tok_byte_sink *s)
{
	struct tok_work work = {0, false};
	size_t before = s->n;

	for (size_t i = 0; i < n_ids; i++, before = s->n) {
		if (i == 0 && strip) {
			char first;

			if (tok_piece(t, ids[0], special ? LMD_DECODE_UNPARSE_SPECIAL : 0, &first,
				      1) &&
			    first == ' ')
				s->skip = 1;
		}
		tok_piece_put(t, (uint32_t)ids[i], special, s);
		if (!tok_work_step(&work, t->vocab.host, 4 + s->n - before))
			return false;
	}
	return tok_work_tell(t->vocab.host, work.n);
}

static enum lmd_status decode_cancelled(struct lmd_error *err)
{
	return lmd_fail(err, LMD_CANCELLED, "decoding: cancelled");
}

enum lmd_status tok_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			   char *out, size_t cap, size_t *n, struct lmd_error *err)
{
	const struct tok_tokenizer_base *t = state;
	const struct tok_vocab *v = &t->vocab;
	bool special = flags & LMD_DECODE_UNPARSE_SPECIAL, strip = v->info.add_space_prefix;
	struct tok_byte_sink s = {out, cap, 0, 0};
	enum lmd_status st = tok_check_ids(v, ids, n_ids, err);
	char *whole;

	if (st != LMD_OK)
		return st;
	if (flags & LMD_DECODE_REMOVE_SPECIAL) {
		if (v->info.add_bos && n_ids && ids[0] == v->info.bos) {
			strip = false;
			ids++;
			n_ids--;
		}
		if (v->info.add_eos && n_ids && ids[n_ids - 1] == v->info.eos)
			n_ids--;
	}
	if (!v->info.clean_spaces) {
		if (!put_pieces(t, ids, n_ids, special, strip, &s))
			return decode_cancelled(err);
		*n = s.n;
		return LMD_OK;
	}
	s = (struct tok_byte_sink){NULL, 0, 0, 0};
	if (!put_pieces(t, ids, n_ids, special, strip, &s))
		return decode_cancelled(err);
	whole = tok_host_array(v->host, s.n, 1);
	if (!whole)
		return lmd_fail(err, LMD_NOMEM, "decoding: no memory for %zu bytes", s.n);
	s = (struct tok_byte_sink){whole, s.n, 0, 0};
	if (!put_pieces(t, ids, n_ids, special, strip, &s)) {
		tok_host_free(v->host, whole);
		return decode_cancelled(err);
	}
	*n = tok_clean_spaces(whole, s.n);
	if (cap)
		memcpy(out, whole, *n < cap ? *n : cap);
	tok_host_free(v->host, whole);
	return LMD_OK;
}
