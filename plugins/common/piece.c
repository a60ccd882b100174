/* SPDX-License-Identifier: MIT
 *
 * Pieces, and the alphabets in which token texts are written. */
#include "common/piece.h"

#include "common/uni.h"

#include <stdio.h>

void lmi_sink_put(struct lmi_sink *s, const char *p, size_t n)
{
	size_t skip = s->skip < n ? s->skip : n;

	if (!n) /* p may be NULL */
		return;
	s->skip -= skip;
	p += skip;
	n -= skip;
	if (s->n < s->cap)
		memcpy(s->p + s->n, p, n < s->cap - s->n ? n : s->cap - s->n);
	s->n += n;
}

/* Printable Latin-1 characters represent themselves; the other 68 bytes, in ascending order, are
 * represented by U+0100 and up. */
static bool represents_itself(unsigned b)
{
	return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

uint32_t lmi_byte_char(unsigned byte)
{
	if (represents_itself(byte))
		return byte;
	if (byte <= 0x20)
		return 0x100 + byte;
	if (byte <= 0xa0)
		return 0x100 + 33 + (byte - 0x7f);
	return 0x100 + 67; /* 0xad */
}

int lmi_char_byte(uint32_t cp)
{
	if (cp < 0x100)
		return represents_itself(cp) ? (int)cp : -1;
	cp -= 0x100;
	if (cp <= 0x20)
		return (int)cp;
	if (cp < 67)
		return (int)(cp - 33 + 0x7f);
	return cp == 67 ? 0xad : -1;
}

/* A character outside the alphabet is written as a note with its code point and the whole token. */
static void put_bytes(struct lmi_sink *s, const struct lmd_str *text)
{
	const char *p = text->ptr, *end = p + text->len;

	while (p < end) {
		uint32_t cp = lmi_utf8_get(&p, end);
		int byte = lmi_char_byte(cp);
		char c = (char)byte, utf8[4], hex[3];

		if (LMD_LIKELY(byte >= 0)) {
			lmi_sink_put(s, &c, 1);
			continue;
		}
		lmi_sink_put(s, "[UNK_BYTE_0x", 12);
		for (size_t i = 0, n = lmi_ucd_put_utf8(utf8, cp); i < n; i++) {
			snprintf(hex, sizeof(hex), "%02x", (unsigned char)utf8[i]);
			lmi_sink_put(s, hex, 2);
		}
		lmi_sink_put(s, text->ptr, text->len);
		lmi_sink_put(s, "]", 1);
	}
}

static void put_block(struct lmi_sink *s, const struct lmd_str *text)
{
	const char *p = text->ptr, *end = p + text->len, *from = p;

	while (p < end) {
		if (end - p >= 3 && !memcmp(p, "\xe2\x96\x81", 3)) {
			lmi_sink_put(s, from, (size_t)(p - from));
			lmi_sink_put(s, " ", 1);
			from = p += 3;
		} else {
			p++;
		}
	}
	lmi_sink_put(s, from, (size_t)(end - from));
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0;
}

/* Decodes one character at s[*at] < n, including its escape. */
static char unescape_one(const char *s, size_t n, size_t *at)
{
	char c = s[(*at)++];

	if (c != '\\' || *at == n)
		return c;
	c = s[(*at)++];
	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'x': {
		int v = 0;

		for (int i = 0; i < 2 && *at < n; i++)
			v = v * 16 + hex_value(s[(*at)++]);
		return (char)v;
	}
	default:
		return c;
	}
}

size_t lmi_unescape(char *out, const char *s, size_t n)
{
	size_t len = 0;

	for (size_t at = 0; at < n;)
		out[len++] = unescape_one(s, n, &at);
	return len;
}

static void put_escaped(struct lmi_sink *s, const struct lmd_str *text)
{
	for (size_t at = 0; at < text->len;) {
		char c = unescape_one(text->ptr, text->len, &at);

		lmi_sink_put(s, &c, 1);
	}
}

void lmi_piece(const struct lmi_tok *t, uint32_t id, bool special, struct lmi_sink *s)
{
	struct lmd_str shown = t->vocab.text[id];
	const struct lmd_str *text = &shown;
	uint8_t attr = t->vocab.attr[id];
	char c;

	if (id >= t->vocab.marked_from && shown.len > 3 &&
	    !memcmp(shown.ptr + shown.len - 3, LMI_VOCAB_MARK, 3))
		shown.len -= 3;
	if (!special && (attr & LMI_ATTR_HIDDEN))
		return;
	if (t->kind.piece == LMI_PIECE_ESCAPED) {
		put_escaped(s, text);
	} else if ((attr & (LMI_ATTR_HIDDEN | LMI_ATTR_USER)) &&
		   t->kind.piece != LMI_PIECE_RAW) {
		lmi_sink_put(s, text->ptr, text->len);
	} else if (attr & LMI_ATTR_BYTE) {
		c = (char)lmi_byte_text(text->ptr, text->len);
		lmi_sink_put(s, &c, 1);
	} else if (t->kind.piece == LMI_PIECE_RAW) {
		lmi_sink_put(s, text->ptr, text->len);
	} else if (attr & LMI_ATTR_NORMAL) {
		if (t->kind.piece == LMI_PIECE_BYTES)
			put_bytes(s, text);
		else
			put_block(s, text);
	}
}

size_t lmi_clean_spaces(char *s, size_t n)
{
	size_t len = n ? 1 : 0, end;

	for (size_t i = 1; i < n; i++) {
		if (s[i - 1] == ' ' && s[i] && strchr("?!.,", s[i]))
			len--;
		s[len++] = s[i];
	}
	end = len;
	len = end ? 1 : 0;
	for (size_t i = 1; i < end; i++) {
		char c = s[i];

		if (c == '\'' && i + 1 < end && s[i - 1] == ' ' && s[i + 1] == ' ') {
			len--;
			s[++i] = '\0'; /* removed; not counted as a blank below */
		}
		s[len++] = c;
	}
	end = len;
	len = end ? 1 : 0;
	for (size_t i = 1; i < end; i++) {
		char c = s[i], c1 = i + 1 < end ? s[i + 1] : 0, c2 = i + 2 < end ? s[i + 2] : 0;

		if (s[i - 1] == ' ' && c == '\'' &&
		    (c1 == 's' || c1 == 'm' || ((c1 == 'r' || c1 == 'v') && c2 == 'e')))
			len--;
		s[len++] = c;
	}
	return len;
}
