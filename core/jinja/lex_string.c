/* SPDX-License-Identifier: MIT
 *
 * Lexes quoted strings. */
#include <string.h>

#include "core/base/utf8.h"
#include "core/jinja/lexer.h"

/* Parses \xHH, \uXXXX or \UXXXXXXXX, whose letter is at s[i].  Returns the number of bytes
 * consumed, or 0 if it is invalid. */
static size_t hex_escape(const char *s, size_t left, uint32_t *c)
{
	size_t n = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : 8;
	bool ok = left > n;

	if (ok)
		*c = lmi_jinja_lex_hex(s + 1, n, &ok);
	if (!ok || *c > 0x10ffff)
		return 0;
	n++;
	/* a surrogate pair is one character */
	if (*c >= 0xd800 && *c < 0xdc00 && left >= n + 6 && s[n] == '\\' && s[n + 1] == 'u') {
		uint32_t low = lmi_jinja_lex_hex(s + n + 2, 4, &ok);

		if (ok && low >= 0xdc00 && low < 0xe000) {
			*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
			return n + 6;
		}
	}
	return *c >= 0xd800 && *c < 0xe000 ? 0 : n;
}

/* Resolves the escapes of s[0..n) into out; returns the length, or SIZE_MAX on error. */
static size_t unescape(const char *s, size_t n, char *out)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	size_t k = 0;

	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		const char *p;

		if (s[i] != '\\') {
			out[k++] = s[i++];
			continue;
		}
		i++;
		p = strchr(from, s[i]);
		if (p && *p) {
			out[k++] = to[p - from];
			i++;
		} else if (s[i] == '\n') {
			i++;
		} else if (strchr("xuU", s[i]) && s[i]) {
			size_t taken = hex_escape(s + i, n - i, &c);

			if (!taken)
				return SIZE_MAX;
			i += taken;
			k += lmi_utf8_put(out + k, c);
		} else if (s[i] >= '0' && s[i] <= '7') {
			for (int d = 0; d < 3 && i < n && s[i] >= '0' && s[i] <= '7'; d++)
				c = c * 8 + (uint32_t)(s[i++] - '0');
			k += lmi_utf8_put(out + k, c);
		} else if (s[i] == 'N') {
			return SIZE_MAX;
		} else {
			out[k++] = '\\';
		}
	}
	return k;
}

void lmi_jinja_lex_string(struct lmi_jinja_lexer *x)
{
	char quote = x->s[x->at], *text;
	size_t from = x->at + 1, to = from, n;

	while (to < x->n && x->s[to] != quote)
		to += x->s[to] == '\\' ? 2 : 1;
	if (to >= x->n) {
		lmi_jinja_lex_fail(x, "unclosed string");
		return;
	}
	text = lmi_arena_alloc(x->arena, to - from + 1, 1);
	if (!text) {
		lmi_jinja_lex_no_memory(x);
		return;
	}
	n = unescape(x->s + from, to - from, text);
	if (n == SIZE_MAX)
		lmi_jinja_lex_fail(x, "invalid escape sequence in a string");
	else
		lmi_jinja_lex_add_text(x, LMI_JINJA_TOK_STRING, text, n);
	lmi_jinja_lex_advance(x, to + 1);
}
