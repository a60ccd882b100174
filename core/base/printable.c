/* SPDX-License-Identifier: MIT
 *
 * Escapes outside bytes for messages. */
#include "core/base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t printed_bytes(char c)
{
	return (unsigned char)c < 0x20 || (unsigned char)c > 0x7E ? 4 : 1;
}

const char *lmi_printable(char *buf, size_t n, const char *s, size_t len)
{
	size_t at = 0, fit = 0, i, dots;

	for (i = 0; i < len && fit < n; i++)
		fit += printed_bytes(s[i]);
	dots = fit < n ? 0 : 3;
	for (i = 0; i < len && at + printed_bytes(s[i]) + dots < n; i++) {
		if (printed_bytes(s[i]) == 1)
			buf[at] = s[i];
		else
			(void)snprintf(buf + at, 5, "\\x%02x", (unsigned char)s[i]);
		at += printed_bytes(s[i]);
	}
	memcpy(buf + at, "...", dots);
	buf[at + dots] = 0;
	return buf;
}

const char *lmi_printable_path(char *buf, size_t n, const char *path)
{
	size_t len = strlen(path), keep = n - 4;

	if (len < n)
		return lmi_printable(buf, n, path, len);
	memcpy(buf, "...", 3);
	lmi_printable(buf + 3, n - 3, path + len - keep, keep);
	return buf;
}

bool lmi_printable_has_path(const char *sentence, const char *path)
{
	char shown[64]; /* shorter than any caller's buffer */

	(void)lmi_printable_path(shown, sizeof(shown), path);
	return strstr(sentence, path) ||
	       strstr(sentence, strncmp(shown, "...", 3) ? shown : shown + 3);
}

const char *lmi_printable_number(char buf[32], double x)
{
	(void)snprintf(buf, 32, "%.9g", x);
	if (strtod(buf, NULL) < x || strtod(buf, NULL) > x)
		(void)snprintf(buf, 32, "%.17g", x);
	return buf;
}
