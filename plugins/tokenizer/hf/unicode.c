/* SPDX-License-Identifier: MIT
 *
 * Normalizers that look at more than one character: the Unicode normal forms, and SentencePiece
 * replacement tables.
 *
 * Normal forms are computed only for the parts of a text that may change; most text does not. */
#include <string.h>
#include <utf8proc.h>

#include "tokenizer/hf/hf_kind.h"

#include "common/unicode.h"

/* Returns true if the form does not change the character and it does not combine with the
 * preceding text. */
static bool is_inert(int form, uint32_t c)
{
	bool compatible = form == HF_NFKC || form == HF_NFKD;

	if (c < 0x80 || (c >= 0x3400 && c <= 0x9fff))
		return true;
	if (form == HF_NFC)
		return c < 0x300 || (c >= 0x400 && c < 0x483) || (c >= 0x3041 && c < 0x3099) ||
		       (c >= 0xac00 && c <= 0xd7a3);
	return !compatible && c < 0xc0;
}

static unsigned class_of(utf8proc_int32_t c)
{
	return (unsigned)utf8proc_get_property(c)->combining_class;
}

/* Sorts marks stably by combining class; spare also has room for n. Takes time proportional to n,
 * however many marks a text piles up. */
static void order_marks(utf8proc_int32_t *c, size_t n, utf8proc_int32_t *spare)
{
	uint32_t at[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[class_of(c[i]) & 255]++;
	for (unsigned k = 0; k < 256; k++) {
		uint32_t many = at[k];

		at[k] = sum;
		sum += many;
	}
	for (size_t i = 0; i < n; i++)
		spare[at[class_of(c[i]) & 255]++] = c[i];
	memcpy(c, spare, n * sizeof(*c));
}

static void order_all(utf8proc_int32_t *c, size_t n, utf8proc_int32_t *spare)
{
	for (size_t i = 0, end; i < n; i = end) {
		unsigned last = class_of(c[i]);
		bool wrong = false;

		end = i + 1;
		if (!last)
			continue;
		for (; end < n; end++) {
			unsigned k = class_of(c[end]);

			if (!k)
				break;
			wrong |= k < last;
			last = k;
		}
		if (wrong)
			order_marks(c + i, end - i, spare);
	}
}

/* Decomposes the characters of s..end into j's buffer; returns -1 if out of memory. */
static ptrdiff_t decompose(utf8proc_option_t opt, const char *s, const char *end,
			   struct tok_encode_job *j)
{
	struct tok_buf *wide = &j->buf[HF_BUF_WIDE];
	size_t n = 0;

	while (s < end) {
		utf8proc_int32_t c = (utf8proc_int32_t)tok_utf8_get(&s, end), *to;
		utf8proc_ssize_t many;

		/* no character decomposes to more than 18 */
		if (!tok_buf_reserve(wide, j->host, (n + 32) * sizeof(*to)))
			return -1;
		to = (utf8proc_int32_t *)wide->p + n;
		many = utf8proc_decompose_char(c, to, 32, opt, NULL);
		if (many < 0 || many > 32) { /* a surrogate: kept as it is */
			*to = c;
			many = 1;
		}
		n += (size_t)many;
		if (!tok_encode_job_step(j, 4))
			return -1;
	}
	return (ptrdiff_t)n;
}

/* Appends the normal form of s..end, which is canonical UTF-8. */
static bool put_form(int form, const char *s, const char *end, struct hf_out *o,
		     struct tok_encode_job *j)
{
	static const int options[] = {
		[HF_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
		[HF_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
		[HF_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
		[HF_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
	};
	utf8proc_option_t opt = (utf8proc_option_t)options[form];
	struct tok_buf *spare = &j->buf[HF_BUF_MARKS];
	utf8proc_int32_t *c;
	ptrdiff_t n = decompose(opt, s, end, j);

	if (j->steps.stopped)
		o->st = LMD_CANCELLED;
	if (n < 0 || !tok_buf_reserve(spare, j->host, (size_t)n * sizeof(*c)))
		return false;
	c = j->buf[HF_BUF_WIDE].p;
	order_all(c, (size_t)n, spare->p);
	n = utf8proc_normalize_utf32(c, n, opt);
	for (ptrdiff_t i = 0; i < n; i++)
		if (!hf_put_char(o, (uint32_t)c[i]))
			return false;
	return n >= 0;
}

bool hf_unicode_form(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		     struct tok_encode_job *j, bool *zero)
{
	int form = s->type->detail;
	const char *p = in->ptr, *end = p + in->len, *done = p, *last = p;

	(void)zero;
	while (p < end) {
		const char *at = p;

		if (!hf_put(o, p, 0)) /* counts the work */
			return false;
		if (is_inert(form, tok_utf8_get(&p, end))) {
			last = at;
			continue;
		}
		/* from the character before the first one that is not inert, up to the next inert
		 * one */
		while (p < end) {
			const char *q = p;

			if (is_inert(form, tok_utf8_get(&q, end)))
				break;
			p = q;
		}
		if (!hf_put(o, done, (size_t)(last - done)) || !put_form(form, last, p, o, j))
			return false;
		done = last = p;
	}
	return hf_put(o, done, (size_t)(end - done));
}

/* Returns the end of the grapheme cluster at p < end. */
static const char *cluster_end(const char *p, const char *end)
{
	utf8proc_int32_t state = 0, a = (utf8proc_int32_t)tok_utf8_get(&p, end);

	while (p < end) {
		const char *q = p;
		utf8proc_int32_t b = (utf8proc_int32_t)tok_utf8_get(&q, end);

		if (utf8proc_grapheme_break_stateful(a, b, &state))
			break;
		a = b;
		p = q;
	}
	return p;
}

/* Looks up the replacement for the shortest prefix of s..end in the table. */
static bool look_up(const struct hf_step *s, const char *from, const char *end,
		    struct lmd_str *with)
{
	return tok_charsmap_first(&s->map, from, (size_t)(end - from), with) > 0;
}

/* A short cluster is replaced as a whole by the replacement of its prefix; in other clusters each
 * character is looked up. */
bool hf_precompiled(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		    struct tok_encode_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;
	struct lmd_str with;

	(void)j;
	while (p < end) {
		const char *stop = cluster_end(p, end);

		if (stop - p < 6 && look_up(s, p, stop, &with)) {
			*zero &= p != in->ptr || with.len;
			if (!hf_put(o, with.ptr, with.len))
				return false;
			p = stop;
		}
		while (p < stop) {
			const char *next = p;
			bool found;

			(void)tok_utf8_get(&next, stop);
			found = look_up(s, p, next, &with);
			*zero &= p != in->ptr || !found || with.len;
			if (!hf_put(o, found ? with.ptr : p, found ? with.len : (size_t)(next - p)))
				return false;
			p = next;
		}
	}
	return true;
}
