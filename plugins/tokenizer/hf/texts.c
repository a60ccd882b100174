/* SPDX-License-Identifier: MIT
 *
 * Lists of texts in one contiguous byte buffer. A list that has failed to allocate memory ignores
 * all further additions. */
#include <string.h>

#include "tokenizer/hf/decode.h"

#include "common/unicode.h"

#define REPLACEMENT "\xef\xbf\xbd"

void hf_texts_clear(struct hf_texts *t)
{
	t->n = t->end = 0;
	if (!tok_buf_reserve(&t->at, t->host, sizeof(size_t)))
		t->failed = true;
	else
		hf_texts_at(t)[0] = 0;
}

void hf_texts_add(struct hf_texts *t, const char *s, size_t n)
{
	if (t->failed || !n)
		return;
	if (!tok_work_step(&t->work, t->host, 1 + tok_work_scan(n))) {
		t->failed = true;
		return;
	}
	if (!tok_buf_reserve(&t->bytes, t->host, t->end + n)) {
		t->failed = true;
		return;
	}
	memcpy((char *)t->bytes.p + t->end, s, n);
	t->end += n;
}

void hf_texts_end(struct hf_texts *t)
{
	if (t->failed)
		return;
	if (!tok_work_step(&t->work, t->host, 4)) {
		t->failed = true;
		return;
	}
	if (!tok_buf_reserve(&t->at, t->host, (t->n + 2) * sizeof(size_t))) {
		t->failed = true;
		return;
	}
	hf_texts_at(t)[++t->n] = t->end;
}

/* Returns the length of the character at p in strict UTF-8, or 0 if there is none; *bad is then
 * the number of bytes that belong to the truncated sequence. */
static size_t strict_utf8_len(const unsigned char *p, const unsigned char *end, size_t *bad)
{
	unsigned char c = *p, low = 0x80, high = 0xbf;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	*bad = 1;
	if (n <= 1)
		return n;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < n; i++) {
		if (p + i == end || p[i] < low || p[i] > high)
			return 0;
		*bad = i + 1;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

bool hf_is_utf8(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t bad, len;

	for (size_t i = 0; i < n; i += len) {
		len = strict_utf8_len(p + i, p + n, &bad);
		if (!len)
			return false;
	}
	return true;
}

void hf_texts_add_lossy(struct hf_texts *t, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0, from = 0, bad, len;

	while (i < n) {
		len = strict_utf8_len(p + i, p + n, &bad);
		if (len) {
			i += len;
			continue;
		}
		hf_texts_add(t, s + from, i - from);
		hf_texts_add(t, REPLACEMENT, 3);
		from = i += bad;
	}
	if (n > from)
		hf_texts_add(t, s + from, n - from);
}

void hf_texts_add_spelt(struct hf_texts *t, const struct lmd_str *s)
{
	const char *p = s->ptr, *end = p + s->len;

	while (p < end)
		if (tok_char_byte(tok_utf8_get(&p, end)) < 0) {
			hf_texts_add(t, s->ptr, s->len);
			return;
		}
	for (p = s->ptr; p < end;) {
		char c = (char)tok_char_byte(tok_utf8_get(&p, end));

		hf_texts_add(t, &c, 1);
	}
}

void hf_texts_add_replaced(struct hf_texts *t, const struct lmd_str *s, const char *from,
			   const char *to)
{
	const char *p = s->ptr, *end = p + s->len, *q;
	size_t n = strlen(from);

	while (n && (q = memmem(p, (size_t)(end - p), from, n)) != NULL) {
		hf_texts_add(t, p, (size_t)(q - p));
		hf_texts_add(t, to, strlen(to));
		p = q + n;
	}
	hf_texts_add(t, p, (size_t)(end - p));
}
