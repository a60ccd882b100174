/* SPDX-License-Identifier: MIT */
#include "client/llamactl/visible_text.h"

#include <stdbool.h>

static bool is_plain(unsigned char c)
{
	return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';
}

enum lmd_status lmi_ctl_visible_text(struct lmi_text_byte_buf *out, char *last, const char *text,
				     size_t n, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (size_t i = 0; i < n && st == LMD_OK; i++) {
		unsigned char c = (unsigned char)text[i];
		bool after_c2 = (unsigned char)*last == 0xc2;
		char shown[2] = {'^', (char)(c ^ 0x40)};

		*last = text[i];
		if (after_c2 && c >= 0x80 && c < 0xa0) /* C2 A0 is a no-break space */
			st = lmi_text_byte_buf_append(out, "\xa0", 1, err);
		else if (is_plain(c))
			st = lmi_text_byte_buf_append(out, text + i, 1, err);
		else if (c != '\r')
			st = lmi_text_byte_buf_append(out, shown, 2, err);
	}
	return st;
}
