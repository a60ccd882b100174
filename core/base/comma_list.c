/* SPDX-License-Identifier: MIT
 *
 * The rest of a list is NULL after its last word, so that an empty rest is an empty word. */
#include "core/base/comma_list.h"

#include <string.h>

#define BLANK " \t"

const char *lmi_comma_list_begin(const char *list)
{
	return list && list[strspn(list, BLANK)] ? list : NULL;
}

bool lmi_comma_list_next(const char **rest, struct lmd_str *word)
{
	const char *at = *rest, *end;

	if (!at)
		return false;
	at += strspn(at, BLANK);
	end = at + strcspn(at, ",");
	*rest = *end ? end + 1 : NULL;
	while (end > at && strchr(BLANK, end[-1]))
		end--;
	*word = (struct lmd_str){.ptr = at, .len = (size_t)(end - at)};
	return true;
}

bool lmi_comma_list_has(const char *list, const char *word)
{
	const char *rest = lmi_comma_list_begin(list);
	size_t n = strlen(word);
	struct lmd_str w;

	while (lmi_comma_list_next(&rest, &w))
		if (w.len == n && !memcmp(w.ptr, word, n))
			return true;
	return false;
}
