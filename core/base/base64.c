/* SPDX-License-Identifier: MIT */
#include "core/base/base64.h"

#include <stdint.h>

/* The value of a digit, or -1. */
static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool lmi_base64_decode(const char *text, size_t n, unsigned char *out, size_t *n_out)
{
	uint32_t bits = 0, n_digit = 0, n_pad = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		int v = digit(text[i]);

		if (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t')
			continue;
		if (text[i] == '=' && n_digit % 4 > 1 && n_digit % 4 + n_pad < 4) {
			n_pad++;
			continue;
		}
		if (v < 0 || n_pad)
			return false;
		bits = bits << 6 | (uint32_t)v;
		if (n_digit++ % 4)
			out[at++] = (unsigned char)(bits >> (6 - 2 * ((n_digit - 1) % 4)));
	}
	if (n_digit % 4 == 1)
		return false;
	*n_out = at;
	return true;
}
