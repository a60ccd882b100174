/* SPDX-License-Identifier: MIT
 *
 * Unicode look-ups and lenient UTF-8. The tables are in uni.gen.c. */
#include "common/unicode.h"

#include <string.h>

uint32_t tok_ucd_lower(uint32_t cp)
{
	size_t lo = 0, hi = tok_ucd_n_lower;

	if (cp < 0x80)
		return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (tok_ucd_lower_table[mid].from < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < tok_ucd_n_lower && tok_ucd_lower_table[lo].from == cp
		       ? tok_ucd_lower_table[lo].to
		       : cp;
}

uint32_t tok_ucd_base_char(uint32_t cp)
{
	size_t lo = 0, hi = tok_ucd_n_base;

	if (cp < 0xc0)
		return cp;
	if (cp >= 0xac00 && cp <= 0xd7a3) /* Hangul: the leading consonant */
		return 0x1100 + (cp - 0xac00) / 588;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (tok_ucd_base_table[mid].last < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < tok_ucd_n_base && tok_ucd_base_table[lo].first <= cp
		       ? tok_ucd_base_table[lo].base
		       : cp;
}

uint32_t tok_utf8_get_top(const char **s, const char *end, uint32_t top)
{
	const unsigned char *p = (const unsigned char *)*s;
	size_t left = (size_t)(end - *s), n = tok_utf8_len(*p);
	uint32_t cp;

	if (n == 1) {
		(*s)++;
		return *p < 0x80 ? *p : 0xfffd;
	}
	if (*p >= 0xf8 || n > left)
		goto bad;
	cp = *p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			goto bad;
		cp = cp << 6 | (p[i] & 0x3fu);
	}
	if (cp > top)
		goto bad;
	*s += n;
	return cp;
bad:
	(*s)++;
	return 0xfffd;
}

uint32_t tok_utf8_get_back(const char **s, const char *begin)
{
	const char *p = *s - 1, *q;

	while (p > begin && ((unsigned char)*p & 0xc0) == 0x80)
		p--;
	q = p;
	*s = p;
	return tok_utf8_get(&q, p + 4);
}

size_t tok_ucd_put_utf8(char out[4], uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

bool tok_utf8_canonical(const char *s, size_t n, uint32_t top)
{
	const char *end = s + n;

	while (s < end) {
		const char *at = s;
		char back[4];
		uint32_t cp;

		while (end - s >= 8) {
			uint64_t w;

			memcpy(&w, s, 8);
			if (w & 0x8080808080808080ull)
				break;
			s += 8;
		}
		if (s == end)
			return true;
		at = s;
		cp = tok_utf8_get_top(&s, end, top);
		if (cp < 0x80 && s - at == 1)
			continue;
		if (tok_ucd_put_utf8(back, cp) != (size_t)(s - at))
			return false;
	}
	return true;
}

size_t tok_utf8_canonicalise(char *out, const char *s, size_t n, uint32_t top)
{
	const char *end = s + n;
	char *o = out;

	while (s < end)
		o += tok_ucd_put_utf8(o, tok_utf8_get_top(&s, end, top));
	return (size_t)(o - out);
}
