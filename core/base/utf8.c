/* SPDX-License-Identifier: MIT
 *
 * The table of RFC 3629, section 4: the bounds of the second byte exclude overlong forms,
 * surrogates and code points above U+10FFFF. */
#include "core/base/utf8.h"

#include "core/base/bytes.h"

static inline size_t char_bytes(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	uint8_t lo = 0x80, hi = 0xBF;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (n < len)
		return 0;
	if (p[0] == 0xE0)
		lo = 0xA0;
	else if (p[0] == 0xED)
		hi = 0x9F;
	else if (p[0] == 0xF0)
		lo = 0x90;
	else if (p[0] == 0xF4)
		hi = 0x8F;
	if (p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xBF)
			return 0;
	return len;
}

size_t lmi_utf8_char(const char *s, size_t n)
{
	return char_bytes(s, n);
}

/* Returns the position after the words of 8 ASCII characters that begin at `at`. */
static size_t skip_ascii_words(const char *s, size_t n, size_t at)
{
	while (n - at >= 8 && !(lmi_get_le64(s + at) & 0x8080808080808080ull))
		at += 8;
	return at;
}

/* Messages have up to 16 MiB of text, which the daemon's loop checks: hence the words. */
size_t lmi_utf8_valid_prefix(const char *s, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t len = 1;

		if (!(s[at] & 0x80))
			at = skip_ascii_words(s, n, at + 1) - 1;
		else
			len = char_bytes(s + at, n - at);

		if (!len)
			break;
		at += len;
	}
	return at;
}

uint32_t lmi_utf8_next(const char *s, size_t n, size_t *at)
{
	const unsigned char *p = (const unsigned char *)s + *at;
	size_t len = lmi_utf8_char(s + *at, n - *at);
	uint32_t c;

	*at += len ? len : 1;
	if (len <= 1)
		return len ? p[0] : LMI_UTF8_BAD;
	c = p[0] & (0x7Fu >> len);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3F);
	return c;
}

size_t lmi_utf8_put(char *out, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1) {
		out[0] = (char)c;
		return 1;
	}
	for (size_t i = n - 1; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)((0xF00u >> n) | c);
	return n;
}
