/* SPDX-License-Identifier: MIT
 *
 * Escaping of outside bytes for messages. */
#include "core/base/show.h"

#include <stdio.h>
#include <string.h>

const char *lmi_show(char *buf, size_t n, const char *s, size_t len)
{
	size_t at = 0, i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		size_t need = c < 0x20 || c > 0x7E ? 4 : 1;

		if (at + need + (i + 1 < len ? 3 : 0) >= n)
			break;
		if (need == 1)
			buf[at] = (char)c;
		else
			(void)snprintf(buf + at, 5, "\\x%02x", c);
		at += need;
	}
	if (i < len) {
		memcpy(buf + at, "...", 3);
		at += 3;
	}
	buf[at] = 0;
	return buf;
}

const char *lmi_show_path(char *buf, size_t n, const char *path)
{
	size_t len = strlen(path), keep = n - 4;

	if (len < n)
		return lmi_show(buf, n, path, len);
	memcpy(buf, "...", 3);
	lmi_show(buf + 3, n - 3, path + len - keep, keep);
	return buf;
}
