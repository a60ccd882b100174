/* SPDX-License-Identifier: MIT
 *
 * Normalizers that look at one character at a time, or at the matches of a pattern. */
#include <string.h>

#include "tokenizer/hf/split.h"

#include "common/unicode.h"

bool hf_put(struct hf_out *o, const char *s, size_t n)
{
	if (!tok_work_step(&o->work, o->host, 1 + tok_work_scan(n))) {
		o->st = LMD_CANCELLED;
		return false;
	}
	if (!tok_buf_reserve(o->buf, o->host, o->n + n))
		return false;
	if (n)
		memcpy((char *)o->buf->p + o->n, s, n);
	o->n += n;
	return true;
}

bool hf_put_char(struct hf_out *o, uint32_t cp)
{
	char utf8[4];

	return hf_put(o, utf8, tok_ucd_put_utf8(utf8, cp));
}

bool hf_lowercase(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		  struct tok_encode_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;

	(void)s;
	(void)j;
	(void)zero;
	while (p < end) {
		uint32_t cp = tok_utf8_get(&p, end);

		if (!hf_put_char(o, hf_lower(cp)) || (cp == 0x130 && !hf_put_char(o, 0x307)))
			return false;
	}
	return true;
}

/* Keeps the characters that are not in the set. */
static bool strip_chars(const struct lmd_str *in, bool (*is)(uint32_t cp), struct hf_out *o,
			bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;

	while (p < end) {
		const char *from = p;

		if (!is(tok_utf8_get(&p, end))) {
			if (!hf_put(o, from, (size_t)(p - from)))
				return false;
		} else {
			*zero &= from != in->ptr;
			if (!hf_put(o, from, 0)) /* counts the work */
				return false;
		}
	}
	return true;
}

bool hf_strip_accents(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		      struct tok_encode_job *j, bool *zero)
{
	(void)s;
	(void)j;
	return strip_chars(in, hf_is_mark, o, zero);
}

bool hf_strip(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	      struct tok_encode_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;

	(void)j;
	for (const char *q = p; s->left && p < end; p = q)
		if (!hf_is_space(tok_utf8_get(&q, end)))
			break;
	for (const char *q = end; s->right && end > p; end = q)
		if (!hf_is_space(tok_utf8_get_back(&q, p)))
			break;
	*zero &= p == in->ptr;
	return hf_put(o, p, (size_t)(end - p));
}

bool hf_prepend(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct tok_encode_job *j, bool *zero)
{
	(void)j;
	(void)zero;
	return !in->len ||
	       (hf_put(o, s->content.ptr, s->content.len) && hf_put(o, in->ptr, in->len));
}

bool hf_replace(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct tok_encode_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;
	struct tok_regex_run run = {.host = s->host, .max_steps = hf_rx_steps(in->len)};
	struct hf_match at = {.next = p};
	bool ok = true;

	(void)j;
	tok_regex_set_text(&run, p, end);
	while (ok && hf_next_match(s, &run, &at)) {
		ok = hf_put(o, p, (size_t)(at.from - p)) &&
		     hf_put(o, s->content.ptr, s->content.len);
		*zero &= at.from != in->ptr || at.from == at.to || s->content.len;
		p = at.to;
	}
	tok_regex_run_fini(&run);
	if (run.st != LMD_OK)
		o->st = run.st;
	return ok && run.st == LMD_OK && hf_put(o, p, (size_t)(end - p));
}

bool hf_nmt(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	    struct tok_encode_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;

	(void)s;
	(void)j;
	while (p < end) {
		const char *from = p;
		uint32_t c = tok_utf8_get(&p, end);

		if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
		    c == 0x8f || c == 0x9f) {
			*zero &= from != in->ptr;
			if (!hf_put(o, from, 0))
				return false;
			continue;
		}
		if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
		    (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
		    c == 0xfeff || c == 0xfffd)
			c = ' ';
		if (!hf_put_char(o, c))
			return false;
	}
	return true;
}

/* Removes control characters, turns white space into blanks, and puts blanks around Chinese
 * characters. */
static bool bert_clean(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		       bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;

	while (p < end) {
		const char *from = p;
		uint32_t c = tok_utf8_get(&p, end);
		bool alone = s->chinese && hf_is_chinese(c), ok;

		if (s->clean) {
			if (hf_is_other(c)) {
				*zero &= from != in->ptr;
				if (!hf_put(o, from, 0))
					return false;
				continue;
			}
			c = hf_is_space(c) ? ' ' : c;
		}
		ok = !alone || hf_put(o, " ", 1);
		ok = ok && hf_put_char(o, c) && (!alone || hf_put(o, " ", 1));
		if (!ok)
			return false;
	}
	return true;
}

/* Runs a step from `text` into a buffer, which becomes the new text. */
static enum lmd_status step(hf_normal_fn f, const struct hf_step *s, struct lmd_str *text,
			    struct tok_buf *buf, struct tok_encode_job *j, bool *zero)
{
	struct hf_out o = {.buf = buf, .host = j->host};

	if (!f(s, text, &o, j, zero))
		return o.st != LMD_OK ? o.st : LMD_NOMEM;
	*text = (struct lmd_str){buf->p ? buf->p : "", o.n};
	return LMD_OK;
}

static bool clean_step(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		       struct tok_encode_job *j, bool *zero)
{
	(void)j;
	return bert_clean(s, in, o, zero);
}

static bool accents_step(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
			 struct tok_encode_job *j, bool *zero)
{
	(void)s;
	(void)j;
	return strip_chars(in, hf_is_accent, o, zero);
}

bool hf_bert(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	     struct tok_encode_job *j, bool *zero)
{
	static const struct hf_type nfd = {.detail = HF_NFD};
	const struct hf_step decompose = {.type = &nfd, .host = s->host};
	struct tok_buf a = {NULL, 0}, b = {NULL, 0};
	struct lmd_str text = *in;
	enum lmd_status st = step(clean_step, s, &text, &a, j, zero);
	bool ok;

	if (st == LMD_OK && s->accents)
		st = step(hf_unicode_form, &decompose, &text, &b, j, zero);
	if (st == LMD_OK && s->accents)
		st = step(accents_step, s, &text, &a, j, zero);
	if (st == LMD_OK && s->lowercase)
		st = step(hf_lowercase, s, &text, &b, j, zero);
	if (st != LMD_OK)
		o->st = st;
	ok = st == LMD_OK && hf_put(o, text.ptr, text.len);
	tok_buf_fini(&a, j->host);
	tok_buf_fini(&b, j->host);
	return ok;
}

bool hf_byte_chars(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		   struct tok_encode_job *j, bool *zero)
{
	(void)s;
	(void)j;
	(void)zero;
	for (size_t i = 0; i < in->len; i++)
		if (!hf_put_char(o, tok_byte_char((unsigned char)in->ptr[i])))
			return false;
	return true;
}

enum lmd_status hf_normalize(const struct hf_state *h, struct tok_encode_job *j,
			     struct lmd_str *text, bool *zero)
{
	for (uint32_t i = 0; i < h->n_normal; i++) {
		struct tok_buf *buf = &j->buf[i & 1 ? HF_BUF_OTHER : HF_BUF_NORMAL];
		const struct hf_step *s = &h->normal[i];
		enum lmd_status st = step(s->type->normal, s, text, buf, j, zero);

		if (st == LMD_INVALID)
			return lmd_fail(j->err, st,
					"normalizer %s: a text of %zu bytes needs too many "
					"steps",
					s->type->name, text->len);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}
