/* SPDX-License-Identifier: MIT
 *
 * Normalizers that look at more than one character: the normal forms of Unicode, and the tables
 * of SentencePiece.
 *
 * Normal forms are computed for the stretches of a text that may change; most text does not. */
#include <utf8proc.h>

#include "tokenizer/hf/hf_kind.h"

#include "common/uni.h"

/* No character of the form changes, and none joins with what stands in front of it. */
static bool inert(int form, uint32_t c)
{
	bool compatible = form == HF_NFKC || form == HF_NFKD;

	if (c < 0x80 || (c >= 0x3400 && c <= 0x9fff))
		return true;
	if (form == HF_NFC)
		return c < 0x300 || (c >= 0x400 && c < 0x483) || (c >= 0x3041 && c < 0x3099) ||
		       (c >= 0xac00 && c <= 0xd7a3);
	return !compatible && c < 0xc0;
}

/* Puts the form of s..end, which is canonical UTF-8. */
static bool put_form(int form, const char *s, const char *end, struct hf_out *o, struct lmi_job *j)
{
	static const int options[] = {
		[HF_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
		[HF_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
		[HF_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
		[HF_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
	};
	utf8proc_option_t opt = (utf8proc_option_t)options[form];
	struct lmi_buf *wide = &j->buf[HF_BUF_WIDE];
	utf8proc_ssize_t n, room = (utf8proc_ssize_t)(wide->bytes / sizeof(utf8proc_int32_t));

	n = utf8proc_decompose((const utf8proc_uint8_t *)s, end - s, wide->p, room, opt);
	if (n > room) {
		if (!lmi_buf_need(wide, j->host, (size_t)n * sizeof(utf8proc_int32_t)))
			return false;
		room = (utf8proc_ssize_t)(wide->bytes / sizeof(utf8proc_int32_t));
		n = utf8proc_decompose((const utf8proc_uint8_t *)s, end - s, wide->p, room, opt);
	}
	if (n >= 0)
		n = utf8proc_normalize_utf32(wide->p, n, opt);
	if (n < 0) /* surrogates: as they are */
		return hf_put(o, s, (size_t)(end - s));
	for (utf8proc_ssize_t i = 0; i < n; i++)
		if (!hf_put_char(o, (uint32_t)((utf8proc_int32_t *)wide->p)[i]))
			return false;
	return true;
}

bool hf_unicode_form(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		     struct lmi_job *j, bool *zero)
{
	int form = s->type->detail;
	const char *p = in->ptr, *end = p + in->len, *done = p, *last = p;

	(void)zero;
	while (p < end) {
		const char *at = p;

		if (inert(form, lmi_utf8_get(&p, end))) {
			last = at;
			continue;
		}
		/* from the character in front of the first that is not inert to the next that is */
		while (p < end) {
			const char *q = p;

			if (inert(form, lmi_utf8_get(&q, end)))
				break;
			p = q;
		}
		if (!hf_put(o, done, (size_t)(last - done)) || !put_form(form, last, p, o, j))
			return false;
		done = last = p;
	}
	return hf_put(o, done, (size_t)(end - done));
}

/* The end of the grapheme cluster at p < end. */
static const char *cluster(const char *p, const char *end)
{
	utf8proc_int32_t state = 0, a = (utf8proc_int32_t)lmi_utf8_get(&p, end);

	while (p < end) {
		const char *q = p;
		utf8proc_int32_t b = (utf8proc_int32_t)lmi_utf8_get(&q, end);

		if (utf8proc_grapheme_break_stateful(a, b, &state))
			break;
		a = b;
		p = q;
	}
	return p;
}

/* The table's text for the shortest beginning of s..end that it knows. */
static bool look_up(const struct hf_step *s, const char *from, const char *end, struct lmd_str *with)
{
	return lmi_charsmap_first(&s->map, from, (size_t)(end - from), with) > 0;
}

/* A short cluster is replaced as a whole by what its beginning is mapped to; else each character
 * is looked up. */
bool hf_precompiled(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		    struct lmi_job *j, bool *zero)
{
	const char *p = in->ptr, *end = p + in->len;
	struct lmd_str with;

	(void)j;
	while (p < end) {
		const char *stop = cluster(p, end);

		if (stop - p < 6 && look_up(s, p, stop, &with)) {
			*zero &= p != in->ptr || with.len;
			if (!hf_put(o, with.ptr, with.len))
				return false;
			p = stop;
		}
		while (p < stop) {
			const char *next = p;
			bool found;

			(void)lmi_utf8_get(&next, stop);
			found = look_up(s, p, next, &with);
			*zero &= p != in->ptr || !found || with.len;
			if (!hf_put(o, found ? with.ptr : p, found ? with.len : (size_t)(next - p)))
				return false;
			p = next;
		}
	}
	return true;
}
